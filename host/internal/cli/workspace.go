package cli

import (
	"os"
	"path/filepath"

	"github.com/jptools/jptools/host/internal/state"
)

// findRoot finds the workspace around the directory cwd: the nearest directory with a
// `.jp` directory, else with `.git`, else the outermost with a `.jp.toml` (so that no
// restriction is left out), else cwd itself. A directory that everybody may write to and the
// mark in it have to be this user's own, because somebody else may have put it there; a tool that changes the mode of
// the workspace's root does not get rid of its rules. Home and the root of the file system are passed over:
// a mark there must not make everything one workspace.
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
