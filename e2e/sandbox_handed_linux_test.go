package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Descriptors that jphost itself inherits do not reach the program, and standard streams are no
// way past the rules.
func TestSandboxDescriptors(t *testing.T) {
	eachUser(t, func(t *testing.T, user string) {
		prepare := func(t *testing.T) *world {
			w := newWorld(t, user)
			file, err := os.Open(w.outside + "/victim.txt")
			if err != nil {
				t.Fatal(err)
			}
			dir, err := os.Open(w.outside)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _, _ = file.Close(), dir.Close() })
			w.extra = []*os.File{nil, file, nil, dir} // descriptors 4 and 6
			return w
		}
		stdin := func(w *world, dir string) *world {
			f, err := os.Open(dir)
			if err != nil {
				w.t.Fatal(err)
			}
			w.t.Cleanup(func() { _ = f.Close() })
			w.stdin = f
			return w
		}
		fds := func(t *testing.T, tier string) attempt {
			w := prepare(t)
			return w.attack(tier, []string{"--rw", "."}, "fds", w.secret, "victim.txt")
		}
		// A directory as standard input: outside, and one with something withheld in it.
		outsideDir := func(t *testing.T, tier string) attempt {
			w := newWorld(t, user)
			return stdin(w, w.outside).attackMayDie(tier, []string{"--rw", "."}, "stdin-dir", "victim.txt")
		}
		withheldDir := func(t *testing.T, tier string) attempt {
			w := newWorld(t, user)
			return stdin(w, w.root).attackMayDie(tier, strings.Fields(withheld), "stdin-dir", "src/private/secret")
		}
		withheldDotDot := func(t *testing.T, tier string) attempt {
			w := newWorld(t, user)
			return stdin(w, w.root+"/good").attackMayDie(tier, strings.Fields(withheld), "stdin-dir", "../src/private/secret")
		}
		// A file that may only be read, to be opened again for writing.
		reopened := func(t *testing.T, tier string) attempt {
			w := newWorld(t, user)
			v := stdin(w, w.root+"/docs/guide").attackMayDie(tier, strings.Fields(withheld), "reopen")
			if got, err := os.ReadFile(w.root + "/docs/guide"); tier != uncontained && (err != nil || string(got) != "read me\n") {
				t.Errorf("docs/guide holds %q, %v", got, err)
			}
			return v
		}
		// Somebody outside who helps by sending a directory.
		rights := func(t *testing.T, tier string) attempt {
			w := newWorld(t, user)
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			dir, err := os.Open(w.outside)
			if err != nil {
				t.Fatal(err)
			}
			defer dir.Close()
			if err := unix.Sendmsg(pair[0], []byte("x"), unix.UnixRights(int(dir.Fd())), nil, 0); err != nil {
				t.Fatal(err)
			}
			w.stdin = os.NewFile(uintptr(pair[1]), "pair")
			defer func() { _, _ = unix.Close(pair[0]), w.stdin.Close() }()
			return w.attack(tier, []string{"--rw", "."}, "stdin-rights", "victim.txt")
		}
		for name, try := range map[string]func(*testing.T, string) attempt{
			"inherited": fds, "directory outside": outsideDir, "directory with withheld": withheldDir,
			"beside withheld": withheldDotDot, "reopened": reopened, "sent": rights,
		} {
			t.Run(name, func(t *testing.T) {
				if v := try(t, uncontained); !v.Worked {
					t.Fatalf("the control did not work: %s", v)
				}
				eachTier(t, user, func(t *testing.T, tier string) {
					if v := try(t, tier); v.Worked || v.ran.code == 0 && !v.came {
						t.Errorf("it worked: %s", v)
					}
				})
			})
		}
	})
}

// The environment is the minimal one, and what was granted.
func TestSandboxEnvironment(t *testing.T) {
	w := newWorld(t, "ordinary")
	w.env = append(w.env, "MY_FLAG=on", "MY_OTHER=on", "LD_PRELOAD=/nowhere.so", "BASH_ENV=/nowhere", "GIT_DIR=/nowhere", "LC_TIME=C")
	if v := w.attack(uncontained, nil, "env", "MY_FLAG=on"); !v.Worked {
		t.Fatalf("the control did not work: %s", v)
	}
	eachTier(t, "ordinary", func(t *testing.T, tier string) {
		for word, want := range map[string]bool{
			"MY_FLAG=on": true, "MY_OTHER": false, "API_TOKEN": false, "LD_PRELOAD": false, "BASH_ENV": false, "GIT_DIR": false,
			"HOME=" + w.home: true, "LC_TIME=C": true, "JPHOST": false, "XDG_": false, "TMPDIR=/": true,
		} {
			if v := w.attack(tier, []string{"--rw", ".", "--env", "MY_FLAG"}, "env", word); v.Worked != want {
				t.Errorf("%s: handed down is %v, want %v: %s", word, v.Worked, want, v)
			}
		}
	})
}

