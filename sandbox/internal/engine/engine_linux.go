package engine

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/internal/failure"
	"github.com/jptools/jptools/sandbox/internal/linux"
)

// maxIdle is how many supervisors are kept for later calls: one of each kind, where calls have plans of two kinds and
// none.
const maxIdle = 3

// giveUp is how long the host waits for a supervisor to end a call after telling it to; a variable for tests.
var giveUp = 10 * time.Second

type engine struct {
	options Options

	mu     sync.Mutex
	closed bool
	idle   []*helper
	all    map[*helper]struct{}
	wait   sync.WaitGroup // for the process of every helper
}

func newEngine(o Options) *engine { return &engine{options: o, all: map[*helper]struct{}{}} }

func (e *engine) warm(k Kind) {
	k.Scope = k.Tier == fit.TierLandlock && linux.Version() >= fit.ScopeABI
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	if i := slices.IndexFunc(e.idle, func(h *helper) bool { return h.kind == k }); i >= 0 {
		if h := e.idle[i]; !h.fresh {
			h.fresh = true
			_ = h.conn.send(request{Warm: true})
		}
		return
	}
	h := e.newHelperLocked(k)
	e.idle = append(e.idle, h)
	go h.start()
}

// take returns an idle supervisor of a kind, or a new one. Its process has been started.
func (e *engine) take(k Kind) (*helper, error) {
	for {
		e.mu.Lock()
		if e.closed {
			e.mu.Unlock()
			return nil, errClosed
		}
		i := slices.IndexFunc(e.idle, func(h *helper) bool { return h.kind == k })
		if i < 0 {
			h := e.newHelperLocked(k)
			e.mu.Unlock()
			h.start()
			return h, h.err
		}
		h := e.idle[i]
		e.idle = slices.Delete(e.idle, i, i+1)
		e.mu.Unlock()
		if <-h.ready; h.err != nil {
			return nil, h.err
		}
		if !h.ended() {
			return h, nil
		}
		h.dismiss() // it was killed while nothing was going on
	}
}

// put keeps a supervisor whose call ended well. When there are enough the oldest ends.
func (e *engine) put(h *helper) {
	e.mu.Lock()
	h.fresh = false
	var over *helper
	switch {
	case e.closed, h.kind.Tier == fit.TierNamespace: // which has ended with its call
		over = h
	case len(e.idle) == maxIdle:
		over = e.idle[0]
		e.idle = append(slices.Delete(e.idle, 0, 1), h)
	default:
		e.idle = append(e.idle, h)
	}
	e.mu.Unlock()
	if over != nil {
		<-over.ready
		over.dismiss()
	}
}

func (e *engine) close() error {
	e.mu.Lock()
	e.closed, e.idle = true, nil
	var open []*helper
	for h := range e.all {
		open = append(open, h)
	}
	e.mu.Unlock()
	var ends sync.WaitGroup
	for _, h := range open {
		ends.Go(h.abandon)
	}
	ends.Wait()
	e.wait.Wait()
	return nil
}

func (e *engine) newHelperLocked(k Kind) *helper {
	h := &helper{engine: e, kind: k, ready: make(chan struct{}), gone: make(chan struct{}), fresh: true}
	e.all[h] = struct{}{}
	e.wait.Add(1)
	return h
}

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
	p := &process{helper: h, call: h.calls, done: make(chan struct{})}
	// A program without restrictions may run already, and stop its supervisor before that has said so.
	late := time.AfterFunc(giveUp, h.abandon)
	var fds []int
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	err = h.conn.send(request{Call: p.call, Start: o}, fds...)
	var answer reply
	begun := false
	if err == nil {
		if _, _, err = h.conn.receive(&answer); err == nil && answer.Begun {
			begun, answer = true, reply{}
			_, _, err = h.conn.receive(&answer)
		}
	}
	if !late.Stop() {
		h.abandon()
		return nil, failure.OutOfControl("the program was not seen to start within " + giveUp.String() + ", and was ended")
	}
	switch {
	case err != nil && begun: // the supervisor has died; the program may have run, and even have killed it
		p.pid = h.pid.Pid
		go p.await()
		return &Process{p}, nil
	case err != nil: // half a message may have gone out, or it has died
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
	return &Process{p}, nil
}

