package observe

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox/fit"
)

// judge predicts from a plan what the kernel refuses. It looks at nothing but the plan.
type judge struct {
	plan   *fit.Plan
	grants map[string]jptool.Caps
	mounts map[string]fit.Cover // of the private tree; what is only bound there takes nothing away
	pins   map[string]bool
}

func newJudge(p *fit.Plan) *judge {
	j := &judge{plan: p, grants: map[string]jptool.Caps{}, mounts: map[string]fit.Cover{}, pins: map[string]bool{}}
	for _, g := range slices.Concat(p.Runtime, p.Grants) {
		if g.Kind != fit.Link {
			j.grants[g.Path] |= g.Caps
		}
	}
	for _, d := range p.Devices {
		j.grants[d] |= jptool.Read | jptool.Update
	}
	for _, temp := range []string{p.Temp, p.Scratch} {
		if temp != "" {
			j.grants[temp] = jptool.AllCaps
		}
	}
	if p.Tier != fit.TierNamespace {
		return j
	}
	for _, g := range p.Runtime {
		j.mounts[g.Path] = fit.Cover{ReadOnly: true}
	}
	for _, n := range p.Trees {
		j.mounts[n.Path], j.pins[n.Path] = fit.Cover{}, true
	}
	for _, name := range append([]string{p.Temp, p.Scratch, "/proc"}, p.Devices...) {
		if name != "" {
			j.mounts[name] = fit.Cover{}
		}
	}
	for _, c := range p.Covers {
		j.mounts[c.Path], j.pins[c.Path] = c, true
	}
	for _, n := range p.Pins {
		j.pins[n.Path] = true
	}
	if p.Scratch != "" {
		j.ways()
	}
	return j
}

// ways adds the directories of the private tree that lead to places in the scratch directory: nothing else is in them.
func (j *judge) ways() {
	for at, m := range maps.Clone(j.mounts) {
		below, ok := strings.CutPrefix(at, j.plan.Scratch+"/")
		first, _, deeper := strings.Cut(below, "/")
		if !ok {
			continue
		}
		m.Again = true
		j.mounts[at] = m
		dir := j.plan.Scratch + "/" + first
		if _, is := j.mounts[dir]; deeper && !is {
			j.mounts[dir] = fit.Cover{Hide: true}
		}
	}
}

// private reports whether a path lies where the private tree has something of its own, and the host something else.
func (j *judge) private(p string) bool {
	below, ok := strings.CutPrefix(p, j.plan.Scratch+"/")
	if !ok || j.plan.Scratch == "" {
		return false
	}
	first, _, _ := strings.Cut(below, "/")
	_, way := j.mounts[j.plan.Scratch+"/"+first]
	return !way
}

// demand is what a call wants of one path.
type demand struct {
	op   Operation
	path string // canonical
	// content is needed on what is there, entry on the directory that it is in.
	content, entry jptool.Caps
	// move: the entry that is there goes away, or is replaced.
	move bool
	// cut: the content is not opened for writing, at most its end goes away.
	cut bool
	// special: the entry is of a kind that is made in the private directory only.
	special bool
	// missing: nothing is there, which a read-only mount does not even look at.
	missing bool
}

// refusal returns what the kernel is going to refuse, or false.
func (j *judge) refusal(w demand) (Refusal, bool) {
	r := Refusal{Operation: w.op, Path: w.path, Need: w.content | w.entry, Why: Lacks}
	content, seen := j.granted(w.path)
	if w.cut && j.plan.ABI < fit.TruncateABI {
		if m, _ := j.mount(w.path); !m.ReadOnly {
			content |= jptool.Update // not held
		}
	}
	entry, parent := j.granted(path.Dir(w.path))
	r.Lacking = w.content&^content | w.entry&^entry
	_, own := j.mounts[w.path]
	switch {
	case w.missing:
		m, _ := j.mount(path.Dir(w.path))
		r.Lacking = r.Need
		return r, m.ReadOnly || m.Hide
	case w.op == OpSee && own: // also the place of a mask
		return r, false
	case !seen || w.entry != 0 && !parent:
		r.Why, r.Lacking = Hidden, r.Need
	case w.op == OpChange:
		r.Need, r.Lacking = jptool.Update, jptool.Update
		m, _ := j.mount(w.path)
		return r, m.ReadOnly
	case w.special:
		r.Why, r.Lacking = Special, 0
	case r.Lacking != 0:
	case w.move && j.pins[w.path]:
		r.Why = Kept
	default:
		return r, false
	}
	return r, true
}

// granted is what can be done at a path, and whether it is there at all for the program.
func (j *judge) granted(p string) (caps jptool.Caps, seen bool) {
	for q := range fit.Upward(p) {
		caps |= j.grants[q]
	}
	if j.plan.Tier != fit.TierNamespace {
		return caps, true
	}
	m, ok := j.mount(p)
	if !ok {
		// It is there if something of the private tree lies below it.
		mounts := slices.Collect(maps.Keys(j.mounts))
		return 0, p == "/dev" || slices.ContainsFunc(mounts, func(q string) bool { return fit.Holds(p, q) })
	}
	return caps &^ m.Withholds(), !m.Hide
}

// mount is the mount that a path lies in, false for none: the innermost, but below a mask only what
// is mounted again is there.
func (j *judge) mount(p string) (m fit.Cover, ok bool) {
	if p != "/" {
		m, ok = j.mount(path.Dir(p))
	}
	here, is := j.mounts[p]
	if is && !(m.Hide && !here.Again) {
		return here, true
	}
	return m, ok
}

// port reports whether a TCP port may be connected to.
func (j *judge) port(port uint16) bool {
	return j.plan.Net.Ports == nil || j.plan.ABI < fit.NetABI || slices.Contains(j.plan.Net.Ports, port)
}
