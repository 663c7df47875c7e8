package sockets

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/sandbox/internal/notify"
)

// connection is an announced connect(2).
type connection struct {
	call    *notify.Call
	socket  int
	target  int    // the file of a local socket, -1 for other addresses
	address []byte // as the kernel takes it; for a target the path of its descriptor
	// blocking: the thread is to wait until the connection is made, or until the deadline, if there is one.
	blocking bool
	deadline time.Time
	local    bool
	pause    time.Duration
	again    time.Time
}

func (b *Broker) connect(call *notify.Call, socket int) {
	c := &connection{call: call, socket: socket, target: -1}
	errno := b.prepare(c)
	// All that was read by the number of the thread has been read now. If the thread does not wait any more, that may
	// have been another's, and nothing comes of it.
	if !call.Waits(b.listener) {
		c.close()
		return
	}
	if errno != 0 {
		b.answer(c, errno)
		return
	}
	b.try(c, time.Now())
}

func (c *connection) close() {
	_ = unix.Close(c.socket)
	if c.target >= 0 {
		_ = unix.Close(c.target)
	}
}

func (b *Broker) answer(c *connection, errno unix.Errno) {
	own, _ := cookie(c.socket)
	c.close() // before the thread goes on: what it closes then is to be closed
	if err := c.call.Answer(b.listener, errno); err != nil && errno == 0 {
		b.finished = own
	}
}

// cookie is the number of a socket, which no other gets.
func cookie(socket int) (uint64, error) {
	return unix.GetsockoptUint64(socket, unix.SOL_SOCKET, unix.SO_COOKIE)
}

// prepare copies the address and decides over it.
func (b *Broker) prepare(c *connection) unix.Errno {
	family, err := unix.GetsockoptInt(c.socket, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return unix.ENOTSOCK
	}
	if in, err := network(c.socket); err != nil || in != b.network {
		return unix.EACCES // it was handed down, and leads out of the call
	}
	size := int(int32(c.call.Args[2]))
	if size < 2 || size > unix.SizeofSockaddrAny {
		return unix.EINVAL
	}
	if c.address, err = notify.Read(int(c.call.PID), c.call.Args[1], size); err != nil || len(c.address) < size {
		return unix.EFAULT
	}
	switch family {
	case unix.AF_INET, unix.AF_INET6:
	case unix.AF_UNIX:
		if errno := b.local(c); errno != 0 {
			return errno
		}
	default:
		return unix.EPERM // netlink: the kernel would ask whether this process may, and not the program
	}
	flags, err := unix.FcntlInt(uintptr(c.socket), unix.F_GETFL, 0)
	if err != nil {
		return unix.EACCES
	}
	if c.blocking = flags&unix.O_NONBLOCK == 0; c.blocking {
		c.local = family == unix.AF_UNIX
		limit, err := unix.GetsockoptTimeval(c.socket, unix.SOL_SOCKET, unix.SO_SNDTIMEO)
		if err == nil && limit.Nano() > 0 {
			c.deadline = time.Now().Add(time.Duration(limit.Nano()))
		}
	}
	return 0
}

