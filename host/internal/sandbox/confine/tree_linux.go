package confine

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/jptools/jptools/host/internal/sandbox/sysprog"
	"github.com/jptools/jptools/sandbox/fit"
	"golang.org/x/sys/unix"
)

// base is where the private root is put together before the process moves into it. It is
// used in a mount namespace of our own; what the host has there is opened before.
const base = "/tmp"

// Attributes of mounts. Device nodes in trees are of no use to a tool, and a danger.
const (
	attrTree = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	attrMask = attrTree | unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOEXEC
)

// place is something to be mounted at its own path: a part of the host's tree, or a cover.
type place struct {
	fit.Node
	attr   uint64
	source sysprog.Slot // an open mount, when there is one
	cover  bool         // or a pin
	hide   bool
	again  bool

	mounted bool
}

// layout writes the part of a program that makes the private tree.
type layout struct {
	*writer
	root   sysprog.Slot // the private root
	masks  sysprog.Slot // a tmpfs for what hides
	umask  sysprog.Slot
	made   map[string]bool
	mounts map[string]bool // host trees, below which nothing is made
	covers []place
}

// tree writes the making of the private tree and returns its covers.
func (w *writer) tree() ([]place, error) {
	l := &layout{writer: w, made: map[string]bool{"/": true}, mounts: map[string]bool{}}
	l.TopicOf(spaces, "making mounts private")
	l.mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	places, links, err := l.places()
	if err != nil {
		return nil, err
	}
	devices := make([]place, len(w.plan.Devices))
	for i, p := range w.plan.Devices {
		// Read-only does not keep them from being written to, only from being chmodded.
		devices[i] = place{Node: fit.Node{Path: p, Kind: fit.Special}, attr: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC | unix.MOUNT_ATTR_RDONLY}
	}
	l.layers(places)
	// Everything of the host is opened before anything lies over it.
	for _, list := range [][]place{places, devices, l.covers} {
		for i := range list {
			if p := &list[i]; !p.cover || p.again {
				l.take(p, l.open(cwd, p.Path, &p.Node))
			}
		}
	}
	l.begin()
	for _, link := range links {
		l.parents(link.Path)
		l.Topic("linking " + link.Path)
		l.Call(unix.SYS_SYMLINKAT, l.String(link.to).Arg(), l.root.Arg(), l.String(rel(link.Path)).Arg())
		l.made[link.Path] = true
	}
	for i := range places {
		l.put(&places[i])
	}
	for i := range devices { // after a place that holds them, where there is one: it has none
		l.put(&devices[i])
	}
	for i := range l.covers {
		l.cover(&l.covers[i], i)
	}
	l.quiet()
	l.enter()
	return l.covers, nil
}

type symlink struct {
	fit.Node
	to string
}

// places are the parts of the host's tree, outer before inner, and the links among them.
func (l *layout) places() (list []place, links []symlink, err error) {
	for i := range l.plan.Runtime {
		n := &l.plan.Runtime[i].Node
		switch {
		case n.Path == "/proc" || strings.HasPrefix(n.Path, "/proc/"): // there is a new one
		case n.Kind == fit.Link:
			to, err := readLink(n)
			if err != nil {
				return nil, nil, err
			}
			links = append(links, symlink{*n, to})
		default:
			list = append(list, place{Node: *n, attr: attrTree | unix.MOUNT_ATTR_RDONLY})
		}
	}
	for _, n := range l.plan.Trees {
		if n.Path == "/" {
			return nil, nil, errors.New("a private tree cannot be made of the whole file system\nuse the Landlock tier, or a smaller workspace")
		}
		list = append(list, place{Node: n, attr: attrTree})
	}
	slices.SortStableFunc(list, byDepth)
	// What lies in a part that is there already, as it is there, needs no mount of its own.
	list = slices.DeleteFunc(slices.Clone(list), func(p place) bool {
		return p.attr&unix.MOUNT_ATTR_RDONLY != 0 && slices.ContainsFunc(list, func(q place) bool { return fit.Holds(q.Path, p.Path) && q.Path != p.Path })
	})
	return list, links, nil
}

