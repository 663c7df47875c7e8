package wspath

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A lease makes the kernel say EAGAIN for as long as its holder likes, which ended in a loop. Who gives it
// up when asked is waited for.
func TestOpenOfALeasedFileEnds(t *testing.T) {
	asked := make(chan os.Signal, 16)
	signal.Notify(asked, unix.SIGIO) // what the kernel tells the holder
	defer signal.Stop(asked)
	for _, givesUp := range []bool{false, true} {
		root := t.TempDir()
		f, err := os.Create(filepath.Join(root, "f"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
			// A file of this process can be leased, unless a filter refuses that, as sandboxes have it.
			t.Skipf("not run: no lease can be had here: %v", err)
		}
		for len(asked) > 0 {
			<-asked
		}
		if givesUp {
			fd := f.Fd() // open until the end: the lease is given up before d.Open returns
			go func() {
				<-asked
				_, _ = unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_UNLCK)
			}()
		}
		d, err := OpenDir(root)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		opened, err := d.Open("f")
		took := time.Since(start)
		switch {
		case givesUp && err != nil:
			t.Errorf("the holder gave up, but: %v", err)
		case !givesUp && !errors.Is(err, ErrChanged):
			t.Errorf("%v; want ErrChanged", err)
		case took > 20*time.Second:
			t.Errorf("it took %v", took)
		}
		if opened != nil {
			opened.Close()
		}
		d.Close()
		f.Close()
	}
}
