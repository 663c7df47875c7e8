package engine

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/observe"
	"golang.org/x/sys/unix"
)

// saw is what an observer saw of a program, and how that ended.
type saw struct {
	Seen   *observe.Seen
	Status syscall.WaitStatus
	Error  string
}

// observeRun runs a command line with an observer in this process.
func observeRun(t *testing.T, p *fit.Plan, path string, args ...string) (out string, s saw) {
	t.Helper()
	q := *p
	q.Observe = true
	o, err := observe.Start(&q)
	if err != nil {
		t.Fatal(err)
	}
	pr, pw, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	text := make(chan string)
	go func() {
		b, _ := io.ReadAll(pr)
		text <- string(b)
	}()
	c := command(&q, sh(&q, ""))
	c.Path, c.Args, c.Stdout, c.Stderr = path, args, pw, pw
	c.Observer = &Observer{Socket: o.Socket(), Message: observe.Message(), Answerer: o.Answerer(), Calls: observe.Calls(&q)}
	e := New(Options{})
	child, err := e.Start(c)
	_ = pw.Close()
	o.HandedOver()
	if err == nil {
		var exit Exit
		exit, err = child.Wait()
		s.Status = statusOf(exit)
	}
	s.Seen = o.End()
	if err := errors.Join(err, e.Close()); err != nil {
		s.Error = err.Error()
		t.Logf("error: %s", s.Error)
	}
	out = <-text
	_ = pr.Close()
	return out, s
}

// refusals are what was seen, one to a line: operation, path below ws, and what is lacking or why.
func refusals(s saw, ws string) []string {
	list := []string{}
	for _, r := range s.Seen.Refusals {
		if strings.HasPrefix(r.Path, "/sys/") || r.Path == "/proc/stat" {
			continue // where the runtimes of a probe look for processors
		}
		what := string(r.Why)
		if r.Why == observe.Lacks {
			what = r.Lacking.String()
		}
		list = append(list, fmt.Sprintf("%s %s: %s", r.Operation, strings.TrimPrefix(r.Path+r.Address, ws+"/"), what))
	}
	slices.Sort(list)
	return list
}

// What the observer predicts is what the kernel does, one operation after the other.
func TestObserverAgreesWithTheKernel(t *testing.T) {
	jptooltest.NotAnnounced(t)
	tiers(t, func(t *testing.T, tier fit.Tier) {
		ws := jptooltest.OpenRoot(t)
		for _, f := range []string{"src/a", "src/old", "ro/f", "ro/g", "none/f", "add/f", "del/f", "mod/f", "mod/pin", "hide/f"} {
			write(t, filepath.Join(ws, f), "x", 0o755)
		}
		if err := os.Symlink("none/f", filepath.Join(ws, "link")); err != nil {
			t.Fatal(err)
		}
		p := plan(t, tier, ws)
		for dir, caps := range map[string]jptool.Caps{"src": all, "ro": r, "add": r | c, "del": r | d, "mod": r | c | u | d} {
			p.Grants = append(p.Grants, grant(t, filepath.Join(ws, dir), caps))
		}
		if tier == fit.TierNamespace {
			p.Covers = []fit.Cover{{Node: node(t, ws+"/hide"), Hide: true}}
			p.Pins = []fit.Node{node(t, ws+"/mod/pin")}
			p.Grants = append(p.Grants, grant(t, ws+"/hide", r))
		}
		var ops []string
		for _, dir := range []string{"src", "ro", "none", "add", "del", "mod", "hide"} {
			ops = append(ops,
				"list "+dir, "read "+dir+"/f", "update "+dir+"/f", "truncate "+dir+"/f", "create "+dir+"/new", "mkdir "+dir+"/dir",
				"symlink "+dir+"/sym x", "link "+dir+"/f "+dir+"/hard", "unlink "+dir+"/f", "rmdir "+dir+"/dir", "rename "+dir+"/new "+dir+"/newer",
				"exec "+dir+"/f", "read "+dir+"/missing", "mkfifo "+dir+"/fifo")
		}
		ops = append(ops, "read link", "update link", "unlink link", "read src/../none/f", "read /etc/shadow", "read /etc/passwd", "list /", "read /nothing/here",
			"unlink mod/pin", "rename mod/pin mod/x", "rename src/a src/old", "read /proc/self/status", "read /dev/null", "update /dev/null", "read /dev/tty", "list /root")
		args := append([]string{probeName}, ops...)
		for i, op := range ops {
			f := strings.Fields(op)
			for j := 1; j < len(f); j++ {
				if !strings.HasPrefix(f[j], "/") && f[j] != "x" {
					f[j] = filepath.Join(ws, f[j])
				}
			}
			args[i+1] = strings.Join(f, " ")
		}
		for i, op := range ops {
			out, s := observeRun(t, p, self(t), probeName, args[i+1])
			got, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
			refused := slices.Contains([]string{"EACCES", "EPERM", "EROFS", "EBUSY"}, got)
			// What a private tree does not have is as if it were missing.
			predicted := len(refusals(s, ws)) > 0
			hidden := predicted && strings.HasSuffix(refusals(s, ws)[0], ": hidden") && (got == "ENOENT" || got == "ok" && strings.HasPrefix(op, "list"))
			if s.Error != "" || predicted != refused && !hidden {
				t.Errorf("%s: the kernel said %s; seen %q, unread %d %s", op, got, refusals(s, ws), s.Seen.Unread, s.Error)
			}
		}
	})
}

