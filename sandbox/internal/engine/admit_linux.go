package engine

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/internal/failure"
)

// admit refuses descriptors that lead past the private tree. They belong to the host's tree, where the covers do not
// lie: below a directory, and by opening a file again through /proc/self/fd, a program could do all that the grants
// above a cover allow. Where those allow no more than the cover leaves, nothing is lost by that.
func admit(plan *fit.Plan, target int, file *os.File) error {
	if plan.Tier != fit.TierNamespace {
		// Landlock judges an opening by where the object is, however it is reached. Through /proc/self/fd a program
		// gets what the rules grant there, and no more.
		return nil
	}
	name := fmt.Sprintf("descriptor %d", target)
	if target < 3 {
		name = [...]string{"standard input", "standard output", "standard error"}[target]
	}
	refuse := func(format string, args ...any) error {
		return &failure.Error{Kind: failure.File, Step: name + " is " + fmt.Sprintf(format, args...)}
	}
	fd := int(file.Fd())
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return failure.At(failure.Failed, "looking at "+name, "", err)
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return refuse("a directory, and what the rules withhold could be reached through it\n" +
			"name the directory as an argument instead")
	case unix.S_IFREG:
	default:
		return nil
	}
	at, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	flags, err2 := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err := errors.Join(err, err2); err != nil {
		return failure.At(failure.Failed, "looking at "+name, "", err)
	}
	const content = jptool.Read | jptool.Update | jptool.Execute
	var have jptool.Caps
	switch flags & unix.O_ACCMODE {
	case unix.O_RDONLY:
		have = jptool.Read
	case unix.O_WRONLY:
		have = jptool.Update
	default:
		have = jptool.Read | jptool.Update
	}
	// The kernel adds " (deleted)" to a name that is gone, and a file that is there may have a name that ends like this.
	// Both readings are checked, and the stricter one counts.
	for _, p := range []string{at, strings.TrimSuffix(at, " (deleted)")} {
		c := coverOf(plan, p)
		if c == nil {
			continue
		}
		// Creating and deleting are rights on a directory. Executing counts whatever the mode is: the owner of a
		// file can change that through the descriptor.
		if plan.Granted(p)&c.Withholds()&content&^have != 0 {
			return refuse("%q, which the rules withhold, and a program could open it again with the rights around it\n"+
				"hand it down through a pipe: cat FILE | …", at)
		}
	}
	return nil
}

// coverOf is the innermost cover over a path, or nil.
func coverOf(plan *fit.Plan, p string) *fit.Cover {
	for ; ; p = path.Dir(p) {
		for i := len(plan.Covers) - 1; i >= 0; i-- {
			if plan.Covers[i].Path == p {
				return &plan.Covers[i]
			}
		}
		if path.Dir(p) == p {
			return nil
		}
	}
}
