package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

var _ = add(map[string]attack{
	"forkbomb":      forkbomb,
	"memory":        func(a []string) (string, error) { return memory(a, unix.MAP_PRIVATE) },
	"memory-shared": func(a []string) (string, error) { return memory(a, unix.MAP_SHARED) },
	"cpu":           cpu,
	"file-size":     fileSize,
})

func init() { parts["part-sleep"] = sleeper }

// forkbomb has many processes at once: forkbomb COUNT. It worked if all were there.
func forkbomb(a []string) (string, error) {
	count, err := strconv.Atoi(a[0])
	if err != nil {
		return "", err
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return "", err
	}
	var list []*exec.Cmd
	defer func() {
		_ = w.Close()
		for _, cmd := range list {
			_ = cmd.Wait()
		}
	}()
	for range count {
		cmd := exec.Command(self, "part-sleep")
		cmd.Stdin = r
		if err := cmd.Start(); err != nil {
			return "", fmt.Errorf("after %d: %w", len(list), err)
		}
		list = append(list, cmd)
	}
	time.Sleep(500 * time.Millisecond) // they stay, and are looked for every now and then
	return strconv.Itoa(len(list)), nil
}

// memory uses memory: memory MEBIBYTES.
func memory(a []string, kind int) (string, error) {
	n, err := strconv.Atoi(a[0])
	if err != nil {
		return "", err
	}
	b, err := unix.Mmap(-1, 0, n<<20, unix.PROT_READ|unix.PROT_WRITE, kind|unix.MAP_ANONYMOUS)
	if err != nil {
		return "", err
	}
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
	return "", nil
}

// cpu uses the processor: cpu SECONDS.
func cpu(a []string) (string, error) {
	n, err := strconv.Atoi(a[0])
	if err != nil {
		return "", err
	}
	for {
		var use unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_SELF, &use); err != nil {
			return "", err
		}
		if use.Utime.Sec+use.Stime.Sec >= int64(n) {
			return "", nil
		}
	}
}

// fileSize writes a file: file-size FILE MEBIBYTES.
func fileSize(a []string) (string, error) {
	n, err := strconv.Atoi(a[1])
	if err != nil {
		return "", err
	}
	signal.Ignore(unix.SIGXFSZ)
	return "", os.WriteFile(a[0], make([]byte, n<<20), 0o644)
}

func sleeper([]string) int {
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}
