package confine

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/jptools/jptools/host/internal/sandbox"
	"github.com/jptools/jptools/host/internal/sandbox/sysprog"
	"golang.org/x/sys/unix"
)

func BenchmarkParts(b *testing.B) {
	runtime.LockOSThread()
	ws := workspace(b)
	for _, name := range []string{".git/config", ".git/hooks/x", ".jp/config.toml", ".git/info/x"} {
		write(b, filepath.Join(ws, name), "", 0o644)
	}
	p := plan(b, sandbox.TierLandlock, ws)
	p.Grants = []sandbox.Grant{grant(b, ws, r)}
	enc, _ := json.Marshal(p)
	b.Run("json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var q sandbox.Plan
			if err := json.Unmarshal(enc, &q); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("domain", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			d, err := newDomain(p)
			if err != nil {
				b.Fatal(err)
			}
			if err := d.fill(New(), p); err != nil {
				b.Fatal(err)
			}
			d.close()
		}
	})
	cmd := func() *exec.Cmd {
		return &exec.Cmd{Path: "/usr/bin/true", Args: []string{"true"}, SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	}
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			c := cmd()
			if err := c.Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("landlock", func(b *testing.B) {
		for b.Loop() {
			c, err := New().Start(p, cmd())
			if err != nil {
				b.Fatal(err)
			}
			sysprog.Reap(c.Pid)
		}
	})
	b.Run("landlock-nofilter", func(b *testing.B) {
		for b.Loop() {
			x := New()
			x.NoFilter = true
			c, err := x.Start(p, cmd())
			if err != nil {
				b.Fatal(err)
			}
			sysprog.Reap(c.Pid)
		}
	})
	b.Run("program-only", func(b *testing.B) {
		b.ReportAllocs()
		x := New()
		for b.Loop() {
			w, err := x.newWriter(p, cmd())
			if err != nil {
				b.Fatal(err)
			}
			w.domain = &domain{fd: 3}
			w.chdir()
			w.own(procSelf, readRights)
			w.drop()
			w.tool(-1)
		}
	})
	n := *p
	n.Tier = sandbox.TierNamespace
	n.Temp = "/run/jphost"
	n.Grants = []sandbox.Grant{grant(b, ws, all)}
	for _, name := range []string{".git/config", ".git/hooks", ".jp", ".git/info"} {
		n.Covers = append(n.Covers, sandbox.Cover{Node: node(b, filepath.Join(ws, name)), ReadOnly: true})
	}
	n.Pins = []sandbox.Node{node(b, filepath.Join(ws, ".git"))}
	for _, open := range []bool{false, true} {
		n.Net.Open = open
		b.Run("namespace", func(b *testing.B) {
			for b.Loop() {
				c, err := New().Start(&n, cmd())
				if err != nil {
					b.Fatal(err)
				}
				c.Wait()
				c.Close()
			}
		})
	}
	_ = unix.Getpid
}
