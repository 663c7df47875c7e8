package policy

import "github.com/jptools/jptools/sandbox/fit"

// Place is where fs rules of a policy hold, and Mount an approved external rule that grants something.
type (
	Place = fit.Place
	Mount = fit.Mount
)

// ForFit returns the policy in the form that package fit needs.
func (d *Declared) ForFit() *fit.Policy {
	p := &fit.Policy{
		Root: d.Root, Access: d.Access, Needs: d.Needs,
		Places: d.Places(), Mounts: d.Mounts(), Pins: d.Pins(),
	}
	for i := range d.Rules {
		r := &d.Rules[i]
		p.Rules = append(p.Rules, fit.Rule{Type: r.Type, Index: r.Index, Text: r.Text, Origin: r.Origin})
	}
	for _, m := range d.rules.Mounts {
		p.Links = append(p.Links, fit.ExternalLink{Path: m.Path, Target: m.Target})
	}
	return p
}
