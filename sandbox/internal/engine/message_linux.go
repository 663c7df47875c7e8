package engine

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/internal/failure"
)

// blob is text that may hold any bytes: JSON keeps only what is UTF-8, and paths, arguments and variables need not be.
type blob []byte

// request goes from the host to a supervisor, and, when it starts something, on to a starter. One field is set
// besides Call.
type request struct {
	// Call numbers the calls of a supervisor. What comes too late for one call must not hit the next.
	Call   int
	Start  *order      `json:",omitempty"`
	Signal unix.Signal `json:",omitempty"`
	Kill   bool        `json:",omitempty"`
	Warm   bool        `json:",omitempty"`
	Try    bool        `json:",omitempty"`
	// Mapped comes first where there is a new user namespace: its users have been mapped.
	Mapped bool `json:",omitempty"`
	// Go is from the supervisor to its starter: all is ready. The ruleset comes along, if there is one.
	Go bool `json:",omitempty"`
}

// order is one program to start. The descriptors of the program come along, in the order of Targets; then the
// observer's socket, if there is one; then, to the supervisor alone, where the observer passes on calls, if there are
// such, and the one that it keeps.
type order struct {
	Plan *fit.Plan `json:",omitempty"` // its paths are written as in a URL

	Path, Dir blob
	Args, Env []blob
	Targets   []int
	// Session: the program gets a session of its own.
	Session bool
	Linger  time.Duration
	Observe *observation `json:",omitempty"`
	Keep    bool         `json:",omitempty"`
	Faults  Faults
}

type observation struct {
	Message blob
	Calls   []uint32
}

// reply goes from a supervisor to the host, and from a starter to its supervisor when it fails.
type reply struct {
	Call    int
	Begun   bool           `json:",omitempty"` // the program may run from here on; Pid or Failure follows
	Pid     int            `json:",omitempty"` // the program was executed
	Failure *failure.Error `json:",omitempty"` // its path is written as in a URL
	Exit    *exitReport    `json:",omitempty"`
	// Listener is from a starter: the descriptor that comes along announces calls, which the supervisor answers.
	Listener bool `json:",omitempty"`
}

type exitReport struct {
	Exit          // Lost is written as in a URL
	Remaining int // could not be ended
}

// failed is the reply to a call for which err happened.
func failed(call int, err error) reply {
	f := &failure.Error{Kind: failure.Failed, Step: err.Error()}
	errors.As(err, &f)
	copied := *f
	copied.Path = url.PathEscape(f.Path)
	return reply{Call: call, Failure: &copied}
}

// failure is the error of a reply, or nil.
func (r *reply) failure() (err error) {
	if r.Failure == nil {
		return nil
	}
	if r.Failure.Path, err = url.PathUnescape(r.Failure.Path); err != nil {
		return errMessage
	}
	return r.Failure
}

// restore undoes what makes JSON able to carry the paths of the plan.
func (o *order) restore() (err error) {
	if o.Plan != nil {
		o.Plan = mapPaths(o.Plan, func(s string) string {
			plain, wrong := url.PathUnescape(s)
			err = errors.Join(err, wrong)
			return plain
		})
	}
	return err
}

// mapPaths returns a copy of a plan with f done to each of its paths.
func mapPaths(p *fit.Plan, f func(string) string) *fit.Plan {
	node := func(n *fit.Node) { n.Path = f(n.Path) }
	grant := func(g *fit.Grant) { node(&g.Node) }
	c := *p
	c.Trees, c.Pins = mapped(p.Trees, node), mapped(p.Pins, node)
	c.Grants, c.Runtime = mapped(p.Grants, grant), mapped(p.Runtime, grant)
	c.Covers = mapped(p.Covers, func(c *fit.Cover) { node(&c.Node) })
	c.Staged = mapped(p.Staged, func(s *fit.Staged) { node(&s.Node) })
	c.Devices = mapped(p.Devices, func(path *string) { *path = f(*path) })
	c.Temp, c.Scratch = f(c.Temp), f(c.Scratch)
	return &c
}

