package engine

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jptools/jptools/sandbox/fit"
	"golang.org/x/sys/unix"
)

const (
	// soon is far above what anything here takes, and far below giveUp.
	soon = 5 * time.Second
	// linger is what callers give to what a program leaves behind.
	linger = 100 * time.Millisecond
)

// spec is a program as a caller of the engine starts it: with pipes, a limit of time, and a grace.
type spec struct {
	path       string
	args       []string
	dir        string
	env        []string
	stdin      []byte
	extra      []*os.File
	plan       *fit.Plan
	time       time.Duration
	grace      time.Duration
	onlyKilled bool // not told to end before
}

// outcome is what came of it.
type outcome struct {
	Exit
	stdout, stderr string
	stopped        bool
	took           time.Duration
}

func (s spec) run(ctx context.Context, e *Engine) (o outcome, err error) {
	began := time.Now()
	var pipes [3][2]*os.File
	for i := range pipes {
		r, w, err := os.Pipe()
		if err != nil {
			return o, err
		}
		pipes[i] = [2]*os.File{r, w}
	}
	theirs := []*os.File{pipes[0][0], pipes[1][1], pipes[2][1]}
	p, err := e.Start(&Command{
		Plan: s.plan, Path: s.path, Args: s.args, Env: s.env, Dir: s.dir, ExtraFiles: s.extra, Linger: linger,
		Stdin: theirs[0], Stdout: theirs[1], Stderr: theirs[2],
	})
	for _, f := range theirs {
		_ = f.Close()
	}
	var texts [2]bytes.Buffer
	var streams sync.WaitGroup
	streams.Go(func() { _, _ = pipes[0][1].Write(s.stdin); _ = pipes[0][1].Close() })
	for i := range texts {
		streams.Go(func() { _, _ = io.Copy(&texts[i], pipes[i+1][0]); _ = pipes[i+1][0].Close() })
	}
	if err != nil {
		streams.Wait()
		o.stdout = texts[0].String()
		return o, err
	}
	limit := s.time
	if limit == 0 {
		limit = 20 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	over := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-over:
			return
		case <-ctx.Done():
		}
		o.stopped = true
		if !s.onlyKilled {
			_ = p.Signal(unix.SIGTERM)
			select {
			case <-over:
				return
			case <-time.After(s.grace):
			}
		}
		_ = p.Kill()
	}()
	exit, err := p.Wait()
	close(over)
	<-ended
	_ = pipes[0][1].SetWriteDeadline(time.Now())
	for i := range texts { // somebody else may hold them
		_ = pipes[i+1][0].SetReadDeadline(time.Now().Add(time.Second))
	}
	streams.Wait()
	o.Exit, o.stdout, o.stderr, o.took = exit, texts[0].String(), texts[1].String(), time.Since(began)
	return o, err
}

// shSpec is a shell script; p is nil without a plan.
func shSpec(p *fit.Plan, script string) spec {
	s := spec{path: "/bin/sh", args: []string{"sh", "-c", script}, dir: "/", env: []string{"PATH=/bin:/usr/bin"}, plan: p, grace: 100 * time.Millisecond}
	if p != nil {
		s.dir = p.Trees[0].Path
	}
	return s
}

// newEngineFor returns an Engine and checks at the end that nothing of it is left.
func newEngineFor(t *testing.T) *Engine {
	t.Helper()
	fds, routines := countFDs(t), runtime.NumGoroutine()
	e := New(Options{})
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		for deadline := time.Now().Add(soon); countFDs(t) > fds || runtime.NumGoroutine() > routines; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Errorf("%d descriptors and %d goroutines, %d and %d before", countFDs(t), runtime.NumGoroutine(), fds, routines)
				return
			}
		}
		none(t)
	})
	return e
}

func (s spec) mustRun(t *testing.T, e *Engine) outcome {
	t.Helper()
	o, err := s.run(context.Background(), e)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

var marks struct {
	sync.Mutex
	n int
}

// mark returns a word that is in the command line or environment of every process of one test, and that no other
// process has.
func mark() string {
	marks.Lock()
	defer marks.Unlock()
	marks.n++
	return fmt.Sprintf("engine-test-%d-%d-%d", os.Getpid(), marks.n, time.Now().UnixNano())
}

// marked lists the processes with this mark.
func marked(t *testing.T, mark string) (found []string) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(dirs) == 0 {
		t.Fatal("no processes in /proc: nothing can be told", err)
	}
	for _, dir := range dirs {
		if filepath.Base(dir) == fmt.Sprint(os.Getpid()) {
			continue
		}
		line, _ := os.ReadFile(dir + "/cmdline")
		environ, _ := os.ReadFile(dir + "/environ")
		if bytes.Contains(line, []byte(mark)) || bytes.Contains(environ, []byte(mark)) {
			found = append(found, filepath.Base(dir)+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

func noneLeft(t *testing.T, mark string) {
	t.Helper()
	if left := marked(t, mark); len(left) > 0 {
		t.Errorf("still running: %q", left)
	}
}

// within wants something to become true soon.
func within(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(soon); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", soon, what)
		}
	}
}
