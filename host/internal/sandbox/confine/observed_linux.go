package confine

import (
	"errors"
	"fmt"

	"github.com/jptools/jptools/host/internal/sandbox/filter"
	"github.com/jptools/jptools/host/internal/sandbox/sysprog"
	"github.com/jptools/jptools/sandbox/observe"
	"golang.org/x/sys/unix"
)

// announcing is the second filter of an observed program, and where its descriptor goes.
type announcing struct {
	filter []unix.SockFilter
	fd     int // -1 for none
}

func (a *announcing) close() { closeFD(&a.fd) }

// announce takes the observer's file out of those of the command, and to a number above them: it
// stays open until execve.
func (w *writer) announce() error {
	if !w.plan.Observe {
		return nil
	}
	n := len(w.extra)
	if n == 0 || w.extra[n-1] == nil {
		return errors.New("the plan wants an observer, and the command has no file for it")
	}
	var err error
	if w.watch.filter, err = filter.Announcing(observe.Calls(w.plan)); err != nil {
		return err
	}
	above := 3 + n
	for _, s := range w.plan.Staged {
		above = max(above, s.FD+1)
	}
	if w.watch.fd, err = unix.FcntlInt(w.extra[n-1].Fd(), unix.F_DUPFD_CLOEXEC, above); err != nil {
		return fmt.Errorf("keeping the observer's socket: %w", err)
	}
	w.extra = w.extra[:n-1]
	return nil
}

// beObserved installs the second filter and sends its descriptor to the observer. execve is
// among the calls that are announced from here on.
func (w *writer) beObserved() {
	if w.watch.fd < 0 {
		return
	}
	w.Topic("letting the calls be observed")
	prog := w.sockFilter(w.watch.filter)
	control := w.Words(uint64(unix.CmsgLen(4)), uint64(unix.SCM_RIGHTS)<<32|unix.SOL_SOCKET, 0) // struct cmsghdr, descriptor
	text := w.Words(0, uint64(len(observe.Listener())))                                         // struct iovec
	w.Link(text, w.Bytes(observe.Listener()))
	message := w.Words(0, 0, 0, 1, 0, uint64(unix.CmsgSpace(4)), 0) // struct msghdr
	w.Link(message.At(16), text)
	w.Link(message.At(32), control)
	install := func(flags int) sysprog.Slot {
		return w.Call(unix.SYS_SECCOMP, sysprog.Int(unix.SECCOMP_SET_MODE_FILTER), sysprog.Int(flags), prog.Arg())
	}
	done := w.Label()
	// So that signals do not interrupt calls that are being looked at.
	fd := install(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
	w.Accept(unix.EINVAL) // before Linux 5.19
	w.Store(control.At(16), fd, 4)
	w.JumpUnless(fd, sysprog.Int(-int(unix.EINVAL)), done)
	w.Store(control.At(16), install(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER), 4)
	w.Place(done)
	w.Call(unix.SYS_SENDMSG, sysprog.Int(w.watch.fd), message.Arg(), sysprog.Int(unix.MSG_NOSIGNAL))
}
