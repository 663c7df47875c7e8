package sandbox

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// streams are the standard streams of one Cmd: files as they are, anything else through a pipe and a goroutine.
type streams struct {
	// callers are the caller's ends of StdinPipe and the like, programs the other ends.
	callers, programs []*os.File

	// Of one attempt: the program's ends of pipes, our ends, and what copies between those and the Cmd's streams.
	theirs, ours  []*os.File
	feed, collect []func() error
	stdin         *os.File

	feeding, collecting sync.WaitGroup
	mu                  sync.Mutex
	err                 error
}

// StdinPipe returns a pipe to the program's standard input. Wait closes it.
func (c *Cmd) StdinPipe() (io.WriteCloser, error) {
	if c.Stdin != nil {
		return nil, errors.New("sandbox: Stdin already set")
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c.Stdin = r
	c.stream.programs, c.stream.callers = append(c.stream.programs, r), append(c.stream.callers, w)
	return w, nil
}

// StdoutPipe returns a pipe from the program's standard output. Wait closes it: read it to its end before.
func (c *Cmd) StdoutPipe() (io.ReadCloser, error) { return c.outputPipe(&c.Stdout) }

// StderrPipe returns a pipe from the program's standard error. Wait closes it: read it to its end before.
func (c *Cmd) StderrPipe() (io.ReadCloser, error) { return c.outputPipe(&c.Stderr) }

func (c *Cmd) outputPipe(to *io.Writer) (io.ReadCloser, error) {
	if *to != nil {
		return nil, errors.New("sandbox: the stream is already set")
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	*to = w
	c.stream.programs, c.stream.callers = append(c.stream.programs, w), append(c.stream.callers, r)
	return r, nil
}

// open returns the program's standard streams for one attempt to start it.
func (s *streams) open(c *Cmd) (stdin, stdout, stderr *os.File, err error) {
	if stdin, err = s.input(c.Stdin); err == nil {
		stdout, err = s.output(c.Stdout)
	}
	switch {
	case err != nil:
	case c.Stderr != nil && same(c.Stdout, c.Stderr):
		stderr = stdout
	default:
		stderr, err = s.output(c.Stderr)
	}
	return stdin, stdout, stderr, err
}

func (s *streams) input(from io.Reader) (*os.File, error) {
	if f, ok := from.(*os.File); ok || from == nil {
		return f, nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.theirs, s.ours, s.stdin = append(s.theirs, r), append(s.ours, w), w
	s.feed = append(s.feed, func() error {
		_, err := io.Copy(w, from)
		if errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded) {
			err = nil // a program that does not read all has its reasons
		}
		return errors.Join(err, w.Close())
	})
	return r, nil
}

func (s *streams) output(to io.Writer) (*os.File, error) {
	if f, ok := to.(*os.File); ok || to == nil {
		return f, nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.theirs, s.ours = append(s.theirs, w), append(s.ours, r)
	s.collect = append(s.collect, func() error {
		_, err := io.Copy(to, r)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = exec.ErrWaitDelay // somebody outside of the call holds the other end
		}
		return errors.Join(err, r.Close())
	})
	return w, nil
}

// same reports whether two writers are one; those that cannot be compared are not.
func same(a, b io.Writer) bool {
	defer func() { _ = recover() }()
	return a == b
}

// handedOver closes the program's ends of an attempt's pipes: while they are open here, no end of file ever comes.
func (s *streams) handedOver() {
	closeFiles(s.theirs)
	s.theirs = nil
}

// abandon closes our ends after an attempt that failed.
func (s *streams) abandon() {
	closeFiles(s.ours)
	s.ours, s.feed, s.collect, s.stdin = nil, nil, nil, nil
}

// closeAll closes everything when there will be no further attempt.
func (s *streams) closeAll() {
	closeFiles(s.programs)
	closeFiles(s.callers)
}

// run copies until finish.
func (s *streams) run() {
	closeFiles(s.programs)
	begin := func(group *sync.WaitGroup, list []func() error) {
		for _, do := range list {
			group.Go(func() {
				if err := do(); err != nil {
					s.mu.Lock()
					defer s.mu.Unlock()
					if s.err == nil {
						s.err = err
					}
				}
			})
		}
	}
	begin(&s.feeding, s.feed)
	begin(&s.collecting, s.collect)
}

// finish waits for the ends of the streams, at most for a time, when all processes of the call are gone. It does not wait
// for a reader that keeps standard input waiting.
func (s *streams) finish(most time.Duration) error {
	closeFiles(s.callers)
	if s.stdin != nil {
		_ = s.stdin.SetWriteDeadline(time.Now())
	}
	for _, f := range s.ours {
		if f != s.stdin {
			_ = f.SetReadDeadline(time.Now().Add(most))
		}
	}
	s.collecting.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
