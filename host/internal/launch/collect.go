package launch

import (
	"context"
	"os"
	"slices"
	"sync"
	"time"
)

// stdio is the host's side of a tool's three standard streams, and the other ends until
// they have been handed over.
type stdio struct {
	child  [3]*os.File
	stdin  *os.File
	output [2]collector // standard output, standard error
	flood  chan Reason
	wait   sync.WaitGroup
}

// collector keeps what one stream brings, up to a limit.
type collector struct {
	from  *os.File
	limit int
	kept  []byte
	over  bool
}

func newStdio(limits Limits) (*stdio, error) {
	// Both streams may flood, and nobody need be listening.
	s := &stdio{flood: make(chan Reason, 2)}
	var err error
	if s.child[0], s.stdin, err = os.Pipe(); err != nil {
		return nil, err
	}
	for i := range s.output {
		if s.output[i].from, s.child[i+1], err = os.Pipe(); err != nil {
			s.abandon()
			return nil, err
		}
	}
	s.output[0].limit, s.output[1].limit = limits.Stdout, limits.Stderr
	return s, nil
}

// handedOver closes the tool's ends in this process: while they are open here, no end
// of file ever comes.
func (s *stdio) handedOver() { closeAll(s.child[:]...) }

// abandon closes everything when there is no tool.
func (s *stdio) abandon() {
	s.handedOver()
	closeAll(s.stdin, s.output[0].from, s.output[1].from)
}

// run feeds and collects until finish.
func (s *stdio) run(stdin []byte) {
	s.wait.Go(func() {
		// A tool that does not read, or not all, has its reasons.
		_, _ = s.stdin.Write(stdin)
		_ = s.stdin.Close()
	})
	for i := range s.output {
		s.wait.Go(func() { s.output[i].run(func() { s.flood <- StdoutFlood + Reason(i) }) })
	}
}

func (c *collector) run(flood func()) {
	defer closeAll(c.from)
	scratch := []byte(nil)
	for {
		buf := scratch
		if !c.over {
			// Most tools print little, and what is not used of a large buffer costs too.
			c.kept = slices.Grow(c.kept, min(max(len(c.kept), 2<<10), 32<<10, c.limit+1-len(c.kept)))
			buf = c.kept[len(c.kept):min(cap(c.kept), c.limit+1)]
		}
		n, err := c.from.Read(buf)
		if !c.over {
			c.kept = c.kept[:len(c.kept)+n]
			if len(c.kept) > c.limit {
				// Go on reading until the tool is dead: it shall not be the pipe that
				// holds up its end.
				c.kept, c.over = c.kept[:c.limit], true
				scratch = make([]byte, 32<<10)
				flood()
			}
		}
		if err != nil {
			return
		}
	}
}

// finish waits for the ends of the streams, at most drain, and stops feeding. The
// processes are gone, so only a descriptor that was given to somebody else can hold it
// up. It reports which stream flooded, or 0.
func (s *stdio) finish() Reason {
	_ = s.stdin.SetWriteDeadline(time.Now())
	for i := range s.output {
		_ = s.output[i].from.SetReadDeadline(time.Now().Add(drain))
	}
	s.wait.Wait()
	for i := range s.output {
		if s.output[i].over {
			return StdoutFlood + Reason(i)
		}
	}
	return 0
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}

// stopError builds the error of a reason.
func (spec *Spec) stopError(ctx context.Context, reason Reason) *StopError {
	e := &StopError{Reason: reason}
	switch reason {
	case TimedOut:
		e.After = spec.Limits.Time
	case Cancelled:
		e.cause = context.Cause(ctx)
	case StdoutFlood:
		e.Limit = spec.Limits.Stdout
	case StderrFlood:
		e.Limit = spec.Limits.Stderr
	}
	return e
}