// A private /proc tells neither how jphost was started nor which keys its user has.
func TestSandboxProcTellsOfTheCallOnly(t *testing.T) {
	eachUser(t, func(t *testing.T, user string) {
		needTier(t, user, namespaces)
		w := newWorld(t, user)
		script := "cat /proc/1/cmdline; if test -e /proc/keys; then cat /proc/keys; fi; echo end"
		if r := w.run("/bin/sh", "-c", script); !strings.HasPrefix(r.stdout, "/") && !strings.Contains(r.stdout, "\x00") {
			t.Fatalf("the control shows no command line: %s", r)
		}
		if r := w.exec(namespaces, []string{"--rw", "."}, "/bin/sh", "-c", script); r.code != 0 || r.stdout != "end\n" {
			t.Errorf("%s", r)
		}
	})
}

// lingering are the processes with a mark among their arguments.
func lingering(t *testing.T, mark string) (pids []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		line, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if err == nil && bytes.Contains(line, []byte(mark)) && !bytes.Contains(line, []byte("jphost")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Nothing outlives the call: not by forking twice, nor in another session, nor without
// hearing signals.
func TestSandboxLeavesNoProcess(t *testing.T) {
	eachUser(t, func(t *testing.T, user string) {
		try := func(t *testing.T, tier string) []int {
			w := newWorld(t, user)
			mark := "linger-" + w.secret
			if v := w.attack(tier, []string{"--rw", "."}, "linger", mark); !v.Worked {
				t.Fatalf("nothing was left behind to begin with: %s", v)
			}
			pids := lingering(t, mark)
			for _, pid := range pids {
				_ = unix.Kill(pid, unix.SIGKILL)
			}
			return pids
		}
		if len(try(t, uncontained)) != 2 {
			t.Fatal("the control left no processes behind")
		}
		eachTier(t, user, func(t *testing.T, tier string) {
			if pids := try(t, tier); len(pids) > 0 {
				t.Errorf("processes %v outlived the call", pids)
			}
		})
	})
}

// Processes that start one another and end, faster than anybody can look for them, end with the
// call all the same, and do not make it fail.
func TestSandboxEndsChains(t *testing.T) {
	eachUser(t, func(t *testing.T, user string) {
		// They are gone when nobody has standard error open any more.
		try := func(t *testing.T, tier, way, seconds string) (ran, time.Duration) {
			w := newWorld(t, user)
			attack := []string{attackPath(t), "chain", seconds}
			argv := contain(tier, []string{"--rw", "."}, attack...)
			if way == "run" {
				w.define(attack...)
				argv = []string{filepath.Join(bin, "jphost"), "run", "--no-input", "--cfg", "sandbox.tier=" + tier, "foreign"}
			}
			began := time.Now()
			r := w.run(argv...)
			return r, time.Since(began)
		}
		if r, took := try(t, uncontained, "", "3"); took < 2*time.Second {
			t.Fatalf("the control left nothing behind: %s", r)
		}
		eachTier(t, user, func(t *testing.T, tier string) {
			if abi, _ := landlock(); tier == landlocked && abi < 6 {
				t.Skipf("not run: this kernel's Landlock is version %d, and signals are held from 6 on", abi)
			}
			for _, way := range []string{"exec", "run"} { // on a busy machine too, long before the chain ends itself
				if r, took := try(t, tier, way, "60"); r.code != 0 || took > 30*time.Second {
					t.Errorf("%s: the end came after %v; %s", way, took, r)
				}
			}
		})
	})
}

// Killing jphost kills the call, also what left its session and asked not to be killed.
func TestSandboxDiesWithItsHost(t *testing.T) {
	eachUser(t, func(t *testing.T, user string) {
		eachTier(t, user, func(t *testing.T, tier string) {
			for _, way := range []string{"exec", "run"} {
				t.Run(way, func(t *testing.T) {
					w := newWorld(t, user)
					w.files(map[string]string{"tmp/x": ""}) // what is killed does not clean up
					w.env = append(w.env, "TMPDIR="+w.base+"/tmp")
					mark, ready := "outlive-"+w.secret, w.root+"/ready"
					attack := []string{attackPath(t), "outlive", mark, ready}
					argv := contain(tier, []string{"--rw", "."}, attack...)
					if way == "run" {
						w.define(attack...)
						argv = []string{filepath.Join(bin, "jphost"), "run", "--no-input", "--cfg", "sandbox.tier=" + tier, "foreign"}
					}
					cmd := w.command(context.Background(), argv...)
					if err := cmd.Start(); err != nil {
						t.Fatal(err)
					}
					awaitFile(t, ready)
					if n := len(lingering(t, mark)); n != 3 {
						t.Errorf("%d processes run, want 3", n)
					}
					if err := cmd.Process.Signal(unix.SIGKILL); err != nil {
						t.Fatal(err)
					}
					_ = cmd.Wait()
					var pids []int
					for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
						if pids = lingering(t, mark); len(pids) == 0 {
							break
						}
					}
					for _, pid := range pids {
						_ = unix.Kill(pid, unix.SIGKILL)
					}
					if len(pids) > 0 {
						t.Fatalf("processes %v go on without jphost", pids)
					}
				})
			}
		})
	})
}

func awaitFile(t testing.TB, path string) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// A signal to the process group of the program does not reach jphost, which waits for it.
func TestSandboxGroupSignal(t *testing.T) {
	eachUser(t, func(t *testing.T, user string) {
		w := newWorld(t, user)
		w.attr.Setsid = true // not the tests themselves
		if r := w.run("/bin/sh", "-c", attackPath(t)+" kill-group; exit 0"); r.code != 128+int(unix.SIGTERM) {
			t.Fatalf("the control's shell was not killed: %s", r)
		}
		eachTier(t, user, func(t *testing.T, tier string) {
			w := newWorld(t, user)
			w.attr.Setsid = true
			if v := w.attackMayDie(tier, []string{"--rw", "."}, "kill-group"); v.ran.code != 0 || !v.came {
				t.Errorf("jphost did not get over it: %s", v)
			}
		})
	})
}

// terminal makes a pseudo-terminal.
func terminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("not run: there are no pseudo-terminals: %v", err)
	}
	t.Cleanup(func() { _ = master.Close() })
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	if slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = slave.Close() })
	return master, slave
}

