package main

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

var _ = add(map[string]attack{
	"tcp":            func(a []string) (string, error) { return connect(unix.SOCK_STREAM, unix.IPPROTO_TCP, a[0]) },
	"mptcp":          func(a []string) (string, error) { return connect(unix.SOCK_STREAM, unix.IPPROTO_MPTCP, a[0]) },
	"udp":            func(a []string) (string, error) { return connect(unix.SOCK_DGRAM, 0, a[0]) },
	"tcp-fastopen":   fastopen,
	"tcp-listen":     listen,
	"listen-unbound": listenUnbound,
	"tcp6":           func([]string) (string, error) { return socket(unix.AF_INET6, unix.SOCK_STREAM, 0) },
	"udp6":           func([]string) (string, error) { return socket(unix.AF_INET6, unix.SOCK_DGRAM, 0) },
	"raw":            func([]string) (string, error) { return socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP) },
	"packet":         func([]string) (string, error) { return socket(unix.AF_PACKET, unix.SOCK_RAW, 0) },
	"netlink":        netlink,
	"vsock":          func([]string) (string, error) { return socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0) },
	"families":       families,
	"cloexec-socket": func([]string) (string, error) {
		return socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	},
	"high-socket": highSocket,

	"unix":         func(a []string) (string, error) { return connectUnix(unix.SOCK_STREAM, a[0]) },
	"abstract":     func(a []string) (string, error) { return connectUnix(unix.SOCK_STREAM, "@"+a[0]) },
	"unixgram":     func(a []string) (string, error) { return connectUnix(unix.SOCK_DGRAM, a[0]) },
	"unix-bind":    unixBind,
	"pair-sendto":  pairSendto,
	"pair-connect": pairConnect,
	"scm-rights":   scmRights,
	"stdin-rights": stdinRights,
})

func socket(family, kind, proto int) (string, error) {
	fd, err := unix.Socket(family, kind, proto)
	if err == nil {
		err = unix.Close(fd)
	}
	return "", err
}

// highSocket asks for a family with bits that the kernel cuts off.
func highSocket([]string) (string, error) {
	_, err := raw(unix.SYS_SOCKET, 1<<32|unix.AF_INET, 1<<32|unix.SOCK_DGRAM, 0)
	return "", err
}

func inet(port string) (*unix.SockaddrInet4, error) {
	n, err := strconv.Atoi(port)
	return &unix.SockaddrInet4{Port: n, Addr: [4]byte{127, 0, 0, 1}}, err
}

// connect reaches a port of this computer and sends a word.
func connect(kind, proto int, port string) (string, error) {
	to, err := inet(port)
	if err != nil {
		return "", err
	}
	fd, err := unix.Socket(unix.AF_INET, kind, proto)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	if err := unix.Connect(fd, to); err != nil {
		return "", err
	}
	_, err = unix.Write(fd, []byte("# owned\n"))
	return "", err
}

// fastopen connects without connect(2).
func fastopen(a []string) (string, error) {
	to, err := inet(a[0])
	if err != nil {
		return "", err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	return "", unix.Sendto(fd, []byte("# owned\n"), unix.MSG_FASTOPEN, to)
}

func listen([]string) (string, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return "", err
	}
	return "", unix.Listen(fd, 1)
}

// listenUnbound takes connections without bind(2): the kernel chooses a port.
func listenUnbound([]string) (string, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	return "", unix.Listen(fd, 1)
}

// netlink asks for the interfaces of the computer.
func netlink([]string) (string, error) {
	list, err := net.Interfaces()
	if err != nil {
		return "", err
	}
	var names []string
	for _, i := range list {
		if i.Name != "lo" {
			names = append(names, i.Name)
		}
	}
	if len(names) == 0 {
		return "", refused("only lo")
	}
	return strings.Join(names, " "), nil
}

// families makes a socket of every family and kind; it worked if one came.
func families([]string) (string, error) {
	var got []string
	last := error(refused("none"))
	for family := range 64 {
		for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_RAW, unix.SOCK_RDM, unix.SOCK_SEQPACKET, 6} {
			fd, err := unix.Socket(family, kind, 0)
			if err != nil {
				last = err
				continue
			}
			got = append(got, fmt.Sprintf("%d/%d", family, kind))
			_ = unix.Close(fd)
		}
	}
	if len(got) == 0 {
		return "", last
	}
	return strings.Join(got, " "), nil
}

func connectUnix(kind int, name string) (string, error) {
	fd, err := unix.Socket(unix.AF_UNIX, kind, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: name}); err != nil {
		return "", err
	}
	_, err = unix.Write(fd, []byte("# owned\n"))
	return "", err
}

func unixBind(a []string) (string, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	return "", unix.Bind(fd, &unix.SockaddrUnix{Name: a[0]})
}

// kinds are those of socket pairs; all but streams may be able to send to somebody else.
var kinds = map[string]int{"stream": unix.SOCK_STREAM, "dgram": unix.SOCK_DGRAM, "seqpacket": unix.SOCK_SEQPACKET, "raw": unix.SOCK_RAW}

// pairSendto sends to a named socket through one half of a pair: pair-sendto KIND PATH.
func pairSendto(a []string) (string, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, kinds[a[0]], 0)
	if err != nil {
		return "", err
	}
	return "", unix.Sendto(pair[0], []byte("# owned\n"), 0, &unix.SockaddrUnix{Name: a[1]})
}

// pairConnect connects one half of a pair to somebody else.
func pairConnect(a []string) (string, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, kinds[a[0]], 0)
	if err != nil {
		return "", err
	}
	// AF_UNSPEC takes a datagram socket away from its peer.
	_, _ = raw(unix.SYS_CONNECT, uintptr(pair[0]), at(&[2]byte{}), 2)
	if err := unix.Connect(pair[0], &unix.SockaddrUnix{Name: a[1]}); err != nil {
		return "", err
	}
	_, err = unix.Write(pair[0], []byte("# owned\n"))
	return "", err
}

// scmRights sends a directory that it may only look at to itself, and opens below what
// arrives: scm-rights DIR REL.
func scmRights(a []string) (string, error) {
	dir, err := unix.Open(a[0], unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return "", err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return "", err
	}
	if err := unix.Sendmsg(pair[0], []byte("x"), unix.UnixRights(dir), nil, 0); err != nil {
		return "", err
	}
	got, err := receive(pair[1])
	if err != nil {
		return "", err
	}
	fd, err := unix.Openat(got, a[1], unix.O_WRONLY|unix.O_APPEND, 0)
	if err != nil {
		return "", err
	}
	_, err = unix.Write(fd, []byte("# owned\n"))
	return "", err
}

func receive(from int) (int, error) {
	oob := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(from, make([]byte, 1), oob, 0)
	if err != nil {
		return -1, err
	}
	messages, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil || len(messages) == 0 {
		return -1, refused("nothing came: %v", err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) == 0 {
		return -1, refused("nothing came: %v", err)
	}
	return fds[0], nil
}

// stdinRights takes what somebody outside passes through standard input, if that is a socket.
func stdinRights(a []string) (string, error) {
	got, err := receive(0)
	if err != nil {
		return "", err
	}
	fd, err := unix.Openat(got, a[0], unix.O_WRONLY|unix.O_APPEND, 0)
	if err != nil {
		return "", err
	}
	_, err = unix.Write(fd, []byte("# owned\n"))
	return "", err
}
