//go:build unix

package search

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// corpus is up to 64 MiB of sources in pieces of about 256 KiB, a Searcher's
// buffer, that end at line ends.
var corpus = sync.OnceValue(func() (pieces [][]byte) {
	var all []byte
	goroot, _ := exec.Command("go", "env", "GOROOT").Output()
	for _, root := range []string{"/usr/include", filepath.Join(string(bytes.TrimSpace(goroot)), "src")} {
		limit := len(all) + 32<<20
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || len(all) > limit {
				return nil
			}
			if text, err := os.ReadFile(path); err == nil && bytes.IndexByte(text, 0) < 0 {
				all = append(all, text...)
				all = append(all, '\n')
			}
			return nil
		})
	}
	for len(all) > 0 {
		n := min(bufSize, len(all))
		n = lineEnd(all, n-1) + 1
		pieces = append(pieces, all[:n:n])
		all = all[n:]
	}
	return pieces
})

var queries = []struct {
	name, pattern string
	fold          bool
}{
	{"few", `PM_RESUME`, false},
	{"many", `return`, false},
	{"none", `ZQXJKVWPY_NOPE`, false},
	{"classAlternation", `[A-Z]+_(RESUME|SUSPEND)`, false},
	{"fourLiterals", `PM_RESUME|PM_SUSPEND|pci_enable|kmalloc_array`, false},
	{"fold", `pm_resume`, true},
	{"foldSpecial", `task_desk`, true},
	{"noLiteral", `[a-z]+[0-9]{5,}`, false},
	{"words", `\w{5}\s+\w{5}\s+\w{5}\s+\w{5}`, false},
	{"boundary", `\bdma_\w+\(`, false},
	{"notClass", `"[^"]*"\s*:`, false},
	{"commonLiteral", `e.*e$`, false},
	{"unicode", `\pL{6}\d`, false},
}

// cpuSeconds is the time that this process has used so far.
func cpuSeconds() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

func BenchmarkSearch(b *testing.B) {
	for _, q := range queries {
		b.Run(q.name, func(b *testing.B) {
			m, err := Compile(q.pattern, Options{CaseInsensitive: q.fold})
			if err != nil {
				b.Fatal(err)
			}
			pieces := corpus()
			var s Searcher
			var bytes, matches int64
			s.SearchBytes(pieces[0], m, nullSink{})
			b.ReportAllocs()
			began := cpuSeconds()
			for i := 0; b.Loop(); i++ {
				piece := pieces[i%len(pieces)]
				result := s.SearchBytes(piece, m, nullSink{})
				bytes += int64(len(piece))
				matches += result.Matches
			}
			b.ReportMetric(float64(bytes)/1e6/(cpuSeconds()-began), "MB/cpu-s") // steadier than wall time
			b.ReportMetric(float64(matches)/float64(bytes)*1e6, "lines/MB")
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	for _, q := range queries {
		b.Run(q.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := Compile(q.pattern, Options{CaseInsensitive: q.fold}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
