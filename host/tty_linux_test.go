package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

func init() { commands["tty"] = tty }

// tty runs a command on a pseudo-terminal of its own, with a person who follows a dialogue:
// tty CODE DIALOGUE COMMAND…. A line `< TEXT` of the dialogue waits until the terminal
// shows TEXT after what was waited for before, `? FILE` until the file exists, `> TEXT` types a
// line, `^C` the key (and so `^Z` and `^\`), and `= FILE TEXT` writes a line to a file meanwhile. CODE is
// the exit status. Afterwards the files screen, out and err hold what came where. After
// `tty -all` standard output and standard error are the terminal as well.
func tty(ts *testscript.TestScript, neg bool, args []string) {
	all := len(args) > 0 && args[0] == "-all"
	if all {
		args = args[1:]
	}
	if neg || len(args) < 3 {
		ts.Fatalf("usage: tty [-all] CODE DIALOGUE COMMAND…")
	}
	master, slave := openPTY(ts)
	defer master.Close()
	program, err := lookPath(ts.Getenv("PATH"), args[2])
	ts.Check(err)
	cmd := exec.Command(program, args[3:]...)
	cmd.Args[0] = args[2]
	for _, name := range []string{"PATH", "HOME", "WORK", "WS", "EXT", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "JPHOST_SESSION", "JPHOST_SANDBOX_LIMIT", "EDITOR", "TMPDIR", "GOCOVERDIR", "TERM", "NO_COLOR", "PAGER"} {
		if v := ts.Getenv(name); v != "" {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	cmd.Dir = ts.MkAbs(".")
	var out, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, &out, &stderr
	if all {
		cmd.Stdout, cmd.Stderr = slave, slave
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	var mu sync.Mutex
	var seen strings.Builder
	read := make(chan struct{})
	go func() {
		defer close(read)
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			mu.Lock()
			seen.Write(buf[:n])
			mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	screen := func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.ReplaceAll(seen.String(), "\r\n", "\n")
	}
	ts.Check(cmd.Start())
	slave.Close()
	at := 0
	for line := range strings.Lines(ts.ReadFile(args[1])) {
		switch line = strings.TrimRight(line, "\n"); {
		case strings.HasPrefix(line, "< "):
			want, deadline := line[2:], time.Now().Add(20*time.Second)
			for !strings.Contains(screen()[at:], want) {
				if time.Now().After(deadline) {
					_ = cmd.Process.Kill()
					ts.Fatalf("the terminal does not show %q; it shows:\n%s\nstandard error: %s", want, screen(), stderr.String())
				}
				time.Sleep(5 * time.Millisecond)
			}
			at += strings.Index(screen()[at:], want) + len(want)
		case strings.HasPrefix(line, "? "):
			for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
				if _, err := os.Stat(ts.MkAbs(line[2:])); err == nil {
					break
				} else if time.Now().After(deadline) {
					_ = cmd.Process.Kill()
					ts.Fatalf("there is no %s; standard error: %s", line[2:], stderr.String())
				}
			}
		case strings.HasPrefix(line, "> "), line == ">":
			// What is typed before a question is drawn is thrown away; all of it ends in a blank.
			for deadline := time.Now().Add(20 * time.Second); !strings.HasSuffix(screen(), " "); time.Sleep(5 * time.Millisecond) {
				if time.Now().After(deadline) {
					_ = cmd.Process.Kill()
					ts.Fatalf("nothing is asked before %q; the terminal shows:\n%s\nstandard error: %s", line, screen(), stderr.String())
				}
			}
			_, err := master.WriteString(strings.TrimPrefix(line[1:], " ") + "\n")
			ts.Check(err)
		case strings.HasPrefix(line, "= "):
			name, text, _ := strings.Cut(line[2:], " ")
			ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text+"\n"), 0o600))
		case len(line) == 2 && line[0] == '^':
			_, err := master.Write([]byte{line[1] & 0x1f})
			ts.Check(err)
		default:
			_ = cmd.Process.Kill()
			ts.Fatalf("%s: %q is no step of a dialogue", args[1], line)
		}
	}
	// A command that asks what the dialogue does not expect would wait for ever.
	stuck := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
	err = cmd.Wait()
	stuck.Stop()
	select {
	case <-read: // to the end: nobody has the other side open any more
	case <-time.After(5 * time.Second):
		ts.Fatalf("something still has the terminal open")
	}
	code := "0"
	if e := (*exec.ExitError)(nil); errors.As(err, &e) {
		code = strconv.Itoa(e.ExitCode())
	} else {
		ts.Check(err)
	}
	for name, text := range map[string]string{"screen": screen(), "out": out.String(), "err": stderr.String()} {
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600))
	}
	if code != args[0] {
		ts.Fatalf("exit status %s, want %s\nscreen:\n%s\nstandard error:\n%s", code, args[0], screen(), stderr.String())
	}
}

func openPTY(ts *testscript.TestScript) (master, slave *os.File) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	ts.Check(err)
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	ts.Check(err)
	ts.Check(unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	ts.Check(err)
	return master, slave
}

func lookPath(path, name string) (string, error) {
	for dir := range strings.SplitSeq(path, string(os.PathListSeparator)) {
		if fi, err := os.Stat(dir + "/" + name); err == nil && fi.Mode()&0o111 != 0 {
			return dir + "/" + name, nil
		}
	}
	return "", exec.ErrNotFound
}
