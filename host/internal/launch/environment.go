package launch

import (
	"runtime"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool"
)

// minimal are the variables that every tool gets (RFD 075, "Environment variable isolation").
var minimal = []string{"PATH", "HOME", "USER", "LANG", "LC_*", "TMPDIR"}

// minimalWindows are added on Windows, where little starts without them.
var minimalWindows = []string{
	"COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "APPDATA", "NUMBER_OF_PROCESSORS", "OS", "PATHEXT",
	"PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR",
}

// Minimal are the variables that every tool gets, as rules of access.env name them: exactly, or
// with a * for any rest.
func Minimal(windows bool) []string {
	if windows {
		return slices.Concat(minimal, minimalWindows)
	}
	return slices.Clone(minimal)
}

// Environment chooses from environ (NAME=value, as os.Environ gives it) what a tool
// gets: the minimal set, less what a rule of access.env with read = false names, and what
// a rule with read = true adds. Without rules that is the minimal set alone, and so it is
// for a nil policy. Of several entries with one name the last counts.
//
// withheld are the names of all other variables, sorted, for the report of a failure.
// They are never values. A secret in the value of a variable that a rule grants is not
// noticed.
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
