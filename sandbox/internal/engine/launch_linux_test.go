package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/internal/failure"
	"golang.org/x/sys/unix"
)

func TestLaunch(t *testing.T) {
	tiers(t, func(t *testing.T, tier fit.Tier) {
		e := newEngineFor(t)
		ws := jptooltest.OpenRoot(t)
		p := plan(t, tier, ws)
		p.Grants = []fit.Grant{grant(t, ws, all)}
		for _, c := range []struct {
			script, stdin, stdout string
			exit                  Exit
			left                  int
		}{
			{"cat; echo here > file; exit 7", "request\n", "request\n", Exit{Code: 7}, 0},
			{"kill -SEGV $$", "", "", Exit{Code: -1, Signal: unix.SIGSEGV}, 0},
			{"cat /etc/shadow 2>/dev/null || echo refused", "", "refused\n", Exit{}, 0},
			{"sleep 1000 & echo started", "", "started\n", Exit{}, 1},
			{"setsid sh -c 'sleep 1000 & sleep 1000' > /dev/null 2>&1 & echo away", "", "away\n", Exit{}, 3},
			{"(sleep 0.03; echo late) & echo early", "", "early\nlate\n", Exit{}, 0},
		} {
			s := shSpec(p, c.script)
			s.stdin = []byte(c.stdin)
			o, err := s.run(context.Background(), e)
			left := o.Leftover
			o.Leftover = 0
			if err != nil || o.stdout != c.stdout || o.Exit != c.exit || (left > 0) != (c.left > 0) || left > c.left || o.took > soon {
				t.Errorf("%s: %+v, %d left, %v", c.script, o, left, err)
			}
		}
		if content(t, filepath.Join(ws, "file")) != "here\n" {
			t.Error("the file is not there")
		}
	})
}

// Time limits, the grace before the end, and cancellation are as without a plan.
func TestLaunchEnds(t *testing.T) {
	tiers(t, func(t *testing.T, tier fit.Tier) {
		e := newEngineFor(t)
		p := plan(t, tier, jptooltest.OpenRoot(t))
		for script, want := range map[string]string{
			"echo ready; sleep 1000": "ready\n",
			"trap 'echo cleaned; exit' TERM; echo ready; while :; do sleep 0.01; done":   "ready\ncleaned\n",
			"trap '' TERM; setsid sleep 1000 & echo ready; while :; do sleep 0.01; done": "ready\n",
		} {
			s := shSpec(p, script)
			s.time = 300 * time.Millisecond
			o, err := s.run(context.Background(), e)
			if err != nil || !o.stopped || o.stdout != want || o.took > soon {
				t.Errorf("%s: %+v, %v", script, o, err)
			}
		}
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(100*time.Millisecond, cancel)
		if o, err := shSpec(p, "sleep 1000").run(ctx, e); err != nil || !o.stopped || o.Signal != unix.SIGTERM {
			t.Errorf("got %+v, %v", o, err)
		}
		p.Limits.Processes = 5
		if o, err := shSpec(p, "sleep 0.1 & sleep 0.1 & wait; echo done").run(context.Background(), e); err != nil || o.TooMany != 0 || o.stdout != "done\n" {
			t.Errorf("got %+v, %v", o, err)
		}
		if o, err := shSpec(p, "for i in 1 2 3 4 5 6 7; do sleep 1000 & done; wait").run(context.Background(), e); err != nil || o.TooMany != 5 {
			t.Errorf("got %+v, %v", o, err)
		}
	})
}

// Refusals keep their identity on the way from the supervisor.
func TestLaunchErrors(t *testing.T) {
	tiers(t, func(t *testing.T, tier fit.Tier) {
		e := newEngineFor(t)
		ws := jptooltest.OpenRoot(t)
		p := plan(t, tier, ws)
		p.Grants = []fit.Grant{grant(t, ws, r)}
		p.Grants[0].ID.Ino++
		var f *failure.Error
		if _, err := shSpec(p, "echo ran").run(context.Background(), e); !errors.As(err, &f) || f.Kind != failure.Changed || f.Path != ws || !strings.Contains(err.Error(), ws) {
			t.Errorf("got %v", err)
		}
		p = plan(t, tier, ws)
		s := shSpec(p, "")
		s.path = filepath.Join(ws, "missing")
		if _, err := s.run(context.Background(), e); !errors.Is(err, unix.ENOENT) || !failure.Is(err, failure.Program) {
			t.Errorf("got %v", err)
		}
		if o, err := shSpec(p, "echo on").run(context.Background(), e); err != nil || o.stdout != "on\n" {
			t.Errorf("the next call: %+v, %v", o, err)
		}
	})
}

