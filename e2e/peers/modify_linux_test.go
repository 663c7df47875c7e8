package peers

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// BenchmarkModifyAgainstSed changes one line in the middle of 100 MiB and back, as whole
// processes in turn. The aim is a ratio of at most 1.0, though sed does not wait for the
// disk and compares nothing.
//
//	go test -run=NONE -bench=ModifyAgainstSed -benchtime=1x
func BenchmarkModifyAgainstSed(b *testing.B) {
	bin := Build(b, "fs_modify_file")
	root := jptooltest.TempRoot(b)
	lines := bytes.Repeat([]byte("    let value = compute(some, arguments) + 1; // x\n"), 50<<20/51)
	content := slices.Concat(lines, []byte("the needle\n"), lines)
	for _, name := range []string{"ours", "sed"} {
		if err := os.WriteFile(filepath.Join(root, name), content, 0o666); err != nil {
			b.Fatal(err)
		}
	}
	ctx := jptooltest.Context(b, root)
	texts := []string{"the needle", "THE NEEDLE"}
	var o, s time.Duration
	b.ResetTimer()
	for range b.N {
		// An even number of rounds, the one to warm up included, ends with the first text.
		took, err := InTurns(11, 2, func(round, i int) (Sample, error) {
			from, to := texts[round%2], texts[1-round%2]
			c := Command{Name: "ours", Stdin: ctx, Args: []string{
				bin, "--path", "ours", "--answer", "apply_changes=true",
				"--patterns", `[{"old":"` + from + `","new":"` + to + `"}]`,
			}}
			if i == 1 {
				c = Command{Name: "sed", Args: []string{"sed", "-i", "s/" + from + "/" + to + "/", filepath.Join(root, "sed")}}
			}
			var out bytes.Buffer
			t, err := c.Run(&out)
			if err != nil {
				err = fmt.Errorf("%w%s", err, &out)
			}
			return t, err
		})
		if err != nil {
			b.Fatal(err)
		}
		o, s = took[0].Median().Wall, took[1].Median().Wall
	}
	b.Logf("fs_modify_file %v, sed -i %v, ratio %.2f", o.Round(time.Millisecond), s.Round(time.Millisecond), o.Seconds()/s.Seconds())
	b.ReportMetric(o.Seconds()/s.Seconds(), "ratio")
	b.ReportMetric(0, "ns/op")
}
