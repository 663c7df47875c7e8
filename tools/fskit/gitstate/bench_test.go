package gitstate

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// bigRepo has 80 000 entries in its index; only one file is in the work tree.
func bigRepo(b *testing.B, version string) gitRepo {
	g := initRepo(b, realTemp(b))
	g.write("src/pkg40/sub/deeper/file", "content")
	blob := strings.TrimSpace(g.git("hash-object", "-w", "src/pkg40/sub/deeper/file"))
	var list strings.Builder
	fmt.Fprintf(&list, "100644 %s 0\tsrc/pkg40/sub/deeper/file\n", blob)
	for i := range 80_000 {
		fmt.Fprintf(&list, "100644 %s 0\tsrc/pkg%d/sub/deeper/some_file_name_%d.go\n", blob, i/1000, i)
	}
	g.input(list.String(), "update-index", "--index-info")
	g.git("update-index", "--index-version", version)
	g.git("commit", "-q", "-m", "1")
	g.git("gc", "-q")
	return g
}

func BenchmarkStatus(b *testing.B) {
	for _, version := range []string{"2", "4"} {
		b.Run("80000 entries v"+version, func(b *testing.B) {
			g := bigRepo(b, version)
			b.ReportAllocs()
			for b.Loop() {
				if got := Status(b.Context(), dirFS{root: g.dir}, "src/pkg40/sub/deeper/file", Options{}); got.State != Clean {
					b.Fatal(got)
				}
			}
		})
	}
	b.Run("small", func(b *testing.B) {
		g := initRepo(b, realTemp(b))
		g.write("d/file", "content")
		g.commit("1")
		b.ReportAllocs()
		for b.Loop() {
			if got := Status(b.Context(), dirFS{root: g.dir}, "d/file", Options{}); got.State != Clean {
				b.Fatal(got)
			}
		}
	})
}

func BenchmarkCountDirty(b *testing.B) {
	g := initRepo(b, realTemp(b))
	for i := range 5000 {
		p := filepath.Join(g.dir, fmt.Sprintf("d%d/e%d", i/500, i/50%10))
		g.must(os.MkdirAll(p, 0o755))
		g.must(os.WriteFile(fmt.Sprintf("%s/f%d", p, i), []byte(strings.Repeat("line\n", 400)), 0o644))
	}
	g.commit("1")
	g.git("gc", "-q")
	b.ReportAllocs()
	for b.Loop() {
		if got := CountDirty(b.Context(), dirFS{root: g.dir}, "", 0, Options{}); got.Any() {
			b.Fatal(got)
		}
	}
}
