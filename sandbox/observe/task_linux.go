//go:build amd64 || arm64

package observe

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/internal/notify"
	"golang.org/x/sys/unix"
)

// task is a thread that waits in a call.
type task struct {
	pid int
	// stop are directories that are not looked into: everything may be done there, or the
	// program sees others than we do.
	stop []string
	// private tells of such places; nil if there are no others.
	private func(path string) bool
}

// errUnread: what the call is about cannot be found out.
var errUnread = errors.New("not readable")

// read reads n bytes of the task's memory, or what there is of them.
func (t *task) read(at uint64, n int) ([]byte, error) {
	b, err := notify.Read(t.pid, at, n)
	if err != nil || len(b) == 0 {
		return nil, errUnread
	}
	return b, nil
}

// text reads a string, page by page, as the next page may not be there.
func (t *task) text(at uint64) (string, error) {
	const page = 4096
	var all []byte
	for len(all) <= unix.PathMax {
		b, err := t.read(at+uint64(len(all)), page-int((at+uint64(len(all)))%page))
		if err != nil {
			return "", err
		}
		if i := bytes.IndexByte(b, 0); i >= 0 {
			return string(append(all, b[:i]...)), nil
		}
		all = append(all, b...)
	}
	return "", errUnread // ENAMETOOLONG for the program
}

// word reads a number of 8 bytes.
func (t *task) word(at uint64) (uint64, error) {
	b, err := t.read(at, 8)
	if err != nil || len(b) < 8 {
		return 0, errUnread
	}
	return binary.NativeEndian.Uint64(b), nil
}

// directory is where relative paths begin: the working directory, or what a descriptor leads to.
func (t *task) directory(fd int32) (string, error) {
	name := "cwd"
	if fd != unix.AT_FDCWD {
		name = fmt.Sprint("fd/", fd)
	}
	to, err := os.Readlink(fmt.Sprintf("/proc/%d/%s", t.pid, name))
	if err != nil || !path.IsAbs(to) || strings.HasSuffix(to, " (deleted)") {
		return "", errUnread
	}
	return path.Clean(to), nil
}

// found is where a path leads.
type found struct {
	path   string // canonical; "" where the kernel gets no further than to ENOENT
	exists bool
	mode   fs.FileMode
	// beyond: it lies where nothing is refused, or where we see something else.
	beyond bool
}

// maxLinks is the kernel's own limit.
const maxLinks = 40

// resolve walks a path as the kernel does. Without follow a link at its end is kept. What
// cannot be looked at counts as missing.
func (t *task) resolve(dir, name string, follow bool) (found, error) {
	f := found{path: dir, exists: true, mode: fs.ModeDir}
	if path.IsAbs(name) {
		f.path = "/"
	}
	todo := strings.Split(name, "/")
	if strings.HasSuffix(name, "/") {
		follow = true
	}
	for links := 0; len(todo) > 0; {
		next := todo[0]
		todo = todo[1:]
		switch next {
		case "", ".":
			continue
		case "..":
			f.path, f.exists, f.mode = path.Dir(f.path), true, fs.ModeDir
			continue
		}
		here := path.Join(f.path, next)
		if slices.Contains(t.stop, here) || t.private != nil && t.private(here) {
			return found{path: here, exists: true, beyond: true}, nil
		}
		last := strings.Join(todo, "") == ""
		fi, err := os.Lstat(here)
		if err != nil {
			if last && errors.Is(err, fs.ErrNotExist) {
				return found{path: here}, nil
			}
			return found{}, nil
		}
		if fi.Mode()&fs.ModeSymlink == 0 || last && !follow {
			f.path, f.mode = here, fi.Mode()
			continue
		}
		if links++; links > maxLinks {
			return found{}, errUnread
		}
		to, err := os.Readlink(here)
		if err != nil {
			return found{}, errUnread
		}
		if path.IsAbs(to) {
			f.path = "/"
		}
		todo = append(strings.Split(to, "/"), todo...)
	}
	return f, nil
}

// stops are the paths that are not looked into under a plan: private directories, and what each process has of its own.
func stops(p *fit.Plan) []string {
	list := []string{"/proc/self", "/proc/thread-self"}
	if p.Temp != "" {
		list = append(list, p.Temp)
	}
	if p.Tier == fit.TierNamespace {
		list = append(list, "/proc", "/dev/shm", "/dev/pts", "/dev/ptmx", "/dev/tty", "/etc/hosts")
		if !p.Occupied("/var/tmp") {
			list = append(list, "/var/tmp")
		}
	}
	return list
}

// address judges connect(2) and bind(2) of TCP sockets. Others are not held to ports.
func (c *caller) address(j *judge) ([]Refusal, error) {
	length := int(min(c.args[c.flags], unix.SizeofSockaddrInet6))
	if length < unix.SizeofSockaddrInet4 || j.plan.ABI < fit.NetABI {
		return nil, nil
	}
	b, err := c.read(c.args[c.path], length)
	if err != nil || len(b) < unix.SizeofSockaddrInet4 {
		return nil, errUnread
	}
	ip := b[4:8]
	if family := binary.NativeEndian.Uint16(b); family == unix.AF_INET6 && len(b) >= 24 {
		ip = b[8:24]
	} else if family != unix.AF_INET {
		return nil, nil
	}
	port := binary.BigEndian.Uint16(b[2:])
	r := Refusal{Operation: OpConnect, Address: endpoint(ip, port), Why: Port}
	if c.kind == binding {
		r.Operation = OpListen
	} else if j.port(port) {
		return nil, nil
	}
	tcp, err := c.tcp(int(int32(c.args[c.dir])))
	if err != nil || !tcp {
		return nil, err
	}
	return []Refusal{r}, nil
}

// endpoint is an address of 4 or 16 bytes and a port, as people write them.
func endpoint(ip []byte, port uint16) string {
	addr, _ := netip.AddrFromSlice(ip)
	return netip.AddrPortFrom(addr.Unmap(), port).String()
}

// tcp reports whether a descriptor of the task is a TCP socket.
func (t *task) tcp(fd int) (bool, error) {
	own, err := notify.File(t.pid, fd)
	if err != nil {
		return false, errUnread
	}
	defer func() { _ = unix.Close(own) }()
	kind, err := unix.GetsockoptInt(own, unix.SOL_SOCKET, unix.SO_TYPE)
	return kind == unix.SOCK_STREAM, err
}
