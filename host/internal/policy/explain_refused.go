package policy

import (
	"cmp"
	"strings"

	"github.com/jptools/jptools/jptool"
)

// ExplainRefusal says why a program that asks nobody may not do need at a canonical absolute
// path. With entry it is about making or removing what is there: then the remedy names the directory
// it is in, as the kernel has these rights on directories. It is false for what lies neither in the
// workspace nor in a mount. Allowed means that the rules would grant it, so that something
// else is in the way.
func (d *Declared) ExplainRefusal(abs string, need jptool.Caps, entry bool) (Explanation, bool) {
	p, ok := d.WirePath(abs)
	if !ok {
		return Explanation{}, false
	}
	e := Explanation{Type: "fs", Target: cmp.Or(p, "."), Capability: need.String()}
	ws, err := d.Open()
	if err != nil {
		e.Reason, e.Code = err.Error(), jptool.CodeOf(err)
		return e, true
	}
	defer ws.Close()
	check := ws.CheckContent
	if entry && p != "" {
		check = ws.CheckEntry
	}
	target, err := check(p, 0)
	if err != nil {
		e.Reason, e.Code = err.Error(), jptool.CodeOf(err)
		return e, true
	}
	d.decide(&e, target, need, need)
	// A model may read it: the file of a configuration may be a path outside.
	e.Reason = strings.ReplaceAll(e.Reason, ", "+d.needsOrigin+")", ")")
	return e, true
}

// Nearest is the rule that grants need on a path with the most components in common with this one
// of the wire, or false if no rule grants it.
func (d *Declared) Nearest(need jptool.Caps, p string) (near Rule, ok bool) {
	best := -1
	for i := range d.Rules {
		r := &d.Rules[i]
		if r.Type != "fs" || !r.Caps.Has(need) {
			continue
		}
		if n := common(r.Name, p); n > best {
			best, near, ok = n, *r, true
		}
	}
	return near, ok
}

// common counts the components that two paths begin with.
func common(a, b string) (n int) {
	x, y := strings.Split(a, "/"), strings.Split(b, "/")
	for n < len(x) && n < len(y) && x[n] == y[n] {
		n++
	}
	return n
}
