package launch

import (
	"bytes"
	"context"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"
)

// What a call costs over a plain fork and exec of the same program with the same pipes:
// with a supervisor at hand, and with one that has to be started. The runs alternate, so
// that all see the same machine.
func BenchmarkStart(b *testing.B) {
	warm := New(nil)
	defer func() { _ = warm.Close() }()
	spec := Spec{Program: "/bin/true", Argv: []string{"true"}, Dir: "/", Env: []string{}, Stdin: []byte("{}")}
	launch := func(l *Launcher) {
		if _, err := l.Run(context.Background(), spec); err != nil {
			b.Fatal(err)
		}
	}
	timed := func(f func()) func() time.Duration {
		return func() time.Duration {
			began := time.Now()
			f()
			return time.Since(began)
		}
	}
	ways := []func() time.Duration{
		timed(func() {
			cmd := exec.Command("/bin/true")
			cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(spec.Stdin), &bytes.Buffer{}, &bytes.Buffer{}
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			if err := cmd.Run(); err != nil {
				b.Fatal(err)
			}
		}),
		timed(func() { launch(warm) }),
		func() time.Duration {
			l := New(nil)
			defer func() { _ = l.Close() }()
			return timed(func() { launch(l) })()
		},
	}
	launch(warm)
	times := make([][]time.Duration, len(ways))
	for b.Loop() {
		for i, way := range ways {
			times[i] = append(times[i], way())
		}
	}
	median := func(i int) float64 {
		slices.Sort(times[i])
		return float64(times[i][len(times[i])/2].Microseconds())
	}
	b.ReportMetric(median(0), "µs-plain")
	b.ReportMetric(median(1)-median(0), "µs-over")
	b.ReportMetric(median(2)-median(0), "µs-over-cold")
	b.ReportMetric(0, "ns/op")
}
