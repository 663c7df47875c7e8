package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

var _ = add(map[string]attack{
	"linger":  linger,
	"outlive": outlive,
	"chain":   chain,
	"wait":    wait,
})

func init() { parts["part-linger"] = lingerer }

// linger leaves a process behind in every way there is: linger MARK.
func linger(a []string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	for _, session := range []bool{false, true} {
		cmd := exec.Command(self, "part-linger", a[0], "2")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: session}
		in, err := cmd.StdoutPipe()
		if err != nil {
			return "", err
		}
		if err := cmd.Start(); err != nil {
			return "", err
		}
		if line, err := bufio.NewReader(in).ReadString('\n'); err != nil {
			return "", refused("%q, %v", line, err)
		}
		if err := cmd.Wait(); err != nil {
			return "", err
		}
	}
	return "", nil
}

// outlive leaves processes behind and is then itself no longer killed with whoever started it:
// outlive MARK READY.
func outlive(a []string) (string, error) {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0); err != nil {
		return "", err
	}
	if _, err := linger(a[:1]); err != nil {
		return "", err
	}
	return wait([]string{"60", a[1]})
}

// lingerer is started, starts another and ends; that one stays, hears no signal and is in a
// session of its own.
func lingerer(a []string) int {
	signal.Ignore(unix.SIGHUP, unix.SIGTERM, unix.SIGINT, unix.SIGQUIT, unix.SIGPIPE, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM)
	_, _ = unix.Setsid()
	if a[1] == "0" {
		fmt.Println("stays")
		for f := 0; f < 3; f++ {
			_ = unix.Close(f)
		}
		time.Sleep(60 * time.Second)
		return 0
	}
	next, err := strconv.Atoi(a[1])
	self, err2 := os.Executable()
	if err != nil || err2 != nil {
		return 1
	}
	cmd := exec.Command(self, "part-linger", a[0], strconv.Itoa(next-1))
	cmd.Stdout = os.Stdout
	if cmd.Start() != nil {
		return 1
	}
	return 0
}

// chain leaves some processes behind that each start another and end, as that does, as fast as it
// goes: chain SECONDS. After so long the last ones do not. They keep standard error open.
func chain(a []string) (string, error) {
	seconds, err := strconv.Atoi(a[0])
	if err != nil {
		return "", err
	}
	var now, end unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &end); err != nil {
		return "", err
	}
	end.Sec += int64(seconds)
	// In a child nothing of Go works, so there are only system calls.
	fork := func() uintptr {
		pid, _, _ := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		return pid
	}
	if pid := fork(); int(pid) < 0 {
		return "", refused("the first fork")
	} else if pid != 0 {
		return "", nil
	}
	for fd := range uintptr(2) {
		_, _, _ = syscall.RawSyscall(unix.SYS_CLOSE, fd, 0, 0)
	}
	for range 4 { // 16 of them
		_ = fork()
	}
	for now.Sec < end.Sec {
		_, _, _ = syscall.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_MONOTONIC, uintptr(unsafe.Pointer(&now)), 0)
		if pid := fork(); int(pid) > 0 {
			break
		}
	}
	for {
		_, _, _ = syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
}

// wait says that it runs and waits to be ended: wait SECONDS. It worked if nobody did.
func wait(a []string) (string, error) {
	seconds, err := strconv.Atoi(a[0])
	if err != nil {
		return "", err
	}
	if a[1] != "" {
		if err := os.WriteFile(a[1], []byte("ready\n"), 0o644); err != nil {
			return "", err
		}
	}
	time.Sleep(time.Duration(seconds) * time.Second)
	return "", nil
}
