//go:build amd64 || arm64

package observe

import (
	"encoding/binary"
	"net/netip"

	"github.com/jptools/jptools/host/internal/sandbox"
	"golang.org/x/sys/unix"
)

// address judges connect(2) and bind(2) of TCP sockets. Others are not held to ports.
func (c *caller) address(j *judge) ([]Refusal, error) {
	length := int(min(c.args[c.flags], unix.SizeofSockaddrInet6))
	if length < unix.SizeofSockaddrInet4 || j.plan.ABI < sandbox.NetABI {
		return nil, nil
	}
	b, err := c.read(c.args[c.path], length)
	if err != nil || len(b) < unix.SizeofSockaddrInet4 {
		return nil, errUnread
	}
	var ip netip.Addr
	switch family := binary.NativeEndian.Uint16(b); {
	case family == unix.AF_INET:
		ip = netip.AddrFrom4([4]byte(b[4:8]))
	case family == unix.AF_INET6 && len(b) >= 24:
		ip = netip.AddrFrom16([16]byte(b[8:24])).Unmap()
	default:
		return nil, nil
	}
	to := netip.AddrPortFrom(ip, binary.BigEndian.Uint16(b[2:]))
	r := Refusal{Operation: OpConnect, Address: to.String(), Why: Port}
	if c.kind == binding {
		r.Operation = OpListen
	} else if j.port(to.Port()) {
		return nil, nil
	}
	tcp, err := c.tcp(int(int32(c.args[c.dir])))
	if err != nil || !tcp {
		return nil, err
	}
	return []Refusal{r}, nil
}

// tcp reports whether a descriptor of the task is a TCP socket.
func (t *task) tcp(fd int) (bool, error) {
	pidfd, err := unix.PidfdOpen(t.pid, unix.PIDFD_THREAD)
	if err == unix.EINVAL { // before Linux 6.9 of processes only
		pidfd, err = unix.PidfdOpen(t.pid, 0)
	}
	if err != nil {
		return false, errUnread
	}
	defer func() { _ = unix.Close(pidfd) }()
	own, err := unix.PidfdGetfd(pidfd, fd, 0)
	if err != nil {
		return false, errUnread
	}
	defer func() { _ = unix.Close(own) }()
	kind, err := unix.GetsockoptInt(own, unix.SOL_SOCKET, unix.SO_TYPE)
	return kind == unix.SOCK_STREAM, err
}
