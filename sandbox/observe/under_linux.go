//go:build amd64 || arm64

package observe

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Under starts this program a second time, as [Again] does, and observes the calls that it makes.
func Under(environ, args []string, streams [3]*os.File) (int, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("making a socket for the observer: %w", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "observed")
	served := make(chan error, 1)
	begun := false
	status, err := Again(append([]string{observedName}, args...), environ, streams, []*os.File{theirs}, func() {
		begun = true
		_ = theirs.Close()
		go func() {
			err := serve(pair[0])
			_ = unix.Close(pair[0]) // the other one is told so when it asks
			served <- err
		}()
	})
	if !begun {
		_, _ = theirs.Close(), unix.Close(pair[0])
		return 0, fmt.Errorf("starting jphost to be observed: %w", err)
	}
	if err != nil {
		return 0, fmt.Errorf("waiting for jphost: %w", err)
	}
	if err := <-served; err != nil {
		return 0, fmt.Errorf("observing the call: %w", err)
	}
	return status, nil
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