// order is a command as it goes to the helpers, and the files that go with it. null, if not nil, is one of them that
// the caller closes when they have gone.
func (e *engine) order(c *Command) (o *order, files []*os.File, null *os.File, err error) {
	o = &order{Path: blob(c.Path), Dir: blob(c.Dir), Session: !e.options.Terminal, Linger: c.Linger, Faults: c.Faults}
	for _, s := range slices.Concat([]string{c.Path, c.Dir}, c.Args, c.Env) {
		if strings.IndexByte(s, 0) >= 0 {
			return nil, nil, null, &failure.Error{Kind: failure.Program, Path: c.Path, Errno: unix.EINVAL} // as execve has it
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
		o.Plan = mapPaths(c.Plan, url.PathEscape)
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
		if c.Plan.Net.Own {
			if c.Observer.Answerer == nil {
				step := "the observer does not pass on what it does not answer"
				return nil, nil, null, &failure.Error{Kind: failure.Failed, Step: step}
			}
			files = append(files, c.Observer.Answerer)
		}
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
	p.exit = r.Exit
	if p.exit.Lost, err = url.PathUnescape(r.Lost); err != nil {
		p.err = failure.OutOfControl(errMessage.Error())
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

// admit refuses descriptors that lead past the private tree. They belong to the host's tree, where the covers do not
// lie: below a directory, and by opening a file again through /proc/self/fd, a program could do all that the grants
// above a cover allow. Where those allow no more than the cover leaves, nothing is lost by that.
func admit(plan *fit.Plan, target int, file *os.File) error {
	if plan.Tier != fit.TierNamespace {
		// Landlock judges an opening by where the object is, however it is reached. Through /proc/self/fd a program
		// gets what the rules grant there, and no more.
		return nil
	}
	name := fmt.Sprintf("descriptor %d", target)
	if target < 3 {
		name = [...]string{"standard input", "standard output", "standard error"}[target]
	}
	refuse := func(format string, args ...any) error {
		return &failure.Error{Kind: failure.File, Step: name + " is " + fmt.Sprintf(format, args...)}
	}
	fd := int(file.Fd())
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return failure.At(failure.Failed, "looking at "+name, "", err)
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return refuse("a directory, and what the rules withhold could be reached through it\n" +
			"name the directory as an argument instead")
	case unix.S_IFREG:
	default:
		return nil
	}
	at, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	flags, err2 := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err := errors.Join(err, err2); err != nil {
		return failure.At(failure.Failed, "looking at "+name, "", err)
	}
	const content = jptool.Read | jptool.Update | jptool.Execute
	var have jptool.Caps
	switch flags & unix.O_ACCMODE {
	case unix.O_RDONLY:
		have = jptool.Read
	case unix.O_WRONLY:
		have = jptool.Update
	default:
		have = jptool.Read | jptool.Update
	}
	// The kernel adds " (deleted)" to a name that is gone, and a file that is there may have a name that ends like this.
	// Both readings are checked, and the stricter one counts.
	for _, p := range []string{at, strings.TrimSuffix(at, " (deleted)")} {
		c := coverOf(plan, p)
		if c == nil {
			continue
		}
		// Creating and deleting are rights on a directory. Executing counts whatever the mode is: the owner of a
		// file can change that through the descriptor.
		if plan.Granted(p)&c.Withholds()&content&^have != 0 {
			return refuse("%q, which the rules withhold, and a program could open it again with the rights around it\n"+
				"hand it down through a pipe: cat FILE | …", at)
		}
	}
	return nil
}

// coverOf is the innermost cover over a path, or nil.
func coverOf(plan *fit.Plan, p string) *fit.Cover {
	for ; ; p = path.Dir(p) {
		for i := len(plan.Covers) - 1; i >= 0; i-- {
			if plan.Covers[i].Path == p {
				return &plan.Covers[i]
			}
		}
		if path.Dir(p) == p {
			return nil
		}
	}
}