// When somebody outside undoes a mask, the call ends and the path is named.
func TestExposed(t *testing.T) {
	for name, undo := range map[string]func(dir string) error{
		"nothing":          func(string) error { return nil },
		"the mask removed": func(dir string) error { return os.Remove(dir + "/a b/secret") },
		"the mask replaced": func(dir string) error {
			return errors.Join(os.WriteFile(dir+"/new", nil, 0o644), os.Rename(dir+"/new", dir+"/a b/secret"))
		},
		"the mask moved":          func(dir string) error { return os.Rename(dir+"/a b/secret", dir+"/a b/moved") },
		"a directory above moved": func(dir string) error { return os.Rename(dir+"/a b", dir+"/moved") },
		"the pin moved":           func(dir string) error { return os.Rename(dir+"/pin", dir+"/moved") },
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngineFor(t)
			ws := jptooltest.OpenRoot(t)
			secret := write(t, filepath.Join(ws, "a b/secret"), "content", 0o644)
			pin := filepath.Dir(write(t, filepath.Join(ws, "pin/x"), "", 0o644))
			p := plan(t, fit.TierNamespace, ws)
			p.Grants = []fit.Grant{grant(t, ws, all)}
			p.Covers = []fit.Cover{{Node: node(t, secret), Hide: true}}
			p.Pins = []fit.Node{node(t, pin)}
			wait := make(chan error)
			go func() {
				for deadline := time.Now().Add(soon); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
					if _, err := os.Stat(ws + "/ready"); err == nil {
						wait <- undo(ws)
						return
					}
				}
				wait <- errors.New("the script is not ready")
			}()
			o, err := shSpec(p, "echo > ready; sleep 1").run(context.Background(), e)
			if err := <-wait; err != nil {
				t.Fatal(err)
			}
			switch {
			case err != nil:
				t.Error(err)
			case name == "nothing":
				if o.Lost != "" {
					t.Errorf("%+v", o)
				}
			case o.Lost != secret && o.Lost != pin || o.took > 800*time.Millisecond:
				t.Errorf("got %+v", o)
			}
		})
	}
}

// A change just before the end of a short call is noticed too.
func TestExposedAtTheEnd(t *testing.T) {
	e := newEngineFor(t)
	ws := jptooltest.OpenRoot(t)
	secret := write(t, filepath.Join(ws, "secret"), "content", 0o644)
	p := plan(t, fit.TierNamespace, ws)
	p.Grants = []fit.Grant{grant(t, ws, all)}
	p.Covers = []fit.Cover{{Node: node(t, secret), Hide: true}}
	// The program tells somebody outside, and ends when that is done.
	if err := unix.Mkfifo(ws+"/fifo", 0o666); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		f, err := os.OpenFile(ws+"/fifo", os.O_WRONLY, 0) // waits for the reader
		if err == nil {
			err = errors.Join(os.Remove(secret), f.Close())
		}
		done <- err
	}()
	o, err := shSpec(p, "cat fifo").run(context.Background(), e)
	if err2 := <-done; err2 != nil || err != nil || o.Lost != secret {
		t.Errorf("got %+v, %v, %v", o, err, err2)
	}
}

