package preset

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/jptools/jptools/host/internal/places"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/sandbox/baseline"
)

// judge decides whether a place can be granted. Whatever it was found by, it opens no secrets, and a link that a
// program or another user may have made does not choose the place.
func (s *finder) judge(p *Place) {
	writes := p.Access == write
	refuse := func(why, remedy string) { p.Refused, p.Remedy = why, remedy }
	if p.lost != nil {
		refuse("it cannot be followed: "+wspath.Bare(p.lost).Error(), "")
		return
	}
	if _, in := wspath.WithinAbs(s.Workspace, p.abs); in && s.Workspace != "" {
		p.Inside = true
		return
	}
	self := "if that is right, grant it yourself: --ro " + show.Word(filepath.FromSlash(p.abs))
	if writes {
		self = "look at what it is, and remove it"
	}
	home := s.homes()
	real := ""
	if len(home) > 0 {
		real = home[len(home)-1]
	}
	for _, hop := range p.hops {
		if baseline.Planted(hop.Entry, real, append(slices.Clone(s.Writable), s.Workspace)) {
			refuse(fmt.Sprintf("%s is a symlink that a program or another user may have made, and it leads to %s",
				show.Visible(hop.Entry), show.Visible(p.abs)), self)
			return
		}
	}
	fi, err := os.Lstat(filepath.FromSlash(p.abs))
	there := err == nil
	exact := there && !fi.IsDir()
	if why := places.Never(p.abs, writes, exact, home...); why != "" {
		refuse(why, "leave it out, or name a narrower place")
		return
	}
	for _, dir := range s.Own {
		to, err := wspath.CanonicalizeAbs(dir, nil)
		_, in := wspath.WithinAbs(to.Abs, p.abs)
		_, holds := wspath.WithinAbs(p.abs, to.Abs)
		if err == nil && (in || holds && writes) {
			refuse("it belongs to the configuration and state of jphost, or holds them", "use another place")
			return
		}
	}
	if !writes {
		return
	}
	_, around := wspath.WithinAbs(p.abs, s.Workspace)
	switch {
	case around && s.Workspace != "":
		refuse("the workspace lies in it", "use another place")
	case there && !fi.IsDir():
		refuse("it is not a directory", "")
	case there && state.Foreign(fi):
		refuse("it belongs to another user", self)
	case othersWrite(p.abs):
		refuse("other users can write there, or in what holds it", "look at what is in there, then: chmod 700")
	case p.Made && !ownParent(p.abs):
		refuse("it is not there, and would be made in a directory of another user", "make it yourself, or use another place")
	}
}

// ownParent reports whether the nearest directory above a missing path belongs to this user, or is one in which all
// users make their own.
func ownParent(abs string) bool {
	for dir := path.Dir(abs); ; dir = path.Dir(dir) {
		fi, err := os.Lstat(filepath.FromSlash(dir))
		if err == nil {
			return !state.Foreign(fi) || fi.Mode()&os.ModeSticky != 0
		}
		if dir == path.Dir(dir) {
			return false
		}
	}
}

// othersWrite reports whether one of the last three directories of a path, as far as they are there, can be written by
// other users: those that this program makes are this user's alone.
func othersWrite(abs string) bool {
	for range 3 {
		fi, err := os.Lstat(filepath.FromSlash(abs))
		if err == nil && runtime.GOOS != "windows" && fi.Mode().Perm()&0o022 != 0 && fi.Mode()&os.ModeSticky == 0 {
			return true
		}
		abs = path.Dir(abs)
	}
	return false
}
