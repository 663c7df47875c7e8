package engine

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
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

// A signal scope reaches what a call has started, and nobody else.
func TestScope(t *testing.T) {
	needs(t, fit.TierLandlock, fit.ScopeABI)
	e := newEngineFor(t)
	outside := sleeper(t)
	p := plan(t, fit.TierLandlock, jptooltest.OpenRoot(t))
	s := shSpec(p, "setsid sh -c 'while :; do sh -c \"sleep 1000 & sleep 1000 &\"; done' & exec sleep 1000") // faster than anybody can look
	s.time, s.onlyKilled = 200*time.Millisecond, true
	if o, err := s.run(context.Background(), e); err != nil || o.Signal != unix.SIGKILL || o.took > soon {
		t.Errorf("%+v, %v", o, err)
	}
	if err := outside.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("outside: %v", err)
	}
	if state := content(t, "/proc/"+strconv.Itoa(outside.Process.Pid)+"/stat"); !strings.Contains(state, ") S ") {
		t.Errorf("outside: %s", state)
	}
}

// One engine serves calls of every kind, and the signal scope of some is not in the way of others, nor of
// what the plan grants.
func TestLaunchMixed(t *testing.T) {
	needs(t, fit.TierNamespace, 1)
	e := newEngineFor(t)
	ws := jptooltest.TempRoot(t)
	const script = "mkdir -p a b; echo > a/f; ln -f a/f b/f && echo linked; grep NoNewPrivs /proc/self/status; kill -0 $0 && echo outside"
	outside := strconv.Itoa(sleeper(t).Process.Pid)
	for range 2 {
		for _, tier := range []fit.Tier{fit.TierLandlock, fit.TierNamespace, fit.TierNone} {
			p, linked := plan(t, tier, ws), since(t, fit.MoveABI, "linked\n", "")
			want := linked + since(t, fit.ScopeABI, "", "outside\n") // only the first process reads its own /proc/self
			p.Grants = []fit.Grant{grant(t, ws, all)}
			s := shSpec(p, script)
			switch tier {
			case fit.TierNamespace:
				want = linked + "NoNewPrivs:\t1\n"
			case fit.TierNone:
				s.plan, want = nil, "linked\nNoNewPrivs:\t0\noutside\n"
			}
			s.args = append(s.args, outside)
			o, err := s.run(context.Background(), e)
			if err != nil || o.stdout != want {
				t.Errorf("%s: %+v, want %q; %v", tier, o, want, err)
			}
		}
	}
}