func byDepth(a, b place) int { return fit.OuterFirst(a.Path, b.Path) }

func rel(p string) string { return strings.TrimPrefix(p, "/") }

// readLink returns where a link points to, if it is still the same link.
func readLink(n *fit.Node) (string, error) {
	fd, err := openNode(n)
	if err != nil {
		return "", err
	}
	defer func() { _ = unix.Close(fd) }()
	var b [unix.PathMax]byte
	size, err := unix.Readlinkat(fd, "", b[:])
	if err != nil {
		return "", fmt.Errorf("reading the link %q: %w", n.Path, err)
	}
	return string(b[:size]), nil
}

// layers are covers and pins in one order, outer before inner. A place that is a mount
// already needs no pin, and no cover that only restricts it.
func (l *layout) layers(places []place) {
	taken := map[string]bool{}
	for _, t := range l.plan.Trees {
		taken[t.Path] = true
	}
	if !l.r.NoCovers {
		for _, c := range l.plan.Covers {
			p := place{Node: c.Node, cover: true, hide: c.Hide, again: c.Again}
			if c.ReadOnly {
				p.attr |= unix.MOUNT_ATTR_RDONLY
			}
			if c.NoExec {
				p.attr |= unix.MOUNT_ATTR_NOEXEC
			}
			if p.again {
				p.attr |= attrTree
			}
			if i := slices.IndexFunc(places, func(q place) bool { return q.Path == p.Path }); i >= 0 && !p.hide && !p.again {
				places[i].attr |= p.attr
				continue
			}
			l.covers, taken[c.Path] = append(l.covers, p), true
		}
	}
	if !l.r.NoPins {
		for _, n := range l.plan.Pins {
			if !taken[n.Path] {
				l.covers = append(l.covers, place{Node: n, cover: true})
			}
		}
	}
	slices.SortStableFunc(l.covers, byDepth)
}

// mount is mount(2); empty strings are null.
func (l *layout) mount(source, target, kind string, flags uint, data string) {
	args := [5]sysprog.Arg{sysprog.Int(0), sysprog.Int(0), sysprog.Int(0), sysprog.Int(flags), sysprog.Int(0)}
	for i, s := range map[int]string{0: source, 1: target, 2: kind, 4: data} {
		if s != "" {
			args[i] = l.String(s).Arg()
		}
	}
	l.Call(unix.SYS_MOUNT, args[:]...)
}

// take makes a mount of its own out of what is open, with all mounts in it.
func (l *layout) take(p *place, fd sysprog.Slot) {
	l.Topic("mounting " + p.Path)
	p.source = l.Call(unix.SYS_OPEN_TREE, fd.Arg(), l.none.Arg(),
		sysprog.Int(unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_EMPTY_PATH))
	l.attributes(p.source, p.attr, unix.AT_RECURSIVE)
}

// attributes adds attributes to an open mount.
func (l *layout) attributes(fd sysprog.Slot, attr uint64, flags int) {
	if attr != 0 {
		l.Call(unix.SYS_MOUNT_SETATTR, fd.Arg(), l.none.Arg(), sysprog.Int(unix.AT_EMPTY_PATH|flags),
			l.Words(attr, 0, 0, 0).Arg(), sysprog.Int(unix.MOUNT_ATTR_SIZE_VER0))
	}
}

