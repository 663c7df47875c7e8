package observe

import (
	"fmt"
	"testing"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox/fit"
)

const (
	r   = jptool.Read
	c   = jptool.Create
	u   = jptool.Update
	d   = jptool.Delete
	x   = jptool.Execute
	all = jptool.AllCaps
)

func dir(path string) fit.Node { return fit.Node{Path: path, Kind: fit.Dir} }

func testPlan(tier fit.Tier) *fit.Plan {
	p := &fit.Plan{
		Tier: tier, ABI: 7, Temp: "/tmp", Trees: []fit.Node{dir("/ws")}, Devices: []string{"/dev/null"},
		Grants:  []fit.Grant{{Node: dir("/ws"), Caps: r | x}, {Node: dir("/ws/src"), Caps: all}},
		Runtime: []fit.Grant{{Node: dir("/usr"), Caps: r | x}},
	}
	if tier == fit.TierNamespace {
		p.Covers = []fit.Cover{
			{Node: dir("/ws/src/hidden"), Hide: true},
			{Node: dir("/ws/src/hidden/open"), Again: true},
			{Node: dir("/ws/src/ro"), ReadOnly: true},
			{Node: dir("/ws/src/data"), NoExec: true},
		}
		p.Pins = []fit.Node{dir("/ws/src/pin")}
	}
	return p
}

func TestJudge(t *testing.T) {
	const ok = "ok"
	for _, tt := range []struct {
		w                   demand
		landlock, namespace string
	}{
		{demand{op: OpRead, path: "/ws/a", content: r}, ok, ok},
		{demand{op: OpWrite, path: "/ws/a", content: u}, "not_granted update", "not_granted update"},
		{demand{op: OpWrite, path: "/ws/a", content: r | u}, "not_granted update", "not_granted update"},
		{demand{op: OpCreate, path: "/ws/a", entry: c, content: u}, "not_granted create, update", "not_granted create, update"},
		{demand{op: OpCreate, path: "/ws/src/a", entry: c, content: u}, ok, ok},
		// A grant on a directory is none on its own entry.
		{demand{op: OpDelete, path: "/ws/src", entry: d, move: true}, "not_granted delete", "not_granted delete"},
		{demand{op: OpDelete, path: "/ws/src/pin", entry: d, move: true}, ok, "kept "},
		{demand{op: OpCreate, path: "/ws/src/fifo", entry: c, special: true}, "special ", "special "},
		{demand{op: OpRead, path: "/ws/src/hidden/x", content: r}, ok, "hidden read"},
		{demand{op: OpRead, path: "/ws/src/hidden/open/x", content: r}, ok, ok},
		{demand{op: OpSee, path: "/ws/src/hidden"}, ok, ok},
		{demand{op: OpSee, path: "/ws/src/hidden/x"}, ok, "hidden nothing"},
		{demand{op: OpWrite, path: "/ws/src/ro/x", content: u}, ok, "not_granted update"},
		{demand{op: OpChange, path: "/ws/src/ro/x"}, ok, "not_granted update"},
		{demand{op: OpChange, path: "/ws/src/x"}, ok, ok},
		{demand{op: OpDelete, path: "/ws/src/ro/none", entry: d, missing: true}, ok, "not_granted delete"},
		{demand{op: OpDelete, path: "/ws/none", entry: d, missing: true}, ok, ok},
		{demand{op: OpExecute, path: "/ws/src/data/x", content: x}, ok, "not_granted execute"},
		{demand{op: OpExecute, path: "/usr/bin/env", content: x}, ok, ok},
		{demand{op: OpWrite, path: "/usr/x", content: u}, "not_granted update", "not_granted update"},
		{demand{op: OpRead, path: "/home/me/key", content: r}, "not_granted read", "hidden read"},
		{demand{op: OpSee, path: "/home/me"}, ok, "hidden nothing"},
		{demand{op: OpList, path: "/", content: r}, "not_granted read", "not_granted read"},
		{demand{op: OpWrite, path: "/dev/null", content: r | u}, ok, ok},
		{demand{op: OpRead, path: "/dev/tty", content: r}, "not_granted read", "hidden read"},
		{demand{op: OpWrite, path: "/wsx/a", content: u}, "not_granted update", "hidden update"},
	} {
		for tier, want := range map[fit.Tier]string{fit.TierLandlock: tt.landlock, fit.TierNamespace: tt.namespace} {
			got := ok
			if r, refused := newJudge(testPlan(tier)).refusal(tt.w); refused {
				got = fmt.Sprintf("%s %s", r.Why, r.Lacking)
				if r.Lacking == 0 && want != "hidden nothing" {
					got = string(r.Why) + " "
				}
			}
			if got != want {
				t.Errorf("%s: %s %s: %s, want %s", tier, tt.w.op, tt.w.path, got, want)
			}
		}
	}
}

