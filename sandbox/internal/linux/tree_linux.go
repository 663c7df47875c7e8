// Package linux does what a [fit.Plan] says with the means of the Linux kernel: Landlock rules, mounts, and the
// last steps of a process before it becomes the tool.
//
// # Both tiers
//
// Every path of the plan is opened without following links and compared with what was found when the plan was
// made; an error of kind [failure.Changed] says that it is something else now. The tool has no capabilities and
// cannot gain any (no_new_privs), is in a Landlock domain that handles every right of the plan's ABI, and under the
// system call filter of package filter.
//
// # Namespace tier
//
// [BuildTree] makes a private tree: a small tmpfs with a private temporary directory, a new /proc, the devices, what
// the runtime needs (read-only), and the trees of the plan with their covers and pins.
//
// # What is not held
//
// A plan for an old version of Landlock, or for a machine without system call filters, is held by what is there;
// whoever made the plan says what that leaves open. Programs that were granted nothing still see names and metadata
// in the Landlock tier, and everybody can use up the processor. A mask is undone when somebody outside replaces the
// entry that it lies on: [Watcher] notices.
package linux

import (
	"errors"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/internal/failure"
	"github.com/jptools/jptools/sandbox/machine"
)

// base is where the private root is put together before this process moves into it. It is used in a mount
// namespace of our own; what the host has there is opened before.
const base = "/tmp"

// Attributes of mounts. Device nodes and set-user-id files in trees are of no use to a tool, and a danger.
const (
	attrTree = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	attrMask = attrTree | unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOEXEC
)

// place is something to be mounted at its own path: a part of the host's tree, a device, a cover or a pin.
type place struct {
	fit.Node
	attr  uint64
	mount int // a detached mount of it, once there is one; -1 before and after

	cover   bool // or a pin, and not a part of the host's tree
	hide    bool
	again   bool
	mounted bool
}

// tree is a private tree under construction.
type tree struct {
	plan    *fit.Plan
	places  []*place // parts of the host's tree, outer before inner
	devices []*place
	covers  []*place // covers and pins, outer before inner
	links   []link

	root  int             // the private root
	masks int             // a tmpfs for what hides, or -1
	shut  []int           // mounts of ours that become read-only in the end
	made  map[string]bool // entries of the private root
	dirs  []string        // mounts of the host's directories, in which nothing is made
}

type link struct{ path, to string }

// BuildTree makes the private tree of a plan and moves this process and its children into it. The process must be
// alone with them in a mount namespace and a process namespace of its own, and have CAP_SYS_ADMIN there. It returns
// the paths on which mounts must stay, for [Watch].
//
// The order matters. Everything of the host's tree is opened, compared with the plan and detached as a mount of
// its own before the first new mount: afterwards something of ours may lie over it. Then the private root is made,
// with its /tmp, /proc and /dev; then come the host's parts, outer before inner, and over them the covers and pins.
// Last, the host's tree is unmounted, and the root, on which nothing is to be made any more, becomes read-only.
//
// An error of kind [failure.Namespaces] says that the machine does not let us make such a tree.
func BuildTree(plan *fit.Plan) (entries []string, err error) {
	t := &tree{plan: plan, root: -1, masks: -1, made: map[string]bool{"/": true}}
	defer t.close()
	// A new mount namespace shares events with the one that it was copied from. Without this step what is mounted here
	// would appear on the host, and what the host mounts later would appear in the private tree.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return nil, failure.At(failure.Namespaces, "making mounts private", "", err)
	}
	if err := t.choose(); err != nil {
		return nil, err
	}
	for _, p := range t.all() {
		if !p.cover || p.again {
			if err := p.detach(); err != nil {
				return nil, err
			}
		}
	}
	// The modes below are meant as they stand, whatever umask the caller has.
	umask := unix.Umask(0)
	defer unix.Umask(umask)
	if err := t.makeRoot(); err != nil {
		return nil, err
	}
	for _, p := range t.all() {
		if err := t.put(p); err != nil {
			return nil, err
		}
	}
	if err := t.quiet(); err != nil {
		return nil, err
	}
	if err := t.enter(); err != nil {
		return nil, err
	}
	for _, p := range t.covers {
		if p.mounted {
			entries = append(entries, p.Path)
		}
	}
	return entries, nil
}

