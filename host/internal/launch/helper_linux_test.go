package launch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// helper is a tool that misbehaves.
func helper(mode string, args []string) int {
	switch mode {
	case "digest": // of standard input
		body, err := io.ReadAll(os.Stdin)
		if err != nil {
			return 1
		}
		fmt.Printf("%d %x", len(body), sha256.Sum256(body))
	case "words":
		fmt.Print(strings.Join(args, "\x00"), "\x00")
	case "environ":
		fmt.Print(strings.Join(os.Environ(), "\x00"))
	case "sleep":
		time.Sleep(time.Hour)
	case "stubborn": // hears nothing but SIGKILL
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		fmt.Println("ready")
		time.Sleep(time.Hour)
	case "polite": // cleans up when asked to end
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGTERM)
		fmt.Println("ready")
		<-asked
		fmt.Println("cleaned up")
	case "flood":
		to := os.Stdout
		if args[0] == "stderr" {
			to = os.Stderr
		}
		signal.Ignore(syscall.SIGTERM)
		for chunk := bytes.Repeat([]byte("flood "), 10000); ; {
			_, _ = to.Write(chunk)
		}
	case "detach": // double fork, new session, no streams, no environment
		detach("detached-twice", args, nil)
		time.Sleep(20 * time.Millisecond) // it is below the supervisor now
		fmt.Println("detached")
		if args[0] == "stay" {
			time.Sleep(time.Hour)
		}
	case "detached-twice":
		detach("stubborn", args, nil)
	case "hold": // detaches something that keeps the streams open
		detach("stubborn", args, []*os.File{os.Stdin, os.Stdout, os.Stderr})
		fmt.Println("gone")
	case "hop": // a new process every few milliseconds
		time.Sleep(2 * time.Millisecond)
		detach("hop", args, nil)
	case "bomb":
		for range 60 {
			detach("detach", []string{"stay", args[0]}, nil)
		}
		time.Sleep(time.Hour)
	case "kill-supervisor":
		detach("sleep", args, nil)
		_ = syscall.Kill(os.Getppid(), syscall.SIGKILL)
		time.Sleep(time.Hour)
	case "host": // a host that is killed while its tool runs
		l := New(nil)
		fmt.Println("running")
		_, err := l.Run(context.Background(), Spec{Program: "/proc/self/exe", Argv: []string{helperName, "detach", "stay", args[0]}, Dir: "/"})
		fmt.Println(err)
	default:
		return 3
	}
	return 0
}

// detach starts this program in a session of its own; a parent that ends orphans it.
func detach(mode string, args []string, streams []*os.File) {
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: append([]string{helperName, mode}, args...), Env: []string{}, SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	if streams != nil {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = streams[0], streams[1], streams[2]
	}
	if err := cmd.Start(); err != nil {
		fmt.Println(err)
	}
}

// startForTests is a Start function that shows where it runs.
func startForTests(plan []byte, cmd *exec.Cmd) (Started, error) {
	var p struct {
		Refuse, Variable string
		Processes        int
		Status           []uint32 // the program is an init that brings these
	}
	if err := json.Unmarshal(plan, &p); err != nil {
		return Started{}, err
	}
	if p.Refuse != "" {
		return Started{}, errors.New(p.Refuse)
	}
	cmd.Env = append(cmd.Env, p.Variable, fmt.Sprintf("THREAD_IS_MAIN=%v", syscall.Gettid() == os.Getpid()))
	if err := cmd.Start(); err != nil {
		return Started{}, err
	}
	started := Started{Pid: cmd.Process.Pid, Processes: p.Processes}
	if p.Status != nil {
		r, w, err := os.Pipe()
		if err != nil {
			return Started{}, err
		}
		for _, word := range p.Status {
			_ = binary.Write(w, binary.NativeEndian, word)
		}
		_ = w.Close()
		started.Status = r
	}
	return started, nil
}
