package confine

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/jptools/jptools/host/internal/launch"
	"github.com/jptools/jptools/jptool/jptooltest"
	"github.com/jptools/jptools/sandbox/fit"
)

// What a confined call costs over a plain one, each through a supervisor that is at hand:
// a static program under the policy of a tool that reads, and one that writes, whose
// protected paths are mounts. The aims are at most 0.25 ms and 3 ms more. The runs alternate, so
// that all see the same machine, on one processor.
func BenchmarkStart(b *testing.B) {
	jptooltest.OneProcessor(b)
	l := launch.New(nil)
	defer func() { _ = l.Close() }()
	ws := jptooltest.OpenRoot(b)
	for _, name := range []string{".git/config", ".git/hooks/x", ".jp/config.toml", ".git/info/x"} {
		write(b, filepath.Join(ws, name), "", 0o644)
	}
	static := exec.Command("go", "build", "-o", filepath.Join(ws, "true"), "./testdata/true")
	if out, err := static.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	program := filepath.Join(ws, "true")
	proc := fit.Grant{Node: fit.Node{Path: procSelf, Kind: fit.Dir}, Caps: r}
	p := plan(b, fit.TierLandlock, ws)
	dynamic := p.Runtime
	p.Runtime = []fit.Grant{proc, grant(b, program, r|x)}
	p.Grants = []fit.Grant{grant(b, ws, r)}
	n := plan(b, fit.TierNamespace, ws)
	n.Runtime = p.Runtime
	n.Grants = []fit.Grant{grant(b, ws, all)}
	for _, name := range []string{".git/config", ".git/hooks", ".jp", ".git/info"} {
		n.Covers = append(n.Covers, fit.Cover{Node: node(b, filepath.Join(ws, name)), ReadOnly: true})
	}
	n.Pins = []fit.Node{node(b, filepath.Join(ws, ".git"))}
	dp, dn := *p, *n
	dp.Runtime, dn.Runtime = dynamic, dynamic
	run := func(argv string, plan *fit.Plan) func() {
		spec := launch.Spec{Program: argv, Argv: []string{"true"}, Dir: "/", Env: []string{}}
		if plan != nil {
			spec.Plan, spec.Kind = plan.Encode(), string(plan.Tier)
		}
		return func() {
			res, err := l.Run(context.Background(), spec)
			if err != nil || res.Exit.Code != 0 {
				b.Fatal(res, err)
			}
		}
	}
	ways := []struct {
		name string
		run  func()
	}{
		{"plain", func() {
			cmd := &exec.Cmd{Path: program, Args: []string{"true"}, SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
			if err := cmd.Run(); err != nil {
				b.Fatal(err)
			}
		}},
		{"unconfined", run(program, nil)},
		{"landlock", run(program, p)},
		{"namespace", run(program, n)},
		{"true-unconfined", run("/usr/bin/true", nil)},
		{"true-landlock", run("/usr/bin/true", &dp)},
		{"true-namespace", run("/usr/bin/true", &dn)},
	}
	times := make([][]time.Duration, len(ways))
	for i := range ways {
		ways[i].run()
	}
	for b.Loop() {
		for i := range ways {
			began := time.Now()
			ways[i].run()
			times[i] = append(times[i], time.Since(began))
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
