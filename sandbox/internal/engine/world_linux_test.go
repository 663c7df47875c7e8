package engine

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/sandbox/fit"
)

// world is a plan with a network of its own, and with a workspace in which everything is granted.
func world(t *testing.T) *fit.Plan {
	t.Helper()
	if m := needs(t, fit.TierNamespace, 1); !m.Notify {
		t.Skip("not run: no calls can be announced here")
	}
	ws := jptooltest.OpenRoot(t)
	p := plan(t, fit.TierNamespace, ws)
	p.Net.Own, p.Local, p.Grants = true, true, []fit.Grant{grant(t, ws, all)}
	return p
}

// In a network of its own a program speaks to itself, by every means that there is, and to nobody else.
func TestOwnNetwork(t *testing.T) {
	p := world(t)
	ws := p.Trees[0].Path
	outside := func(network, address string) net.Listener {
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return l
	}
	port := outside("tcp4", "127.0.0.1:0").Addr().(*net.TCPAddr).Port
	outside("unix", ws+"/outside")
	outside("unix", "@jptools-outside")
	if err := os.Mkdir(ws+"/dir", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, way := range []string{"tcp4 127.0.0.1:0", "udp4 127.0.0.1:0", "unix " + ws + "/control", "unix @jptools-control", "unix-raw " + ws + "/outside"} {
		f := strings.Fields(way)
		if err := operations["talk"](f[0], f[1]); err != nil {
			t.Errorf("control: %s: %v", way, err)
		}
	}
	wantProbes(t, p,
		"talk tcp4 127.0.0.1:0 = ok", "talk tcp4 0.0.0.0:0 = ok", "talk tcp6 [::1]:0 = ok|EADDRNOTAVAIL", "talk udp4 127.0.0.1:0 = ok",
		"talk unix own = ok", "talk unix "+ws+"/dir/own = ok", "talk unix dir/../own2 = ok", "talk unix @own = ok", "talk unixpacket packet = ok",
		"talk unix "+p.Temp+"/own = ok", "talk unix-raw outside = EACCES", "talk unix-raw "+ws+"/outside = EACCES", "talk unix-raw @jptools-outside = ECONNREFUSED",
		"talk unix-raw none = ENOENT", "talk unix-raw dir = ECONNREFUSED", "stale dir/stale = ECONNREFUSED", "closed dir/closed = EACCES",
		fmt.Sprintf("connect %d = ECONNREFUSED", port), "far 192.0.2.1 = ENETUNREACH", "interfaces = lo",
		"socket 1/2/0 = EPROTONOSUPPORT", "socket 2/3/1 = EPROTONOSUPPORT", "socket 2/2/1 = EPROTONOSUPPORT", "socket 17/3/0 = EAFNOSUPPORT",
		"socket 16/3/0 = ok", "socket 16/2/0 = ok", "socket 16/3/16 = EPROTONOSUPPORT", "socket 16/3/4 = EPROTONOSUPPORT", "socket 40/1/0 = EAFNOSUPPORT", "pair 2 = EPROTONOSUPPORT")
}

// Where nothing may be created, no socket is bound either.
func TestLocalSocketsNeedCreate(t *testing.T) {
	p := world(t)
	ws := p.Trees[0].Path
	write(t, ws+"/ro/f", "", 0o644)
	p.Grants = []fit.Grant{grant(t, ws, r|x)}
	p.Covers = []fit.Cover{{Node: node(t, ws+"/ro"), ReadOnly: true}}
	wantProbes(t, p, "talk unix own = EACCES", "talk unix ro/own = EROFS|EACCES", "talk unix @own = ok")
}

// A connect(2) that is made for a program behaves as its own would.
func TestConnectWaits(t *testing.T) {
	p := world(t)
	wantProbes(t, p, "full nonblock = EAGAIN", "full timeout = EAGAIN", "full interrupt = EINTR", "full later = ok", "flags = ok", "again = EISCONN",
		"badfd = EBADF", "badaddress = EFAULT", "notsocket = ENOTSOCK", "short = EINVAL", "long = EINVAL")
}

// More connections that wait than the broker holds neither stop it nor keep the call from ending.
func TestConnectManyAtOnce(t *testing.T) {
	p := world(t)
	wantProbes(t, p, "many 100 = ok", "many 400 = ok")
	began := time.Now()
	res, err := run(t, p, &exec.Cmd{Path: self(t), Args: []string{probeName, "abandon 410"}, Dir: p.Trees[0].Path, Env: []string{}})
	if err != nil || !strings.HasPrefix(res.out, "ok") {
		t.Errorf("%v: %q", err, res.out)
	}
	if time.Since(began) > soon {
		t.Error("it took too long")
	}
}

// An observed program has the same network: the observer passes on what it does not answer.
func TestOwnNetworkObserved(t *testing.T) {
	p := world(t)
	ws := p.Trees[0].Path
	l, err := net.Listen("unix", ws+"/outside")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	write(t, ws+"/none/f", "", 0o644)
	out, s := observeRun(t, p, self(t), probeName, "talk tcp4 127.0.0.1:0", "talk unix own", "talk unix-raw outside", "full interrupt", "many 100", "read /etc/shadow")
	if got := strings.Fields(out); s.Error != "" || strings.Join(got, " ") != "ok ok EACCES EINTR ok ENOENT end" {
		t.Errorf("%q %s", got, s.Error)
	}
	if got := refusals(s, ws); !strings.Contains(strings.Join(got, ","), "/etc/shadow") {
		t.Errorf("seen %q", got)
	}
}

// Terminals, and directories for temporary files, are the call's own.
func TestPrivatePlaces(t *testing.T) {
	p := world(t)
	wantProbes(t, p, "terminal = ok", "read /dev/tty = ENXIO|ENOENT", "create /dev/pts/x = EACCES|EPERM", "list /dev/pts = ok", "list /dev = EACCES",
		"create /dev/shm/x = ok", "create /var/tmp/y = ok", "read /etc/hosts = ok", "update /etc/hosts = EACCES|EROFS")
	ws := jptooltest.TempRoot(t)
	if !strings.HasPrefix(ws, "/tmp/") {
		t.Skipf("temporary directories are not below /tmp but in %s", ws)
	}
	write(t, filepath.Join(ws, "ws/f"), "x", 0o644)
	write(t, filepath.Join(ws, "beside"), "x", 0o644)
	p.Trees = []fit.Node{node(t, ws+"/ws")}
	p.Grants = []fit.Grant{grant(t, ws+"/ws", all)}
	p.Temp, p.Scratch = "/run/jphost", "/tmp"
	first := "/tmp/" + strings.Split(ws, "/")[2]
	wantProbes(t, p, "create /tmp/jptools-private = ok", "update "+ws+"/ws/f = ok", "read "+ws+"/beside = ENOENT", "create "+ws+"/new = EROFS", "rename "+first+" /tmp/y = EBUSY",
		"mkfifo /tmp/fifo = EACCES", "talk unix /tmp/sock = ok", "create "+ws+"/ws/new = ok")
	if _, err := os.Lstat("/tmp/jptools-private"); err == nil {
		t.Error("a private file is on the host")
	}
}

func init() {
	operations["talk"] = talk
	operations["stale"] = func(a, _ string) error {
		l, err := listenUnix(a, 1)
		if err != nil {
			return err
		}
		_ = unix.Close(l)
		return dialUnix(a, 0)
	}
	operations["closed"] = func(a, _ string) error {
		if _, err := listenUnix(a, 1); err != nil {
			return err
		}
		if err := unix.Chmod(a, 0); err != nil {
			return err
		}
		return dialUnix(a, 0)
	}
	operations["far"] = func(a, _ string) error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		to := &unix.SockaddrInet4{Port: 80}
		copy(to.Addr[:], net.ParseIP(a).To4())
		return unix.Connect(fd, to)
	}
	operations["interfaces"] = func(string, string) error {
		list, err := net.Interfaces()
		if err != nil || len(list) != 1 {
			return fmt.Errorf("%v %w", list, err)
		}
		return errors.New(list[0].Name)
	}
	operations["full"] = full
	operations["many"] = func(a, _ string) error { return many(a, true) }
	operations["abandon"] = func(a, _ string) error { return many(a, false) }
	operations["flags"] = func(string, string) error {
		if _, err := listenUnix("flags", 1); err != nil {
			return err
		}
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err == nil {
			err = unix.Connect(fd, &unix.SockaddrUnix{Name: "flags"})
		}
		if flags, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); flags&unix.O_NONBLOCK != 0 {
			return errors.New("O_NONBLOCK was left on")
		}
		return err
	}
	operations["again"] = func(string, string) error {
		if _, err := listenUnix("again", 1); err != nil {
			return err
		}
		fd, _ := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err := unix.Connect(fd, &unix.SockaddrUnix{Name: "again"}); err != nil {
			return err
		}
		return unix.Connect(fd, &unix.SockaddrUnix{Name: "again"})
	}
	raw := func(fd int, at, size uintptr) error {
		if _, _, errno := unix.Syscall(unix.SYS_CONNECT, uintptr(fd), at, size); errno != 0 {
			return errno
		}
		return nil
	}
	made := func() int {
		fd, _ := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		return fd
	}
	operations["badfd"] = func(string, string) error { return raw(99, 1, 2) }
	operations["badaddress"] = func(string, string) error { return raw(made(), 1, 20) }
	operations["notsocket"] = func(string, string) error {
		fd, _ := unix.Open("/dev/null", unix.O_RDWR, 0)
		return raw(fd, 1, 20)
	}
	operations["short"] = func(string, string) error { return raw(made(), 1, 1) }
	operations["long"] = func(string, string) error { return raw(made(), 1, 4096) }
	operations["terminal"] = terminal
}

