package confine

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jptools/jptools/jptool/jptooltest"
	"github.com/jptools/jptools/sandbox/fit"
	"golang.org/x/sys/unix"
)

// sleeper starts a program that stays, and returns when it sleeps.
func sleeper(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	stat := "/proc/" + strconv.Itoa(cmd.Process.Pid) + "/stat"
	for deadline := time.Now().Add(10 * time.Second); !strings.Contains(content(t, stat), "(sleep) S "); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it does not sleep: %s", content(t, stat))
		}
	}
	return cmd
}

// A fence reaches what its thread started, and nobody else.
func TestFence(t *testing.T) {
	needs(t, fit.TierLandlock, fit.ScopeABI)
	outside := sleeper(t)
	done := make(chan struct{})
	go func() {
		defer close(done) // the thread ends with its goroutine
		f, err := NewFence(&fit.Plan{Tier: fit.TierLandlock, ABI: fit.ScopeABI})
		if err != nil {
			t.Error(err)
			return
		}
		// A thread that the goroutine leaves would be somebody else's.
		runtime.UnlockOSThread()
		runtime.LockOSThread()
		inside := exec.Command("sh", "-c", "setsid sleep 1000 & echo; exec sleep 1000")
		out, err := inside.StdoutPipe()
		if err == nil {
			err = inside.Start()
		}
		if err == nil {
			_, err = out.Read(make([]byte, 1))
		}
		if err != nil {
			t.Error(err)
			return
		}
		elsewhere := make(chan bool)
		go func() { elsewhere <- f.Signal(unix.SIGKILL) }()
		if <-elsewhere {
			t.Error("another goroutine could signal")
		}
		if !f.Signal(unix.SIGKILL) {
			t.Error("it could not signal")
		}
		_, _ = out.Read(make([]byte, 1)) // until nobody has it open
		if err := inside.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Errorf("what is inside ended with %v", err)
		}
	}()
	<-done
	if err := outside.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("outside: %v", err)
	}
	if state := content(t, "/proc/"+strconv.Itoa(outside.Process.Pid)+"/stat"); !strings.Contains(state, ") S ") {
		t.Errorf("outside: %s", state)
	}
}

// Where there is no domain, nothing is signalled: it would be everything that the user runs.
func TestNoFence(t *testing.T) {
	outside := sleeper(t)
	for _, p := range []*fit.Plan{
		{Tier: fit.TierNamespace, ABI: 7}, {Tier: fit.TierLandlock, ABI: fit.ScopeABI - 1}, {Tier: fit.TierNone},
	} {
		f, err := NewFence(p)
		if err != nil || f.fence != nil || f.Signal(0) {
			t.Errorf("%s, version %d: %v", p.Tier, p.ABI, err)
		}
	}
	// Not even a thread that believes to be in one.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	believes := &fence{unix.Gettid()}
	if os.Geteuid() == 0 && believes.signal(0) {
		t.Error("it signals everybody")
	}
	if err := outside.Process.Signal(syscall.Signal(0)); err != nil {
		t.Error(err)
	}
}

// One launcher serves calls of every kind, and the fence of some is not in the way of others, nor of
// what the plan grants.
func TestLaunchMixed(t *testing.T) {
	needs(t, fit.TierNamespace, 1)
	l := launched(t)
	ws := jptooltest.TempRoot(t)
	const script = "mkdir -p a b; echo > a/f; ln -f a/f b/f && echo linked; grep NoNewPrivs /proc/self/status; kill -0 $0 && echo outside"
	outside := strconv.Itoa(sleeper(t).Process.Pid)
	for range 2 {
		for _, tier := range []fit.Tier{fit.TierLandlock, fit.TierNamespace, fit.TierNone} {
			p, linked := plan(t, tier, ws), since(t, fit.MoveABI, "linked\n", "")
			want := linked + since(t, fit.ScopeABI, "", "outside\n") // only the first process reads its own /proc/self
			p.Grants = []fit.Grant{grant(t, ws, all)}
			spec := shSpec(t, p, script)
			switch tier {
			case fit.TierNamespace:
				want = linked + "NoNewPrivs:\t1\n"
			case fit.TierNone:
				spec.Plan, spec.Kind, want = nil, "", "linked\nNoNewPrivs:\t0\noutside\n"
			}
			spec.Argv = append(spec.Argv, outside)
			res, err := l.Run(context.Background(), spec)
			if err != nil || string(res.Stdout) != want {
				t.Errorf("%s: %q, %q, want %q; %v", tier, res.Stdout, res.Stderr, want, err)
			}
		}
	}
}
