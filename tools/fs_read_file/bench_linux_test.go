package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jptools/jptools/jptool/jptooltest"
	"github.com/jptools/jptools/jptool/toolmain"
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

// buildTool builds the binary as it is shipped.
func buildTool(b *testing.B) string {
	b.Helper()
	bin := filepath.Join(b.TempDir(), "fs_read_file")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", bin, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}

// measured is one way to do a thing, as a whole process.
type measured struct {
	name  string
	args  []string
	stdin string
	times []time.Duration
}

func (m *measured) run(b *testing.B) {
	b.Helper()
	cmd := exec.Command(m.args[0], m.args[1:]...)
	cmd.Stdin = strings.NewReader(m.stdin)
	if m.stdin == "" {
		cmd.Stdin = nil
	}
	var out bytes.Buffer
	cmd.Stdout = &out
	start := time.Now()
	if err := cmd.Run(); err != nil || out.Len() == 0 {
		b.Fatalf("%v: %v %s", m.args, err, out.String())
	}
	m.times = append(m.times, time.Since(start))
}

// peak returns the most memory that the process had, in MiB, or -1 when there is no
// time(1) to ask. The kernel's own figure for a child of this process would be that of
// this process, which it starts as a copy of.
func (m *measured) peak(b *testing.B) float64 {
	b.Helper()
	cmd := exec.Command("/usr/bin/time", append([]string{"-f", "%M"}, m.args...)...)
	if m.stdin != "" {
		cmd.Stdin = strings.NewReader(m.stdin)
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

func (m *measured) median() time.Duration {
	slices.Sort(m.times)
	return m.times[len(m.times)/2]
}

// compare runs all in turn, in reverse every other round, after one round to warm up.
func compare(b *testing.B, rounds int, all ...*measured) {
	b.Helper()
	for i := range rounds + 1 {
		for _, m := range all {
			m.run(b)
		}
		slices.Reverse(all)
		if i == 0 {
			for _, m := range all {
				m.times = nil
			}
		}
	}
}

// BenchmarkAgainstSed shows 20 lines at the end of 1 GiB, as a whole process. The aim is
// a ratio of at most 1.0 and 64 MiB.
//
//	go test -run=NONE -bench=AgainstSed -benchtime=1x
func BenchmarkAgainstSed(b *testing.B) {
	root := jptooltest.TempRoot(b)
	lines := bigText(b, filepath.Join(root, "big"), benchSize)
	bin, ctx := buildTool(b), jptooltest.Context(b, root)
	from, to := fmt.Sprint(lines-25), fmt.Sprint(lines-6)
	sed := &measured{name: "sed -n", args: []string{"sed", "-n", from + "," + to + "p", filepath.Join(root, "big")}}
	quit := &measured{name: "sed -n, quitting", args: []string{"sed", "-n", from + "," + to + "p;" + to + "q", filepath.Join(root, "big")}}
	read := &measured{name: "start_line", args: []string{bin, "--path", "big", "--start-line", from, "--end-line", to}, stdin: ctx}
	tail := &measured{name: "tail", args: []string{bin, "--path", "big", "--tail", "20"}, stdin: ctx}
	head := &measured{name: "lines 10-20", args: []string{bin, "--path", "big", "--start-line", "10", "--end-line", "20"}, stdin: ctx}
	all := []*measured{sed, quit, read, tail, head}
	b.ResetTimer()
	for range b.N {
		compare(b, 7, slices.Clone(all)...)
	}
	for _, m := range all {
		b.Logf("%-18s %8.1f ms  %6.3f x sed  %5.1f MiB", m.name, m.median().Seconds()*1e3, m.median().Seconds()/sed.median().Seconds(), m.peak(b))
	}
	b.ReportMetric(read.median().Seconds()/sed.median().Seconds(), "ratio")
	b.ReportMetric(max(read.peak(b), tail.peak(b)), "MiB")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkStartAgainstCat reads a small file, as a whole process. The aim is at most
// 3 ms more.
//
//	go test -run=NONE -bench=StartAgainstCat -benchtime=1x
func BenchmarkStartAgainstCat(b *testing.B) {
	root := jptooltest.TempRoot(b)
	jptooltest.Tree(b, root, "file small "+strings.Repeat(`a line of text\n`, 50))
	bin, ctx := buildTool(b), jptooltest.Context(b, root, jptooltest.Rule("", "read"))
	request := fmt.Sprintf(`{"context":%s,"tool":{"name":"fs_read_file","arguments":{"path":"small"}}}`, ctx)
	cat := &measured{name: "cat", args: []string{"cat", filepath.Join(root, "small")}}
	whole := &measured{name: "whole request", args: []string{bin}, stdin: request}
	flags := &measured{name: "with flags", args: []string{bin, "--path", "small"}, stdin: ctx}
	all := []*measured{cat, whole, flags}
	b.ResetTimer()
	for range b.N {
		compare(b, 200, slices.Clone(all)...)
	}
	for _, m := range all {
		b.Logf("%-14s %6.2f ms  %+.2f ms  %5.1f MiB", m.name, m.median().Seconds()*1e3, (m.median()-cat.median()).Seconds()*1e3, m.peak(b))
	}
	b.ReportMetric((whole.median()-cat.median()).Seconds()*1e3, "ms-more")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkRead is the work without the process: a small file, and the way to a line
// behind 64 MiB.
func BenchmarkRead(b *testing.B) {
	root := jptooltest.TempRoot(b)
	jptooltest.Tree(b, root, "file small "+strings.Repeat(`a line of text\n`, 50))
	b.Setenv("READ_BENCH_SIZE", "64")
	lines := bigText(b, filepath.Join(root, "big"), 0)
	c := &toolmain.Call{Context: context.Background(), Workspace: jptooltest.Open(b, root)}
	for _, bench := range []struct {
		name string
		args arguments
	}{
		{"small", arguments{Path: "small"}},
		{"far", arguments{Path: "big", StartLine: &lines}},
		{"tail", arguments{Path: "big", Tail: new(20)}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := run(c, &bench.args, &options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