func listenUnix(path string, backlog int) (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrUnix{Name: path})
	}
	if err == nil {
		err = unix.Listen(fd, backlog)
	}
	return fd, err
}

func dialUnix(path string, kind int) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|kind, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return unix.Connect(fd, &unix.SockaddrUnix{Name: path})
}

// talk has one end of a connection listen and the other send a word; unix-raw only connects.
func talk(network, address string) error {
	if network == "unix-raw" {
		return dialUnix(address, 0)
	}
	word := make([]byte, 4)
	if strings.HasPrefix(network, "udp") {
		server, err := net.ListenPacket(network, address)
		if err != nil {
			return bare(err)
		}
		defer server.Close()
		client, err := net.Dial(network, server.LocalAddr().String())
		if err != nil {
			return bare(err)
		}
		_, err = client.Write([]byte("word"))
		if err == nil {
			_ = server.SetDeadline(time.Now().Add(soon))
			_, _, err = server.ReadFrom(word)
		}
		return bare(err)
	}
	server, err := net.Listen(network, address)
	if err != nil {
		return bare(err)
	}
	defer server.Close()
	client, err := net.Dial(network, server.Addr().String())
	if err != nil {
		return bare(err)
	}
	defer client.Close()
	far, err := server.Accept()
	if err == nil {
		defer far.Close()
		_, err = client.Write([]byte("word"))
	}
	if err == nil {
		_ = far.SetDeadline(time.Now().Add(soon))
		_, err = far.Read(word)
	}
	return bare(err)
}

