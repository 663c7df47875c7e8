package e2e

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Sockets that were bound outside are out of reach wherever their files lie: in the workspace, in another granted
// directory, below /tmp, in what is granted to be read; with and without an observer.
func TestSandboxLocalSocketsOfOthers(t *testing.T) {
	eachUser(t, func(t *testing.T, user string) {
		w := newWorld(t, user)
		tmp, err := os.MkdirTemp("/tmp", "jptools-e2e-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(tmp)
		var heard []net.Listener
		var paths []string
		for _, dir := range []string{w.root, w.outside, w.outside + "/dir", tmp} {
			if err := os.Chmod(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "agent.sock")
			l, err := net.Listen("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if err := os.Chmod(path, 0o777); err != nil {
				t.Fatal(err)
			}
			heard, paths = append(heard, l), append(paths, path)
		}
		for _, path := range paths {
			if v := w.attack(uncontained, nil, "unix", path); !v.Worked {
				t.Errorf("control: %s: %s", path, v)
			}
		}
		for _, l := range heard {
			c, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			_ = c.Close()
		}
		eachTier(t, user, func(t *testing.T, tier string) {
			grants := []string{"--rw", ".", "--rw", w.outside + "/dir", "--ro", w.outside + "/agent.sock", "--rw", tmp}
			for _, more := range [][]string{nil, {"--explain-denials"}} {
				for _, path := range paths {
					if v := w.attack(tier, append(more, grants...), "unix", path); v.Worked {
						t.Errorf("%s: %s", path, v)
					}
				}
			}
		})
		for _, l := range heard {
			if err := l.(*net.UnixListener).SetDeadline(time.Now().Add(30 * time.Millisecond)); err != nil {
				t.Fatal(err)
			}
			if c, err := l.Accept(); err == nil {
				_ = c.Close()
				t.Errorf("somebody came to %s", l.Addr())
			}
		}
	})
}

// What is in /tmp of the host is not in the private one, but for what is granted there, and nothing comes out of it.
func TestSandboxPrivateTmp(t *testing.T) {
	eachUser(t, func(t *testing.T, user string) {
		needTier(t, user, namespaces)
		w := newWorld(t, user)
		tmp, err := os.MkdirTemp("/tmp", "jptools-e2e-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(tmp)
		for _, name := range []string{"/ws/f", "/deep/er/f", "/secret"} {
			if err := os.MkdirAll(filepath.Dir(tmp+name), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(tmp+name, []byte(w.secret), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		for _, dir := range []string{"", "/ws", "/deep", "/deep/er"} {
			if err := os.Chmod(tmp+dir, 0o777); err != nil {
				t.Fatal(err)
			}
		}
		script := `
			beside: cat {TMP}/secret
			write-beside: echo x >{TMP}/new
			granted: grep -q secret {TMP}/ws/f && echo more >>{TMP}/ws/g
			read-only: grep -q secret {TMP}/deep/er/f
			write-read-only: echo x >>{TMP}/deep/er/f
			make-read-only: echo x >{TMP}/deep/er/new
			change-read-only: chmod 700 {TMP}/deep/er
			move: mv {TMP} /tmp/elsewhere
			remove: rm -rf {TMP}/deep
			own: echo x >/tmp/jptools-own-file && cat /tmp/jptools-own-file`
		p := program{steps: strings.ReplaceAll(script, "{TMP}", tmp)}
		text, names := p.script(w, &ears{}, &victim{})
		for _, grants := range [][]string{
			{"--rw", ".", "--rw", tmp + "/ws", "--ro", tmp + "/deep/er"}, {"-C", tmp + "/ws", "--rw", tmp + "/ws", "--ro", tmp + "/deep/er"},
		} {
			went(t, w.exec(namespaces, grants, "/bin/sh", "-c", text), names, "beside write-beside write-read-only make-read-only change-read-only move remove")
			if _, err := os.Lstat("/tmp/jptools-own-file"); err == nil {
				t.Error("a private file came out")
			}
			if list, err := os.ReadDir(tmp + "/deep/er"); err != nil || len(list) != 1 {
				t.Errorf("%v %v", list, err)
			}
			if b, err := os.ReadFile(tmp + "/ws/g"); err != nil || string(b) != "more\n" {
				t.Errorf("%q %v", b, err)
			}
			_ = os.Remove(tmp + "/ws/g")
		}
	})
}

// When the host is killed, servers in the call's own network go with it, and their files refuse everybody.
func TestSandboxServersEndWithTheHost(t *testing.T) {
	eachUser(t, func(t *testing.T, user string) {
		needTier(t, user, namespaces)
		w := newWorld(t, user)
		cmd := w.command(t.Context(), contain(namespaces, []string{"--rw", "."}, attackPath(t), "part-serve", w.root+"/served.sock")...)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		c, err := net.Dial("unix", w.root+"/served.sock")
		if err != nil {
			t.Fatalf("control: %v", err)
		}
		_ = c.Close()
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		for end := time.Now().Add(5 * time.Second); ; {
			c, err := net.Dial("unix", w.root+"/served.sock")
			if err != nil {
				break
			}
			_ = c.Close()
			if time.Now().After(end) {
				t.Fatal("somebody still answers")
			}
		}
	})
}
