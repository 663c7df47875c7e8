package confine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox/fit"
	"golang.org/x/sys/unix"
)

// DefaultMapping is what the capabilities mean to Landlock: each is all that it needs, and
// nothing more than it says.
func DefaultMapping() Mapping {
	return Mapping{
		Read:    unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR,
		Create:  unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER,
		Update:  unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE,
		Delete:  unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REFER,
		Execute: unix.LANDLOCK_ACCESS_FS_EXECUTE,
	}
}

// rights is what a grant becomes.
func (m *Mapping) rights(caps jptool.Caps) (rights uint64) {
	for _, of := range []struct {
		caps   jptool.Caps
		rights uint64
	}{{jptool.Read, m.Read}, {jptool.Create, m.Create}, {jptool.Update, m.Update}, {jptool.Delete, m.Delete}, {jptool.Execute, m.Execute}} {
		if caps.Has(of.caps) {
			rights |= of.rights
		}
	}
	return rights
}

const (
	// fileRights are those that the kernel takes for something that is no directory.
	fileRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV | unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX

	// deviceRights make /dev/null and its like work; their commands (ioctl) do no harm, and
	// refusing them puzzles programs that ask whether it is a terminal.
	deviceRights = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV

	readRights = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
)

const ruleNetPort = 2 // LANDLOCK_RULE_NET_PORT

// handledFS is every right on files that a version of the interface has.
func handledFS(abi int) uint64 {
	rights := uint64(unix.LANDLOCK_ACCESS_FS_MAKE_SYM)<<1 - 1
	for since, right := range map[int]uint64{
		fit.MoveABI: unix.LANDLOCK_ACCESS_FS_REFER, fit.TruncateABI: unix.LANDLOCK_ACCESS_FS_TRUNCATE,
		fit.IoctlABI: unix.LANDLOCK_ACCESS_FS_IOCTL_DEV, fit.ResolveABI: unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX,
	} {
		if abi >= since {
			rights |= right
		}
	}
	return rights
}

// domain is a ruleset under construction.
type domain struct {
	fd      int
	handled uint64
}

// rulesetAttr is a struct landlock_ruleset_attr: file system, network, scopes.
type rulesetAttr [3]uint64

func createRuleset(attr rulesetAttr) (int, error) {
	// Older kernels take a longer structure when they do not know what is zero in it.
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// newDomain makes a ruleset that handles all there is: what it then allows is in its rules.
func newDomain(plan *fit.Plan) (*domain, error) {
	d := &domain{fd: -1, handled: handledFS(plan.ABI)}
	attr := rulesetAttr{d.handled}
	if plan.ABI >= fit.NetABI {
		attr[1] = unix.LANDLOCK_ACCESS_NET_BIND_TCP
		if !plan.Net.Open || plan.Net.Ports != nil {
			attr[1] |= unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		}
	}
	if plan.ABI >= fit.ScopeABI {
		attr[2] = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	var err error
	if d.fd, err = createRuleset(attr); err != nil {
		return nil, fmt.Errorf("making a Landlock domain of version %d: %w", plan.ABI, err)
	}
	if plan.ABI >= fit.NetABI && plan.Net.Open {
		for _, port := range plan.Net.Ports {
			rule := [2]uint64{unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, uint64(port)}
			if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(d.fd), ruleNetPort, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 {
				return nil, errors.Join(fmt.Errorf("allowing TCP port %d: %w", port, errno), d.close())
			}
		}
	}
	return d, nil
}

func (d *domain) close() error { return unix.Close(d.fd) }

// pathBeneath is a struct landlock_path_beneath_attr: rights, and the descriptor behind them.
func pathBeneath(rights uint64, fd int) []byte {
	b := binary.NativeEndian.AppendUint64(make([]byte, 0, 12), rights)
	return binary.NativeEndian.AppendUint32(b, uint32(fd))
}

// allow adds a rule on something that is open.
func (d *domain) allow(fd int, rights uint64, dir bool) error {
	if rights &= d.handled; !dir {
		rights &= fileRights
	}
	if rights == 0 {
		return nil
	}
	rule := pathBeneath(rights, fd)
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(d.fd), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule[0])), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// grant adds a rule on a node, if it is still the same.
func (d *domain) grant(n *fit.Node, rights uint64) error {
	fd, err := openNode(n)
	if err != nil {
		return err
	}
	err = d.allow(fd, rights, n.Kind == fit.Dir)
	if err != nil {
		err = fmt.Errorf("allowing access to %q: %w", n.Path, err)
	}
	return errors.Join(err, unix.Close(fd))
}

// procSelf cannot be opened before the process is there: each has its own.
const procSelf = "/proc/self"

// fill adds all rules of the plan but those that only the child can add.
func (d *domain) fill(r *Renderer, plan *fit.Plan) error {
	for _, list := range [2][]fit.Grant{plan.Runtime, plan.Grants} {
		for i := range list {
			g := &list[i]
			if g.Path == procSelf || g.Kind == fit.Link {
				continue // a link has no rights of its own
			}
			if err := d.grant(&g.Node, r.Mapping.rights(g.Caps)); err != nil {
				return err
			}
		}
	}
	for _, path := range plan.Devices {
		fd, st, err := openPath(path)
		if errors.As(err, new(*ChangedError)) {
			return fmt.Errorf("there is no %s, which programs need\nmount a /dev, or make it; see: man 4 null", path)
		}
		if err != nil {
			return err
		}
		if st.Mode&unix.S_IFMT != unix.S_IFCHR {
			err = fmt.Errorf("%q is not a character device", path)
		} else if err = d.allow(fd, deviceRights, false); err != nil {
			err = fmt.Errorf("allowing access to %q: %w", path, err)
		}
		if err = errors.Join(err, unix.Close(fd)); err != nil {
			return err
		}
	}
	if plan.Tier == fit.TierLandlock && plan.Temp != "" {
		fd, _, err := openPath(plan.Temp)
		if err != nil {
			return err
		}
		return errors.Join(d.allow(fd, r.tempRights(), true), unix.Close(fd))
	}
	return nil
}

// tempRights are everything a program may do in its temporary directory.
func (r *Renderer) tempRights() uint64 {
	return r.Mapping.rights(jptool.AllCaps) | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK
}

// openPath opens a canonical path of the plan.
func openPath(path string) (int, *unix.Stat_t, error) {
	fd, err := fit.OpenEntry(path)
	switch err {
	case nil:
		st := &unix.Stat_t{}
		if err := unix.Fstat(fd, st); err != nil {
			return -1, nil, errors.Join(err, unix.Close(fd))
		}
		return fd, st, nil
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP:
		return -1, nil, &ChangedError{path}
	}
	errno, _ := err.(unix.Errno)
	return -1, nil, fmt.Errorf("opening %q: %w%s", path, err, remedy(0, errno))
}

// openNode opens a node and makes sure that it is the same as before.
func openNode(n *fit.Node) (int, error) {
	fd, st, err := openPath(n.Path)
	if err != nil {
		return -1, err
	}
	if (fit.ID{Dev: st.Dev, Ino: st.Ino}) != n.ID {
		return -1, errors.Join(&ChangedError{n.Path}, unix.Close(fd))
	}
	return fd, nil
}
