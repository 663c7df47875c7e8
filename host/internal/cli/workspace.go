package cli

import (
	"os"
	"path/filepath"

	"github.com/jptools/jptools/host/internal/state"
)

// findRoot finds the workspace around the directory cwd: the nearest directory with a `.jp` directory, else with
// `.git`, else the outermost with a `.jp.toml` (so that no restriction is left out), else cwd itself.
//
// In a directory that everybody may write to, the directory and the mark must belong to this user, because somebody
// else could have put the mark there. This does not count for cwd itself: a tool that makes the root of the workspace
// writable for everybody must not get rid of its rules. A mark in the home directory or in the root of the file system
// does not count either: it would make everything one workspace.
func findRoot(cwd, home string) string {
	var dirs []string
	for dir := cwd; ; dir = filepath.Dir(dir) {
		if parent := filepath.Dir(dir); parent == dir || dir == home {
			break
		}
		dirs = append(dirs, dir)
	}
	marked := func(dir, mark string, wantDir bool) bool {
		fi, err := os.Stat(filepath.Join(dir, mark))
		if err != nil || wantDir && !fi.IsDir() {
			return false
		}
		at, err := os.Stat(dir)
		if err != nil {
			return false
		}
		if at.Mode().Perm()&0o002 == 0 || dir == cwd {
			return true
		}
		own, err := os.Lstat(filepath.Join(dir, mark)) // a link of others could lead to something of ours
		return err == nil && !state.Foreign(own) && !state.Foreign(at)
	}
	for _, m := range []struct {
		name string
		dir  bool
	}{{".jp", true}, {".git", false}} {
		for _, dir := range dirs {
			if marked(dir, m.name, m.dir) {
				return dir
			}
		}
	}
	for i := len(dirs) - 1; i >= 0; i-- {
		if marked(dirs[i], ".jp.toml", false) {
			return dirs[i]
		}
	}
	return cwd
}
