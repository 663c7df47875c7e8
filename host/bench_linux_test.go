package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// BenchmarkRunAgainstTool is what `jphost run` costs over the tool itself, each as a whole
// process, with binaries as `make install` leaves them. The aims are at most 8 ms more, and a
// help that is there in 10 ms. The runs alternate, so that all see the same machine.
//
//	go test -run=NONE -bench=RunAgainstTool -benchtime=1x
func BenchmarkRunAgainstTool(b *testing.B) {
	bin, root := b.TempDir(), b.TempDir()
	for dir, name := range map[string]string{".": "jphost", filepath.Join("..", "tools", "fs_read_file"): "fs_read_file"} {
		installed(b, dir, filepath.Join(bin, name))
	}
	if err := os.WriteFile(filepath.Join(root, "README.md"), []byte("# A small file\n"), 0o644); err != nil {
		b.Fatal(err)
	}
	home := b.TempDir()
	request := fmt.Sprintf(`{"root":%q,"action":"run"}`, root)
	ways := []struct {
		name, stdin string
		args        []string
	}{
		{"fs_read_file", request, []string{"fs_read_file", "--path", "README.md"}},
		{"jphost run", "", []string{"jphost", "run", "fs_read_file", "path=README.md"}},
		{"jphost --help", "", []string{"jphost", "--help"}},
	}
	took := make([][]time.Duration, len(ways))
	for b.Loop() {
		for range 200 {
			for i, w := range ways {
				cmd := exec.Command(filepath.Join(bin, w.args[0]), w.args[1:]...)
				cmd.Dir = root
				cmd.Env = []string{"HOME=" + home, "XDG_DATA_HOME=" + home, "XDG_CONFIG_HOME=" + home, "JPHOST_SESSION=bench", "PATH=" + bin + ":/usr/bin:/bin"}
				in, err := cmd.StdinPipe()
				if err != nil {
					b.Fatal(err)
				}
				began := time.Now()
				if err := cmd.Start(); err != nil {
					b.Fatal(err)
				}
				_, _ = io.WriteString(in, w.stdin)
				_ = in.Close()
				if err := cmd.Wait(); err != nil {
					b.Fatalf("%s: %v", w.name, err)
				}
				took[i] = append(took[i], time.Since(began))
			}
		}
	}
	median := func(i int) float64 {
		slices.Sort(took[i])
		return took[i][len(took[i])/2].Seconds() * 1e3
	}
	for i, w := range ways {
		b.Logf("%-14s %6.2f ms  %+.2f ms  (least %.2f ms)", w.name, median(i), median(i)-median(0), took[i][0].Seconds()*1e3)
	}
	b.ReportMetric(median(1)-median(0), "ms-more")
	b.ReportMetric(median(2), "ms-help")
	b.ReportMetric(0, "ns/op")
}
