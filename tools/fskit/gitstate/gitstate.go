// Package gitstate says whether deleting, moving or overwriting a file would lose something that git could
// not give back, by reading the repository's own files. It never runs git or anything else, so nothing that
// a repository's config names (core.fsmonitor, filters, hooks) can run.
//
// Every answer compares content: the hash of what is in the work tree with the index entry, and the index
// entry with HEAD's tree. Times are never trusted. What cannot be read or is not understood is [Unknown],
// never [Clean]; a caller asks the person then.
//
// Ignored files are untracked like any other: git does not have them. Nor could ignore files be believed,
// which whoever may create a file can add.
//
// What it does not do: it is a snapshot and holds no lock, so a change made after the answer is not seen. It
// does not see attributes or settings outside the repository (the user's and the system's config, files
// named by include), nor replace refs; the first two only make more files dirty.
package gitstate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"

	"github.com/jptools/jptools/jptool/wspath"
)

// FS is the only way this package reaches files. Paths are relative to the FS root, with slashes; "" is the
// root itself. Names are literal bytes: they may hold newlines, glob characters or invalid UTF-8.
//
// No method may follow a symbolic link, in any component. Errors must satisfy errors.Is with
// [fs.ErrNotExist] for what is not there and [fs.ErrPermission] for what is not granted; the rest counts as
// unreadable.
type FS interface {
	// Open opens for reading. It must not block on FIFOs and devices; refusing them is best.
	Open(rel string) (File, error)
	Lstat(rel string) (fs.FileInfo, error)
	// ReadDir is called for the directories that CountDirty counts and for the repository's objects/pack.
	ReadDir(rel string) ([]fs.DirEntry, error)
	Readlink(rel string) (string, error)
}

// File is an open file of an [FS]; *os.File is one.
type File interface {
	io.ReadCloser
	io.ReaderAt
	Stat() (fs.FileInfo, error)
}

// State is what git knows of one path.
type State uint8

const (
	// Unknown means that no answer can be given; it is the zero value so that a forgotten answer asks.
	Unknown State = iota
	// Clean means: the same in the work tree, the index, HEAD and the object store; or not there and not
	// tracked; or in no repository.
	Clean
	// Modified means that the work tree differs from the index (content, kind, executable bit, deleted,
	// conflict, intent-to-add).
	Modified
	// Staged means that only the index differs from HEAD, which includes "git rm --cached".
	Staged
	// Untracked means neither in the index nor in HEAD, ignored or not.
	Untracked
)

// Verdict is the answer about one path.
type Verdict struct {
	State State
	// Reason says for Unknown, in a few words for a person, what could not be found out. It names paths only
	// relative to the FS root and is empty for every other state.
	Reason string
}

// Count is the answer about everything below a directory.
type Count struct {
	// Dirty is the number of paths with a state other than Clean and Unknown; those that "git status
	// --untracked-files=all --ignored --no-renames" would list, each once. A submodule or an untracked nested
	// repository counts as one.
	Dirty int
	// More says that counting stopped at the limit; there may be more, or not.
	More bool
	// Unknown says that something below could not be judged, Reason the first such thing.
	Unknown bool
	Reason  string
}

// Any reports whether the caller should ask.
func (c Count) Any() bool { return c.Dirty > 0 || c.Unknown }

// Options is what an [FS] does not know. The zero value means that the place of the FS root is unknown and that
// the root lies in no repository.
type Options struct {
	// Root is the absolute path of the FS root, without symbolic links. It serves to follow an absolute
	// "gitdir:" of a linked worktree whose repository is inside the root; without it such a file is Unknown.
	Root string
	// Enclosed says that the FS root itself lies inside a repository that the FS cannot read. Files that
	// belong to no nearer repository are then Unknown instead of Clean.
	Enclosed bool
}