// mapped returns a copy of a list with f done to each of its entries.
func mapped[T any](list []T, f func(*T)) []T {
	list = slices.Clone(list)
	for i := range list {
		f(&list[i])
	}
	return list
}

// conn is one end of a pair of stream sockets, on which messages go: four bytes of length, and so much JSON.
// Descriptors go with the first byte. It blocks, and does not use the runtime's poller, so that a helper has no
// descriptors but those that it was given.
type conn struct{ file *os.File }

const (
	// maxMessage is above what the kernel takes as a command line (6 MiB at most), in base64.
	maxMessage = 64 << 20
	maxFiles   = 253 // SCM_MAX_FD
)

var errMessage = errors.New("malformed message between the host and its helpers")

// newConns makes a pair.
func newConns() (a, b *conn, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	return newConn(fds[0]), newConn(fds[1]), nil
}

func newConn(fd int) *conn { return &conn{os.NewFile(uintptr(fd), "helper")} }

func (c *conn) close() { _ = c.file.Close() }

// hangUp tells the other end that no more messages will come, and ends a receive that waits on this end.
func (c *conn) hangUp() {
	_ = c.do(func(fd int) error { return unix.Shutdown(fd, unix.SHUT_RDWR) })
}

func (c *conn) do(f func(fd int) error) error {
	raw, err := c.file.SyscallConn()
	if err != nil {
		return err
	}
	var done error
	err = raw.Control(func(fd uintptr) { done = f(int(fd)) })
	return errors.Join(err, done)
}

// send sends a message with descriptors.
func (c *conn) send(message any, fds ...int) error {
	body, err := json.Marshal(message)
	if err != nil {
		return err
	}
	return c.forward(body, fds)
}

// forward sends a message that is JSON already.
func (c *conn) forward(body []byte, fds []int) error {
	if len(body) > maxMessage || len(fds) > maxFiles {
		return unix.E2BIG
	}
	data := append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(body)), uint32(len(body))), body...)
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	return c.do(func(fd int) error {
		for len(data) > 0 {
			n, err := unix.SendmsgN(fd, data, rights, nil, unix.MSG_NOSIGNAL)
			if err != nil && err != unix.EINTR {
				return err
			}
			if n > 0 {
				data, rights = data[n:], nil
			}
		}
		return nil
	})
}

// receive reads a message and returns its text as well. The descriptors that came with it are the caller's to close;
// with an error there are none.
func (c *conn) receive(message any) (body []byte, fds []int, err error) {
	err = c.do(func(fd int) error {
		var head [4]byte
		if fds, err = readFull(fd, head[:]); err != nil {
			return err
		}
		size := binary.BigEndian.Uint32(head[:])
		if size > maxMessage {
			return errMessage
		}
		body = make([]byte, size)
		more, err := readFull(fd, body)
		fds = append(fds, more...)
		return err
	})
	if err == nil && message != nil {
		err = json.Unmarshal(body, message)
	}
	if err != nil {
		closeFDs(fds)
		return nil, nil, err
	}
	return body, fds, nil
}

// readFull fills b, and returns the descriptors that came along, also with an error.
func readFull(fd int, b []byte) (fds []int, err error) {
	oob := make([]byte, unix.CmsgSpace(4*maxFiles))
	for len(b) > 0 {
		n, oobn, flags, _, err := unix.Recvmsg(fd, b, oob, unix.MSG_CMSG_CLOEXEC)
		if err == unix.EINTR {
			continue
		}
		if err == nil {
			messages, _ := unix.ParseSocketControlMessage(oob[:oobn])
			for i := range messages {
				more, _ := unix.ParseUnixRights(&messages[i])
				fds = append(fds, more...)
			}
		}
		switch {
		case err != nil:
			return fds, err
		case n == 0:
			return fds, io.EOF
		case flags&unix.MSG_CTRUNC != 0: // this process cannot open any more
			return fds, unix.EMFILE
		}
		b = b[n:]
	}
	return fds, nil
}

func closeFDs(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}
