package engine

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/internal/failure"
	"golang.org/x/sys/unix"
)

// The status of the program arrives as it was, and nothing is left of what it started.
func TestStatus(t *testing.T) {
	tiers(t, func(t *testing.T, tier fit.Tier) {
		p := plan(t, tier, jptooltest.OpenRoot(t))
		for script, want := range map[string]syscall.WaitStatus{
			"exit 0": 0, "exit 7": 7 << 8, "exit 255": 255 << 8, "kill -SEGV $$": syscall.WaitStatus(unix.SIGSEGV), "kill -KILL $$": syscall.WaitStatus(unix.SIGKILL),
			"sleep 6 & exit 3": 3 << 8,
		} {
			began := time.Now()
			res, err := run(t, p, sh(p, script))
			if err != nil || res.status != want || time.Since(began) > 5*time.Second {
				t.Errorf("%s: status %#x, %v, after %s; want %#x", script, res.status, err, time.Since(began), want)
			}
		}
		if tier == fit.TierNamespace {
			// Its init: no signal, no look, no death before the others.
			got := mustRun(t, p, "kill -KILL 1; kill -TERM 1; sleep 0.05; cat /proc/1/environ /proc/1/maps /proc/1/stat | wc -c; ls /proc/1/fd /proc/1/ns; echo $$")
			if last := got[strings.LastIndexByte(got, '\n')+1:]; len(last) != 1 || last == "1" || strings.Contains(got, "/maps: ok") {
				t.Errorf("%s", got)
			}
		}
		none(t)
	})
}

// none wants no child left.
func none(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		if err == unix.ECHILD {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("a child is left: %d, %v", pid, err)
			return
		}
	}
}

// What was replaced since the plan was made is noticed, and nothing runs.
func TestChanged(t *testing.T) {
	tiers(t, func(t *testing.T, tier fit.Tier) {
		for _, c := range []struct {
			name string
			in   func(p *fit.Plan, n fit.Node)
			only fit.Tier
		}{
			{"a grant", func(p *fit.Plan, n fit.Node) { p.Grants = append(p.Grants, fit.Grant{Node: n, Caps: r}) }, ""},
			{"a runtime path", func(p *fit.Plan, n fit.Node) { p.Runtime = append(p.Runtime, fit.Grant{Node: n, Caps: r}) }, ""},
			{"a staged file", func(p *fit.Plan, n fit.Node) { p.Staged = append(p.Staged, fit.Staged{Node: n, FD: 3}) }, ""},
			{"a tree", func(p *fit.Plan, n fit.Node) { p.Trees = []fit.Node{n} }, fit.TierNamespace},
			{"a cover", func(p *fit.Plan, n fit.Node) { p.Covers = []fit.Cover{{Node: n, Hide: true}} }, fit.TierNamespace},
			{"a place to mount again", func(p *fit.Plan, n fit.Node) { p.Covers = []fit.Cover{{Node: n, Again: true}} }, fit.TierNamespace},
			{"a pin", func(p *fit.Plan, n fit.Node) { p.Pins = []fit.Node{n} }, fit.TierNamespace},
		} {
			if c.only != "" && c.only != tier {
				continue
			}
			for how, change := range map[string]func(dir string) error{
				"replaced": func(dir string) error { return os.Mkdir(dir, 0o755) },
				"removed":  func(string) error { return nil },
				"a link":   func(dir string) error { return os.Symlink(dir+".old", dir) },
			} {
				t.Run(c.name+" "+how, func(t *testing.T) {
					ws := jptooltest.OpenRoot(t)
					dir := filepath.Join(ws, "dir")
					write(t, filepath.Join(dir, "file"), "", 0o644)
					p := plan(t, tier, ws)
					c.in(p, node(t, dir))
					fds := countFDs(t)
					if err := errors.Join(os.Rename(dir, dir+".old"), change(dir)); err != nil {
						t.Fatal(err)
					}
					cmd := sh(p, "echo ran")
					cmd.Dir = "/"
					res, err := run(t, p, cmd)
					var changed *failure.Error
					if !errors.As(err, &changed) || changed.Path != dir || !failure.Is(err, failure.Changed) || failure.Is(err, failure.Namespaces) || res.out != "" {
						t.Errorf("got %v, %+v", err, res)
					}
					if now := countFDs(t); now > fds {
						t.Errorf("%d descriptors, %d before", now, fds)
					}
					none(t)
				})
			}
		}
	})
}

