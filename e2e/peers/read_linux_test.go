package peers

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// The size of the file that the benchmarks read, in bytes; READ_BENCH_SIZE in MiB
// changes it.
const benchSize = 1 << 30

// bigText makes a text of the size with lines of 0 to 64 letters and a number, and
// returns its number of lines.
func bigText(b *testing.B, path string, size int) (lines int) {
	b.Helper()
	if v := os.Getenv("READ_BENCH_SIZE"); v != "" {
		if _, err := fmt.Sscan(v, &size); err != nil {
			b.Fatal(err)
		}
		size <<= 20
	}
	var block bytes.Buffer
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 100000 {
		fmt.Fprintf(&block, "%s %d\n", strings.Repeat("x", r.IntN(65)), i)
	}
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	for n := 0; n < size; n += block.Len() {
		if _, err := w.Write(block.Bytes()); err != nil {
			b.Fatal(err)
		}
		lines += 100000
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	return lines
}

// measured is one way to do a thing, as a whole process.
type measured struct {
	Command
	median time.Duration
}

func way(stdin, name string, args ...string) *measured {
	return &measured{Command: Command{Name: name, Args: args, Stdin: stdin}}
}

// peak returns the most memory that the process had, in MiB, or -1 when there is no
// time(1) to ask. The kernel's own figure for a child of this process would be that of
// this process, which it starts as a copy of.
func (m *measured) peak(b *testing.B) float64 {
	b.Helper()
	cmd := exec.Command("/usr/bin/time", append([]string{"-f", "%M"}, m.Args...)...)
	if m.Stdin != "" {
		cmd.Stdin = strings.NewReader(m.Stdin)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return -1
	}
	var kib float64
	if _, err := fmt.Sscan(stderr.String(), &kib); err != nil {
		return -1
	}
	return kib / 1024
}

// compare runs all in turns and sets their medians.
func compare(b *testing.B, rounds int, all ...*measured) {
	b.Helper()
	took, err := InTurns(rounds, len(all), func(_, i int) (Sample, error) {
		var out bytes.Buffer
		t, err := all[i].Run(&out)
		if err == nil && out.Len() == 0 {
			err = fmt.Errorf("%v printed nothing", all[i].Args)
		}
		return t, err
	})
	if err != nil {
		b.Fatal(err)
	}
	for i, m := range all {
		m.median = took[i].Median().Wall
	}
}

// BenchmarkReadAgainstSed shows 20 lines at the end of 1 GiB, as a whole process. The aim is
// a ratio of at most 1.0 and 64 MiB.
//
//	go test -run=NONE -bench=ReadAgainstSed -benchtime=1x
func BenchmarkReadAgainstSed(b *testing.B) {
	root := jptooltest.TempRoot(b)
	lines := bigText(b, filepath.Join(root, "big"), benchSize)
	bin, ctx := Build(b, "fs_read_file"), jptooltest.Context(b, root)
	from, to := fmt.Sprint(lines-25), fmt.Sprint(lines-6)
	sed := way("", "sed -n", "sed", "-n", from+","+to+"p", filepath.Join(root, "big"))
	quit := way("", "sed -n, quitting", "sed", "-n", from+","+to+"p;"+to+"q", filepath.Join(root, "big"))
	read := way(ctx, "start_line", bin, "--path", "big", "--start-line", from, "--end-line", to)
	tail := way(ctx, "tail", bin, "--path", "big", "--tail", "20")
	head := way(ctx, "lines 10-20", bin, "--path", "big", "--start-line", "10", "--end-line", "20")
	all := []*measured{sed, quit, read, tail, head}
	b.ResetTimer()
	for range b.N {
		compare(b, 7, all...)
	}
	for _, m := range all {
		b.Logf("%-18s %8.1f ms  %6.3f x sed  %5.1f MiB", m.Name, m.median.Seconds()*1e3, m.median.Seconds()/sed.median.Seconds(), m.peak(b))
	}
	b.ReportMetric(read.median.Seconds()/sed.median.Seconds(), "ratio")
	b.ReportMetric(max(read.peak(b), tail.peak(b)), "MiB")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkStartAgainstCat reads a small file, as a whole process. The aim is at most
// 2 ms more.
//
//	go test -run=NONE -bench=StartAgainstCat -benchtime=1x
func BenchmarkStartAgainstCat(b *testing.B) {
	root := jptooltest.TempRoot(b)
	jptooltest.Tree(b, root, "file small "+strings.Repeat(`a line of text\n`, 50))
	bin, ctx := Build(b, "fs_read_file"), jptooltest.Context(b, root, jptooltest.Rule("", "read"))
	request := fmt.Sprintf(`{"context":%s,"tool":{"name":"fs_read_file","arguments":{"path":"small"}}}`, ctx)
	cat := way("", "cat", "cat", filepath.Join(root, "small"))
	whole := way(request, "whole request", bin)
	flags := way(ctx, "with flags", bin, "--path", "small")
	all := []*measured{cat, whole, flags}
	b.ResetTimer()
	for range b.N {
		compare(b, 200, all...)
	}
	for _, m := range all {
		b.Logf("%-14s %6.2f ms  %+.2f ms  %5.1f MiB", m.Name, m.median.Seconds()*1e3, (m.median-cat.median).Seconds()*1e3, m.peak(b))
	}
	b.ReportMetric((whole.median-cat.median).Seconds()*1e3, "ms-more")
	b.ReportMetric(0, "ns/op")
}
