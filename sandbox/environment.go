package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
)

// minimal are the variables that every program gets: those of RFD 075 ("Environment variable isolation"), and
// those that say how to write for the person: the terminal, its colours and size, and the time zone.
var minimal = []string{
	"PATH", "HOME", "USER", "LANG", "LC_*", "TMPDIR", "TERM", "COLORTERM", "NO_COLOR", "COLUMNS", "LINES", "TZ",
}

// minimalWindows are added on Windows, where little starts without them.
var minimalWindows = []string{
	"COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "APPDATA", "NUMBER_OF_PROCESSORS", "OS", "PATHEXT",
	"PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR",
}

// MinimalEnvironment returns the variables that every program gets, as env rules name them: exactly, or with a * for
// any rest.
func MinimalEnvironment(windows bool) []string {
	if windows {
		return slices.Concat(minimal, minimalWindows)
	}
	return slices.Clone(minimal)
}

// Environment returns what a program gets of environ (NAME=value): the minimal set, without what a rule with
// read = false names, and with what a rule with read = true names. A nil policy has no rules. Of several entries
// with one name the last counts.
//
// withheld are the names of all other variables, sorted; never their values. A secret in the value of a variable
// that a rule grants is not noticed.
func Environment(environ []string, policy *jptool.EnvPolicy) (env, withheld []string) {
	return environment(environ, policy, runtime.GOOS == "windows")
}

// environment takes the platform's habit as a parameter, so that tests force both.
func environment(environ []string, policy *jptool.EnvPolicy, windows bool) (env, withheld []string) {
	env = []string{}
	seen := map[string]bool{}
	for _, entry := range slices.Backward(environ) {
		// Windows keeps the directory of each drive in names that begin with `=`.
		name, _, ok := strings.Cut(entry, "=")
		if !ok || name == "" {
			continue
		}
		key := name
		if windows {
			key = strings.ToUpper(name)
		}
		if seen[key] {
			continue
		}
		seen[key] = true
		d := policy.Evaluate(name)
		if d.Rule >= 0 && d.Allowed || d.Rule < 0 && isMinimal(key, windows) {
			env = append(env, entry)
		} else {
			withheld = append(withheld, name)
		}
	}
	slices.Reverse(env)
	slices.Sort(withheld)
	return env, withheld
}

func isMinimal(key string, windows bool) bool {
	match := func(name string) bool {
		prefix, open := strings.CutSuffix(name, "*")
		return key == name || open && strings.HasPrefix(key, prefix)
	}
	return slices.ContainsFunc(minimal, match) || windows && slices.ContainsFunc(minimalWindows, match)
}

// withTemp returns an environment with another directory for temporary files, if there is one.
func withTemp(env []string, dir string) []string {
	if dir == "" {
		return env
	}
	env = slices.DeleteFunc(slices.Clone(env), func(entry string) bool { return strings.HasPrefix(entry, "TMPDIR=") })
	return append(env, "TMPDIR="+dir)
}

// LookPath returns the absolute path of the file that a program's name means. A name with a slash (on Windows also a
// backslash) is relative to dir; any other is looked up in the directories of searchPath. Empty and relative
// entries of searchPath are skipped: what is started must not depend on the directory that one happens to be in.
// Links are not resolved.
func LookPath(program, dir, searchPath string) (string, error) {
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

// executable returns a path with separators if it is a file that this user may execute. On Windows it tries the
// extensions of PATHEXT.
func executable(path string) (string, error) {
	found, err := exec.LookPath(path)
	if e := (*exec.Error)(nil); errors.As(err, &e) {
		return "", &fs.PathError{Op: "exec", Path: path, Err: wspath.Bare(e.Err)}
	}
	return found, err
}
