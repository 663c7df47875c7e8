//go:build amd64 || arm64

package observe

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Under starts this program a second time, with these arguments, environment and streams, observes
// the calls that it makes, and returns its exit status when it has ended: 128 and the number
// of the signal if one ended it. When this process ends first, the other is told by SIGTERM.
func Under(environ, args []string, streams [3]*os.File) (int, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("making a socket for the observer: %w", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "observed")
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: append([]string{observedName}, args...), Env: environ,
		Stdin: streams[0], Stdout: streams[1], Stderr: streams[2], ExtraFiles: []*os.File{theirs},
		SysProcAttr: &syscall.SysProcAttr{Pdeathsig: unix.SIGTERM},
	}
	// A terminal sends these to both; the other one decides what they mean. What is ignored, as
	// nohup has it, stays so in both.
	signals := make(chan os.Signal, 8)
	for _, sig := range []os.Signal{unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGHUP} {
		if !signal.Ignored(sig) {
			signal.Notify(signals, sig)
		}
	}
	defer signal.Stop(signals)
	// The parent that a death is told of is a thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err = cmd.Start()
	_ = theirs.Close()
	if err != nil {
		_ = unix.Close(pair[0])
		return 0, fmt.Errorf("starting jphost to be observed: %w", err)
	}
	served, over := make(chan error, 1), make(chan struct{})
	go func() {
		err := serve(pair[0])
		_ = unix.Close(pair[0]) // the other one is told so when it asks
		served <- err
	}()
	go func() {
		for {
			select {
			case sig := <-signals:
				if sig != unix.SIGQUIT {
					_ = cmd.Process.Signal(sig)
				}
			case <-over:
				return
			}
		}
	}()
	err = cmd.Wait()
	close(over)
	if cmd.ProcessState == nil {
		return 0, fmt.Errorf("waiting for jphost: %w", err)
	}
	if err := <-served; err != nil {
		return 0, fmt.Errorf("observing the call: %w", err)
	}
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return status.ExitStatus(), nil
}

// inherited is the end of the socket that Under has handed down, or nil.
func inherited() *os.File {
	kind, err := unix.GetsockoptInt(linkFD, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil || kind != unix.AF_UNIX {
		return nil
	}
	unix.CloseOnExec(linkFD)
	return os.NewFile(linkFD, "observer")
}

// Gone is closed when the observer has ended.
func (l *Link) Gone() <-chan struct{} {
	gone, fd := make(chan struct{}), int32(l.sock.Fd())
	go func() {
		for {
			fds := []unix.PollFd{{Fd: fd}}
			if _, err := unix.Poll(fds, -1); err != unix.EINTR {
				close(gone)
				return
			}
		}
	}()
	return gone
}
