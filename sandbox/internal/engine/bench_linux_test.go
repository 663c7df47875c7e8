package engine

import (
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/sandbox/fit"
)

// What a confined call costs over a plain one, through helpers that are ready: a static program under the policy of a
// tool that reads, and one that writes, whose protected paths are mounts. The aims are at most 1.5 ms and 4 ms more.
// The runs alternate, so that all see the same machine. What "cold" adds is that nothing is ready.
func BenchmarkStart(b *testing.B) {
	ws := jptooltest.OpenRoot(b)
	for _, name := range []string{".git/config", ".git/hooks/x", ".jp/config.toml", ".git/info/x"} {
		write(b, filepath.Join(ws, name), "", 0o644)
	}
	static := exec.Command("go", "build", "-o", filepath.Join(ws, "true"), "./testdata/true")
	if out, err := static.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	program := filepath.Join(ws, "true")
	proc := fit.Grant{Node: fit.Node{Path: "/proc/self", Kind: fit.Dir}, Caps: r}
	p := plan(b, fit.TierLandlock, ws)
	p.Runtime = []fit.Grant{proc, grant(b, program, r|x)}
	p.Grants = []fit.Grant{grant(b, ws, r)}
	n := plan(b, fit.TierNamespace, ws)
	n.Runtime = p.Runtime
	n.Grants = []fit.Grant{grant(b, ws, all)}
	for _, name := range []string{".git/config", ".git/hooks", ".jp", ".git/info"} {
		n.Covers = append(n.Covers, fit.Cover{Node: node(b, filepath.Join(ws, name)), ReadOnly: true})
	}
	n.Pins = []fit.Node{node(b, filepath.Join(ws, ".git"))}
	e := New(Options{})
	defer func() { _ = e.Close() }()
	call := func(plan *fit.Plan, warm bool) func() time.Duration {
		return func() time.Duration {
			if warm {
				e.Warm(KindOf(plan))
				time.Sleep(15 * time.Millisecond) // as the host has other things to do
			}
			began := time.Now()
			child, err := e.Start(&Command{Plan: plan, Path: program, Args: []string{"true"}})
			if err != nil {
				b.Fatal(err)
			}
			if exit, err := child.Wait(); err != nil || exit.Code != 0 {
				b.Fatal(exit, err)
			}
			return time.Since(began)
		}
	}
	ways := []struct {
		name string
		run  func() time.Duration
	}{
		{"plain", func() time.Duration {
			began := time.Now()
			cmd := &exec.Cmd{Path: program, Args: []string{"true"}, SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
			if err := cmd.Run(); err != nil {
				b.Fatal(err)
			}
			return time.Since(began)
		}},
		{"unconfined", call(nil, true)},
		{"landlock", call(p, true)},
		{"namespace", call(n, true)},
		{"landlock-cold", call(p, false)},
		{"namespace-cold", call(n, false)},
	}
	times := make([][]time.Duration, len(ways))
	for i := range ways {
		ways[i].run()
	}
	for b.Loop() {
		for i := range ways {
			times[i] = append(times[i], ways[i].run())
		}
	}
	median := map[string]float64{}
	for i, w := range ways {
		slices.Sort(times[i])
		median[w.name] = times[i][len(times[i])/2].Seconds() * 1e3
		b.Logf("%-15s %6.3f ms  (least %.3f ms)", w.name, median[w.name], times[i][0].Seconds()*1e3)
	}
	b.ReportMetric(median["landlock"]-median["plain"], "ms-landlock")
	b.ReportMetric(median["namespace"]-median["plain"], "ms-namespace")
	b.ReportMetric(0, "ns/op")
}
