package engine

import (
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/internal/failure"
	"github.com/jptools/jptools/sandbox/internal/linux"
)

// supervisor is a helper that starts programs and ends them. All that it does is on one locked thread, which is the
// parent of all starters: their death signal is about a thread, and a signal scope belongs to one.
type supervisor struct {
	host   *conn
	tier   fit.Tier
	scope  *linux.Scope // nil without one
	group  int          // the process group of further programs; 0 if it is that of this process
	remove func(dir string) error

	starter  *child        // waits for orders; nil if there is none
	requests chan received // what the host sends; nil before the first call
}

// child is a starter from the supervisor's side.
type child struct {
	pid  int
	conn *conn
}

// received is a message, and what came with it.
type received struct {
	request
	body  []byte
	files []int
}

// supervise is the life of a supervisor. It returns its exit status when the host has hung up, or died, and nothing
// of its last call is left.
func supervise(host *conn, tier fit.Tier, scope bool, remove func(dir string) error) int {
	s := &supervisor{host: host, tier: tier, remove: remove}
	switch {
	case tier == fit.TierNamespace:
		if os.Getpid() != 1 {
			return 2
		}
		if m, ok := s.next(); !ok || !m.Mapped { // before, this process is nobody
			return 1
		}
	default:
		// What the tool starts and leaves behind becomes a child of this process, and not of init. Otherwise a process
		// that starts another and ends would be out of reach: nobody could find, count or end it.
		if unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != nil {
			return 1
		}
		if scope {
			var err error
			if s.scope, err = linux.EnterScope(); err != nil {
				return s.refuse(err)
			}
		}
	}
	// Nobody may look into this process. In the namespace tier it is process 1, which the tool sees in /proc: in
	// /proc/1/fd are descriptors of the host's tree, which lead past the covers.
	if unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) != nil {
		return 1
	}
	// execve resets every signal that a process handles, and keeps those that it ignores. The Go runtime handles most
	// signals, but not these three: if our caller ignores them, the tool would, and could not be stopped with Ctrl-Z.
	// SIGHUP and SIGINT stay ignored if they are: nohup and shells without job control do that on purpose.
	if stops := ignored(unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU); len(stops) > 0 {
		signal.Notify(make(chan os.Signal, 1), stops...)
	}
	if tier != fit.TierNamespace { // there most programs are started without a starter
		if err := s.prepare(); err != nil {
			return s.refuse(err)
		}
		// What the terminal sends to the group of the host is for the tool and the host. This process leaves it, unless
		// it leads a session; the host's end is noticed by the socket.
		if sid, err := unix.Getsid(0); err == nil && sid != os.Getpid() {
			s.group = unix.Getpgrp()
			_ = unix.Setpgid(0, 0)
		}
	}
	for {
		m, ok := s.next()
		if !ok {
			return 0
		}
		switch {
		case m.Start != nil:
			if !s.call(&m) {
				for m.Start.Keep && ok { // until the host has ended
					_, ok = s.next()
				}
				return 0
			}
		case m.Warm:
			_ = s.prepare() // a failure shows when the starter is needed
		case m.Try:
			answer := reply{Call: m.Call}
			if step, err := linux.Try(); err != nil {
				answer = failed(m.Call, failure.At(failure.Namespaces, step, "", err))
			}
			_ = s.host.send(answer)
			return 0
		default: // for a call that is over
			closeFDs(m.files)
		}
	}
}

// ignored returns those of some signals that this process ignores.
func ignored(signals ...syscall.Signal) (out []os.Signal) {
	status, _ := os.ReadFile("/proc/self/status")
	_, after, _ := strings.Cut(string(status), "\nSigIgn:\t")
	mask, _, _ := strings.Cut(after, "\n")
	bits, _ := strconv.ParseUint(mask, 16, 64)
	for _, sig := range signals {
		if bits>>(sig-1)&1 != 0 {
			out = append(out, sig)
		}
	}
	return out
}

// refuse answers whatever the host asks for first.
func (s *supervisor) refuse(err error) int {
	if m, ok := s.next(); ok {
		_ = s.host.send(failed(m.Call, err))
	}
	return 1
}