// Killed together with its private directory: what the host would have removed is removed
// when the host is killed, and so is what the tool has started.
func TestHostIsKilled(t *testing.T) {
	tiers(t, func(t *testing.T, tier fit.Tier) {
		ws := jptooltest.OpenRoot(t)
		p := plan(t, tier, ws)
		p.Grants = []fit.Grant{grant(t, ws, all)}
		if tier == fit.TierLandlock {
			p.Temp = filepath.Join(jptooltest.OpenRoot(t), "private")
			if err := os.Mkdir(p.Temp, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		s := shSpec(p, `mkdir "$TMPDIR/dir"; echo > "$TMPDIR/dir/file"; setsid sh -c 'while :; do echo x >> alive; sleep 0.02; done' & echo > ready; wait`)
		cmd := hostCommand(hosted{Plan: p, Path: s.path, Args: s.args, Env: append(s.env, "TMPDIR="+p.Temp), Dir: s.dir})
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		exists := func(path string) bool { _, err := os.Stat(path); return err == nil }
		within(t, "the tool is ready", func() bool { return exists(filepath.Join(ws, "ready")) && exists(filepath.Join(ws, "alive")) })
		if tier == fit.TierLandlock && !exists(filepath.Join(p.Temp, "dir/file")) {
			t.Error("the private directory is not used")
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		within(t, "what was started has ended", func() bool {
			before := content(t, filepath.Join(ws, "alive"))
			time.Sleep(200 * time.Millisecond)
			return content(t, filepath.Join(ws, "alive")) == before
		})
		if tier == fit.TierLandlock {
			within(t, "the private directory is gone", func() bool { return !exists(p.Temp) })
		}
	})
}

func TestManyAtOnce(t *testing.T) {
	tiers(t, func(t *testing.T, tier fit.Tier) {
		e := newEngineFor(t)
		p := plan(t, tier, jptooltest.OpenRoot(t))
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				for j := range 4 {
					want := fmt.Sprintf("%d-%d\n", i, j)
					o, err := shSpec(p, "sleep 1000 & echo "+want).run(context.Background(), e)
					if err != nil || o.stdout != want || o.Leftover != 1 {
						t.Errorf("got %+v, %v; want %q", o, err, want)
					}
				}
			})
		}
		wg.Wait()
	})
}

// Any call after many is like the first: no descriptor, thread, mount, process, file or
// memory adds up, here and in the supervisor.
func TestNothingAddsUp(t *testing.T) {
	calls := 300
	if os.Getenv("JPTOOLS_LONG") != "" {
		calls = 10_000
	}
	e := newEngineFor(t)
	ws := jptooltest.OpenRoot(t)
	secret := write(t, filepath.Join(ws, "secret"), "content", 0o644)
	specs := map[fit.Tier]spec{}
	for _, tier := range []fit.Tier{fit.TierLandlock, fit.TierNamespace} {
		p := plan(t, tier, ws)
		p.Grants = []fit.Grant{grant(t, ws, all)}
		if tier == fit.TierNamespace {
			p.Covers = []fit.Cover{{Node: node(t, secret), Hide: true}}
		}
		p.Staged = []fit.Staged{{Node: node(t, ws), FD: 5}}
		specs[tier] = shSpec(p, "exit 3")
	}
	failing := shSpec(plan(t, fit.TierNamespace, ws), "")
	failing.path = "/no/such/program"
	round := func() {
		for tier, s := range specs {
			if o, err := s.run(context.Background(), e); err != nil || o.Code != 3 {
				t.Fatal(tier, o, err)
			}
		}
		if _, err := failing.run(context.Background(), e); !errors.Is(err, unix.ENOENT) {
			t.Fatal(err)
		}
	}
	for range 20 {
		round()
	}
	before := usage(t, ws)
	for range (calls - 60) / 3 {
		round()
	}
	most := [...]int{2, 2, 3, 0, 0, 6 << 10}
	after := usage(t, ws)
	// Supervisors that end now have descriptors until they have ended.
	for deadline := time.Now().Add(soon); after[0]-before[0] > most[0] && time.Now().Before(deadline); after = usage(t, ws) {
		time.Sleep(50 * time.Millisecond)
	}
	t.Logf("after %d calls %v, before %v", calls, after, before)
	for i, name := range []string{"descriptors", "descriptors of the supervisor", "threads of the supervisor", "mounts", "temporary files", "kB of the supervisor"} {
		// The runtimes come to rest somewhere, with two descriptors more when the first timer has been set; what
		// leaks does with each call.
		if more := after[i] - before[i]; more > most[i] {
			t.Errorf("%d %s after %d calls, %d before", after[i], name, calls, before[i])
		}
	}
	if n := runtime.NumGoroutine(); n > 30 {
		t.Errorf("%d goroutines", n)
	}
}

