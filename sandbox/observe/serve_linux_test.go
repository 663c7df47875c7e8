//go:build amd64 || arm64

package observe

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// What arrives with a message that should bring nothing is closed.
func TestUnexpectedDescriptorsAreClosed(t *testing.T) {
	for name, message := range map[string][]byte{"results": {sayResults}, "unknown": {'?'}, "a program without a plan": {sayListener}} {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- serve(pair[0]) }()
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Sendmsg(pair[1], message, unix.UnixRights(int(w.Fd())), nil, 0); err != nil {
			t.Fatal(err)
		}
		_ = w.Close()
		if _, err := r.Read(make([]byte, 1)); err == nil {
			t.Errorf("%s: somebody wrote", name)
		}
		_ = unix.Close(pair[1])
		<-served
		_, _ = r.Close(), unix.Close(pair[0])
	}
}