// Older kernels do not hold what only cuts a file off, but for read-only mounts.
func TestCuttingOnOldKernels(t *testing.T) {
	for _, tt := range []struct {
		w       demand
		abi     int
		refused bool
	}{
		{demand{op: OpWrite, path: "/ws/a", content: u, cut: true}, fit.TruncateABI, true},
		{demand{op: OpWrite, path: "/ws/a", content: u, cut: true}, fit.TruncateABI - 1, false},
		{demand{op: OpWrite, path: "/ws/a", content: r | u, cut: true}, fit.TruncateABI - 1, false},
		{demand{op: OpWrite, path: "/ws/a", content: u}, fit.TruncateABI - 1, true},
		{demand{op: OpWrite, path: "/ws/src/ro/a", content: u, cut: true}, fit.TruncateABI - 1, true},
		{demand{op: OpWrite, path: "/home/a", content: u, cut: true}, fit.TruncateABI - 1, true},
	} {
		p := testPlan(fit.TierNamespace)
		p.ABI = tt.abi
		if r, refused := newJudge(p).refusal(tt.w); refused != tt.refused {
			t.Errorf("version %d: %+v: %+v", tt.abi, tt.w, r)
		}
	}
}

func TestPorts(t *testing.T) {
	p := testPlan(fit.TierLandlock)
	p.Net = fit.Net{Open: true, Ports: []uint16{443}}
	if j := newJudge(p); !j.port(443) || j.port(80) {
		t.Error("only port 443 is open")
	}
	p.Net.Ports = nil
	if !newJudge(p).port(80) {
		t.Error("all ports are open")
	}
}

// What is kept is bounded; the same thing again only counts.
func TestRecordIsBounded(t *testing.T) {
	var rec Seen
	for range 3 {
		for i := range 10_000 {
			rec.note(Refusal{Operation: OpRead, Path: fmt.Sprintf("/%d/x", i), Why: Lacks})
		}
	}
	if len(rec.Refusals) != Most || rec.More != 3*(10_000-Most) || rec.Refusals[0].Times != 3 || rec.Refusals[1].Path != "/1/x" {
		t.Errorf("%d refusals, %d more, %+v", len(rec.Refusals), rec.More, rec.Refusals[:2])
	}
}

// What is refused everywhere in a directory does not take the place of the rest.
func TestRecordOfDirectory(t *testing.T) {
	var rec Seen
	for i := range 100 {
		rec.note(Refusal{Operation: OpRead, Path: fmt.Sprint("/lib/", i%50), Why: Lacks})
		rec.note(Refusal{Operation: OpSee, Path: fmt.Sprint("/lib/", i%50), Why: Hidden})
	}
	rec.note(Refusal{Operation: OpRead, Path: "/key", Why: Lacks})
	if n := len(rec.Refusals); n != 2*mostBeside+1 || rec.Refusals[n-1].Path != "/key" || rec.More != 0 {
		t.Fatalf("%d refusals, %d more: %+v", n, rec.More, rec.Refusals)
	}
	if r := rec.Refusals[2*mostBeside-2]; r.Path != "/lib/15" || r.Times != 2 || r.Beside != 2*34 {
		t.Errorf("%+v", r)
	}
	if r := rec.Refusals[0]; r.Times != 2 || r.Beside != 0 {
		t.Errorf("%+v", r)
	}
}

func TestUnseen(t *testing.T) {
	p := testPlan(fit.TierLandlock)
	p.Frozen = true
	if got := Unseen(p); len(got) != 3 || got[0][:7] != "sockets" {
		t.Errorf("%q", got)
	}
}
