package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/jptools/jptools/sandbox/fit"
)

const (
	toolName = "engine-tool"
	hostName = "engine-host"
)

// tool is a program that misbehaves in ways that a shell script cannot.
func tool(mode string, args []string) int {
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
		signal.Ignore(syscall.SIGTERM)
		for chunk := bytes.Repeat([]byte("flood "), 10000); ; {
			_, _ = os.Stdout.Write(chunk)
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
	default:
		return 3
	}
	return 0
}

// detach starts this program in a session of its own; a parent that ends orphans it.
func detach(mode string, args []string, streams []*os.File) {
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: append([]string{toolName, mode}, args...), Env: []string{}, SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	if streams != nil {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = streams[0], streams[1], streams[2]
	}
	if err := cmd.Start(); err != nil {
		fmt.Println(err)
	}
}

// toolSpec is a tool without a plan; its mark is the last argument and in the environment.
func toolSpec(mark string, args ...string) spec {
	return spec{
		path: "/proc/self/exe", args: append(append([]string{toolName}, args...), mark),
		dir: "/", env: []string{"ENGINE_TEST_MARK=" + mark}, grace: 100 * time.Millisecond,
	}
}

func shTool(mark, script string) spec {
	s := shSpec(nil, script)
	s.env = append(s.env, "ENGINE_TEST_MARK="+mark)
	return s
}

// hosted is what a second host starts, which is killed.
type hosted struct {
	Plan *fit.Plan
	Path string
	Args []string
	Env  []string
	Dir  string
}

// host is a host for one call, given as JSON.
func host(text string) int {
	var h hosted
	if err := json.Unmarshal([]byte(text), &h); err != nil {
		return 1
	}
	_, err := spec{plan: h.Plan, path: h.Path, args: h.Args, env: h.Env, dir: h.Dir}.run(context.Background(), New(Options{}))
	fmt.Println(err)
	return 0
}

func hostCommand(h hosted) *exec.Cmd {
	text, err := json.Marshal(h)
	if err != nil {
		panic(err)
	}
	return &exec.Cmd{Path: "/proc/self/exe", Args: []string{hostName, string(text)}, Env: []string{}}
}
