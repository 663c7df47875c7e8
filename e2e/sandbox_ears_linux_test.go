package e2e

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// ears are sockets outside, as a container engine or an agent for keys has them, in places that
// the workspace's own rights reach.
type ears struct {
	port, abstract string
	sock, gram     string
	sequence       string

	streams []interface {
		net.Listener
		SetDeadline(t time.Time) error
	}
	packets []net.PacketConn
}

func (w *world) listen() *ears {
	w.t.Helper()
	e := &ears{abstract: "jptools-e2e-" + w.secret, sock: w.root + "/engine.sock", gram: w.root + "/log.sock", sequence: w.root + "/sequence.sock"}
	check := func(err error) {
		w.t.Helper()
		if err != nil {
			w.t.Fatal(err)
		}
	}
	tcp, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	check(err)
	port := tcp.Addr().(*net.TCPAddr).Port
	e.port = strconv.Itoa(port)
	udp, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
	check(err)
	named, err := net.ListenUnix("unix", &net.UnixAddr{Name: e.sock, Net: "unix"})
	check(err)
	hidden, err := net.ListenUnix("unix", &net.UnixAddr{Name: "@" + e.abstract, Net: "unix"})
	check(err)
	gram, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: e.gram, Net: "unixgram"})
	check(err)
	sequence, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: e.sequence, Net: "unixpacket"})
	check(err)
	for _, p := range []string{e.sock, e.gram, e.sequence} {
		check(os.Chmod(p, 0o777))
	}
	w.own()
	e.streams = append(e.streams, tcp, named, hidden, sequence)
	e.packets = append(e.packets, udp, gram)
	w.t.Cleanup(func() {
		for _, l := range e.streams {
			_ = l.Close()
		}
		for _, c := range e.packets {
			_ = c.Close()
		}
	})
	return e
}

// heard says where something came, once the attack is over.
func (e *ears) heard(t testing.TB) (names []string) {
	t.Helper()
	soon := time.Now().Add(30 * time.Millisecond)
	for _, l := range e.streams {
		if err := l.SetDeadline(soon); err != nil {
			t.Fatal(err)
		}
		c, err := l.Accept()
		if err == nil {
			names = append(names, l.Addr().String())
			_ = c.Close()
		} else if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal(err)
		}
	}
	for _, c := range e.packets {
		if err := c.SetReadDeadline(soon); err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.ReadFrom(make([]byte, 100)); err == nil {
			names = append(names, filepath.Base(c.LocalAddr().String()))
		} else if !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
	return names
}