// all are the places in the order in which they are mounted. Devices come after a part that may hold them: that of the
// host has none, since it is mounted without. Covers come last, since a place that came later could lie over one and
// show what it hides.
func (t *tree) all() []*place { return slices.Concat(t.places, t.devices, t.covers) }

func (t *tree) close() {
	for _, p := range t.all() {
		closeFD(&p.mount)
	}
	closeFD(&t.root)
	closeFD(&t.masks)
	for i := range t.shut {
		closeFD(&t.shut[i])
	}
}

func closeFD(fd *int) {
	if *fd >= 0 {
		_ = unix.Close(*fd)
		*fd = -1
	}
}

// choose says what is mounted, in which order.
func (t *tree) choose() error {
	var list []*place
	for i := range t.plan.Runtime {
		n := &t.plan.Runtime[i].Node
		switch {
		case fit.Holds("/proc", n.Path): // there is a new one
		case n.Kind == fit.Link: // not mounted but made again
			to, err := readLink(n)
			if err != nil {
				return err
			}
			t.links = append(t.links, link{n.Path, to})
		default:
			list = append(list, &place{Node: *n, mount: -1, attr: attrTree | unix.MOUNT_ATTR_RDONLY})
		}
	}
	for _, n := range t.plan.Trees {
		// The private root would lie under it, and with it the covers and the private /proc.
		if n.Path == "/" {
			step := "a private tree cannot be made of the whole file system\nuse the Landlock tier, or a smaller workspace"
			return &failure.Error{Kind: failure.Failed, Step: step}
		}
		list = append(list, &place{Node: n, mount: -1, attr: attrTree})
	}
	slices.SortStableFunc(list, outerFirst)
	// What lies in a part that is there already, as it is there, needs no mount of its own.
	t.places = slices.DeleteFunc(slices.Clone(list), func(p *place) bool {
		inside := func(q *place) bool { return fit.Holds(q.Path, p.Path) && q.Path != p.Path }
		return p.attr&unix.MOUNT_ATTR_RDONLY != 0 && slices.ContainsFunc(list, inside)
	})
	devices := t.plan.Devices
	if free(t.plan, controlling) && unix.Access(controlling, unix.F_OK) == nil {
		// It is the terminal of whoever opens it, and nobody here has one but of those made here.
		devices = append(slices.Clone(devices), controlling)
	}
	for _, p := range devices {
		// Read-only does not keep a device from being written to, only from being chmodded: without it, root in a call
		// could close the host's /dev/null to everybody else.
		attr := uint64(unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC | unix.MOUNT_ATTR_RDONLY)
		t.devices = append(t.devices, &place{Node: fit.Node{Path: p, Kind: fit.Special}, mount: -1, attr: attr})
	}
	t.layer()
	return nil
}

func outerFirst(a, b *place) int { return fit.OuterFirst(a.Path, b.Path) }

func rel(p string) string { return strings.TrimPrefix(p, "/") }

// layer puts covers and pins in one order, outer before inner: an outer one that came later would hide the inner. A
// place that is a mount already needs no pin, and no cover that only restricts it: it gets the restriction itself.
func (t *tree) layer() {
	taken := map[string]bool{}
	for _, n := range t.plan.Trees {
		taken[n.Path] = true
	}
	for _, c := range t.plan.Covers {
		p := &place{Node: c.Node, mount: -1, cover: true, hide: c.Hide, again: c.Again}
		if c.ReadOnly {
			p.attr |= unix.MOUNT_ATTR_RDONLY
		}
		if c.NoExec {
			p.attr |= unix.MOUNT_ATTR_NOEXEC
		}
		if p.again {
			p.attr |= attrTree
		}
		if i := slices.IndexFunc(t.places, func(q *place) bool { return q.Path == p.Path }); i >= 0 && !p.hide && !p.again {
			t.places[i].attr |= p.attr
			continue
		}
		t.covers, taken[c.Path] = append(t.covers, p), true
	}
	for _, n := range t.plan.Pins {
		if !taken[n.Path] {
			t.covers = append(t.covers, &place{Node: n, mount: -1, cover: true})
		}
	}
	slices.SortStableFunc(t.covers, outerFirst)
}

