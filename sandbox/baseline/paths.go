package baseline

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool/wspath"
)

// Check refuses a path of which no sandbox could be made.
func (e Extra) Check() error {
	switch {
	case !path.IsAbs(e.Path):
		return fmt.Errorf("%s: sandbox.paths: %q is not absolute", e.Origin, e.Path)
	case e.Path == "/":
		return fmt.Errorf("%s: sandbox.paths: / is everything\nname the directories that programs need, or write sandbox.mode = \"off\"", e.Origin)
	case e.Path == "/proc" || strings.HasPrefix(e.Path, "/proc/"):
		return fmt.Errorf("%s: sandbox.paths: %s shows other processes, and a tool has a /proc of its own\ntake it out", e.Origin, e.Path)
	}
	return nil
}

// Planted reports whether somebody else than the person may have made a symlink, who must not choose what a path of a
// flag or of the configuration means: a repository, an unpacked archive, a program in an earlier call, another user.
// Nothing records where programs were allowed to write, so only those links count as the person's own or
// the system's that lie directly in the home directory or in a directory of the system, or belong to
// root where the person is somebody else. Never those in dirs: the workspace, and what is granted for writing now. The link, home
// and dirs are canonical, with slashes.
func Planted(link, home string, dirs []string) bool {
	for _, dir := range dirs {
		if _, in := wspath.WithinAbs(dir, link); in {
			return true
		}
	}
	dir := path.Dir(link)
	if dir == home || slices.Contains(administered, dir) {
		return false
	}
	for _, system := range installed {
		if _, in := wspath.WithinAbs(system, link); in {
			return false
		}
	}
	fi, err := os.Lstat(filepath.FromSlash(link))
	return err != nil || !administrators(fi)
}

// installed hold what the system is installed to, administered what an administrator puts beside it.
var (
	installed    = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/nix", "/gnu", "/run", "/proc", "/sys"}
	administered = []string{"/", "/var", "/opt", "/srv", "/home", "/mnt", "/media"}
)
