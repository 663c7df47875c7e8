package launch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Resolve finds the file that a program's name means: one with a slash (on Windows also
// a backslash) is relative to dir, any other is looked for in the directories of
// searchPath. Empty and relative entries of searchPath are skipped: what is started must
// not depend on the directory one happens to be in. The result is absolute; its links
// are not resolved.
func Resolve(program, dir, searchPath string) (string, error) {
	switch {
	case program == "":
		return "", errors.New("the program's name is empty\ncheck what its placeholders were filled with")
	case strings.IndexByte(program, 0) >= 0:
		return "", errors.New("the program's name holds a NUL byte")
	case filepath.IsAbs(program):
		return executable(program)
	case strings.ContainsAny(program, "/"+string(filepath.Separator)):
		return executable(filepath.Join(dir, program))
	}
	var denied error
	for _, entry := range filepath.SplitList(searchPath) {
		if !filepath.IsAbs(entry) {
			continue
		}
		path, err := executable(filepath.Join(entry, program))
		if err == nil {
			return path, nil
		}
		// A file without the x bit is a better explanation than "not found".
		if denied == nil && errors.Is(err, os.ErrPermission) {
			denied = err
		}
	}
	if denied != nil {
		return "", denied
	}
	return "", fmt.Errorf("there is no such program in PATH\ninstall it, or write its path; with a slash it is relative to the workspace. PATH is %s", searchPath)
}