// Status judges one file or symbolic link (the link itself, not its target). A path that does not exist is
// judged as well: a tracked one is Modified. A directory and anything inside ".git" is Unknown.
// The content of a clean file was read back from the object store. The context is looked at while large
// files are hashed.
func Status(ctx context.Context, fsys FS, path string, opt Options) Verdict {
	state, err := status(ctx, fsys, path, opt)
	if err != nil {
		return Verdict{State: Unknown, Reason: reason(err)}
	}
	return Verdict{State: state}
}

// CountDirty counts dirty paths below a directory, up to limit (no limit if it is not positive). It hashes
// every tracked file below, so its cost is that of reading them. That the object store can give their content
// back is looked up, but not read as Status does. Below a directory that is in no repository, each repository found counts by its own index.
// Empty directories and files that git cannot track (FIFOs, sockets, devices) do not count.
func CountDirty(ctx context.Context, fsys FS, dir string, limit int, opt Options) Count {
	c := &counter{ctx: ctx, fsys: fsys, opt: opt, limit: limit, left: maxVisited, trees: maxTrees}
	if err := c.run(dir); err != nil && !errors.Is(err, errLimit) {
		c.unknown(err)
	}
	return c.Count
}

func status(ctx context.Context, fsys FS, path string, opt Options) (State, error) {
	if path == "" {
		return Unknown, unknownf("the root is a directory")
	}
	if err := checkPath(path); err != nil {
		return Unknown, err
	}
	r, err := find(fsys, wspath.ParentOf(path), opt)
	if err != nil {
		return Unknown, err
	}
	if r == nil {
		return outside(opt)
	}
	defer r.close()

	info, err := lstat(fsys, path)
	if err != nil {
		return Unknown, err
	}
	if info != nil && info.IsDir() {
		return Unknown, unknownf("%q is a directory", path)
	}
	entry, _, err := r.indexEntries(ctx, r.sub(path))
	if err != nil {
		return Unknown, err
	}
	return r.judge(ctx, subject{
		path: path, index: entry, info: info,
		head:   func() (*treeEntry, error) { return r.headEntry(ctx, r.sub(path)) },
		stored: func() error { return r.stored(ctx, entry.id) },
	})
}

// outside is the state of a path that no repository inside the FS covers.
func outside(opt Options) (State, error) {
	if opt.Enclosed {
		return Unknown, unknownf("the repository lies above the workspace")
	}
	return Clean, nil
}

// subject is one path with what is needed to judge it. The functions are called only where the cheaper
// comparisons have not decided.
type subject struct {
	path  string
	index *indexEntry // nil: not in the index
	info  fs.FileInfo // nil: not in the work tree
	head  func() (*treeEntry, error)
	// stored makes sure that the object store has the blob of index.
	stored func() error
}

// judge compares work tree, index and HEAD, in this order: content that is nowhere else weighs more than
// content that the index still has.
func (r *repo) judge(ctx context.Context, s subject) (State, error) {
	if s.index != nil {
		same, err := r.workMatches(ctx, s.path, s.index, s.info)
		if err != nil {
			return Unknown, err
		}
		if !same {
			return Modified, nil
		}
	}
	head, err := s.head()
	if err != nil {
		return Unknown, err
	}
	if head != nil && head.isTree() {
		head = nil // a directory in HEAD is not this path's earlier version
	}
	switch {
	case s.index != nil && (head == nil || head.mode != s.index.mode || head.id != s.index.id):
		return Staged, nil
	case s.index == nil && head != nil:
		return Staged, nil
	case s.info == nil:
		return Clean, nil // nothing is there to be lost
	case s.index != nil:
		if err := s.stored(); err != nil {
			return Unknown, err
		}
		return Clean, nil
	case !trackable(s.info.Mode()):
		return Clean, nil
	}
	return Untracked, nil
}

// trackable reports whether git could hold a file of this kind.
func trackable(m fs.FileMode) bool { return m.IsRegular() || m&fs.ModeSymlink != 0 }

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
