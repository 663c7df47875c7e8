// Package sockets connects the sockets of a call that has a network of its own, so that it reaches what belongs to
// the call and nothing else.
//
// A local socket that is bound to a path can be connected to from every network namespace, by whoever may write to
// its file. An agent, a container engine or a desktop service that listens in a directory which a program may use
// would act for it with all rights of the user. Landlock judges that from version 9 on. Here it is done for older
// versions: the program's connect(2) and listen(2) are announced (package notify).
//
//   - connect(2): the [Broker] takes the socket, copies the address from the program's memory, decides, and connects
//     the socket itself. The kernel never sees the program's own copy of the address, which another thread could
//     change meanwhile. A path is opened once; what was opened is judged, and connected to by its descriptor.
//   - listen(2): the broker notes which file the socket is bound to, and the kernel goes on with the call. What was
//     noted is a fact about a socket of the call's network; nothing is decided by it that the program could change.
//
// A socket that was bound to a file in this call stays this call's: nobody can bind another to the same file. So the
// broker keeps the files open, by which their numbers are not given to others, and compares what is opened with them.
//
// Sockets of another network, which the program may have been handed, are neither connected nor noted.
//
// # What is not stopped
//
// Others may connect to a socket of the call that lies where they can reach it, and pass it descriptors. The process
// that a server sees as its client (SO_PEERCRED) is the broker's, with the user and group of the program. A path that
// leads through /proc/PID/fd of another process is resolved as process 1 sees it, and then judged as any other.
package sockets

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/sandbox/internal/notify"
)

// Announced are the calls that have to be announced to a Broker.
var Announced = []uint32{unix.SYS_CONNECT, unix.SYS_LISTEN}

// maxWaiting bounds the connections that wait for a server; maxOwn bounds the files that are kept open. A program
// that needs more waits until one of its own ends, or cannot connect to the oldest.
const (
	maxWaiting = 256
	maxOwn     = 512
)

// Broker decides over the connections of one call. All that it does is on one thread, and nothing of it waits for
// somebody else's doing.
type Broker struct {
	listener int // of the program's filter
	source   int // where announced calls come from: the listener, or the socket of an observer, which passes them on
	network  uint64
	began    time.Time
	own      []file
	waiting  []*connection
	finished uint64 // the cookie of a socket that was connected, and whose thread did not hear of it
}

// file is the file of a local socket that the call has listened on.
type file struct {
	fd       int
	dev, ino uint64
}

// New returns the broker of the network that this process is in. The descriptors become its own, also if it fails.
// source is -1 if the listener itself announces.
func New(listener, source int) (*Broker, error) {
	b := &Broker{listener: listener, source: source, began: time.Now()}
	if source < 0 {
		b.source = listener
		notify.Prefer(listener)
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		b.network, err = network(fd)
		_ = unix.Close(fd)
	}
	if err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// close lets announced calls fail (ENOSYS), which would wait for ever otherwise: nobody listens any more, and an
// observer can pass on none.
func (b *Broker) close() {
	_ = unix.Close(b.listener)
	if b.source != b.listener {
		_ = unix.Close(b.source)
	}
}

// network names the network that a socket belongs to. Before Linux 5.14 this cannot be asked.
func network(socket int) (uint64, error) {
	return unix.GetsockoptUint64(socket, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
}

// Serve answers announced calls until nobody is left to make any. It gives up what this thread need not be able to
// do, so it has to be called on a locked thread, which is never unlocked.
func (b *Broker) Serve() error {
	defer b.close()
	if err := restrict(); err != nil {
		return err
	}
	for {
		fds := []unix.PollFd{{Fd: int32(b.source), Events: unix.POLLIN}}
		if len(b.waiting) == maxWaiting {
			fds = nil
		}
		_, err := unix.Poll(fds, b.pause())
		switch {
		case err != nil && err != unix.EINTR:
			return err
		case len(fds) > 0 && fds[0].Revents&unix.POLLIN != 0:
			c, err := b.next()
			if err == nil {
				b.handle(c)
			} else if err != unix.EINTR && err != unix.ENOENT {
				return err
			}
		case len(fds) > 0 && fds[0].Revents != 0:
			return nil
		}
		b.retry(time.Now())
	}
}

// restrict leaves this thread what it needs to look at processes of the call that do not let themselves be looked at
// (agents that hold keys), and to ask which file a socket is bound to. Both count in the namespaces of the call only.
// It gives up the right to use files whatever their modes are: a path that the program could not follow leads
// nowhere.
func restrict() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have [2]unix.CapUserData
	if err := unix.Capget(&header, &have[0]); err != nil {
		return err
	}
	const keep = 1<<unix.CAP_SYS_PTRACE | 1<<unix.CAP_NET_ADMIN
	have[0] = unix.CapUserData{Effective: have[0].Permitted & keep, Permitted: have[0].Permitted & keep}
	have[1] = unix.CapUserData{}
	return unix.Capset(&header, &have[0])
}

func (b *Broker) next() (*notify.Call, error) {
	if b.source == b.listener {
		return notify.Receive(b.listener)
	}
	data := make([]byte, 256)
	n, _, err := unix.Recvfrom(b.source, data, 0)
	if err != nil {
		return nil, err
	}
	return notify.Parse(data[:n])
}

func (b *Broker) handle(c *notify.Call) {
	// The socket is what the thread meant, or else the thread does not wait any more and hears no answer.
	socket, err := notify.File(int(c.PID), int(int32(c.Args[0])))
	switch uint32(c.Nr) {
	case unix.SYS_LISTEN:
		if err == nil {
			b.note(socket)
			_ = unix.Close(socket)
		}
		_ = c.Continue(b.listener) // the kernel says what is wrong, if anything is
	default: // connect(2)
		if err != nil {
			_ = c.Answer(b.listener, failed(err))
			return
		}
		b.connect(c, socket)
	}
}

// failed is the error of a call whose socket or address could not be had: what the kernel would say, where the
// program is to blame, and else that it is not allowed.
func failed(err error) unix.Errno {
	if e, ok := err.(unix.Errno); ok && (e == unix.EBADF || e == unix.EFAULT) {
		return e
	}
	return unix.EACCES
}

// note keeps the file that a socket is bound to, if that is a local one of this network, with a path.
func (b *Broker) note(socket int) {
	if in, err := network(socket); err != nil || in != b.network {
		return
	}
	fd, err := unix.IoctlRetInt(socket, siocUnixFile)
	if err != nil {
		return // a socket of another kind, or one without a path
	}
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || b.owns(&st) {
		_ = unix.Close(fd)
		return
	}
	if len(b.own) == maxOwn {
		b.forget()
	}
	b.own = append(b.own, file{fd, st.Dev, st.Ino})
}

// siocUnixFile opens the file that a local socket is bound to. The process needs CAP_NET_ADMIN in the socket's
// network.
const siocUnixFile = 0x89e0 // SIOCUNIXFILE

func (b *Broker) owns(st *unix.Stat_t) bool {
	for _, f := range b.own {
		if f.dev == st.Dev && f.ino == st.Ino {
			return true
		}
	}
	return false
}

// forget makes room: for files that have been removed, or else the oldest.
func (b *Broker) forget() {
	kept := b.own[:0]
	for _, f := range b.own {
		var st unix.Stat_t
		if unix.Fstat(f.fd, &st) == nil && st.Nlink == 0 {
			_ = unix.Close(f.fd)
			continue
		}
		kept = append(kept, f)
	}
	if b.own = kept; len(b.own) == maxOwn {
		_ = unix.Close(b.own[0].fd)
		b.own = append(b.own[:0], b.own[1:]...)
	}
}
