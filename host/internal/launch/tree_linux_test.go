package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What a tool leaves behind neither holds up its result nor survives it.
func TestLeftovers(t *testing.T) {
	l := testLauncher(t)
	cases := []struct {
		name    string
		spec    func(string) Spec
		printed string
		left    bool
	}{
		{"a detached process without streams", func(m string) Spec { return goTool(m, "detach", "leave") }, "detached\n", true},
		{"a detached process with the streams", func(m string) Spec { return goTool(m, "hold") }, "", true},
		{"a background job", func(m string) Spec { return shTool(m, "sleep 1000 & echo started") }, "started\n", true},
		{"a late writer", func(m string) Spec { return shTool(m, "(sleep 0.03; echo late) & echo early") }, "early\nlate\n", false},
		{"a stopped process", func(m string) Spec { return shTool(m, "sleep 1000 & kill -STOP $!; echo stopped") }, "stopped\n", true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m := mark(t)
			res := mustRun(t, l, c.spec(m))
			if c.printed != "" && string(res.Stdout) != c.printed || res.Exit.Code != 0 || (res.Leftover > 0) != c.left || res.Duration > soon {
				t.Errorf("%+v %q", res, res.Stdout)
			}
			noneLeft(t, m)
		})
	}
}

// A process that is never the same for long is caught in the end.
func TestHopper(t *testing.T) {
	l := testLauncher(t)
	m := mark(t)
	if res := mustRun(t, l, goTool(m, "hop")); res.Exit.Code != 0 {
		t.Errorf("%+v", res)
	}
	noneLeft(t, m)
}

func TestHostDies(t *testing.T) {
	m := mark(t)
	host := &exec.Cmd{Path: "/proc/self/exe", Args: []string{helperName, "host", m}, Env: []string{}}
	var out bytes.Buffer
	host.Stdout = &out
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(soon)
	for len(marked(t, m)) < 3 { // the host, the tool, what it has detached
		if time.Now().After(deadline) {
			t.Fatalf("nothing was started: %s", &out)
		}
		time.Sleep(5 * time.Millisecond)
	}
	_ = host.Process.Kill()
	_ = host.Wait()
	for deadline := time.Now().Add(soon); len(marked(t, m)) > 0 && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	noneLeft(t, m)
}

func TestSupervisorIsKilled(t *testing.T) {
	l := testLauncher(t)
	m := mark(t)
	spec := goTool(m, "kill-supervisor")
	_, err := l.Run(context.Background(), spec)
	var control *ControlError
	if !errors.As(err, &control) || !strings.Contains(err.Error(), "may still run") {
		t.Errorf("got %v, want a ControlError", err)
	}
	// The documented gap: the tool itself is gone, what it detached is not.
	for _, left := range marked(t, m) {
		if strings.Contains(left, "kill-supervisor") {
			t.Errorf("the tool itself survived: %s", left)
		}
		var pid int
		if _, err := fmt.Sscan(left, &pid); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	if res := mustRun(t, l, shTool(m, "echo on")); string(res.Stdout) != "on\n" {
		t.Errorf("the next call: %+v", res)
	}
}

// A tool that stops its supervisor is not rid of its limit.
func TestSupervisorIsStopped(t *testing.T) {
	defer func(d time.Duration) { giveUp = d }(giveUp)
	giveUp = 200 * time.Millisecond
	l := testLauncher(t)
	m := mark(t)
	spec := shTool(m, "setsid sleep 1000 & kill -STOP $PPID; echo stopped; exec sleep 1000")
	spec.Limits.Time = 100 * time.Millisecond
	res, err := l.Run(context.Background(), spec)
	var control *ControlError
	if !errors.As(err, &control) || string(res.Stdout) != "stopped\n" {
		t.Errorf("got %+v, %v; want a ControlError", res, err)
	}
	noneLeft(t, m)
}

// Any call after many is like the first.
func TestNothingAddsUp(t *testing.T) {
	l := testLauncher(t)
	m := mark(t)
	spec := shTool(m, "sleep 1000 & exit 0")
	mustRun(t, l, spec)
	fds, routines := countFDs(t), runtime.NumGoroutine()
	for range 10 {
		mustRun(t, l, spec)
		mustRun(t, l, shTool(m, "true"))
	}
	if f, r := countFDs(t), runtime.NumGoroutine(); f > fds || r > routines+1 {
		t.Errorf("%d descriptors and %d goroutines, %d and %d before", f, r, fds, routines)
	}
	kids, err := descendants(os.Getpid())
	if err != nil || len(kids) != 1 {
		t.Fatalf("%d processes below the host, want the supervisor alone: %v", len(kids), err)
	}
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", kids[0].pid))
	if err != nil || len(entries) > 12 {
		t.Errorf("the supervisor has %d descriptors: %v", len(entries), err)
	}
}