// bare is the number of an error, if it has one.
func bare(err error) error {
	var e syscall.Errno
	if errors.As(err, &e) {
		return e
	}
	return err
}

// full connects to a server that takes no more.
func full(how, _ string) error {
	path := "full-" + how
	server, err := listenUnix(path, 0)
	if err != nil {
		return err
	}
	for { // until its queue is full
		err := dialUnix(path, unix.SOCK_NONBLOCK)
		if how == "nonblock" && err != nil || err != nil && err != unix.EAGAIN {
			return err
		}
		if err != nil {
			break
		}
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	switch how {
	case "timeout":
		err = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &unix.Timeval{Usec: 100_000})
	case "interrupt":
		runtime.LockOSThread()
		thread, again := unix.Gettid(), time.NewTicker(100*time.Millisecond)
		done := make(chan struct{})
		defer close(done)
		defer again.Stop()
		go func() { // one that comes before the call interrupts nothing
			for {
				select {
				case <-again.C:
					_ = unix.Tgkill(unix.Getpid(), thread, unix.SIGURG)
				case <-done:
					return
				}
			}
		}()
	case "later":
		time.AfterFunc(100*time.Millisecond, func() { _, _, _ = unix.Accept(server) })
	}
	if err != nil {
		return err
	}
	for {
		// The runtime of Go sends signals of its own to threads that it wants to stop.
		err = unix.Connect(fd, &unix.SockaddrUnix{Name: path})
		if err != unix.EINTR || how == "interrupt" {
			return err
		}
	}
}

// many has many threads wait for a server that takes no more. When it does, all get through; or else they are left waiting.
func many(count string, accept bool) error {
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	server, err := listenUnix("many"+count, 0)
	if err != nil {
		return err
	}
	var wait sync.WaitGroup
	errs := make(chan error, n)
	for range n {
		wait.Go(func() {
			err := dialUnix("many"+count, 0)
			for err == unix.EINTR { // the runtime of Go stops threads by signals
				err = dialUnix("many"+count, 0)
			}
			errs <- err
		})
	}
	time.Sleep(300 * time.Millisecond)
	if n < maxBlocked { // another server can still be reached
		if err := talk("unix", "other"+count); err != nil {
			return err
		}
	}
	if !accept {
		return nil
	}
	for range n {
		fd, _, err := unix.Accept(server)
		if err != nil {
			return err
		}
		_ = unix.Close(fd)
	}
	wait.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

const maxBlocked = 256 // as in package sockets

// terminal opens a pseudo-terminal and sends a word through it.
func terminal(string, string) error {
	master, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		return err
	}
	n, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
	if err != nil {
		return err
	}
	slave, err := unix.Open("/dev/pts/"+strconv.Itoa(n), unix.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	_, err = unix.Write(slave, []byte("word"))
	word := make([]byte, 4)
	if err == nil {
		_, err = unix.Read(master, word)
	}
	if err == nil && string(word) != "word" {
		err = fmt.Errorf("%q", word)
	}
	return err
}
