package call

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/sandbox"
)

// reason is why the host ended a tool.
type reason uint8

const (
	timedOut reason = iota + 1
	cancelled
	stdoutFlood
	stderrFlood
	tooManyProcesses
)

// StopError says that the host ended the tool before it was done.
type StopError struct {
	reason reason
	// limit is the number of bytes that were too many, or of processes; after is the time limit.
	limit int
	after time.Duration
	cause error
}

// Error says in one line what happened and on the next what to do.
func (e *StopError) Error() string {
	switch e.reason {
	case timedOut:
		return fmt.Sprintf("the tool was not done within %s and was ended\nraise limits.time of the tool if it needs longer", e.after)
	case stdoutFlood:
		return fmt.Sprintf("the tool printed more than %d bytes on standard output and was ended\nlet it print less, or raise limits.output of the tool", e.limit)
	case stderrFlood:
		return fmt.Sprintf("the tool printed more than %d bytes on standard error and was ended\nlet it print less, or send what nobody reads to /dev/null", e.limit)
	case tooManyProcesses:
		return fmt.Sprintf("the tool had more than %d processes and was ended\nlet it do less at a time, or raise the limit of processes of the tool", e.limit)
	}
	return "the call was cancelled and the tool ended"
}

// Unwrap returns the cause of a cancellation, or nil.
func (e *StopError) Unwrap() error { return e.cause }

// result is what a tool did, or had done when it was ended. All its processes are gone.
type result struct {
	stdout, stderr []byte
	ended          Ended
}

// bounds are what one start of a tool may use.
type bounds struct {
	time time.Duration
	// stdout and stderr are numbers of bytes; one more ends the tool.
	stdout, stderr int
	// grace is the time between SIGTERM and SIGKILL when the tool is ended.
	grace time.Duration
}

func limits(l config.Limits) bounds {
	out := bounds{config.DefaultTime, config.DefaultOutput, 4 << 20, 250 * time.Millisecond}
	if l.Time != 0 {
		out.time = l.Time
	}
	if l.Output > 0 {
		out.stdout = int(min(l.Output, 1<<31-1))
	}
	return out
}

// collector keeps what one stream brings, up to a limit. What comes after that is dropped, so that the pipe does not
// hold up the end of the tool.
type collector struct {
	limit int
	kept  []byte
	over  bool
	flood func()
}

// Write never fails.
func (c *collector) Write(b []byte) (int, error) {
	take := min(len(b), c.limit-len(c.kept))
	c.kept = append(slices.Grow(c.kept, take), b[:take]...)
	if take < len(b) && !c.over {
		c.over = true
		c.flood()
	}
	return len(b), nil
}

// within runs c within limits, and returns what it printed. The error is a *StopError if the host ended it, else that of
// Start or Wait; the result is nil if nothing was started. command makes the command for a context.
func within(ctx context.Context, l bounds, command func(context.Context) *sandbox.Cmd) (*result, *sandbox.Cmd, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := &collector{limit: l.stdout, flood: func() { cancel(&StopError{reason: stdoutFlood, limit: l.stdout}) }}
	errOut := &collector{limit: l.stderr, flood: func() { cancel(&StopError{reason: stderrFlood, limit: l.stderr}) }}
	c := command(ctx)
	c.Stdout, c.Stderr, c.WaitDelay = out, errOut, l.grace
	c.Cancel = func() error {
		if stop := stopOf(ctx); stop.reason == stdoutFlood || stop.reason == stderrFlood {
			return c.Kill()
		}
		return c.Signal(syscall.SIGTERM)
	}
	if err := c.Start(); err != nil {
		if ctx.Err() != nil {
			err = stopOf(ctx)
		}
		return nil, c, err
	}
	defer time.AfterFunc(l.time, func() { cancel(&StopError{reason: timedOut, after: l.time}) }).Stop()
	err := c.Wait()
	res := &result{stdout: out.kept, stderr: errOut.kept}
	res.ended = Ended{Code: c.State.Code, Signal: c.State.SignalName(), Leftover: c.State.Leftover}
	switch lost, control, crowd := (*sandbox.LostError)(nil), (*sandbox.ControlError)(nil), (*sandbox.LimitError)(nil); {
	case errors.As(err, &control), errors.As(err, &lost):
	case ctx.Err() != nil:
		err = stopOf(ctx)
	case errors.As(err, &crowd):
		err = &StopError{reason: tooManyProcesses, limit: crowd.Processes}
	default:
		err = c.Left // how the tool ended is part of its result
	}
	return res, c, err
}

// stopOf returns why a context has ended.
func stopOf(ctx context.Context) *StopError {
	cause := context.Cause(ctx)
	if stop, ok := cause.(*StopError); ok {
		return stop
	}
	return &StopError{reason: cancelled, cause: cause}
}