func countFDs(t testing.TB) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// What cannot be started says why, as execve does.
func TestStartErrors(t *testing.T) {
	tiers(t, func(t *testing.T, tier fit.Tier) {
		ws := jptooltest.OpenRoot(t)
		write(t, filepath.Join(ws, "bare"), "echo hello\n", 0o755)
		write(t, filepath.Join(ws, "plain"), "#!/bin/sh\n", 0o644)
		p := plan(t, tier, ws)
		p.Grants = []fit.Grant{grant(t, ws, r|x)}
		write(t, filepath.Join(ws, "script"), "#!/bin/sh\nexit 4\n", 0o755)
		for path, want := range map[string]error{
			filepath.Join(ws, "missing"): unix.ENOENT, filepath.Join(ws, "bare"): unix.ENOEXEC, filepath.Join(ws, "plain"): unix.EACCES, filepath.Join(ws, "script"): nil,
		} {
			cmd := sh(p, "")
			cmd.Path = path
			if res, err := run(t, p, cmd); !errors.Is(err, want) || want == nil && (err != nil || res.status.ExitStatus() != 4) || want != nil && !failure.Is(err, failure.Program) {
				t.Errorf("%s: %v, %#x", path, err, res.status)
			}
		}
		for name, change := range map[string]func(*fit.Plan, *exec.Cmd){
			"Landlock":                func(p *fit.Plan, _ *exec.Cmd) { p.ABI = 0 },
			"names no tier":           func(p *fit.Plan, _ *exec.Cmd) { p.Tier = "both" },
			"not a character device":  func(p *fit.Plan, _ *exec.Cmd) { p.Devices = []string{"/usr"} },
			"entering /no/such/place": func(_ *fit.Plan, c *exec.Cmd) { c.Dir = "/no/such/place" },
			"name too long":           func(p *fit.Plan, _ *exec.Cmd) { p.Devices = []string{"/dev/" + strings.Repeat("x", 256)} },
		} {
			q := *p
			cmd := sh(p, "echo ran")
			change(&q, cmd)
			res, err := run(t, &q, cmd)
			if err == nil || !strings.Contains(err.Error(), name) || res.out != "" {
				t.Errorf("%s: %v, %+v", name, err, res)
			}
			if errno := unix.Errno(0); errors.As(err, &errno) {
				t.Errorf("%s: %v is taken for what execve said", name, err)
			}
		}
		none(t)
	})
}

// Limits hold.
func TestLimits(t *testing.T) {
	tiers(t, func(t *testing.T, tier fit.Tier) {
		ws := jptooltest.OpenRoot(t)
		p := plan(t, tier, ws)
		p.Grants = []fit.Grant{grant(t, ws, all)}
		p.Limits = fit.Limits{FileSize: 1 << 20, Memory: 64 << 20, CPUSeconds: 1, Processes: 100}
		if res, err := run(t, p, sh(p, "head -c 2000000 /dev/zero > big; echo $?; ulimit -c; ulimit -Hc")); err != nil || !strings.HasSuffix(res.out, "153\n0\n0") {
			t.Errorf("file size: %v %+v", err, res)
		}
		if st, err := os.Stat(filepath.Join(ws, "big")); err != nil || st.Size() != 1<<20 {
			t.Errorf("%v %v", st, err)
		}
		if res, err := run(t, p, sh(p, "head -c 200000000 /dev/zero | tail -n 1 > /dev/null")); err != nil || res.status == 0 && !strings.Contains(res.out, "memory") {
			t.Errorf("memory: %v %+v", err, res)
		}
		if res, err := run(t, p, sh(p, "while :; do :; done")); err != nil || res.status.Signal() != unix.SIGXCPU {
			t.Errorf("cpu: %v %+v", err, res)
		}
		none(t)
	})
}

// The limit of files is what the user has, not what the Go runtime made of it.
func TestFileLimit(t *testing.T) {
	var has, now unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &now); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("/bin/sh", "-c", "ulimit -Sn").Output() // os/exec puts it back
	if _, err2 := fmt.Sscan(string(out), &has.Cur); err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	tiers(t, func(t *testing.T, tier fit.Tier) {
		if got := mustRun(t, plan(t, tier, jptooltest.OpenRoot(t)), "ulimit -Sn"); got != fmt.Sprint(has.Cur) {
			t.Errorf("%s files, want %d", got, has.Cur)
		}
	})
}

