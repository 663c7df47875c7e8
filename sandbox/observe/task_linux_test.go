//go:build amd64 || arm64

package observe

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"golang.org/x/sys/unix"
)

// Paths are found where the kernel finds them.
func TestResolve(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"a/b", "c", "stop/x"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"ab": "a/b", "abs": base + "/a", "c/up": "../a", "loop": "loop", "dangling": "a/none", "tostop": "stop/x", "a/b/file": ""} {
		if to == "" {
			err = os.WriteFile(filepath.Join(base, name), nil, 0o644)
		} else {
			err = os.Symlink(to, filepath.Join(base, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	task := task{pid: os.Getpid(), stop: []string{base + "/stop"}}
	for _, tt := range []struct {
		dir, name string
		follow    bool
		want      string // below base; ! for what is missing, - for nowhere, ^ for beyond
	}{
		{"", "a/b/file", true, "a/b/file"},
		{"a/b", "file", true, "a/b/file"},
		{"a/b", "../../c", true, "c"},
		{"", "ab/file", true, "a/b/file"},
		{"", "ab/..", true, "a"},
		{"", "ab", false, "ab"},
		{"", "ab/", false, "a/b"},
		{"", "ab/.", false, "a/b"},
		{"", "./ab//file", false, "a/b/file"},
		{"", "abs/b", false, "a/b"},
		{"", "c/up/b/file", true, "a/b/file"},
		{"", "a/none", true, "!a/none"},
		{"", "a/none/more", true, "-"},
		{"", "a/b/file/x", true, "-"},
		{"", "dangling", true, "!a/none"},
		{"", "dangling", false, "dangling"},
		{"", "loop", false, "loop"},
		{"", "loop", true, "error"},
		{"", "tostop/../y", true, "^stop"},
		{"c", base + "/a", true, "a"},
	} {
		f, err := task.resolve(filepath.Join(base, tt.dir), tt.name, tt.follow)
		got := strings.TrimPrefix(f.path, base+"/")
		switch {
		case err != nil:
			got = "error"
		case f.path == "":
			got = "-"
		case f.beyond:
			got = "^" + got
		case !f.exists:
			got = "!" + got
		}
		if got != tt.want {
			t.Errorf("%s from %q: %s, want %s", tt.name, tt.dir, got, tt.want)
		}
	}
}

// A string is read to the end of what there is, also at the end of a page with nothing behind it.
func TestText(t *testing.T) {
	jptooltest.NotAnnounced(t) // the filter of a sandbox refuses to read the memory of processes
	size := 2 * os.Getpagesize()
	mem, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(mem) }()
	if err := unix.Mprotect(mem[size/2:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	page := mem[:size/2]
	at := func(i int) uint64 { return uint64(uintptr(unsafe.Pointer(&page[i]))) }
	copy(page[len(page)-5:], "name\x00")
	task := task{pid: os.Getpid()}
	if got, err := task.text(at(len(page) - 5)); got != "name" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	page[len(page)-1] = 'x' // and no end
	if got, err := task.text(at(len(page) - 5)); err == nil {
		t.Errorf("%q", got)
	}
	for _, bad := range []uint64{0, 1, ^uint64(0), ^uint64(0) - 2} {
		if got, err := task.text(bad); err == nil {
			t.Errorf("%#x: %q", bad, got)
		}
	}
	if _, err := task.word(at(len(page) - 4)); err == nil {
		t.Error("read more than there is")
	}
}
