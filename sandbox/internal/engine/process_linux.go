package engine

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/internal/failure"
	"golang.org/x/sys/unix"
)

func (e *engine) start(c *Command) (*Process, error) {
	o, files, null, err := e.order(c)
	if null != nil {
		defer null.Close()
	}
	if err != nil {
		return nil, err
	}
	h, err := e.take(KindOf(c.Plan))
	if err != nil {
		return nil, err
	}
	h.calls++
	p := &Process{process{helper: h, call: h.calls, done: make(chan struct{})}}
	// A program without restrictions may run already, and stop its supervisor before that has said so.
	late := time.AfterFunc(giveUp, h.abandon)
	err = h.conn.send(request{Call: p.call, Start: o}, fdsOf(files)...)
	var answer reply
	if err == nil {
		_, _, err = h.conn.receive(&answer)
	}
	if !late.Stop() {
		h.abandon()
		return nil, failure.OutOfControl("the program was not seen to start within " + giveUp.String() + ", and was ended")
	}
	if err != nil { // half a message may have gone out, or it has died
		h.dismiss()
		return nil, failure.At(failure.Failed, "talking to a helper process", "", err)
	}
	if err := answer.failure(); err != nil {
		e.put(h)
		return nil, err
	}
	if p.pid = answer.Pid; h.kind.Tier == fit.TierNamespace {
		p.pid = h.pid.Pid
	}
	go p.await()
	return p, nil
}

func fdsOf(files []*os.File) []int {
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	return fds
}

// order is a command as it goes to the helpers, and the files that go with it. null, if not nil, is one of them that
// the caller closes when they have gone.
func (e *engine) order(c *Command) (o *order, files []*os.File, null *os.File, err error) {
	o = &order{Path: blob(c.Path), Dir: blob(c.Dir), Session: !e.options.Terminal, Linger: c.Linger, Faults: c.Faults}
	for _, list := range [][]string{{c.Path, c.Dir}, c.Args, c.Env} {
		for _, s := range list {
			if strings.IndexByte(s, 0) >= 0 {
				return nil, nil, null, &failure.Error{Kind: failure.Program, Path: c.Path, Errno: unix.EINVAL} // as execve has it
			}
		}
	}
	for _, s := range c.Args {
		o.Args = append(o.Args, blob(s))
	}
	for _, s := range c.Env {
		o.Env = append(o.Env, blob(s))
	}
	if c.Plan != nil && c.Plan.Tier != fit.TierNone {
		if c.Plan.Tier != fit.TierLandlock && c.Plan.Tier != fit.TierNamespace || c.Plan.ABI < 1 {
			step := "the plan wants files held, and names no tier or version of Landlock to do it with"
			return nil, nil, null, &failure.Error{Kind: failure.Failed, Step: step}
		}
		o.Plan, o.Escaped = portable(c.Plan)
	}
	for i, f := range append([]*os.File{c.Stdin, c.Stdout, c.Stderr}, c.ExtraFiles...) {
		if f == nil {
			if i > 2 {
				continue
			}
			if null == nil {
				if null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
					return nil, nil, null, failure.At(failure.Failed, "opening", os.DevNull, err)
				}
			}
			f = null
		} else if o.Plan != nil {
			if err := admit(c.Plan, i, f); err != nil {
				return nil, nil, null, err
			}
		}
		o.Targets, files = append(o.Targets, i), append(files, f)
	}
	if c.Plan != nil && c.Plan.Observe {
		if c.Observer == nil {
			return nil, nil, null, &failure.Error{Kind: failure.Failed, Step: "the plan wants an observer, and there is none"}
		}
		o.Observe = &observation{c.Observer.Message, c.Observer.Calls}
		files = append(files, c.Observer.Socket)
	}
	if o.Keep = c.Keep != nil && e.options.Once; o.Keep {
		files = append(files, c.Keep)
	}
	return o, files, null, nil
}

// process is a program from the host's side.
type process struct {
	helper *helper
	call   int
	pid    int

	done   chan struct{}
	exit   Exit
	err    error
	killed sync.Once
	late   atomic.Bool // the supervisor did not end the call in time
}

// await waits for the report of the call.
func (p *process) await() {
	defer close(p.done)
	h := p.helper
	var answer reply
	_, _, err := h.conn.receive(&answer)
	if err == nil && (answer.Exit == nil || answer.Call != p.call) {
		err = errMessage
	}
	if err != nil {
		h.abandon()
		switch {
		case p.late.Load():
			p.err = failure.OutOfControl("the program could not be ended within " + giveUp.String() + "; processes of it may still run")
		case h.kind.Tier == fit.TierNamespace:
			p.exit = Exit{Code: -1, Signal: unix.SIGKILL} // with process 1, whose end is waited for above
		default:
			p.err = failure.OutOfControl("the program's supervisor ended before it did (was it killed?); processes of it may still run")
		}
		return
	}
	r := answer.Exit
	if r.Remaining > 0 {
		h.dismiss()
		p.err = failure.OutOfControl(strconv.Itoa(r.Remaining) +
			" processes could not be ended: they run as another user, or hang in the kernel")
		return
	}
	if !h.engine.options.Once { // else the supervisor lives as long as this process, for what it keeps
		h.engine.put(h)
	}
	p.exit = Exit{Code: r.Status.ExitStatus(), Leftover: r.Leftover, TooMany: r.TooMany, Lost: string(r.Lost)}
	if r.Status.Signaled() {
		p.exit.Code, p.exit.Signal = -1, r.Status.Signal()
	}
}

func (p *process) wait() (Exit, error) {
	<-p.done
	return p.exit, p.err
}

func (p *process) tell(r request) error {
	select {
	case <-p.done:
		return nil
	default:
	}
	r.Call = p.call
	return failure.At(failure.Failed, "talking to a helper process", "", p.helper.conn.send(r))
}

func (p *process) signal(sig syscall.Signal) error { return p.tell(request{Signal: sig}) }

func (p *process) kill() error {
	p.killed.Do(func() {
		timer := time.AfterFunc(giveUp, func() {
			p.late.Store(true)
			p.helper.conn.hangUp()
		})
		go func() {
			<-p.done
			timer.Stop()
		}()
	})
	return p.tell(request{Kill: true})
}
