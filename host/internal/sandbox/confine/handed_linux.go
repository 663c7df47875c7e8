package confine

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox/fit"
	"golang.org/x/sys/unix"
)

// admit refuses descriptors that lead past the private tree. They belong to the host's tree,
// where the covers do not lie: below a directory, and by opening a file again through
// /proc/self/fd, a program could do all that the grants above a cover allow. Where they allow no more than
// the cover leaves, nothing is lost by that.
func (w *writer) admit(to int, file *os.File) error {
	if w.plan.Tier != fit.TierNamespace {
		return nil // Landlock judges by where things are, not by how they are reached
	}
	name := fmt.Sprintf("descriptor %d", to)
	if to < 3 {
		name = [...]string{"standard input", "standard output", "standard error"}[to]
	}
	fd := int(file.Fd())
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("looking at %s: %w", name, err)
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return fmt.Errorf("%s is a directory, and what the rules withhold could be reached through it\nname the directory as an argument instead", name)
	case unix.S_IFREG:
	default:
		return nil
	}
	at, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	flags, err2 := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err := errors.Join(err, err2); err != nil {
		return fmt.Errorf("looking at %s: %w", name, err)
	}
	have := [...]jptool.Caps{unix.O_RDONLY: jptool.Read, unix.O_WRONLY: jptool.Update, unix.O_RDWR: jptool.Read | jptool.Update}[min(flags&unix.O_ACCMODE, unix.O_RDWR)]
	// The kernel's mark on a name that is gone may also be a part of one that is not.
	for _, p := range []string{at, strings.TrimSuffix(at, " (deleted)")} {
		c := w.coverOf(p)
		if c == nil {
			continue
		}
		var withheld jptool.Caps
		if c.Hide {
			withheld |= jptool.Read | jptool.Update | jptool.Execute
		}
		if c.ReadOnly {
			withheld |= jptool.Update
		}
		if c.NoExec { // whatever its mode: the owner can change that through the descriptor
			withheld |= jptool.Execute
		}
		if w.granted(p)&withheld&^have != 0 {
			return fmt.Errorf("%s is %q, which the rules withhold, and a program could open it again with the rights around it\nhand it down through a pipe: cat FILE | …", name, at)
		}
	}
	return nil
}

// granted is what Landlock allows at a path, whatever is mounted there.
func (w *writer) granted(p string) (caps jptool.Caps) {
	for _, list := range [][]fit.Grant{w.plan.Grants, w.plan.Runtime} {
		for i := range list {
			if fit.Holds(list[i].Path, p) {
				caps |= list[i].Caps
			}
		}
	}
	return caps
}

// coverOf is the innermost cover over a path, or nil.
func (w *writer) coverOf(p string) *fit.Cover {
	for ; ; p = path.Dir(p) {
		for i := len(w.plan.Covers) - 1; i >= 0; i-- {
			if w.plan.Covers[i].Path == p {
				return &w.plan.Covers[i]
			}
		}
		if path.Dir(p) == p {
			return nil
		}
	}
}
