package confine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jptools/jptools/host/internal/launch"
	"github.com/jptools/jptools/jptool/jptooltest"
	"github.com/jptools/jptools/sandbox/fit"
	"golang.org/x/sys/unix"
)

// soon is far above what anything here takes.
const soon = 5 * time.Second

// launched is a Launcher whose calls have all been waited for when the test ends.
func launched(t *testing.T) *launch.Launcher {
	t.Helper()
	l := launch.New(nil)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		none(t)
	})
	return l
}

// shSpec is a confined shell script as the host starts it.
func shSpec(t *testing.T, p *fit.Plan, script string) launch.Spec {
	t.Helper()
	return launch.Spec{
		Program: "/bin/sh", Argv: []string{"sh", "-c", script}, Dir: p.Trees[0].Path, Env: []string{"PATH=/bin:/usr/bin"}, Plan: p.Encode(), Kind: string(p.Tier),
		Limits: launch.Limits{Time: 20 * time.Second, Grace: 100 * time.Millisecond},
	}
}

func TestLaunch(t *testing.T) {
	tiers(t, func(t *testing.T, tier fit.Tier) {
		l := launched(t)
		ws := jptooltest.OpenRoot(t)
		p := plan(t, tier, ws)
		p.Grants = []fit.Grant{grant(t, ws, all)}
		for _, c := range []struct {
			script, stdin, stdout string
			exit                  launch.Exit
			left                  int
		}{
			{"cat; echo here > file; exit 7", "request\n", "request\n", launch.Exit{Code: 7}, 0},
			{"kill -SEGV $$", "", "", launch.Exit{Code: -1, Signal: "SIGSEGV"}, 0},
			{"cat /etc/shadow 2>/dev/null || echo refused", "", "refused\n", launch.Exit{}, 0},
			{"sleep 1000 & echo started", "", "started\n", launch.Exit{}, 1},
			{"setsid sh -c 'sleep 1000 & sleep 1000' > /dev/null 2>&1 & echo away", "", "away\n", launch.Exit{}, 3},
			{"(sleep 0.03; echo late) & echo early", "", "early\nlate\n", launch.Exit{}, 0},
		} {
			spec := shSpec(t, p, c.script)
			spec.Stdin = []byte(c.stdin)
			began := time.Now()
			res, err := l.Run(context.Background(), spec)
			if err != nil || string(res.Stdout) != c.stdout || res.Exit != c.exit || (res.Leftover > 0) != (c.left > 0) || res.Leftover > c.left || time.Since(began) > soon {
				t.Errorf("%s: %+v %q %q, %v", c.script, res, res.Stdout, res.Stderr, err)
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
		l := launched(t)
		p := plan(t, tier, jptooltest.OpenRoot(t))
		for script, want := range map[string]string{
			"echo ready; sleep 1000": "ready\n",
			"trap 'echo cleaned; exit' TERM; echo ready; while :; do sleep 0.01; done":   "ready\ncleaned\n",
			"trap '' TERM; setsid sleep 1000 & echo ready; while :; do sleep 0.01; done": "ready\n",
		} {
			spec := shSpec(t, p, script)
			spec.Limits.Time = 300 * time.Millisecond
			began := time.Now()
			res, err := l.Run(context.Background(), spec)
			var stop *launch.StopError
			if !errors.As(err, &stop) || stop.Reason != launch.TimedOut || string(res.Stdout) != want || time.Since(began) > soon {
				t.Errorf("%s: %+v, %v", script, res, err)
			}
		}
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(100*time.Millisecond, cancel)
		var stop *launch.StopError
		if _, err := l.Run(ctx, shSpec(t, p, "sleep 1000")); !errors.As(err, &stop) || stop.Reason != launch.Cancelled {
			t.Errorf("got %v", err)
		}
		p.Limits.Processes = 5
		spec := shSpec(t, p, "for i in 1 2 3 4 5 6 7; do sleep 1000 & done; wait")
		if _, err := l.Run(context.Background(), spec); !errors.As(err, &stop) || stop.Reason != launch.TooManyProcesses || stop.Limit != 5 {
			t.Errorf("got %v", err)
		}
	})
}

// Refusals keep their identity on the way from the supervisor.
func TestLaunchErrors(t *testing.T) {
	tiers(t, func(t *testing.T, tier fit.Tier) {
		l := launched(t)
		ws := jptooltest.OpenRoot(t)
		p := plan(t, tier, ws)
		p.Grants = []fit.Grant{grant(t, ws, r)}
		p.Grants[0].ID.Ino++
		_, err := l.Run(context.Background(), shSpec(t, p, "echo ran"))
		var start *launch.StartError
		if !errors.As(err, &start) || !IsChanged(err) || IsNamespaces(err) || !strings.Contains(err.Error(), ws) {
			t.Errorf("got %v", err)
		}
		p = plan(t, tier, ws)
		spec := shSpec(t, p, "")
		spec.Program = filepath.Join(ws, "missing")
		if _, err := l.Run(context.Background(), spec); !errors.Is(err, unix.ENOENT) || IsChanged(err) {
			t.Errorf("got %v", err)
		}
		if res, err := l.Run(context.Background(), shSpec(t, p, "echo on")); err != nil || string(res.Stdout) != "on\n" {
			t.Errorf("the next call: %+v, %v", res, err)
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
			l := launched(t)
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
			began := time.Now()
			_, err := l.Run(context.Background(), shSpec(t, p, "echo > ready; sleep 1"))
			if err := <-wait; err != nil {
				t.Fatal(err)
			}
			var stop *launch.StopError
			switch {
			case name == "nothing":
				if err != nil {
					t.Error(err)
				}
			case !errors.As(err, &stop) || stop.Reason != launch.Exposed || stop.Path != secret && stop.Path != pin || time.Since(began) > 800*time.Millisecond:
				t.Errorf("got %v after %s", err, time.Since(began))
			}
		})
	}
}

// A change just before the end of a short call is noticed too.
func TestExposedAtTheEnd(t *testing.T) {
	l := launched(t)
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
	_, err := l.Run(context.Background(), shSpec(t, p, "cat fifo"))
	var stop *launch.StopError
	if err2 := <-done; err2 != nil || !errors.As(err, &stop) || stop.Reason != launch.Exposed {
		t.Errorf("got %v, %v", err, err2)
	}
}

const hostName = "confine-host"

// host is a host for one call, given as JSON.
func host(spec string) int {
	var s launch.Spec
	if err := json.Unmarshal([]byte(spec), &s); err != nil {
		return 1
	}
	l := launch.New(nil)
	_, err := l.Run(context.Background(), s)
	fmt.Println(err)
	return 0
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
		spec := shSpec(t, p, `mkdir "$TMPDIR/dir"; echo > "$TMPDIR/dir/file"; setsid sh -c 'while :; do echo x >> alive; sleep 0.02; done' & echo > ready; wait`)
		spec.Env = append(spec.Env, "TMPDIR="+p.Temp)
		encoded, err := json.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		cmd := &exec.Cmd{Path: self(t), Args: []string{hostName, string(encoded)}, Env: []string{}}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		within := func(what string, holds func() bool) {
			t.Helper()
			for deadline := time.Now().Add(soon); !holds(); time.Sleep(5 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("not within %s: %s", soon, what)
				}
			}
		}
		exists := func(path string) bool { _, err := os.Stat(path); return err == nil }
		within("the tool is ready", func() bool { return exists(filepath.Join(ws, "ready")) && exists(filepath.Join(ws, "alive")) })
		if tier == fit.TierLandlock && !exists(filepath.Join(p.Temp, "dir/file")) {
			t.Error("the private directory is not used")
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		within("what was started has ended", func() bool {
			before := content(t, filepath.Join(ws, "alive"))
			time.Sleep(200 * time.Millisecond)
			return content(t, filepath.Join(ws, "alive")) == before
		})
		if tier == fit.TierLandlock {
			within("the private directory is gone", func() bool { return !exists(p.Temp) })
		}
	})
}

