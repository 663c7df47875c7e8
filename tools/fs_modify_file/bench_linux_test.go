package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jptools/jptools/jptool/jptooltest"
)

// BenchmarkAgainstSed changes one line in the middle of 100 MiB and back, as whole
// processes in turn. The aim is a ratio of at most 1.0, though sed does not wait for the
// disk and compares nothing.
//
//	go test -run=NONE -bench=AgainstSed -benchtime=1x
func BenchmarkAgainstSed(b *testing.B) {
	bin := filepath.Join(b.TempDir(), "fs_modify_file")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", bin, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, out)
	}
	root := jptooltest.TempRoot(b)
	lines := bytes.Repeat([]byte("    let value = compute(some, arguments) + 1; // x\n"), 50<<20/51)
	content := slices.Concat(lines, []byte("the needle\n"), lines)
	for _, name := range []string{"ours", "sed"} {
		if err := os.WriteFile(filepath.Join(root, name), content, 0o666); err != nil {
			b.Fatal(err)
		}
	}
	ctx := jptooltest.Context(b, root)
	run := func(stdin, name string, args ...string) time.Duration {
		cmd := exec.Command(name, args...)
		cmd.Stdin = strings.NewReader(stdin)
		start := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%s: %v %s", name, err, out)
		}
		return time.Since(start)
	}
	var ours, sed []time.Duration
	texts := []string{"the needle", "THE NEEDLE"}
	b.ResetTimer()
	for range b.N {
		for range 11 {
			ours = append(ours, run(ctx, bin, "--path", "ours", "--answer", "apply_changes=true",
				"--patterns", `[{"old":"`+texts[0]+`","new":"`+texts[1]+`"}]`))
			sed = append(sed, run("", "sed", "-i", "s/"+texts[0]+"/"+texts[1]+"/", filepath.Join(root, "sed")))
			slices.Reverse(texts)
		}
	}
	slices.Sort(ours)
	slices.Sort(sed)
	o, s := ours[len(ours)/2], sed[len(sed)/2]
	b.Logf("fs_modify_file %v, sed -i %v, ratio %.2f", o.Round(time.Millisecond), s.Round(time.Millisecond), o.Seconds()/s.Seconds())
	b.ReportMetric(o.Seconds()/s.Seconds(), "ratio")
	b.ReportMetric(0, "ns/op")
}
