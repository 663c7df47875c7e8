package engine

import (
	"runtime"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/sandbox/internal/failure"
	"github.com/jptools/jptools/sandbox/internal/linux"
	"github.com/jptools/jptools/sandbox/internal/sockets"
)

// announce installs the filter that announces calls, if somebody is to be told of any. There can be one only: an
// observer is told of all calls, and passes on to the supervisor those that it answers. They see from here on what
// this thread does, execve first of all.
func (s *starter) announce() error {
	var calls []uint32
	if s.order.Observe != nil {
		calls = slices.Clone(s.order.Observe.Calls)
	}
	if s.plan.Net.Own {
		calls = append(calls, sockets.Announced...)
	}
	if len(calls) == 0 {
		return nil
	}
	listener, err := linux.Announce(calls)
	if err != nil {
		return err
	}
	if s.order.Observe != nil {
		err := unix.Sendmsg(s.observer, s.order.Observe.Message, unix.UnixRights(listener), nil, unix.MSG_NOSIGNAL)
		if err != nil {
			return failure.At(failure.Failed, "reaching the observer", "", err)
		}
	}
	if s.plan.Net.Own {
		return failure.At(failure.Failed, "reaching the supervisor", "", s.conn.send(reply{Listener: true}, listener))
	}
	return nil
}

// takeAnswerer keeps from a starter what the observer passes calls on by.
func (c *call) takeAnswerer(m *received) {
	c.answerer = -1
	if last := len(m.files) - 1; c.order.Observe != nil && c.order.Plan != nil && c.order.Plan.Net.Own && last >= 0 {
		c.answerer, m.files = m.files[last], m.files[:last]
	}
}

// broker begins to answer the calls that a listener announces. If that ends early they fail.
func (c *call) broker(listener int) error {
	b, err := sockets.New(listener, c.answerer)
	if err != nil {
		return failure.At(failure.Listener, "telling networks apart", "", err)
	}
	go func() {
		runtime.LockOSThread() // and never unlocked: it has less rights than the others
		_ = b.Serve()
	}()
	return nil
}