// next waits for the next message. The first one is read on this thread: the host waits for the tool to start, and
// all that is not needed for that comes later.
func (s *supervisor) next() (m received, ok bool) {
	if s.requests != nil {
		m, ok = <-s.requests
		return m, ok
	}
	var err error
	m.body, m.files, err = s.host.receive(&m.request)
	return m, err == nil
}

// listen passes on what the host sends while this thread has other things to wait for.
func (s *supervisor) listen() {
	if s.requests != nil {
		return
	}
	s.requests = make(chan received)
	go func() {
		defer close(s.requests)
		for {
			var m received
			var err error
			if m.body, m.files, err = s.host.receive(&m.request); err != nil {
				return
			}
			s.requests <- m
		}
	}()
}

// prepare starts a starter, if none is waiting.
func (s *supervisor) prepare() error {
	if s.starter != nil {
		if pid, err := unix.Wait4(s.starter.pid, nil, unix.WNOHANG, nil); pid == 0 && err == nil {
			return nil
		}
		s.starter.conn.close() // it was killed while nothing was going on
		s.starter = nil
	}
	mine, theirs, err := newConns()
	if err != nil {
		return failure.At(failure.Failed, "making a socket", "", err)
	}
	defer theirs.close()
	// Descriptors 0 to 2 are /dev/null. os.StartProcess would first try out, once, whether processes can be held by
	// descriptors, by starting one for nothing.
	pid, err := syscall.ForkExec(myself, []string{starterName}, &syscall.ProcAttr{
		Dir: "/", Env: helperEnv, Files: []uintptr{0, 1, 2, theirs.file.Fd()},
		Sys: &syscall.SysProcAttr{Setpgid: s.group > 0, Pgid: s.group},
	})
	if err != nil {
		mine.close()
		return failure.At(failure.Failed, "starting a process", "", err)
	}
	s.starter = &child{pid, mine}
	return nil
}

// call starts one program, serves until nothing of it is left, and reports. It returns whether another call may
// follow.
func (s *supervisor) call(m *received) bool {
	c := &call{supervisor: s, order: m.Start, number: m.Call}
	if last := len(m.files) - 1; c.order.Keep && last >= 0 {
		m.files = m.files[:last] // what is kept is closed by the end of this process
	}
	c.takeAnswerer(m)
	start := c.start
	// Limits belong to a process, and would be those of this one. An observer would be told what this process does, too.
	if p := c.order.Plan; s.tier == fit.TierNamespace && p != nil && p.Limits == (fit.Limits{}) && !p.Observe {
		start = c.startHere
	}
	pid, err := start(m)
	closeFDs(m.files)
	if err != nil {
		// Half a tree cannot be used again.
		return s.host.send(failed(m.Call, err)) == nil && s.tier != fit.TierNamespace
	}
	c.pid = pid
	if s.tier == fit.TierNamespace {
		// The tool could end its process 1 with one of these signals. They are ignored only now, because the tool would
		// have inherited that. They are not handled, because that makes each start a millisecond slower.
		signal.Ignore(unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM)
	}
	s.listen()
	again := s.host.send(reply{Call: m.Call, Pid: pid}) == nil
	again = c.serve() && again
	if c.hostGone && s.tier == fit.TierLandlock && c.order.Plan.Temp != "" {
		// Nobody is left to hear of a failure; what cannot be removed is found by later calls.
		_ = s.remove(filepath.FromSlash(c.order.Plan.Temp))
	}
	return again && s.tier != fit.TierNamespace
}

