package policy

import "github.com/jptools/jptools/sandbox/fit"

// Place is where fs rules of a policy hold, and Mount an approved external rule that grants something.
type (
	Place = fit.Place
	Mount = fit.Mount
)

// ForFit returns the policy in the form that package fit needs, with the rules that protect the workspace even if the
// tool is sent no policy.
func (d *Declared) ForFit() *fit.Policy {
	unsent := d.Access == nil
	d = d.Guarded()
	p := &fit.Policy{Access: d.Access, Needs: d.Needs, Unsent: unsent, Places: d.Places(), Mounts: d.Mounts(), Pins: d.Pins()}
	if d.rules != nil {
		p.Site = d.rules.Site
	}
	for i := range d.Rules {
		r := &d.Rules[i]
		p.Rules = append(p.Rules, fit.Rule{Type: r.Type, Index: r.Index, Text: r.Text, Origin: r.Origin})
	}
	return p
}
