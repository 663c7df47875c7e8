package gitstate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
)

// unknownError is a cause of Unknown. Its text is made here, because the texts of an FS may hold absolute
// paths, which must not reach the model.
type unknownError struct {
	text  string
	cause error
}

func (e *unknownError) Error() string { return e.text }
func (e *unknownError) Unwrap() error { return e.cause }

func unknownf(format string, args ...any) error {
	return &unknownError{text: fmt.Sprintf(format, args...)}
}

// unreadable says in our own words what an FS refused.
func unreadable(rel string, err error) error {
	what := "cannot be read"
	switch {
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		what = "was not read in time"
	case errors.Is(err, fs.ErrPermission):
		what = "is not readable within the grants"
	case notThere(err):
		what = "is missing"
	}
	return &unknownError{text: fmt.Sprintf("%q %s", rel, what), cause: err}
}

func reason(err error) string {
	var u *unknownError
	switch {
	case errors.As(err, &u):
		return u.text
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return "there was not enough time to find out"
	default:
		return "the repository cannot be read"
	}
}

// notThere also takes ENOTDIR: "a/b" is not there if "a" is a file.
func notThere(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// maxPath bounds names everywhere: longer ones cannot be opened on the systems we support, and a version 4
// index could otherwise expand without bound.
const maxPath = 4096

func checkPath(path string) error {
	if len(path) > maxPath {
		return unknownf("the path is too long")
	}
	for part := range strings.SplitSeq(path, "/") {
		switch {
		case part == "" || part == "." || part == "..":
			return unknownf("%q is not a plain relative path", path)
		case strings.EqualFold(part, ".git"):
			return unknownf("%q belongs to the repository itself", path)
		}
	}
	return nil
}
