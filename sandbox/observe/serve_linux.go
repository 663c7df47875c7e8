//go:build amd64 || arm64

package observe

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/jptools/jptools/sandbox/fit"
	"golang.org/x/sys/unix"
)

// observer looks at the calls of one program after the other.
type observer struct {
	sock     int
	listener listener // -1 for none
	plan     *fit.Plan
	judge    *judge
	calls    map[uint32]call
	stop     []string
	record   record
}

// serve observes until the other end of the socket is closed.
func serve(sock int) error {
	o := &observer{sock: sock, listener: -1}
	defer func() { o.listen(-1) }()
	for {
		fds := []unix.PollFd{{Fd: int32(sock), Events: unix.POLLIN}, {Fd: int32(o.listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(fds, -1); err != nil && err != unix.EINTR {
			return fmt.Errorf("waiting for calls: %w", err)
		}
		// Calls first: who asks for the results does so when the program has ended.
		switch {
		case fds[1].Revents&unix.POLLIN != 0:
			o.look()
		case fds[1].Revents != 0: // nobody is left who could make a call
			o.listen(-1)
		case fds[0].Revents != 0:
			if err := o.message(); err != nil {
				if errors.Is(err, io.EOF) {
					return nil
				}
				return err
			}
		}
	}
}

// listen takes another listener in place of the one that there is.
func (o *observer) listen(fd int) {
	if o.listener >= 0 {
		_ = unix.Close(int(o.listener))
	}
	if o.listener = listener(fd); fd >= 0 {
		o.listener.hurry()
	}
}

// message reads one message. EOF: there will be no more.
func (o *observer) message() error {
	kind, oob := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	n, oobn, _, _, err := unix.Recvmsg(o.sock, kind, oob, unix.MSG_CMSG_CLOEXEC)
	switch {
	case err == unix.EINTR:
		return nil
	case err != nil:
		return fmt.Errorf("reading from the call: %w", err)
	case n == 0:
		return io.EOF
	}
	came, mine := descriptors(oob[:oobn]), -1
	defer func() { // those that nobody asked for
		for _, fd := range came {
			if fd != mine {
				_ = unix.Close(fd)
			}
		}
	}()
	switch kind[0] {
	case sayPlan:
		data, err := readSized(fdReader(o.sock), maxPlan)
		if err != nil {
			return err
		}
		plan := &fit.Plan{}
		if err := json.Unmarshal(data, plan); err != nil {
			return fmt.Errorf("the plan is no plan: %w", err)
		}
		o.listen(-1)
		o.plan, o.judge, o.calls, o.stop, o.record = plan, newJudge(plan), calls(plan), stops(plan), record{}
		return nil
	case sayListener:
		switch {
		case len(came) != 1:
			return errors.New("a program came without its descriptor")
		case o.plan == nil:
			return errors.New("a program came before its plan")
		}
		mine = came[0]
		o.listen(mine)
		return nil
	case sayResults:
		data, err := json.Marshal(o.record.Seen)
		if err != nil {
			return err
		}
		return writeAll(o.sock, append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...))
	}
	return fmt.Errorf("a message of the unknown kind %q", kind[0])
}

// look looks at one announced call and lets it go on.
func (o *observer) look() {
	n, err := o.listener.receive()
	switch err {
	case nil:
	case unix.ENOENT, unix.EINTR: // its thread was killed
		return
	default:
		o.listen(-1) // rather than asking for ever
		return
	}
	o.judgeCall(&n)
	_ = o.listener.proceed(n.id) // or killed now
}

func (o *observer) judgeCall(n *notification) {
	spec, ok := o.calls[uint32(n.nr)]
	if !ok {
		return
	}
	o.record.Calls++
	c := &caller{task{int(n.pid), o.stop}, spec, n.args}
	var list []Refusal
	var err error
	if spec.kind == connecting || spec.kind == binding {
		list, err = c.address(o.judge)
	} else {
		var wishes []wish
		wishes, err = c.wishes()
		for _, w := range wishes {
			if r, refused := o.judge.refusal(w); refused {
				list = append(list, r)
			}
		}
	}
	switch {
	case !o.listener.valid(n.id): // what was read may be another's
	case err != nil:
		o.record.Unread++
	default:
		for _, r := range list {
			o.record.note(r)
		}
	}
}

// descriptors are all of those in a control message.
func descriptors(oob []byte) (all []int) {
	msgs, _ := unix.ParseSocketControlMessage(oob)
	for i := range msgs {
		fds, _ := unix.ParseUnixRights(&msgs[i])
		all = append(all, fds...)
	}
	return all
}

// fdReader reads from a descriptor.
type fdReader int

// Read implements io.Reader.
func (fd fdReader) Read(b []byte) (int, error) {
	for {
		n, err := unix.Read(int(fd), b)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return 0, os.NewSyscallError("read", err)
		case n == 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

func writeAll(fd int, b []byte) error {
	for len(b) > 0 {
		n, err := unix.SendmsgN(fd, b, nil, nil, unix.MSG_NOSIGNAL)
		if err != nil && err != unix.EINTR {
			return fmt.Errorf("writing between jphost and its observer: %w", err)
		}
		b = b[max(n, 0):]
	}
	return nil
}
