package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

var _ = add(map[string]attack{"leaderless": leaderless})

func init() {
	parts["part-leaderless"] = leaderlessPart
	if len(os.Args) > 1 && os.Args[1] == "part-leaderless" {
		runtime.LockOSThread() // to the first thread, which is the one that is to end
	}
}

// leaderless has many processes at once that go on without their first thread, and leaves them behind:
// leaderless COUNT FILE. They add to FILE for a while. It worked if all were there.
func leaderless(a []string) (string, error) {
	count, err := strconv.Atoi(a[0])
	if err != nil {
		return "", err
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	for n := range count {
		cmd := exec.Command(self, "part-leaderless", a[1])
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			return "", fmt.Errorf("after %d: %w", n, err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			return "", refused("%q, %v after %d", line, err, n)
		}
	}
	time.Sleep(500 * time.Millisecond) // they are looked for every now and then
	return "", nil
}

func leaderlessPart(a []string) int {
	go func() {
		defer os.Exit(1)
		for {
			stat, err := os.ReadFile("/proc/self/stat")
			if _, rest, _ := strings.Cut(string(stat), ") "); err != nil || strings.HasPrefix(rest, "Z") {
				break
			}
			time.Sleep(time.Millisecond)
		}
		f, err := os.OpenFile(a[0], os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
		if err != nil {
			return
		}
		fmt.Println("without a first thread")
		for range 1000 {
			if _, err := f.WriteString("."); err != nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	_, _, _ = syscall.Syscall(unix.SYS_EXIT, 0, 0, 0) // of the thread alone
	return 1
}