// detach makes a mount of its own out of a part of the host's tree, if it is still the same. The comparison and the
// mount use one descriptor, so that nobody can put something else there in between.
func (p *place) detach() error {
	open := func() (int, error) { return openNode(unix.AT_FDCWD, &p.Node) }
	if p.Kind == fit.Special && p.ID == (fit.ID{}) {
		open = func() (int, error) { return openDevice(p.Path) }
	}
	fd, err := open()
	if err != nil {
		return err
	}
	defer closeFD(&fd)
	return p.take(fd)
}

// take makes a detached mount of something that is open, with all mounts in it: a bind that is not recursive would
// show what lies under them, which the plan knows nothing of. Its attributes are set recursively, or mounts inside would
// stay writable. They are set while the mount is detached, so that no moment exists in which it is there without them.
func (p *place) take(fd int) error {
	var err error
	p.mount, err = unix.OpenTree(fd, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_EMPTY_PATH)
	if err == nil {
		err = setAttributes(p.mount, p.attr, unix.AT_RECURSIVE)
	}
	return failure.At(failure.Failed, "mounting", p.Path, err)
}

func setAttributes(fd int, attr uint64, flags uint) error {
	if attr == 0 {
		return nil
	}
	return unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|flags, &unix.MountAttr{Attr_set: attr})
}

// makeRoot makes the private root, its temporary directory, /proc and /dev.
func (t *tree) makeRoot() error {
	spaces := func(step string, err error) error { return failure.At(failure.Namespaces, step, "", err) }
	tmpfs := func(name, target, options string) error {
		return unix.Mount(name, target, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options)
	}
	var err error
	if slices.ContainsFunc(t.covers, func(p *place) bool { return p.hide }) {
		if err = tmpfs("masks", base, "mode=0755,size=1m"); err == nil {
			if t.masks, err = openDir(base); err == nil {
				err = makeEntry(t.masks, "file", fit.File, 0, 0)
			}
		}
		if err != nil {
			return spaces("mounting a tmpfs for masks", err)
		}
	}
	if err = tmpfs("private", base, "mode=0755,size=4m"); err == nil {
		t.root, err = openDir(base)
	}
	if err != nil {
		return spaces("mounting a private root", err)
	}
	for _, temp := range []string{t.plan.Temp, t.plan.Scratch} {
		if temp == "" {
			continue
		}
		if err := t.temporary(temp); err != nil {
			return err
		}
	}
	if t.plan.Scratch != "" {
		if err := t.ways(); err != nil {
			return err
		}
	}
	if err := errors.Join(t.terminals(), t.hosts()); err != nil {
		return err
	}
	if err := t.parents("/proc/"); err != nil {
		return err
	}
	// Of the new process namespace, so that no other process can be seen. Read-only, because some files in /proc change
	// the machine, and root in a namespace may write to a few of them.
	const flags = unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	if err := unix.Mount("proc", base+"/proc", "proc", flags, ""); err != nil {
		return spaces("mounting a private /proc", err)
	}
	links := t.links // on whose paths programs find what they need
	for _, l := range []link{
		{"/dev/fd", "/proc/self/fd"},
		{"/dev/stdin", "fd/0"},
		{"/dev/stdout", "fd/1"},
		{"/dev/stderr", "fd/2"},
		{"/dev/shm", t.plan.Temp},
		{"/var/tmp", t.plan.Temp},
	} {
		there := l.path == t.plan.Temp || slices.ContainsFunc(t.links, func(o link) bool { return o.path == l.path })
		if l.to != "" && !there && !t.plan.Occupied(l.path) {
			links = append(links, l)
		}
	}
	for _, l := range links {
		if err := t.parents(l.path); err != nil {
			return err
		}
		if err := unix.Symlinkat(l.to, t.root, rel(l.path)); err != nil {
			return failure.At(failure.Failed, "linking", l.path, err)
		}
		t.made[l.path] = true
	}
	return nil
}

