package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/jptool/toolmain"
)

// BenchmarkRead is the work without the process: a small file, and the way to a line
// behind 64 MiB.
func BenchmarkRead(b *testing.B) {
	root := jptooltest.TempRoot(b)
	jptooltest.Tree(b, root, "file small "+strings.Repeat(`a line of text\n`, 50))
	var block bytes.Buffer
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 100_000 {
		fmt.Fprintf(&block, "%s %d\n", strings.Repeat("x", r.IntN(65)), i)
	}
	repeat := 64<<20/block.Len() + 1
	lines := 100_000 * repeat
	if err := os.WriteFile(filepath.Join(root, "big"), bytes.Repeat(block.Bytes(), repeat), 0o666); err != nil {
		b.Fatal(err)
	}
	c := &toolmain.Call{Workspace: jptooltest.Open(b, root)}
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
				if _, err := run(b.Context(), c, &bench.args, &options{MaxLines: 2000, MaxBytes: 128 << 10, MaxLineBytes: 2000}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
