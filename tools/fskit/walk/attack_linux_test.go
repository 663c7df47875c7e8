package walk

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// Directories and files are swapped with symlinks that lead outside while the walk goes
// on: nothing outside is ever listed or read.
func TestSwapsWhileWalking(t *testing.T) {
	outside := tree(t, `file secret/canary CANARY; file secret/f0 CANARY; file secret/sub/f0 CANARY`)
	root := jptooltest.TempRoot(t)
	for d := range 20 {
		for f := range 10 {
			jptooltest.Tree(t, root, fmt.Sprintf("file d%d/sub/f%d fine", d, f), fmt.Sprintf("file d%d/f%d fine", d, f))
		}
	}
	for g := range 2 {
		jptooltest.Tree(t, root, fmt.Sprintf("symlink evil%d %s/secret", g, outside), fmt.Sprintf("symlink evilfile%d %s/secret/canary", g, outside))
	}
	ws := jptooltest.Open(t, root)
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			defer v.set()()
			var stop atomic.Bool
			var swaps atomic.Int64
			var wg sync.WaitGroup
			for g := range 2 {
				wg.Go(func() {
					// Each in directories of its own, so that none of its paths leads through
					// a link of the other one.
					for i := 0; !stop.Load(); i++ {
						link, at := fmt.Sprintf("evil%d", g), fmt.Sprintf("d%d", i%10*2+g)
						switch i % 3 {
						case 1:
							at += "/sub"
						case 2:
							link, at = fmt.Sprintf("evilfile%d", g), at+"/f0"
						}
						a, b := filepath.Join(root, link), filepath.Join(root, at)
						if unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE) == nil {
							swaps.Add(1)
							unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
						}
					}
				})
			}
			read := 0
			for end := time.Now().Add(400 * time.Millisecond); time.Now().Before(end); {
				_, err := Walk(t.Context(), ws, Options{}, func(b *Batch) error {
					for i, p := range b.Paths {
						if strings.Contains(p, "canary") {
							t.Errorf("listed %s", p)
						}
						var f File
						if b.Open(i, &f) != nil {
							continue
						}
						text, _ := io.ReadAll(&f)
						f.Close()
						read++
						if strings.Contains(string(text), "CANARY") {
							t.Errorf("read %s of outside", p)
						}
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			stop.Store(true)
			wg.Wait()
			if swaps.Load() < 10 || read < 100 {
				t.Errorf("%d swaps and %d files read: the test says nothing", swaps.Load(), read)
			}
		})
	}
}

// A FIFO that takes the place of a file after it was listed does not block.
func TestFIFOInTheFilesPlace(t *testing.T) {
	root := tree(t, "file a x; file b x")
	ws := jptooltest.Open(t, root)
	for _, v := range variants {
		defer v.set()()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, err := Walk(t.Context(), ws, Options{}, func(b *Batch) error {
				path := filepath.Join(root, "a")
				if err := errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o666)); err != nil {
					return err
				}
				var f File
				if b.Open(0, &f) == nil {
					if text, _ := io.ReadAll(&f); len(text) > 0 {
						t.Errorf("read %q", text)
					}
					f.Close()
				}
				return errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o666))
			})
			if err != nil {
				t.Error(err)
			}
		}()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: blocked", v.name)
		}
	}
}

// A chain of 2000 directories, far beyond what fits in one path, and few descriptors.
func TestDeepTrees(t *testing.T) {
	root := jptooltest.TempRoot(t)
	fd, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	const depth, name = 2000, "a-directory"
	for range depth {
		if err := errors.Join(unix.Mkdirat(fd, name, 0o777), unix.Mkdirat(fd, "b", 0o777)); err != nil {
			t.Fatal(err)
		}
		next, err := unix.Openat(fd, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		unix.Close(fd)
		fd = next
	}
	f, err := unix.Openat(fd, "file", unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(f)
	unix.Close(fd)
	ws := jptooltest.Open(t, root)
	before := descriptors(t)
	for _, v := range variants {
		restore := v.set()
		most, found := 0, 0
		_, err := Walk(t.Context(), ws, Options{}, func(b *Batch) error {
			most = max(most, descriptors(t))
			var f File
			if err := b.Open(0, &f); err != nil {
				return err
			}
			found++
			if want := depth*(len(name)+1) + len("file"); len(b.Paths[0]) != want {
				t.Errorf("%s: a path of %d bytes, want %d", v.name, len(b.Paths[0]), want)
			}
			return f.Close()
		})
		restore()
		if err != nil || found != 1 || most > before+64 {
			t.Errorf("%s: %v, %d files, %d descriptors at most", v.name, err, found, most)
		}
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

// What an early end leaves open is closed.
func TestNoDescriptorsLeak(t *testing.T) {
	root := jptooltest.TempRoot(t)
	for d := range 30 {
		jptooltest.Tree(t, root, fmt.Sprintf("file d%d/sub/x x", d), fmt.Sprintf("file d%d/y x", d), fmt.Sprintf("dir d%d/e/f", d))
	}
	ws := jptooltest.Open(t, root)
	before := descriptors(t)
	for _, v := range variants {
		for stopAt := range 62 {
			restore := v.set()
			seen := 0
			_, err := Walk(t.Context(), ws, Options{}, func(b *Batch) error {
				var f File
				if err := b.Open(0, &f); err != nil {
					return err
				}
				f.Close()
				if seen++; seen > stopAt {
					return io.EOF
				}
				return nil
			})
			restore()
			if err != nil && err != io.EOF {
				t.Fatal(err)
			}
			if after := descriptors(t); after != before {
				t.Fatalf("%s, stopped at %d: %d descriptors before, %d after", v.name, stopAt, before, after)
			}
		}
	}
}

func descriptors(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(entries)
}
