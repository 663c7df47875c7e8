//go:build amd64 || arm64

package observe

import (
	"cmp"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox/fit"
	"golang.org/x/sys/unix"
)

// call says where the arguments of a system call are; none is an argument that it does not have.
type call struct {
	kind  kind
	dir   int // descriptor of a directory; none is the working directory
	path  int
	flags int // or the mode of a node, or the length of an address
	// dir2 and path2 are those of a second path.
	dir2, path2 int
}

// none is the place of a seventh argument, which is always 0.
const none = 6

type kind uint8

const (
	opening kind = iota
	openingHow
	creating // creat(2): flags are implied
	making
	removing
	moving
	linking
	cutting
	executing
	changing
	seeing
	connecting
	binding
)

// always are the calls that are announced whatever the plan is.
var always = map[uint32]call{
	unix.SYS_OPENAT:    {opening, 0, 1, 2, none, none},
	unix.SYS_OPENAT2:   {openingHow, 0, 1, 2, none, none},
	unix.SYS_MKDIRAT:   {making, 0, 1, none, none, none},
	unix.SYS_SYMLINKAT: {making, 1, 2, none, none, none},
	unix.SYS_MKNODAT:   {making, 0, 1, 2, none, none},
	unix.SYS_UNLINKAT:  {removing, 0, 1, none, none, none},
	unix.SYS_RENAMEAT:  {moving, 0, 1, none, 2, 3},
	unix.SYS_RENAMEAT2: {moving, 0, 1, 4, 2, 3},
	unix.SYS_LINKAT:    {linking, 0, 1, 4, 2, 3},
	unix.SYS_TRUNCATE:  {cutting, none, 0, none, none, none},
	unix.SYS_EXECVE:    {executing, none, 0, none, none, none},
	unix.SYS_EXECVEAT:  {executing, 0, 1, 4, none, none},
}

// private are announced in a private tree only: elsewhere everything is seen, and metadata can be
// changed, or is refused by the filter.
var private = map[uint32]call{
	unix.SYS_NEWFSTATAT:  {seeing, 0, 1, 3, none, none},
	unix.SYS_STATX:       {seeing, 0, 1, 2, none, none},
	unix.SYS_FACCESSAT:   {seeing, 0, 1, none, none, none},
	unix.SYS_FACCESSAT2:  {seeing, 0, 1, 3, none, none},
	unix.SYS_CHDIR:       {seeing, none, 0, none, none, none},
	unix.SYS_FCHMODAT:    {changing, 0, 1, none, none, none},
	unix.SYS_FCHMODAT2:   {changing, 0, 1, 3, none, none},
	unix.SYS_FCHOWNAT:    {changing, 0, 1, 4, none, none},
	unix.SYS_UTIMENSAT:   {changing, 0, 1, 3, none, none},
	unix.SYS_SETXATTR:    {changing, none, 0, none, none, none},
	unix.SYS_REMOVEXATTR: {changing, none, 0, none, none, none},
}

// network are announced where sockets can be made.
var network = map[uint32]call{
	unix.SYS_CONNECT: {connecting, 0, 1, 2, none, none},
	unix.SYS_BIND:    {binding, 0, 1, 2, none, none},
}

// calls are what a plan has announced.
func calls(p *fit.Plan) map[uint32]call {
	m := maps.Clone(always)
	if p.Tier == fit.TierNamespace {
		maps.Copy(m, private)
	}
	if p.Net.Open {
		maps.Copy(m, network)
	}
	return m
}

// Calls are the numbers of the calls that the filter of an observed program has to announce.
func Calls(p *fit.Plan) []uint32 { return slices.Sorted(maps.Keys(calls(p))) }

// caller reads what one announced call is about.
type caller struct {
	task
	call
	args [7]uint64
}

// at resolves one of the paths.
func (c *caller) at(dir, name int, follow, empty bool) (found, error) {
	fd := int32(unix.AT_FDCWD)
	if dir != none {
		fd = int32(c.args[dir])
	}
	text, err := c.text(c.args[name])
	if err != nil {
		return found{}, err
	}
	if text == "" && !empty {
		return found{}, nil // ENOENT
	}
	base := "/"
	if !path.IsAbs(text) {
		if base, err = c.directory(fd); err != nil {
			return found{}, err
		}
	}
	if text == "" {
		return found{path: base}, nil // the object itself, which is open already
	}
	return c.resolve(base, text, follow)
}

