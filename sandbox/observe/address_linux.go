//go:build amd64 || arm64

package observe

import (
	"encoding/binary"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/sandbox/fit"
)

// address judges connect(2) and bind(2) of TCP sockets. Others are not held to ports.
func (c *caller) address(j *judge) ([]Refusal, error) {
	length := int(min(c.args[c.flags], unix.SizeofSockaddrInet6))
	if length < unix.SizeofSockaddrInet4 || j.plan.ABI < fit.NetABI {
		return nil, nil
	}
	b, err := c.read(c.args[c.path], length)
	if err != nil || len(b) < unix.SizeofSockaddrInet4 {
		return nil, errUnread
	}
	var ip []byte
	switch family := binary.NativeEndian.Uint16(b); {
	case family == unix.AF_INET:
		ip = b[4:8]
	case family == unix.AF_INET6 && len(b) >= 24:
		ip = b[8:24]
	default:
		return nil, nil
	}
	port := binary.BigEndian.Uint16(b[2:])
	r := Refusal{Operation: OpConnect, Address: endpoint(ip, port), Why: Port}
	if c.kind == binding {
		r.Operation = OpListen
	} else if j.port(port) {
		return nil, nil
	}
	tcp, err := c.tcp(int(int32(c.args[c.dir])))
	if err != nil || !tcp {
		return nil, err
	}
	return []Refusal{r}, nil
}

// endpoint is an address of 4 or 16 bytes and a port, as people write them. Package net/netip would say the same,
// but takes time at every start of this program, which hardly ever has an address to say.
func endpoint(ip []byte, port uint16) string {
	const mapped = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff" // an IPv4 address in IPv6
	ip = ip[len(ip)-len(strings.TrimPrefix(string(ip), mapped)):]
	var text strings.Builder
	if len(ip) == 4 {
		for i, b := range ip {
			text.WriteString([]string{"", "."}[min(i, 1)] + strconv.Itoa(int(b)))
		}
	} else {
		text.WriteByte('[')
		at, zeros := longestZeros(ip)
		for i := 0; i < len(ip); i += 2 {
			switch {
			case zeros > 2 && i == at:
				text.WriteString("::")
				i += zeros - 2
				continue
			case i > 0 && (zeros <= 2 || i != at+zeros):
				text.WriteByte(':')
			}
			text.WriteString(strconv.FormatUint(uint64(binary.BigEndian.Uint16(ip[i:])), 16))
		}
		text.WriteByte(']')
	}
	return text.String() + ":" + strconv.Itoa(int(port))
}

// longestZeros finds the first of the longest runs of groups that are zero, and its size in bytes.
func longestZeros(ip []byte) (at, size int) {
	for from := 0; from < len(ip); from += 2 {
		to := from
		for to < len(ip) && ip[to] == 0 && ip[to+1] == 0 {
			to += 2
		}
		if to-from > size {
			at, size = from, to-from
		}
	}
	return at, size
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
