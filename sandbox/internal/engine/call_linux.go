package engine

import (
	"net/url"
	"os"
	"time"

	"github.com/jptools/jptools/sandbox/internal/linux"
	"golang.org/x/sys/unix"
)

const (
	// killFor is how long a supervisor tries to end a tree before it reports that it cannot, and outlast how long
	// it goes on after that.
	killFor = 3 * time.Second
	outlast = 30 * time.Second
	// countEvery is how often processes are counted, and mounts are looked at, where that is asked for.
	countEvery = 20 * time.Millisecond
)

// call is one program from start to end. The channels of times are nil while nothing is waited for.
type call struct {
	*supervisor
	order   *order
	number  int
	pid     int
	watcher *linux.Watcher // nil where no mount must stay
	// answerer is where an observer passes on the calls that the broker answers; -1 without an observer.
	answerer int

	exits    chan exited
	counting <-chan time.Time // processes, and mounts
	// lingering ends when what the tool has left behind has had its time, killing when all is to be killed again, and
	// deadline when that has been tried for long enough.
	lingering, killing, deadline <-chan time.Time
	pause                        time.Duration // until all is killed again

	report           exitReport
	hostGone, gaveUp bool
}

// exited is one process that was waited for.
type exited struct {
	pid    int
	status unix.WaitStatus
}

// serve waits for the end of all processes, or brings it about, and reports it. It returns whether the host has heard.
func (c *call) serve() bool {
	c.exits, c.pause = make(chan exited), time.Millisecond
	go reap(c.exits)
	plan := c.order.Plan
	if c.watcher != nil || plan != nil && plan.Limits.Processes > 0 {
		ticker := time.NewTicker(countEvery)
		defer ticker.Stop()
		c.counting = ticker.C
	}
	requests := c.requests
	for {
		select {
		case e, ok := <-c.exits:
			switch {
			case !ok: // nothing is left
				c.report.Remaining = 0
				c.look()
				return !c.hostGone && !c.gaveUp && c.tell()
			case e.pid == c.pid:
				c.report.Code = e.status.ExitStatus() // -1 for a signal
				if e.status.Signaled() {
					c.report.Signal = e.status.Signal()
				}
				if c.killing == nil && hasChildren() { // or there is nobody to be looked for
					c.lingering = time.After(c.order.Linger)
				}
			}
		case <-c.counting:
			c.count()
		case <-c.lingering:
			c.lingering = nil
			c.report.Leftover = c.kill()
		case <-c.killing:
			c.report.Remaining = c.kill()
		case <-c.deadline:
			if c.gaveUp || c.hostGone {
				return false
			}
			c.gaveUp = true
			c.report.Remaining = max(c.report.Remaining, 1)
			_ = c.tell()
			c.deadline = time.After(outlast)
		case m, ok := <-requests:
			closeFDs(m.files)
			switch {
			case !ok:
				requests, c.hostGone = nil, true
				c.kill()
			case m.Call != c.number: // it was meant for a call that is over
			case m.Kill:
				c.kill()
			case m.Signal != 0:
				c.signal(m.Signal)
			}
		}
	}
}

// reap waits for all children, whoever started them, until there are none.
func reap(exits chan<- exited) {
	defer close(exits)
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WALL, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return // ECHILD
		default:
			exits <- exited{pid, status}
		}
	}
}

// hasChildren reports whether this process has any, ended or not.
func hasChildren() bool {
	for {
		err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT|unix.WALL, nil)
		if err != unix.EINTR {
			return err == nil
		}
	}
}

func (c *call) tell() bool {
	return c.host.send(reply{Call: c.number, Exit: &c.report}) == nil
}

// kill kills all processes, and again after a pause: without a namespace or a scope some may have escaped the look.
// It returns how many there were.
func (c *call) kill() int {
	if c.deadline == nil {
		c.deadline = time.After(killFor)
	}
	c.counting, c.lingering = nil, nil
	n := c.signal(unix.SIGSTOP) // so that there are not ever more to be counted
	c.signal(unix.SIGKILL)
	c.killing = time.After(c.pause)
	c.pause = min(2*c.pause, 50*time.Millisecond)
	return n
}

// count ends the call when there are too many processes, or a mount has been lost.
func (c *call) count() {
	if c.look(); len(c.report.Lost) > 0 {
		c.kill()
		return
	}
	plan := c.order.Plan
	if plan == nil || plan.Limits.Processes <= 0 {
		return
	}
	if list, err := descendants(os.Getpid()); err == nil && int64(len(list)) > plan.Limits.Processes {
		c.report.TooMany = int(plan.Limits.Processes)
		c.kill()
	}
}

// look notes what mount has been lost.
func (c *call) look() {
	if len(c.report.Lost) == 0 {
		c.report.Lost = url.PathEscape(c.watcher.Lost())
	}
}
