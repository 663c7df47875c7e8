package e2e

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// children are the processes below one.
func children(pid int) (below []int) {
	for _, p := range family(pid) {
		if p != pid {
			below = append(below, p)
		}
	}
	return below
}

// goneSoon reports which processes with a mark are still there after some seconds, and ends them.
func goneSoon(t *testing.T, mark string) (pids []int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if pids = lingering(t, mark); len(pids) == 0 || time.Now().After(deadline) {
			break
		}
	}
	for _, pid := range pids {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	return pids
}

// jphost is killed when the first process of the private tree exists and has not yet asked to die with it.
func TestSandboxDiesWithAHostKilledAtTheStart(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("not run: without strace the first process cannot be held up before its first system call")
	}
	eachUser(t, func(t *testing.T, user string) {
		needTier(t, user, namespaces)
		try := func(t *testing.T, kill bool) (started bool) {
			w := newWorld(t, user)
			w.files(map[string]string{"tmp/x": ""}) // what is killed does not clean up
			w.env = append(w.env, "TMPDIR="+w.base+"/tmp")
			mark, ready := "orphan-"+w.secret, w.root+"/ready"
			argv := append([]string{strace, "-qq", "-f", "-o", "/dev/null", "-e", "trace=prctl", "-e", "inject=prctl:delay_enter=500000:when=1"},
				contain(namespaces, []string{"--rw", "."}, attackPath(t), "outlive", mark, ready)...)
			w.attr.Setpgid = true
			cmd := w.command(context.Background(), argv...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
				_ = cmd.Wait()
			}()
			host, init := 0, 0
			for deadline := time.Now().Add(30 * time.Second); init == 0; time.Sleep(2 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("the private tree was not begun: %s", stderr.String())
				}
				for _, pid := range children(cmd.Process.Pid) {
					if host == 0 && strings.HasPrefix(commandLine(pid), filepath.Join(bin, "jphost")) {
						host = pid
					}
				}
				if below := children(host); host != 0 && len(below) > 0 {
					init = below[0]
				}
			}
			if kill {
				time.Sleep(100 * time.Millisecond) // what it does without an answer from the init, it has done
				_ = unix.Kill(host, unix.SIGKILL)
				time.Sleep(2 * time.Second)
			} else {
				awaitFile(t, ready)
			}
			_, err := os.Stat(ready)
			if pids := lingering(t, mark); kill && len(pids) > 0 {
				t.Errorf("processes %v go on without jphost", pids)
			}
			_ = unix.Kill(init, unix.SIGKILL)
			return err == nil
		}
		if !try(t, false) {
			t.Fatal("the control did not start the program")
		}
		if try(t, true) {
			t.Error("the program was started after jphost had been killed")
		}
	})
}

func commandLine(pid int) string {
	line, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	return strings.ReplaceAll(string(line), "\x00", " ")
}

// Wherever in its start jphost is killed, nothing that it has started goes on.
func TestSandboxDiesWithAHostKilledAtAnyTime(t *testing.T) {
	const kills, within = 60, 30 * time.Millisecond
	eachUser(t, func(t *testing.T, user string) {
		needTier(t, user, namespaces)
		w := newWorld(t, user)
		w.files(map[string]string{"tmp/x": ""})
		w.env = append(w.env, "TMPDIR="+w.base+"/tmp")
		mark := "killed-" + w.secret
		started := 0
		for range kills {
			ready := w.root + "/ready"
			cmd := w.command(context.Background(), contain(namespaces, []string{"--rw", "."}, attackPath(t), "outlive", mark, ready)...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(rand.N(within))
			_ = cmd.Process.Signal(unix.SIGKILL)
			_ = cmd.Wait()
			if os.Remove(ready) == nil {
				started++
			}
		}
		if pids := goneSoon(t, mark); len(pids) > 0 {
			t.Errorf("processes %v go on without jphost", pids)
		}
		t.Logf("%d of %d had started their program", started, kills)
	})
}
