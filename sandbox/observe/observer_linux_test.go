//go:build amd64 || arm64

package observe

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/sandbox/fit"
)

// A descriptor that arrives with a message that should bring none is closed, and the observer ends all the same.
func TestUnexpectedDescriptorsAreClosed(t *testing.T) {
	o, err := Start(&fit.Plan{})
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Sendmsg(int(o.Socket().Fd()), []byte{'?'}, unix.UnixRights(int(w.Fd())), nil, 0); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	if _, err := r.Read(make([]byte, 1)); err == nil {
		t.Error("somebody wrote")
	}
	o.HandedOver()
	if seen := o.End(); seen.Calls != 0 {
		t.Errorf("%+v", seen)
	}
	_ = r.Close()
}
