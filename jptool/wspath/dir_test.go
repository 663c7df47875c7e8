package wspath_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/jptools/jptools/jptool/internal/testhook"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/jptool/wspath"
)

// backends runs a test with openat2 and with the portable backend: same contract.
func backends(t *testing.T, run func(t *testing.T, root string, d *wspath.Dir)) {
	for name, portable := range map[string]bool{"native": false, "portable": true} {
		t.Run(name, func(t *testing.T) {
			testhook.Portable.Store(portable)
			defer testhook.Portable.Store(false)
			root := jptooltest.TempRoot(t)
			d, err := wspath.OpenDir(root)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			run(t, root, d)
		})
	}
}

func TestDirOpen(t *testing.T) {
	backends(t, func(t *testing.T, root string, d *wspath.Dir) {
		jptooltest.Tree(t, root, "file a/f text", "symlink a/l f", "symlink s a", "fifo p", "symlink out /etc")
		for _, c := range []struct {
			path string
			err  error
		}{
			{"a/f", nil},
			{"a/l", wspath.ErrChanged},
			{"s/f", wspath.ErrChanged},
			{"out/passwd", wspath.ErrChanged},
			{"p", wspath.ErrNotRegular},
			{"a", syscall.EISDIR},
			{"", syscall.EISDIR},
			{"a/none", fs.ErrNotExist},
			{"a/f/x", syscall.ENOTDIR},
		} {
			done := make(chan error, 1)
			go func() {
				f, err := d.Open(c.path)
				if err == nil {
					f.Close()
				}
				done <- err
			}()
			select {
			case err := <-done:
				if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
					t.Errorf("Open(%q): %v, want %v", c.path, err, c.err)
				}
				var pe *fs.PathError
				if errors.As(err, &pe) {
					t.Errorf("Open(%q): the error names a path: %v", c.path, err)
				}
			case <-time.After(5 * time.Second):
				t.Fatalf("Open(%q) blocks", c.path)
			}
		}
	})
}

func TestDirEntries(t *testing.T) {
	backends(t, func(t *testing.T, root string, d *wspath.Dir) {
		jptooltest.Tree(t, root, "file a/f text", "symlink l a", "dir b")
		check := func(what string, err, want error) {
			t.Helper()
			if !errors.Is(err, want) || (err == nil) != (want == nil) {
				t.Errorf("%s: %v, want %v", what, err, want)
			}
		}
		check("mkdir below a link", d.Mkdir("l/x", 0o777), wspath.ErrChanged)
		check("mkdir", d.Mkdir("a/x", 0o777), nil)
		check("mkdir again", d.Mkdir("a/x", 0o777), fs.ErrExist)
		check("remove below a link", d.Remove("l/f"), wspath.ErrChanged)
		check("remove a directory as a file", d.Remove("a/x"), syscall.EISDIR)
		check("rmdir a file", d.RemoveDir("a/f"), syscall.ENOTDIR)
		check("rmdir", d.RemoveDir("a/x"), nil)
		check("rename below a link", d.Rename("a/f", d, "l/g"), wspath.ErrChanged)
		check("rename", d.RenameNew("a/f", d, "b/g"), nil)
		check("rename onto nothing new", d.RenameNew("b/g", d, "l"), fs.ErrExist)
		if text, err := d.Readlink("l"); text != "a" || err != nil {
			t.Errorf("Readlink = %q, %v", text, err)
		}
		check("rename over a link", d.Rename("b/g", d, "l"), nil)
		fi, err := d.Lstat("l")
		if err != nil || !fi.Mode().IsRegular() {
			t.Errorf("Lstat after replacing the link: %v, %v", fi, err)
		}
		f, err := d.OpenFile("b/new", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		check("create", err, nil)
		if err == nil {
			f.Close()
		}
		_, err = d.OpenFile("l", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		check("create over a file", err, fs.ErrExist)
		check("symlink", d.Symlink("b", "m"), nil)
		_, err = d.OpenFile("m/new2", os.O_WRONLY|os.O_CREATE, 0o666)
		check("create below a link", err, wspath.ErrChanged)
		sub, err := d.Sub("b")
		check("sub", err, nil)
		if err == nil {
			defer sub.Close()
			_, err = sub.Lstat("new")
			check("lstat below sub", err, nil)
		}
		_, err = d.Sub("m")
		check("sub through a link", err, wspath.ErrChanged)
		f, err = d.OpenFile("l", os.O_RDWR|os.O_TRUNC, 0)
		check("truncate", err, nil)
		if err == nil {
			if fi, _ := f.Stat(); fi.Size() != 0 {
				t.Errorf("O_TRUNC left %d bytes", fi.Size())
			}
			f.Close()
		}
	})
}

func TestTempFile(t *testing.T) {
	root := jptooltest.TempRoot(t)
	d, err := wspath.OpenDir(root)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	f, err := d.TempFile()
	if errors.Is(err, wspath.ErrUnsupported) {
		t.Skip("this file system has no files without a name (O_TMPFILE)")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := io.WriteString(f, "text"); err != nil {
		t.Fatal(err)
	}
	if err := d.LinkFile(f, "x"); err != nil {
		t.Fatal(err)
	}
	if err := d.LinkFile(f, "x"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("linking over a file: %v, want ErrExist", err)
	}
	if got, err := os.ReadFile(root + "/x"); err != nil || string(got) != "text" {
		t.Errorf("read back %q, %v", got, err)
	}
}