func TestManyAtOnce(t *testing.T) {
	tiers(t, func(t *testing.T, tier fit.Tier) {
		l := launched(t)
		p := plan(t, tier, jptooltest.OpenRoot(t))
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				for j := range 4 {
					want := fmt.Sprintf("%d-%d\n", i, j)
					res, err := l.Run(context.Background(), shSpec(t, p, "sleep 1000 & echo "+want))
					if err != nil || string(res.Stdout) != want || res.Leftover != 1 {
						t.Errorf("got %+v, %v; want %q", res, err, want)
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
	l := launched(t)
	ws := jptooltest.OpenRoot(t)
	secret := write(t, filepath.Join(ws, "secret"), "content", 0o644)
	specs := map[fit.Tier]launch.Spec{}
	for _, tier := range []fit.Tier{fit.TierLandlock, fit.TierNamespace} {
		p := plan(t, tier, ws)
		p.Grants = []fit.Grant{grant(t, ws, all)}
		if tier == fit.TierNamespace {
			p.Covers = []fit.Cover{{Node: node(t, secret), Hide: true}}
		}
		p.Staged = []fit.Staged{{Node: node(t, ws), FD: 5}}
		specs[tier] = shSpec(t, p, "exit 3")
	}
	failing := shSpec(t, plan(t, fit.TierNamespace, ws), "")
	failing.Program = "/no/such/program"
	round := func() {
		for tier, spec := range specs {
			if res, err := l.Run(context.Background(), spec); err != nil || res.Exit.Code != 3 {
				t.Fatal(tier, res, err)
			}
		}
		if _, err := l.Run(context.Background(), failing); !errors.Is(err, unix.ENOENT) {
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
	after := usage(t, ws)
	t.Logf("after %d calls %v, before %v", calls, after, before)
	for i, name := range []string{"descriptors", "descriptors of the supervisor", "threads of the supervisor", "mounts", "temporary files", "kB of the supervisor"} {
		// The runtimes come to rest somewhere, with two descriptors more when the first timer has been set; what
		// leaks does with each call.
		if more := after[i] - before[i]; more > [...]int{2, 2, 3, 0, 0, 6 << 10}[i] {
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
			if b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); strings.HasPrefix(string(b), "jphost-supervisor") {
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
