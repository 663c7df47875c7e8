//go:build amd64 || arm64

package observe

import (
	"os"

	"github.com/jptools/jptools/sandbox/fit"
	"golang.org/x/sys/unix"
)

// Supported reports whether programs can be observed on this system.
const Supported = true

// observer looks at the calls of one program.
type observer struct {
	sock     int // brings the listener, once
	theirs   *os.File
	quit     *os.File // ends the observer when it is closed
	quitRead *os.File
	listener listener // -1 for none
	judge    *judge
	calls    map[uint32]call
	stop     []string
	record   record
	done     chan struct{}
}

// Start begins to observe the program that is about to be started under a plan. End ends it.
func Start(plan *fit.Plan) (*Observer, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	o := &observer{
		sock: pair[0], theirs: os.NewFile(uintptr(pair[1]), "observer"), listener: -1,
		judge: newJudge(plan), calls: calls(plan), stop: stops(plan), done: make(chan struct{}),
	}
	if o.quitRead, o.quit, err = os.Pipe(); err != nil {
		_, _ = unix.Close(o.sock), o.theirs.Close()
		return nil, err
	}
	quit := int32(o.quitRead.Fd())
	go func() {
		defer close(o.done)
		o.serve(quit)
		o.listen(-1)
		o.hangUp()
		_ = o.quitRead.Close()
	}()
	return &Observer{o}, nil
}

// End returns what was refused. All processes of the call should be gone: calls of those that are not are refused
// from here on.
func (o *Observer) End() *Seen {
	_ = o.quit.Close()
	<-o.done
	return &o.record.Seen
}

// serve answers announced calls until nobody is left to make any, or quit is closed.
func (o *observer) serve(quit int32) {
	for {
		fds := []unix.PollFd{
			{Fd: int32(o.listener), Events: unix.POLLIN}, {Fd: int32(o.sock), Events: unix.POLLIN}, {Fd: quit, Events: unix.POLLIN},
		}
		if _, err := unix.Poll(fds, -1); err != nil && err != unix.EINTR {
			return
		}
		// Calls first: the observer is ended when the program has ended.
		switch {
		case fds[0].Revents&unix.POLLIN != 0:
			o.look()
		case fds[0].Revents != 0: // nobody is left who could make a call
			return
		case fds[1].Revents != 0:
			o.receive()
		case fds[2].Revents != 0:
			return
		}
	}
}

// receive takes the listener that a program sends. One program sends one; after that nothing is expected.
func (o *observer) receive() {
	kind, oob := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	n, oobn, _, _, err := unix.Recvmsg(o.sock, kind, oob, unix.MSG_CMSG_CLOEXEC)
	if err == unix.EINTR {
		return
	}
	came := descriptors(oob[:oobn])
	if err == nil && n == 1 && string(kind) == message && len(came) == 1 && o.listener < 0 {
		o.listen(came[0])
		came = nil
	}
	for _, fd := range came { // those that nobody asked for
		_ = unix.Close(fd)
	}
	o.hangUp()
}

// hangUp closes the socket.
func (o *observer) hangUp() {
	if o.sock >= 0 {
		_ = unix.Close(o.sock)
		o.sock = -1
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
		var demands []demand
		demands, err = c.demands()
		for _, w := range demands {
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
