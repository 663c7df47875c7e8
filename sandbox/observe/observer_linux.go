//go:build amd64 || arm64

package observe

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/internal/notify"
	"github.com/jptools/jptools/sandbox/internal/sockets"
	"golang.org/x/sys/unix"
)

// Supported reports whether programs can be observed on this system.
const Supported = true

// Start begins to observe the program that is about to be started under a plan. End ends it.
func Start(plan *fit.Plan) (*Observer, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	o := &Observer{
		sock: pair[0], theirs: os.NewFile(uintptr(pair[1]), "observer"), listener: -1, answers: -1,
		judge: newJudge(plan), calls: calls(plan), stop: stops(plan), done: make(chan struct{}),
	}
	if plan.Net.Own {
		// Messages, which are read as they were sent.
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return nil, errors.Join(os.NewSyscallError("socketpair", err), unix.Close(o.sock), o.theirs.Close())
		}
		o.answers, o.answerer, o.passed = pair[0], os.NewFile(uintptr(pair[1]), "answerer"), sockets.Announced
	}
	quit, end, err := os.Pipe()
	if err != nil {
		o.HandedOver()
		o.hangUp()
		return nil, err
	}
	o.quit = end
	go func() {
		defer close(o.done)
		o.serve(int32(quit.Fd()))
		o.listen(-1)
		o.hangUp()
		if o.answers >= 0 {
			_ = unix.Close(o.answers)
		}
		_ = quit.Close()
	}()
	return o, nil
}

// serve answers announced calls until nobody is left to make any, or quit is closed.
func (o *Observer) serve(quit int32) {
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
func (o *Observer) receive() {
	kind, oob := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	n, oobn, _, _, err := unix.Recvmsg(o.sock, kind, oob, unix.MSG_CMSG_CLOEXEC)
	if err == unix.EINTR {
		return
	}
	var came []int
	msgs, _ := unix.ParseSocketControlMessage(oob[:oobn])
	for i := range msgs {
		fds, _ := unix.ParseUnixRights(&msgs[i])
		came = append(came, fds...)
	}
	if err == nil && bytes.Equal(kind[:n], Message()) && len(came) == 1 && o.listener < 0 {
		o.listen(came[0])
		came = nil
	}
	for _, fd := range came { // those that nobody asked for
		_ = unix.Close(fd)
	}
	o.hangUp()
}

// hangUp closes the socket.
func (o *Observer) hangUp() {
	if o.sock >= 0 {
		_ = unix.Close(o.sock)
		o.sock = -1
	}
}

// listen takes another listener in place of the one that there is.
func (o *Observer) listen(fd int) {
	if o.listener >= 0 {
		_ = unix.Close(o.listener)
	}
	if o.listener = fd; fd >= 0 {
		notify.Prefer(fd)
	}
}

// look looks at one announced call and lets the kernel go on with it. There is no other answer in this package.
func (o *Observer) look() {
	n, err := notify.Receive(o.listener)
	switch err {
	case nil:
	case unix.ENOENT, unix.EINTR: // its thread was killed
		return
	default:
		o.listen(-1) // rather than asking for ever
		return
	}
	if slices.Contains(o.passed, uint32(n.Nr)) {
		o.pass(n)
		return
	}
	o.judgeCall(n)
	_ = n.Continue(o.listener) // or its thread is killed now
}

// pass has the program's supervisor answer a call. It numbers threads as the innermost process namespace does, which is
// the last number of NSpid.
func (o *Observer) pass(n *notify.Call) {
	numbers := notify.Status(int(n.PID), "NSpid")
	inside, err := strconv.ParseUint(numbers[strings.LastIndexByte(numbers, '\t')+1:], 10, 32)
	if err != nil {
		_ = n.Answer(o.listener, unix.EACCES) // its thread was killed, or /proc hides it
		return
	}
	if !n.Waits(o.listener) { // the number may be another's
		return
	}
	n.PID = uint32(inside)
	if err := unix.Sendto(o.answers, n.Bytes(), unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT, nil); err != nil {
		_ = n.Answer(o.listener, unix.EAGAIN) // too many wait already
	}
}

func (o *Observer) judgeCall(n *notify.Call) {
	spec, ok := o.calls[uint32(n.Nr)]
	if !ok {
		return
	}
	o.seen.Calls++
	c := &caller{task: task{int(n.PID), o.stop, o.judge.private}, call: spec}
	copy(c.args[:], n.Args[:])
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
	case !n.Waits(o.listener):
		// The thread does not wait any more, and what was read by its pid may be another's.
	case err != nil:
		o.seen.Unread++
	default:
		for _, r := range list {
			o.seen.note(r)
		}
	}
}