// The terminal that jphost is used from is not typed at, nor taken.
func TestSandboxTerminal(t *testing.T) {
	eachUser(t, func(t *testing.T, user string) {
		try := func(t *testing.T, tier string, args ...string) (attempt, int) {
			_, slave := terminal(t)
			w := newWorld(t, user)
			if user != root && os.Geteuid() == 0 {
				if err := slave.Chown(ordinaryID, ordinaryID); err != nil {
					t.Fatal(err)
				}
			}
			w.stdin = slave
			w.attr = syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
			// What is typed counts at once, without a line end.
			tio, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
			if err != nil {
				t.Fatal(err)
			}
			tio.Lflag &^= unix.ICANON | unix.ECHO
			if err := unix.IoctlSetTermios(int(slave.Fd()), unix.TCSETS, tio); err != nil {
				t.Fatal(err)
			}
			v := w.attack(tier, []string{"--rw", "."}, args...)
			typed, err := unix.IoctlGetInt(int(slave.Fd()), unix.TIOCINQ)
			if err != nil {
				t.Fatal(err)
			}
			return v, typed
		}
		t.Run("tiocsctty", func(t *testing.T) {
			if v, _ := try(t, uncontained, "tiocsctty"); v.Worked != (user == root) {
				t.Fatalf("the control, which root only can do, worked: %s", v)
			}
			eachTier(t, user, func(t *testing.T, tier string) {
				if v, _ := try(t, tier, "tiocsctty"); v.Worked {
					t.Errorf("the terminal was taken: %s", v)
				}
			})
		})
		for _, args := range [][]string{{"tiocsti", "0"}, {"tiocsti", "1"}, {"tiocsti", "ffffffff"}, {"tiocsti", "80000000"}} {
			t.Run(strings.Join(args, "-"), func(t *testing.T) {
				if v, typed := try(t, uncontained, args...); !v.Worked || typed != 1 {
					if v.Errno == "EIO" {
						t.Skipf("not run: this kernel does not let anybody type (dev.tty.legacy_tiocsti = 0): %s", v)
					}
					t.Fatalf("the control did not work (typed %d): %s", typed, v)
				}
				eachTier(t, user, func(t *testing.T, tier string) {
					if v, typed := try(t, tier, args...); v.Worked || typed != 0 {
						t.Errorf("it typed %d: %s", typed, v)
					}
				})
			})
		}
		t.Run("tioclinux", func(t *testing.T) { // there is no console to paste at: the error tells
			if v, _ := try(t, uncontained, "tioclinux"); v.Errno != "ENOTTY" {
				t.Fatalf("the control did not reach the terminal: %s", v)
			}
			eachTier(t, user, func(t *testing.T, tier string) {
				if v, _ := try(t, tier, "tioclinux"); v.Worked || v.Errno == "ENOTTY" {
					t.Errorf("it reached the terminal: %s", v)
				}
			})
		})
	})
}