func openDir(p string) (int, error) {
	return unix.Open(p, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}

// makeEntry makes a directory, or an empty file to mount anything else on.
func makeEntry(at int, name string, kind fit.Kind, dirMode, fileMode uint32) error {
	if kind == fit.Dir {
		return unix.Mkdirat(at, name, dirMode)
	}
	return unix.Mknodat(at, name, unix.S_IFREG|fileMode, 0)
}

// parents makes the directories above a path in the private root.
func (t *tree) parents(p string) error {
	for i := 1; i < len(p); i++ {
		if dir := p[:i]; p[i] == '/' && !t.made[dir] {
			t.made[dir] = true
			if err := unix.Mkdirat(t.root, rel(dir), 0o755); err != nil {
				return failure.At(failure.Failed, "making a place for", p, err)
			}
		}
	}
	return nil
}

// put mounts a place. Below a directory of the host that is mounted already, nothing is made: that would change the
// host's tree. There the place itself has to stand.
func (t *tree) put(p *place) error {
	if p.cover {
		return t.putCover(p)
	}
	if slices.ContainsFunc(t.dirs, func(dir string) bool { return fit.Holds(dir, p.Path) }) {
		return t.attach(p, p.ID != fit.ID{}) // its place is there, or gone
	}
	if err := t.parents(p.Path); err != nil {
		return err
	}
	if !t.made[p.Path] {
		t.made[p.Path] = true
		if err := makeEntry(t.root, rel(p.Path), p.Kind, 0o755, 0o444); err != nil {
			return failure.At(failure.Failed, "making a place for", p.Path, err)
		}
	}
	if p.Kind == fit.Dir {
		t.dirs = append(t.dirs, p.Path)
	}
	return t.move(p, t.root, rel(p.Path), 0)
}

// attach mounts a place on what stands at its path in the private tree, which must be the same object as in the
// plan unless we have made it ourselves.
func (t *tree) attach(p *place, compare bool) error {
	on, err := t.stands(p, compare)
	if err != nil {
		return err
	}
	defer closeFD(&on)
	return t.move(p, on, "", unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// stands opens what is at the path of a place in the private tree.
func (t *tree) stands(p *place, compare bool) (fd int, err error) {
	if compare {
		return openNode(t.root, &p.Node)
	}
	fd, _, err = openPath(t.root, p.Path)
	return fd, err
}

func (t *tree) move(p *place, dir int, name string, flags int) error {
	err := unix.MoveMount(p.mount, "", dir, name, unix.MOVE_MOUNT_F_EMPTY_PATH|flags)
	closeFD(&p.mount)
	p.mounted = err == nil
	return failure.At(failure.Failed, "mounting", p.Path, err)
}

// putCover mounts a cover or a pin over what is there now.
func (t *tree) putCover(p *place) (err error) {
	above := t.above(p.Path)
	switch {
	case p.again: // in a mask that we have made ourselves; the original was compared when it was detached
		return t.attach(p, false)
	case above != nil && above.hide: // hidden with the directory that it is in, where nothing stands to mount it on
		return nil
	case p.hide:
		if p.mount, err = t.mask(p); err != nil {
			return err
		}
		return t.attach(p, true)
	}
	// Bound on itself: a mount can be restricted by itself, and cannot be renamed or removed.
	on, err := t.stands(p, true)
	if err != nil {
		return err
	}
	defer closeFD(&on)
	if err := p.take(on); err != nil {
		return err
	}
	return t.move(p, on, "", unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// above is the next hiding or revealing cover above a path, or nil.
func (t *tree) above(p string) (found *place) {
	for _, q := range t.covers {
		if (q.hide || q.again) && q.Path != p && fit.Holds(q.Path, p) {
			found = q // outer before inner
		}
	}
	return found
}

// mask makes what hides a place: a file that nobody can open, or a directory with nothing in it but the way to what
// is mounted again below. It is read-only, so that nobody changes its mode, which the tool as its owner could. Its name
// stays visible: a place that vanished could be created, and would then be taken for the original.
func (t *tree) mask(p *place) (int, error) {
	name := "file"
	if p.Kind == fit.Dir {
		name = strconv.Itoa(slices.Index(t.covers, p))
		if err := t.skeleton(p, name); err != nil {
			return -1, failure.At(failure.Failed, "hiding", p.Path, err)
		}
	}
	fd, err := unix.OpenTree(t.masks, name, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err == nil {
		err = setAttributes(fd, attrMask, 0)
	}
	return fd, failure.At(failure.Failed, "hiding", p.Path, err)
}

// skeleton makes a directory for a mask, with the entries on which covers are mounted again.
func (t *tree) skeleton(p *place, name string) error {
	if err := unix.Mkdirat(t.masks, name, 0o555); err != nil {
		return err
	}
	made := map[string]bool{p.Path: true}
	for _, q := range t.covers {
		if !q.again || t.above(q.Path) != p {
			continue
		}
		var missing []string // directories on the way, inner first
		for dir := path.Dir(q.Path); !made[dir]; dir = path.Dir(dir) {
			missing, made[dir] = append(missing, dir), true
		}
		for _, dir := range slices.Backward(missing) {
			if err := unix.Mkdirat(t.masks, name+strings.TrimPrefix(dir, p.Path), 0o555); err != nil {
				return err
			}
		}
		if err := makeEntry(t.masks, name+strings.TrimPrefix(q.Path, p.Path), q.Kind, 0o555, 0); err != nil {
			return err
		}
	}
	return nil
}

// quiet empties what the private /proc says of more than the call: the command line of process 1, and the keys of
// the user by name. Neither is protected by a rule of Landlock: the tool may read its /proc.
func (t *tree) quiet() error {
	if !slices.Contains(t.plan.Devices, os.DevNull) {
		return nil
	}
	for _, name := range []string{"proc/1/cmdline", "proc/keys"} {
		null, err := unix.OpenTree(t.root, rel(os.DevNull), unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
		if err == nil {
			err = unix.MoveMount(null, "", t.root, name, unix.MOVE_MOUNT_F_EMPTY_PATH)
			closeFD(&null)
		}
		if err != nil && err != unix.ENOENT { // a kernel without keys
			return failure.At(failure.Failed, "emptying", "/"+name, err)
		}
	}
	return nil
}

// enter leaves the host's tree. pivot_root puts the new root under the old one, for this process and for every other
// in the namespace; unmounting the old one takes away what it held. chroot would not do: a process with an open
// directory from outside, or with CAP_SYS_CHROOT, gets out of it. The root becomes read-only at the end, so that the
// tool, which owns it, makes nothing beside the places that are mounted.
func (t *tree) enter() error {
	err := unix.Fchdir(t.root)
	if err == nil {
		err = unix.PivotRoot(".", ".") // the old root lies on the new one now
	}
	if err == nil {
		err = unix.Unmount(".", unix.MNT_DETACH)
	}
	if err == nil {
		err = unix.Chdir("/")
	}
	for _, fd := range append(t.shut, t.root) {
		if err == nil {
			err = setAttributes(fd, unix.MOUNT_ATTR_RDONLY, 0)
		}
	}
	return failure.At(failure.Namespaces, "entering the private root", "", err)
}

// Try makes mounts of the kinds that a private tree needs, and says which step the machine refused: "" for none. It takes
// an attempt to know: security modules and containers refuse mounts by rules that cannot be read.
func Try() (step string, err error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return machine.StepMount, err
	}
	if err := unix.Mount("tmpfs", "/proc", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, ""); err != nil {
		return machine.StepMount, err
	}
	err = unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	if err != nil {
		return machine.StepProc, err
	}
	return "", nil
}