// usage counts what could add up, files in the directory ws.
// Mounts are those of the namespace that host and supervisor share.
func usage(t *testing.T, ws string) (n [6]int) {
	t.Helper()
	out, err := exec.Command("/bin/sh", "-c", "for s in /proc/[0-9]*/stat; do cat $s; done 2>/dev/null").Output()
	if len(out) == 0 {
		t.Fatal(err)
	}
	supervisor := 0
	for line := range strings.Lines(string(out)) {
		var pid, parent int
		head, tail, _ := strings.Cut(line, "(")
		_, _ = fmt.Sscan(head, &pid)
		_, _ = fmt.Sscanf(tail[strings.LastIndex(tail, ")")+1:], " %1s %d", new(string), &parent)
		if parent == os.Getpid() {
			if b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); strings.HasPrefix(string(b), supervisorName) {
				supervisor = pid
			}
		}
	}
	if supervisor == 0 {
		t.Fatal("no supervisor")
	}
	proc := fmt.Sprintf("/proc/%d/", supervisor)
	count := func(dir string) int {
		list, err := os.ReadDir(dir)
		if os.Geteuid() != 0 && errors.Is(err, os.ErrPermission) {
			return 0 // nobody but root may look into a supervisor
		}
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	n[0], n[1], n[2] = count("/proc/self/fd"), count(proc+"fd"), count(proc+"task")
	n[3] = strings.Count(content(t, proc+"mountinfo"), "\n")
	n[4] = count(ws)
	for line := range strings.Lines(content(t, proc+"status")) {
		_, _ = fmt.Sscanf(line, "VmRSS: %d", &n[5])
	}
	return n
}

// A program shares the process group of a host with a terminal, in each call; its supervisor does not, since the
// terminal signals the whole group.
func TestProcessGroups(t *testing.T) {
	e := New(Options{Terminal: true})
	defer e.Close()
	if unix.Getpgrp() == 0 {
		t.Skip("not run: the group of this process is of another process namespace")
	}
	for call := range 2 {
		o := shSpec(nil, "cut -d' ' -f5 /proc/$$/stat /proc/$PPID/stat").mustRun(t, e)
		groups := strings.Fields(o.stdout)
		if host := strconv.Itoa(unix.Getpgrp()); len(groups) != 2 || groups[0] != host || groups[1] == host {
			t.Errorf("call %d: the program and its supervisor are in the groups %q; the host in %s", call, groups, host)
		}
	}
}

// Whenever a supervisor dies, a program that has run is never reported as one that was not started: the caller would
// not look at what it has done.
func TestSupervisorDiesAtTheStart(t *testing.T) {
	for _, tier := range []fit.Tier{fit.TierLandlock, fit.TierNamespace} {
		t.Run(string(tier), func(t *testing.T) {
			ws := jptooltest.OpenRoot(t)
			p := plan(t, tier, ws)
			p.Grants = []fit.Grant{grant(t, ws, all)}
			ran := filepath.Join(ws, "ran")
			notStarted, killed := 0, 0
			for round := range 150 {
				e := New(Options{})
				e.Warm(KindOf(p))
				var killer sync.WaitGroup
				killer.Go(func() {
					time.Sleep(time.Duration(round) * 100 * time.Microsecond)
					kids, _ := descendants(os.Getpid())
					for _, k := range kids {
						_ = unix.Kill(k.pid, unix.SIGKILL)
					}
				})
				s := shSpec(p, ": > "+ran)
				s.time = soon
				_, err := s.run(context.Background(), e)
				killer.Wait()
				var f *failure.Error
				if errors.As(err, &f) && f.Kind != failure.Control {
					if _, there := os.Stat(ran); there == nil {
						t.Fatalf("round %d: the program has run, and is reported as not started: %v", round, err)
					}
					notStarted++
				} else {
					killed++
				}
				_ = e.Close()
				_ = os.Remove(ran)
			}
			if t.Logf("%d not started, %d killed or at their end", notStarted, killed); notStarted == 0 || killed == 0 {
				t.Error("the supervisors were all killed too early or too late")
			}
		})
	}
}
