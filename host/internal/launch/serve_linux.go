package launch

import (
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// serving is a call while it runs. The times are nil while nothing is waited for.
type serving struct {
	*call
	frames   <-chan frame
	counting <-chan time.Time // processes, and mounts
	// lingering ends when what the tool has left behind has had its time, killing when it is to be killed
	// again, and deadline when that has been tried for long enough.
	lingering, killing, deadline <-chan time.Time
	pause                        time.Duration // until it is killed again

	hostGone, gaveUp bool
	reported, heard  bool // all there is to say has been said; somebody has heard it
}

// serve waits for the end of the tree, or brings it about, and reports it. It returns
// whether another call may follow.
func (c *call) serve(frames <-chan frame, signals <-chan os.Signal) bool {
	s := &serving{call: c, frames: frames, pause: time.Millisecond}
	if c.child.Processes > 0 || c.child.Watch != nil {
		ticker := time.NewTicker(watch)
		defer ticker.Stop()
		s.counting = ticker.C
	}
	for {
		select {
		case e, ok := <-c.exits:
			if !ok {
				return s.gone()
			}
			s.waited(e)
		case status := <-c.status:
			s.toolEnded(status)
		case <-c.empty:
			s.early()
		case <-s.counting:
			s.count()
		case <-s.lingering:
			s.lingering = nil
			s.kill()
			c.report.leftover = c.report.remaining
		case <-s.killing:
			s.kill()
		case <-s.deadline:
			if s.gaveUp || s.hostGone || s.reported {
				return false
			}
			s.gaveUp = true
			c.report.remaining = max(c.report.remaining, 1) // an init, at least
			_ = c.send()
			s.deadline = time.After(outlast)
		case f, ok := <-s.frames:
			closeFDs(f.fds)
			if ok {
				s.stop(f)
				break
			}
			s.frames, s.hostGone, c.orphan = nil, true, true
			s.kill()
		case <-signals:
			s.hostGone = true // ends this supervisor, as if the host were gone
			s.kill()
		}
	}
}

// kill kills all there is, and again after a pause.
func (s *serving) kill() {
	if s.deadline == nil {
		s.deadline = time.After(killFor)
	}
	s.counting = nil
	if s.child.Signal != nil {
		s.child.Signal(unix.SIGSTOP) // so that there are not ever more to be counted
	}
	s.report.remaining = s.signal(unix.SIGKILL)
	if s.child.Signal != nil {
		s.child.Signal(unix.SIGKILL)
	}
	s.killing = time.After(s.pause)
	s.pause = min(2*s.pause, 50*time.Millisecond)
}

// killInit ends everything under an init, if there is one, before each process is looked for.
func (s *serving) killInit() {
	if s.child.Status != nil {
		KillChild(s.child.Pid)
	}
}

// stop does what a frame asks for, if it is about this call.
func (s *serving) stop(f frame) {
	if len(f.fields) != 3 || f.fields[0] != frameStop || f.fields[1] != s.report.call || s.killing != nil {
		return
	}
	grace, _ := strconv.ParseInt(f.fields[2], 10, 64)
	if grace <= 0 {
		s.killInit()
		s.kill()
		return
	}
	s.signal(unix.SIGTERM)
	s.killing = time.After(time.Duration(grace))
}

// count ends the call when there are too many processes, or something has been exposed.
func (s *serving) count() {
	if s.look(); s.report.exposed != "" {
		s.killInit()
		s.kill()
	} else if s.child.Processes > 0 {
		if list, err := descendants(os.Getpid()); err == nil && s.alive(list) > s.child.Processes {
			s.report.crowd = s.child.Processes
			s.kill()
		}
	}
}

// waited is for one process that has ended.
func (s *serving) waited(e exited) {
	switch {
	case e.pid != s.child.Pid, s.reported:
	case s.status != nil:
		s.toolEnded(<-s.status) // its writer is gone, so this does not last
	case !s.ended:
		s.toolEnded(e.status)
	}
}

// toolEnded notes how the tool's first process ended. What it has left has some time.
func (s *serving) toolEnded(status unix.WaitStatus) {
	s.report.status, s.ended, s.status = status, true, nil
	if s.killing == nil {
		s.lingering = time.After(linger)
	}
}

// early reports the call when nobody but its init is left: the host has something to do while the init
// and the private tree are taken down. What it sends next waits until they are.
func (s *serving) early() {
	if s.status != nil {
		s.toolEnded(<-s.status)
	}
	if s.gaveUp || s.hostGone {
		return
	}
	s.report.remaining = 0
	s.look()
	s.reported, s.heard = true, s.send() == nil
	s.frames, s.lingering, s.killing, s.counting = nil, nil, nil, nil
	s.deadline = time.After(outlast)
}

// gone is for when nothing is left. It reports whether another call may follow.
func (s *serving) gone() bool {
	if s.reported {
		return !s.hostGone && s.heard
	}
	s.report.remaining = 0
	s.look()
	return !s.hostGone && !s.gaveUp && s.send() == nil
}

// signal sends sig to everything below this process, and returns how many processes of the
// call were alive, its init not counted.
func (c *call) signal(sig unix.Signal) (alive int) {
	list, err := signalTree(os.Getpid(), sig)
	if err == nil {
		return c.alive(list)
	}
	if !c.ended && c.child.Pid > 0 { // no /proc: what is known is the group
		_ = unix.Kill(-c.child.Pid, sig)
	}
	return 1
}

// alive counts the processes of the call, its init not counted.
func (c *call) alive(list []process) (n int) {
	for _, p := range list {
		if !p.dead() && (c.child.Status == nil || p.pid != c.child.Pid) {
			n++
		}
	}
	return n
}

// look notes what has been exposed.
func (c *call) look() {
	if c.child.Watch != nil && c.report.exposed == "" {
		c.report.exposed = c.child.Watch()
	}
}