// A program that nobody observes has one filter, and an observed one ends well without its observer's
// file among its own.
func TestObservedProgram(t *testing.T) {
	jptooltest.NotAnnounced(t)
	tiers(t, func(t *testing.T, tier fit.Tier) {
		ws := jptooltest.OpenRoot(t)
		write(t, ws+"/secret", "x", 0o600)
		p := plan(t, tier, ws)
		filters := "grep Seccomp_filters /proc/self/status; "
		if tier == fit.TierLandlock {
			filters = "read -r x < /proc/self/stat; while read -r l; do case $l in Seccomp_filters*) echo $l;; esac; done < /proc/self/status; "
		}
		if got := mustRun(t, p, filters); !strings.HasSuffix(strings.TrimSpace(got), "1") {
			t.Errorf("without an observer: %q", got)
		}
		out, s := observeRun(t, p, "/bin/sh", "sh", "-c", filters+"cat secret; exit 7")
		if !strings.Contains(out, "2") || s.Status.ExitStatus() != 7 {
			t.Errorf("%q, status %#x %s", out, s.Status, s.Error)
		}
		if got := refusals(s, ws); !slices.Equal(got, []string{"read secret: read"}) {
			t.Errorf("seen %q", got)
		}
		if s.Seen.Calls < 5 || s.Seen.Unread != 0 {
			t.Errorf("%d calls, %d unread", s.Seen.Calls, s.Seen.Unread)
		}
		out, s = observeRun(t, p, self(t), probeName, "descriptors")
		if strings.Contains(out, "socket") || strings.Contains(out, "seccomp") || s.Error != "" {
			t.Errorf("the program has %q %s", out, s.Error)
		}
		// The first execve is observed too.
		q := *p
		q.Runtime = slices.DeleteFunc(slices.Clone(p.Runtime), func(g fit.Grant) bool { return g.Path == self(t) })
		if _, s := observeRun(t, &q, self(t), probeName); s.Error == "" || len(s.Seen.Refusals) != 1 || s.Seen.Refusals[0].Operation != observe.OpExecute {
			t.Errorf("%+v", s)
		}
	})
}

// Calls are told apart by thread, and paths begin where the call says.
func TestObserverReadsEachCall(t *testing.T) {
	jptooltest.NotAnnounced(t)
	tiers(t, func(t *testing.T, tier fit.Tier) {
		ws := jptooltest.OpenRoot(t)
		var want []string
		for i := range 15 { // of one directory no more are listed than 16
			write(t, fmt.Sprint(ws, "/dir/", i), "x", 0o644)
			want = append(want, fmt.Sprintf("read dir/%d: read", i))
		}
		slices.Sort(want)
		p := plan(t, tier, ws)
		out, s := observeRun(t, p, self(t), probeName, "threads "+ws+"/dir 15")
		got := slices.DeleteFunc(refusals(s, ws), func(r string) bool {
			return r == "read /proc/stat: read" // glibc counts processors when threads make memory at once
		})
		if !strings.HasPrefix(out, "EACCES\n") || !slices.Equal(got, want) || s.Seen.Unread != 0 {
			t.Errorf("%s: refused %q, unread %d", out, got, s.Seen.Unread)
		}
		if err := os.Symlink("7", ws+"/dir/link"); err != nil {
			t.Fatal(err)
		}
		out, s = observeRun(t, p, self(t), probeName, "readat "+ws+"/dir link", "readat "+ws+"/dir ./../dir/8")
		if got := refusals(s, ws); !strings.HasPrefix(out, "EACCES\nEACCES\n") || !slices.Equal(got, []string{"read dir/7: read", "read dir/8: read"}) {
			t.Errorf("%s: refused %q", out, got)
		}
	})
}

// Of TCP connections the ports are judged, and listening is always refused.
func TestObserverReadsAddresses(t *testing.T) {
	jptooltest.NotAnnounced(t)
	needs(t, fit.TierLandlock, fit.NetABI)
	tiers(t, func(t *testing.T, tier fit.Tier) {
		ws := jptooltest.OpenRoot(t)
		p := plan(t, tier, ws)
		p.Net = fit.Net{Open: true, Ports: []uint16{443}}
		out, s := observeRun(t, p, self(t), probeName, "connect 80", "connect 443", "listen")
		got, want := refusals(s, ws), []string{"connect 127.0.0.1:80: port", "listen 0.0.0.0:40404: port"}
		if lines := strings.Fields(out); len(lines) != 4 || lines[0] != "EACCES" || lines[1] == "EACCES" || lines[2] != "EACCES" || !slices.Equal(got, want) || s.Seen.Unread != 0 {
			t.Errorf("%q: refused %q, unread %d", lines, got, s.Seen.Unread)
		}
	})
}

// When the observer is gone, announced calls fail and nothing hangs.
func TestObserverGone(t *testing.T) {
	jptooltest.NotAnnounced(t)
	tiers(t, func(t *testing.T, tier fit.Tier) {
		ws := jptooltest.OpenRoot(t)
		write(t, ws+"/f", "x", 0o644)
		p := plan(t, tier, ws)
		p.Grants = []fit.Grant{grant(t, ws, all)}
		p.Observe = true
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		// Nobody reads: the descriptor is lost with the socket.
		_ = unix.Close(pair[0])
		sock := os.NewFile(uintptr(pair[1]), "sock")
		defer sock.Close()
		began := time.Now()
		c := command(p, &exec.Cmd{Path: self(t), Args: []string{probeName}})
		c.Observer = &Observer{Socket: sock, Message: observe.Message(), Calls: observe.Calls(p)}
		e := New(Options{})
		child, err := e.Start(c)
		if !errors.Is(err, unix.ENOSYS) && (err == nil || !strings.Contains(err.Error(), "observer")) {
			t.Errorf("the program started: %v, %v", child, err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		if time.Since(began) > soon {
			t.Error("it took too long")
		}
	})
}