// Older versions of the interface leave out what they do not know.
func TestOldInterfaces(t *testing.T) {
	tiers(t, func(t *testing.T, tier fit.Tier) {
		for abi := 1; abi <= needs(t, tier, 1).Landlock; abi++ {
			ws := jptooltest.OpenRoot(t)
			write(t, filepath.Join(ws, "ro/file"), "content", 0o644)
			write(t, filepath.Join(ws, "rw/a/file"), "content", 0o644)
			p := plan(t, tier, ws)
			p.ABI = abi
			p.Grants = []fit.Grant{grant(t, filepath.Join(ws, "ro"), r), grant(t, filepath.Join(ws, "rw"), all)}
			truncate, move := "EACCES", "ok"
			if abi < 3 {
				truncate = "ok"
			}
			if abi < 2 {
				move = "EXDEV"
			}
			wantProbes(t, p, "read ro/file = ok", "update ro/file = EACCES", "unlink ro/file = EACCES", "read /etc/shadow = EACCES|ENOENT",
				"truncate ro/file = "+truncate, "rename rw/a/file rw/moved = "+move)
		}
	})
}

// Without user namespaces the error says so, by name.
func TestNoNamespaces(t *testing.T) {
	needs(t, fit.TierNamespace, 1)
	ws := jptooltest.OpenRoot(t)
	cmd := exec.Command(self(t), "-test.run=^TestInsideOfNoNamespaces$", "-test.v")
	cmd.Env = append(os.Environ(), "CONFINE_NO_NAMESPACES="+ws)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: TestInsideOfNoNamespaces")) {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestInsideOfNoNamespaces(t *testing.T) {
	ws := os.Getenv("CONFINE_NO_NAMESPACES")
	if ws == "" {
		t.Skip("this is a part of TestNoNamespaces")
	}
	fds := countFDs(t)
	p := plan(t, fit.TierNamespace, ws)
	if got := mustRun(t, p, "echo nested"); got != "nested" { // the control
		t.Errorf("%q", got)
	}
	if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
		t.Fatal(err)
	}
	_, err := run(t, p, sh(p, "echo ran"))
	var e *failure.Error
	if !errors.As(err, &e) || e.Errno != unix.ENOSPC || !failure.Is(err, failure.Namespaces) || failure.Is(err, failure.Changed) {
		t.Errorf("got %v", err)
	}
	if now := countFDs(t); now > fds {
		t.Errorf("%d descriptors, %d before", now, fds)
	}
	p = plan(t, fit.TierLandlock, ws)
	if got := mustRun(t, p, "echo still"); got != "still" {
		t.Errorf("%q", got)
	}
}

// The same as an ordinary user.
func TestAsOrdinaryUser(t *testing.T) {
	if !jptooltest.Root(t) {
		t.Skip("not root: the other tests have shown it")
	}
	cmd := jptooltest.Ordinary(t, "-test.count=1", "-test.run=^Test")
	cmd.Env = append(cmd.Env, "HOME=/root")
	if out := jptooltest.Passed(t, cmd); strings.Count(out, "\n--- PASS") < 10 {
		t.Errorf("too few tests ran:\n%s", out)
	}
}

// A starter that dies is not taken for a program that has ended.
func TestTooLittleMemory(t *testing.T) {
	if raceDetector {
		t.Skip("not run: a program with the race detector needs more memory than this allows")
	}
	tiers(t, func(t *testing.T, tier fit.Tier) {
		p := plan(t, tier, jptooltest.OpenRoot(t))
		p.Limits.Memory = 1 << 20
		for range 10 {
			cmd := sh(p, "echo ran")
			cmd.Env = append(cmd.Env, "BIG="+strings.Repeat("x", 100_000))
			if res, err := run(t, p, cmd); err != nil || res.out != "ran" {
				t.Errorf("%+v, %v", res, err)
			}
		}
		cmd := sh(p, "")
		cmd.Path = "/no/such/program"
		if _, err := run(t, p, cmd); !failure.Is(err, failure.Program) {
			t.Errorf("%v", err)
		}
	})
}