// demands are what the call wants of which paths. Nothing is wanted of what the call fails at for
// another reason: what is missing, or in the way.
func (c *caller) demands() ([]demand, error) {
	flags := c.args[c.flags]
	switch c.kind {
	case opening, openingHow, creating:
		return c.open(flags)
	case making:
		f, err := c.at(c.dir, c.path, false, false)
		if err != nil || f.exists || f.path == "" {
			return nil, err
		}
		kind := flags & unix.S_IFMT // of mknod(2)
		return []demand{{op: OpCreate, path: f.path, entry: jptool.Create, special: kind != 0 && kind != unix.S_IFREG}}, nil
	case removing:
		f, err := c.at(c.dir, c.path, false, false)
		if err != nil || f.path == "" || f.beyond {
			return nil, err
		}
		return []demand{{op: OpDelete, path: f.path, entry: jptool.Delete, move: true, missing: !f.exists}}, nil
	case moving:
		return c.move(flags)
	case linking:
		from, err := c.at(c.dir, c.path, flags&unix.AT_SYMLINK_FOLLOW != 0, true)
		to, err2 := c.at(c.dir2, c.path2, false, false)
		if err != nil || err2 != nil || from.path == "" || to.path == "" || to.exists {
			return nil, cmp.Or(err, err2)
		}
		return []demand{{op: OpCreate, path: to.path, entry: jptool.Create}}, nil
	case changing:
		if c.args[c.path] == 0 { // by descriptor
			return nil, nil
		}
	}
	f, err := c.at(c.dir, c.path, flags&unix.AT_SYMLINK_NOFOLLOW == 0, false)
	if !f.exists || f.beyond || c.kind == executing && f.mode.IsDir() {
		return nil, err
	}
	w := ofContent[c.kind]
	w.path = f.path
	return []demand{w}, nil
}

// ofContent is what the calls want that name one path at which something has to be.
var ofContent = map[kind]demand{
	cutting:   {op: OpWrite, content: jptool.Update, cut: true},
	executing: {op: OpExecute, content: jptool.Execute},
	changing:  {op: OpChange},
	seeing:    {op: OpSee},
}

func (c *caller) open(flags uint64) ([]demand, error) {
	switch c.kind {
	case creating:
		flags = unix.O_CREAT | unix.O_WRONLY | unix.O_TRUNC
	case openingHow:
		var err error
		if flags, err = c.word(flags); err != nil {
			return nil, err
		}
	}
	create := flags&unix.O_CREAT != 0
	f, err := c.at(c.dir, c.path, flags&unix.O_NOFOLLOW == 0 && flags&(unix.O_CREAT|unix.O_EXCL) != unix.O_CREAT|unix.O_EXCL, false)
	if err != nil || f.path == "" || f.beyond || !f.exists && !create {
		return nil, err
	}
	if flags&unix.O_PATH != 0 {
		return []demand{{op: OpSee, path: f.path}}, nil
	}
	w := demand{op: OpRead, path: f.path}
	switch flags & unix.O_ACCMODE {
	case unix.O_RDONLY:
		w.content = jptool.Read
	case unix.O_WRONLY:
		w.op, w.content = OpWrite, jptool.Update
	default:
		w.op, w.content = OpWrite, jptool.Read|jptool.Update
	}
	if flags&unix.O_TRUNC != 0 {
		w.op, w.cut = OpWrite, w.content&jptool.Update == 0
		w.content |= jptool.Update
	}
	if flags&unix.O_TMPFILE == unix.O_TMPFILE {
		return []demand{w}, nil
	}
	switch {
	case f.mode.IsDir() && w.op == OpRead:
		w.op = OpList
	case f.mode.IsDir() || f.mode&fs.ModeSymlink != 0: // EISDIR, ELOOP
		return nil, nil
	case create && !f.exists:
		w.op, w.entry = OpCreate, jptool.Create
		if w.content == jptool.Read { // needs no right on what is new
			w.content = 0
		}
	}
	return []demand{w}, nil
}

func (c *caller) move(flags uint64) ([]demand, error) {
	from, err := c.at(c.dir, c.path, false, false)
	to, err2 := c.at(c.dir2, c.path2, false, false)
	if err := cmp.Or(err, err2); err != nil || from.path == "" || to.path == "" || to.exists && flags&unix.RENAME_NOREPLACE != 0 {
		return nil, err
	}
	var list []demand
	if !from.beyond {
		w := demand{op: OpDelete, path: from.path, entry: jptool.Delete, move: true, missing: !from.exists}
		if flags&unix.RENAME_EXCHANGE != 0 {
			w.entry |= jptool.Create
		}
		list = append(list, w)
	}
	if !to.beyond && from.exists {
		w := demand{op: OpCreate, path: to.path, entry: jptool.Create, move: to.exists}
		if to.exists {
			w.entry |= jptool.Delete
		}
		list = append(list, w)
	}
	return list, nil
}