// local decides over the address of a local socket. A name without a file (abstract) is looked up by the kernel among
// those of the socket's own network. A path is opened here, and has to be that of a socket of this call.
func (b *Broker) local(c *connection) unix.Errno {
	path := c.address[2:]
	switch {
	case binary.NativeEndian.Uint16(c.address) != unix.AF_UNIX, len(path) > len(unix.RawSockaddrUnix{}.Path):
		return unix.EINVAL
	case len(path) == 0 || path[0] == 0:
		return 0
	}
	if end := bytes.IndexByte(path, 0); end >= 0 {
		path = path[:end]
	}
	var err error
	if c.target, err = open(int(c.call.PID), string(path)); err != nil {
		return errnoOf(err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(c.target, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return unix.ECONNREFUSED // as the kernel says of files that are no sockets
	}
	if !b.owns(&st) {
		return b.notOwn(c.target)
	}
	c.address = append(c.address[:2:2], "/proc/self/fd/"+strconv.Itoa(c.target)+"\x00"...)
	return 0
}

// notOwn is what is said of a socket that is not the call's. One that was made before the call is somebody else's. Of
// one that was made since, it is most likely that the program has left it behind, and will look whether somebody
// answers.
func (b *Broker) notOwn(target int) unix.Errno {
	var st unix.Statx_t
	err := unix.Statx(target, "", unix.AT_EMPTY_PATH, unix.STATX_BTIME, &st)
	if err == nil && st.Mask&unix.STATX_BTIME != 0 && time.Unix(st.Btime.Sec, int64(st.Btime.Nsec)).After(b.began) {
		return unix.ECONNREFUSED
	}
	return unix.EACCES
}

// open opens what a path means to a thread: it has the root of this process, as chroot(2) is refused, and a working
// directory of its own. /proc/self is its own as well: long paths are shortened by /proc/self/fd/N.
func open(tid int, path string) (int, error) {
	const flags = unix.O_PATH | unix.O_CLOEXEC
	proc := fmt.Sprintf("/proc/%d/", tid)
	for _, self := range []string{"/proc/self/", "/proc/thread-self/"} {
		if rest, ok := strings.CutPrefix(path, self); ok {
			return unix.Open(proc+rest, flags, 0)
		}
	}
	if strings.HasPrefix(path, "/") {
		return unix.Open(path, flags, 0)
	}
	dir, err := unix.Open(proc+"cwd", flags|unix.O_DIRECTORY, 0)
	if err != nil {
		return -1, err
	}
	defer func() { _ = unix.Close(dir) }()
	return unix.Openat(dir, path, flags, 0)
}

func errnoOf(err error) unix.Errno {
	if e, ok := err.(unix.Errno); ok {
		return e
	}
	return unix.EIO
}

// try connects, and answers if that is done. If not, and the thread is to wait, it is tried again.
func (b *Broker) try(c *connection, now time.Time) {
	errno := c.once()
	if c.blocking && errno == unix.EINPROGRESS {
		errno = c.once() // on a loopback it is made by now
	}
	if errno == unix.EISCONN && b.finished != 0 {
		if own, _ := cookie(c.socket); own == b.finished {
			errno, b.finished = 0, 0 // by this call, before a signal made the thread ask again
		}
	}
	switch {
	case !c.blocking || !c.unfinished(errno):
		b.answer(c, errno)
	case !c.deadline.IsZero() && !now.Before(c.deadline):
		if errno == unix.EALREADY {
			errno = unix.EINPROGRESS
		}
		b.answer(c, errno)
	case c.interrupted():
		b.answer(c, unix.EINTR)
	default:
		c.pause = min(max(2*c.pause, time.Millisecond), 50*time.Millisecond)
		c.again = now.Add(c.pause)
		b.waiting = append(b.waiting, c)
	}
}

// unfinished reports whether an attempt that does not wait ended where one that waits would have gone on: the
// server's queue is full, or the other end has not answered yet.
func (c *connection) unfinished(errno unix.Errno) bool {
	if c.local {
		return errno == unix.EAGAIN
	}
	return errno == unix.EINPROGRESS || errno == unix.EALREADY
}

// once makes one attempt that does not wait. Whether to wait is a flag of the open socket, which the program shares;
// it is as before when this returns.
func (c *connection) once() unix.Errno {
	fd := uintptr(c.socket)
	if c.blocking {
		flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
		if err == nil {
			_, err = unix.FcntlInt(fd, unix.F_SETFL, flags|unix.O_NONBLOCK)
		}
		if err != nil {
			return errnoOf(err)
		}
		defer func() { _, _ = unix.FcntlInt(fd, unix.F_SETFL, flags) }()
	}
	_, _, errno := unix.Syscall(unix.SYS_CONNECT, fd, uintptr(unsafe.Pointer(&c.address[0])), uintptr(len(c.address)))
	return errno
}

// interrupted reports whether a signal waits that the program handles. A thread whose call was received does not hear
// of signals until there is an answer.
func (c *connection) interrupted() bool {
	set := func(name string) uint64 {
		bits, _ := strconv.ParseUint(notify.Status(int(c.call.PID), name), 16, 64)
		return bits
	}
	return (set("SigPnd")|set("ShdPnd"))&set("SigCgt")&^set("SigBlk") != 0
}

// retry tries those again whose time has come, and lets go of those whose threads do not wait any more.
func (b *Broker) retry(now time.Time) {
	all := b.waiting
	b.waiting = nil
	for _, c := range all {
		switch {
		case now.Before(c.again):
			b.waiting = append(b.waiting, c)
		case !c.call.Waits(b.listener):
			c.close()
		default:
			b.try(c, now)
		}
	}
}

// pause is how long to wait for the next announced call, in milliseconds; -1 for ever.
func (b *Broker) pause() int {
	if len(b.waiting) == 0 {
		return -1
	}
	first := slices.MinFunc(b.waiting, func(c, d *connection) int { return c.again.Compare(d.again) })
	return max(int(time.Until(first.again).Milliseconds())+1, 0)
}
