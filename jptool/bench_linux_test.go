package jptool_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// BenchmarkCheckRead compares the whole check of a path eight deep with the one system
// call that nothing can do without.
func BenchmarkCheckRead(b *testing.B) {
	const path = "a/b/c/d/e/f/g/file.go"
	root := jptooltest.TempRoot(b)
	jptooltest.Tree(b, root, "file "+path+" x")
	b.Run("bare-openat2", func(b *testing.B) {
		dir, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			b.Fatal(err)
		}
		defer unix.Close(dir)
		how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
		b.ReportAllocs()
		for b.Loop() {
			fd, err := unix.Openat2(dir, path, &how)
			if err != nil {
				b.Fatal(err)
			}
			unix.Close(fd)
		}
	})
	b.Run("CheckRead", func(b *testing.B) {
		ws := jptooltest.Open(b, root, rule(".", "read"), rule("a/b", "read write"), rule("x", ""))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ws.CheckRead(path); err != nil {
				b.Fatal(err)
			}
		}
	})
}
