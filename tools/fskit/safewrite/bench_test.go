package safewrite

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// BenchmarkEdit measures locking, reading, replacing and unlocking, against what it
// cannot be faster than: writing and syncing the same bytes.
func BenchmarkEdit(b *testing.B) {
	for _, size := range []int{4 << 10, 1 << 20, 100 << 20} {
		content := bytes.Repeat([]byte("x"), size)
		for _, c := range []struct {
			name  string
			rules []jptool.FsRule
		}{{"replaced", nil}, {"in place", []jptool.FsRule{jptooltest.Rule("", "read update")}}} {
			b.Run(fmt.Sprintf("%s/%dKiB", c.name, size>>10), func(b *testing.B) {
				root := jptooltest.TempRoot(b)
				if err := os.WriteFile(root+"/f", content, 0o666); err != nil {
					b.Fatal(err)
				}
				ws := jptooltest.Open(b, root, c.rules...)
				for b.Loop() {
					if _, err := edit(b.Context(), target(b, ws, "f"), func([]byte) []byte { return content }); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		b.Run(fmt.Sprintf("write and sync/%dKiB", size>>10), func(b *testing.B) {
			path := b.TempDir() + "/f"
			for b.Loop() {
				f, err := os.Create(path)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := f.Write(content); err != nil {
					b.Fatal(err)
				}
				if err := f.Sync(); err != nil {
					b.Fatal(err)
				}
				f.Close()
			}
		})
	}
}

// BenchmarkSweep is what a directory with many entries costs each write.
func BenchmarkSweep(b *testing.B) {
	for _, n := range []int{10, 1000, 20_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			root := jptooltest.TempRoot(b)
			for i := range n {
				if err := os.WriteFile(fmt.Sprintf("%s/some_file_name_%d.go", root, i), nil, 0o666); err != nil {
					b.Fatal(err)
				}
			}
			tg := target(b, jptooltest.Open(b, root), ".")
			for b.Loop() {
				Sweep(tg)
			}
		})
	}
}