// start brings a starter to the point where it has become the tool.
func (c *call) start(m *received) (pid int, err error) {
	if err := c.prepare(); err != nil {
		return 0, err
	}
	tool := c.starter
	c.starter = nil
	defer tool.conn.close()
	defer func() {
		if err != nil {
			_ = unix.Kill(tool.pid, unix.SIGKILL)
			for {
				if _, wait := unix.Wait4(tool.pid, nil, 0, nil); wait != unix.EINTR {
					break
				}
			}
		}
	}()
	if m.Start.restore() != nil {
		return 0, errMessage
	}
	var ruleset *linux.Ruleset
	var rules []int
	if c.order.Plan != nil {
		if ruleset, err = c.ruleset(); err != nil { // the starter comes to life meanwhile
			return 0, err
		}
		defer func() { _ = unix.Close(ruleset.FD) }()
		rules = []int{ruleset.FD}
	}
	// It reads its orders while the tree is made here. The tree waits until the starter says that it runs: the
	// starter's own program, which may have to load libraries, is not in that tree.
	err = tool.conn.forward(m.body, m.files)
	if err == nil {
		_, _, err = tool.conn.receive(nil)
	}
	if err != nil {
		return 0, failure.At(failure.Failed, "giving a process its orders", "", err)
	}
	if ruleset != nil && c.tier == fit.TierNamespace {
		if err := c.surround(ruleset); err != nil {
			return 0, err
		}
	}
	err = c.begin()
	if err == nil {
		err = tool.conn.send(request{Call: m.Call, Go: true}, rules...)
	}
	if err != nil {
		return 0, failure.At(failure.Failed, "giving a process its orders", "", err)
	}
	// The socket is closed by execve. An answer says why there was none.
	var answer reply
	_, files, err := tool.conn.receive(&answer)
	if err == nil && answer.Listener && len(files) == 1 {
		if err := c.broker(files[0]); err != nil {
			return 0, err
		}
		_, files, err = tool.conn.receive(&answer)
	}
	if err == nil {
		closeFDs(files)
		if err := answer.failure(); err != nil {
			return 0, err
		}
		return 0, errMessage
	}
	if !executed(tool.pid) {
		return 0, &failure.Error{Kind: failure.Failed, Step: "the process ended before it could execute the program"}
	}
	return tool.pid, nil
}

// begin tells the host that the program may run from here on. If this process dies before it says more, nobody knows
// what the program has done: it may have killed this process itself, where nothing keeps it from that.
func (c *call) begin() error { return c.host.send(reply{Call: c.number, Begun: true}) }

// executed reports whether a starter has executed the tool, which gives it another name. The kernel closes its socket
// a moment before that; it also does when a process dies, of too little memory for instance.
func executed(pid int) bool {
	for {
		comm, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
		if err != nil || string(comm) != starterName+"\n" {
			return true
		}
		var info unix.Siginfo
		err = unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
		if err == nil && info.Signo != 0 {
			return false
		}
		time.Sleep(20 * time.Microsecond)
	}
}

// ruleset makes the rules that the plan has on the host's tree.
func (c *call) ruleset() (*linux.Ruleset, error) {
	plan := c.order.Plan
	if plan.Tier != c.tier || plan.ABI < 1 {
		return nil, &failure.Error{Kind: failure.Failed, Step: "the plan is not for this helper"}
	}
	mapping := linux.DefaultMapping
	if m := c.order.Faults.Mapping; m != nil {
		mapping = *m
	}
	return linux.NewRuleset(plan, mapping)
}

// surround makes the private tree and network, and rules on what is in there and nowhere else.
func (c *call) surround(ruleset *linux.Ruleset) error {
	entries, err := linux.BuildTree(c.order.Plan)
	if err == nil {
		c.watcher, err = linux.Watch(entries)
	}
	if err == nil && c.order.Plan.Net.Own {
		err = linux.LoopbackUp()
	}
	if err == nil {
		err = ruleset.AllowTree(c.order.Plan)
	}
	return err
}

// signal signals all processes of the call, and returns how many were alive.
func (s *supervisor) signal(sig unix.Signal) (found int) {
	// At once, where that can be done: kill(-1) of process 1 reaches exactly its namespace.
	var all bool
	switch {
	case s.tier == fit.TierNamespace:
		err := syscall.Kill(-1, sig)
		all = err == nil || err == unix.ESRCH
	default:
		all = s.scope.Signal(sig)
	}
	var list []task
	var err error
	if all {
		list, err = descendants(os.Getpid())
	} else {
		list, err = signalBelow(os.Getpid(), sig)
	}
	if err != nil { // without /proc nobody can be counted
		return 1
	}
	return len(list)
}