// begin makes the private root, its temporary directory, /proc and /dev.
func (l *layout) begin() {
	l.TopicOf(spaces, "mounting a private root")
	l.umask = l.Call(unix.SYS_UMASK, sysprog.Int(0))
	if slices.ContainsFunc(l.covers, func(p place) bool { return p.hide }) {
		l.mount("masks", base, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755,size=1m")
		l.masks = l.dir(base)
		l.file(l.masks, "file", 0)
	}
	l.mount("private", base, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755,size=4m")
	l.root = l.dir(base)
	if temp := l.plan.Temp; temp != "" {
		l.parents(temp + "/")
		l.TopicOf(spaces, "mounting a private temporary directory")
		size := ""
		if l.plan.Limits.Memory > 0 {
			size = ",size=" + strconv.FormatInt(l.plan.Limits.Memory, 10)
		}
		l.mount("temporary", base+temp, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777"+size)
	}
	l.parents("/proc/")
	l.TopicOf(spaces, "mounting a private /proc")
	l.mount("proc", base+"/proc", "proc", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	l.parents("/dev/")
	for _, link := range [][2]string{{"fd", "/proc/self/fd"}, {"stdin", "fd/0"}, {"stdout", "fd/1"}, {"stderr", "fd/2"}, {"shm", l.plan.Temp}} {
		at := "/dev/" + link[0]
		if link[1] != "" && !l.occupied(at) {
			l.Call(unix.SYS_SYMLINKAT, l.String(link[1]).Arg(), l.root.Arg(), l.String(rel(at)).Arg())
		}
	}
}

// quiet empties what the private /proc tells of more than the call: the command line of the init, which is that
// of this process, with all its grants, and the keys of the user by name.
func (l *layout) quiet() {
	if !slices.Contains(l.plan.Devices, os.DevNull) {
		return
	}
	for _, name := range []string{"1/cmdline", "keys"} {
		l.Topic("emptying /proc/" + name)
		null := l.Call(unix.SYS_OPEN_TREE, l.root.Arg(), l.String(rel(os.DevNull)).Arg(), sysprog.Int(unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC))
		l.Call(unix.SYS_MOVE_MOUNT, null.Arg(), l.none.Arg(), l.root.Arg(), l.String("proc/"+name).Arg(), sysprog.Int(unix.MOVE_MOUNT_F_EMPTY_PATH))
		l.Accept(unix.ENOENT) // a kernel without keys
	}
}

// occupied reports whether something of the host's tree comes to a path, or below it.
func (l *layout) occupied(at string) bool {
	for i := range l.plan.Trees {
		if fit.Holds(at, l.plan.Trees[i].Path) {
			return true
		}
	}
	for i := range l.plan.Runtime {
		if fit.Holds(at, l.plan.Runtime[i].Path) {
			return true
		}
	}
	return false
}

func (l *layout) dir(p string) sysprog.Slot {
	return l.Call(unix.SYS_OPENAT, cwd, l.String(p).Arg(), sysprog.Int(unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC), sysprog.Int(0))
}

func (l *layout) mkdir(at sysprog.Slot, p string, mode int) {
	l.Call(unix.SYS_MKDIRAT, at.Arg(), l.String(p).Arg(), sysprog.Int(mode))
}

func (l *layout) file(at sysprog.Slot, p string, mode int) {
	l.Call(unix.SYS_MKNODAT, at.Arg(), l.String(p).Arg(), sysprog.Int(unix.S_IFREG|mode), sysprog.Int(0))
}

// parents makes the directories above a path in the private root.
func (l *layout) parents(p string) {
	for i := 1; i < len(p); i++ {
		if dir := p[:i]; p[i] == '/' && !l.made[dir] {
			l.made[dir] = true
			l.Topic("making a place for " + p)
			l.mkdir(l.root, rel(dir), 0o755)
		}
	}
}

// put mounts a part of the host's tree at its own path.
func (l *layout) put(p *place) {
	for dir := range l.mounts {
		if fit.Holds(dir, p.Path) { // it is there, or gone
			l.attach(p, l.open(l.root.Arg(), rel(p.Path), &p.Node))
			return
		}
	}
	l.parents(p.Path)
	l.Topic("making a place for " + p.Path)
	if !l.made[p.Path] {
		if p.Kind == fit.Dir {
			l.mkdir(l.root, rel(p.Path), 0o755)
		} else {
			l.file(l.root, rel(p.Path), 0o444)
		}
		l.made[p.Path] = true
	}
	l.Topic("mounting " + p.Path)
	l.Call(unix.SYS_MOVE_MOUNT, p.source.Arg(), l.none.Arg(), l.root.Arg(), l.String(rel(p.Path)).Arg(), sysprog.Int(unix.MOVE_MOUNT_F_EMPTY_PATH))
	if p.Kind == fit.Dir {
		l.mounts[p.Path] = true
	}
}

// attach mounts on something that is open.
func (l *layout) attach(p *place, on sysprog.Slot) {
	l.Topic("mounting " + p.Path)
	l.Call(unix.SYS_MOVE_MOUNT, p.source.Arg(), l.none.Arg(), on.Arg(), l.none.Arg(), sysprog.Int(unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH))
}

// cover mounts a cover or a pin.
func (l *layout) cover(p *place, number int) {
	switch {
	case p.again: // in a mask that we have made ourselves; the original was looked at
		l.attach(p, l.open(l.root.Arg(), rel(p.Path), &fit.Node{Path: p.Path}))
	case l.hidden(p): // with the directory that it is in
		return
	case p.hide:
		on := l.open(l.root.Arg(), rel(p.Path), &p.Node)
		l.Topic("hiding " + p.Path)
		p.source = l.mask(p, number)
		l.attach(p, on)
	default:
		on := l.open(l.root.Arg(), rel(p.Path), &p.Node)
		l.take(p, on)
		l.attach(p, on)
	}
	p.mounted = true
}

// hidden reports whether the next cover above p hides it.
func (l *layout) hidden(p *place) bool { return l.above(p.Path) != nil && l.above(p.Path).hide }

// above is the next hiding or revealing cover above a path.
func (l *layout) above(p string) (found *place) {
	for i := range l.covers {
		if q := &l.covers[i]; (q.hide || q.again) && q.Path != p && fit.Holds(q.Path, p) {
			found = q // outer before inner
		}
	}
	return found
}

// mask makes what hides a place: a file that nobody can open, or a directory with nothing
// but the way to what is mounted again in it. It is read-only, so that nobody changes its mode.
func (l *layout) mask(p *place, number int) sysprog.Slot {
	name := "file"
	if p.Kind == fit.Dir {
		name = strconv.Itoa(number)
		l.mkdir(l.masks, name, 0o555)
		made := map[string]bool{p.Path: true}
		for i := range l.covers {
			q := &l.covers[i]
			if !q.again || l.above(q.Path) != p {
				continue
			}
			for dir, way := path.Dir(q.Path), []string(nil); ; dir = path.Dir(dir) {
				if !made[dir] {
					way, made[dir] = append(way, dir), true
					continue
				}
				for _, d := range slices.Backward(way) {
					l.mkdir(l.masks, name+strings.TrimPrefix(d, p.Path), 0o555)
				}
				break
			}
			if at := name + strings.TrimPrefix(q.Path, p.Path); q.Kind == fit.Dir {
				l.mkdir(l.masks, at, 0o555)
			} else {
				l.file(l.masks, at, 0)
			}
		}
	}
	fd := l.Call(unix.SYS_OPEN_TREE, l.masks.Arg(), l.String(name).Arg(), sysprog.Int(unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC))
	l.attributes(fd, attrMask, 0)
	return fd
}

// enter leaves the host's tree.
func (l *layout) enter() {
	l.TopicOf(spaces, "entering the private root")
	l.Call(unix.SYS_FCHDIR, l.root.Arg())
	dot := l.String(".")
	l.Call(unix.SYS_PIVOT_ROOT, dot.Arg(), dot.Arg()) // the old root lies on the new one now
	l.Call(unix.SYS_UMOUNT2, dot.Arg(), sysprog.Int(unix.MNT_DETACH))
	l.Call(unix.SYS_CHDIR, l.String("/").Arg())
	l.attributes(l.root, unix.MOUNT_ATTR_RDONLY, 0)
	l.Call(unix.SYS_UMASK, l.umask.Arg())
}