// What others keep in directories for everybody is not reached, and nothing is left there.
func TestSandboxSharedDirectories(t *testing.T) {
	eachUser(t, func(t *testing.T, user string) {
		for _, shared := range []string{"/tmp", "/var/tmp", "/dev/shm"} {
			for _, does := range []string{"read", "write", "create"} {
				t.Run(does+strings.ReplaceAll(shared, "/", "-"), func(t *testing.T) {
					try := func(t *testing.T, tier string) (attempt, bool) {
						w := newWorld(t, user)
						theirs, err := os.CreateTemp(shared, "jptools-e2e-")
						if err != nil {
							t.Skipf("not run: %v", err)
						}
						defer os.Remove(theirs.Name())
						if _, err := theirs.WriteString(w.secret); err != nil {
							t.Fatal(err)
						}
						if err := errors.Join(theirs.Chmod(0o666), theirs.Close()); err != nil {
							t.Fatal(err)
						}
						path := theirs.Name()
						if does == "create" {
							path += "-new"
						}
						v := w.attack(tier, []string{"--rw", "."}, does, path)
						got, err := os.ReadFile(path)
						changed := err == nil && string(got) != w.secret
						_ = os.Remove(path)
						return v, changed || strings.Contains(v.Detail, w.secret)
					}
					if v, harm := try(t, uncontained); !v.Worked || !harm {
						t.Fatalf("the control did not work: %s", v)
					}
					eachTier(t, user, func(t *testing.T, tier string) {
						// A private directory may be there in place of the one for everybody.
						if v, harm := try(t, tier); harm || v.Worked && (tier != namespaces || does != "create") {
							t.Errorf("it worked: %s", v)
						}
					})
				})
			}
		}
	})
}

// A connection that is handed down on purpose as standard input still works.
func TestSandboxStdinSocket(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, tier := range []string{landlocked, namespaces} {
		t.Run(tier, func(t *testing.T) {
			needTier(t, "ordinary", tier)
			c, err := net.Dial("tcp4", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			far, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := far.Write([]byte("hello")); err != nil {
				t.Fatal(err)
			}
			_ = far.Close()
			file, err := c.(*net.TCPConn).File()
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			w := newWorld(t, "ordinary")
			w.stdin = file
			if r := w.exec(tier, []string{"--rw", "."}, "/bin/cat"); r.code != 0 || r.stdout != "hello" {
				t.Errorf("%s", r)
			}
		})
	}
}

// A pipe that is handed down is one for both directions: what others write into it can be read.
func TestSandboxPipe(t *testing.T) {
	for _, tier := range []string{uncontained, landlocked, namespaces} {
		t.Run(tier, func(t *testing.T) {
			needTier(t, "ordinary", tier)
			r, f, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			defer f.Close()
			if _, err := f.WriteString("of others\n"); err != nil {
				t.Fatal(err)
			}
			if err := f.Chmod(0o666); err != nil { // the other user's as well
				t.Fatal(err)
			}
			w := newWorld(t, "ordinary")
			w.stdin = f
			if r := w.exec(tier, []string{"--rw", "."}, "/bin/sh", "-c", "read -r x </proc/self/fd/0; echo $x"); r.code != 0 || r.stdout != "of others\n" {
				t.Errorf("%s", r)
			}
		})
	}
}

// What runs with the user's group can be left for others, what runs as the user cannot.
func TestSandboxMarks(t *testing.T) {
	eachUser(t, func(t *testing.T, user string) {
		for _, tier := range []string{uncontained, landlocked, namespaces} {
			t.Run(tier, func(t *testing.T) {
				needTier(t, user, tier)
				w := newWorld(t, user)
				r := w.exec(tier, []string{"--rw", "."}, "/bin/sh", "-c", "cp /bin/sh ours && chmod 2755 ours && cp /bin/sh mine && chmod 4755 mine")
				want := 0
				if tier != uncontained {
					want = 1
				}
				if r.code != want {
					t.Errorf("%s", r)
				}
				for name, marked := range map[string]bool{"ours": true, "mine": tier == uncontained} {
					is, err := os.Stat(w.root + "/" + name)
					if err != nil {
						t.Fatal(err)
					}
					if got := is.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0; got != marked {
						t.Errorf("the mode of %s is %v", name, is.Mode())
					}
				}
			})
		}
	})
}

// A file that the rules let be read is read from standard input as well, whatever is withheld beside it.
func TestSandboxInputThatMayBeRead(t *testing.T) {
	eachUser(t, func(t *testing.T, user string) {
		eachTier(t, user, func(t *testing.T, tier string) {
			for _, grants := range []string{"--ro . --rw good/ --deny src/private", "--ro ."} {
				w := newWorld(t, user)
				f, err := os.Open(w.root + "/docs/guide")
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				w.stdin = f
				if r := w.exec(tier, strings.Fields(grants), "/bin/cat"); r.code != 0 || r.stdout != "read me\n" {
					t.Errorf("%s: %s", grants, r)
				}
			}
		})
	})
}
