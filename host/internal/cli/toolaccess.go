package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/policy"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox/fit"
)

// accessOf is what a tool may access, here and now.
type accessOf struct {
	// Tier says by which means the operating system enforces it; none if it does not.
	Tier  fit.Tier `json:"tier"`
	Rules []ruleOf `json:"rules"`
	// Refused says why no call of the tool is made; empty if calls are made.
	Refused string `json:"refused,omitempty"`
	// Error says why the access is not known; empty if it is.
	Error string `json:"error,omitempty"`
}

// ruleOf is one rule as it is enforced.
type ruleOf struct {
	// Type is fs, net, env or command; Name the path, host, variable or program.
	Type string `json:"type"`
	Name string `json:"name"`
	// Rule is the enforced rule as one would write it; Capabilities is what it grants on a path.
	Rule         string   `json:"rule"`
	Capabilities []string `json:"capabilities,omitempty"`
	Origin       string   `json:"origin"`
	// Declared is the rule as it was written, if less is enforced; Why and Remedy say why, and what to do.
	Declared string `json:"declared,omitempty"`
	Why      string `json:"why,omitempty"`
	Remedy   string `json:"remedy,omitempty"`
}

// accessOf is the access in a call whose arguments name no path.
func (a *app) accessOf(cfg *config.Config, t *config.Tool) *accessOf {
	o := &accessOf{Tier: fit.TierNone, Rules: []ruleOf{}}
	f, err := a.effective(cfg, t)
	if err != nil {
		o.Error = err.Error()
		return o
	}
	h, tier, err := f.fitted()
	if err != nil {
		o.Error = err.Error()
		return o
	}
	o.Tier, o.Refused = tier, h.Refused
	o.fill(f.declared, h)
	return o
}

func (o *accessOf) fill(d *policy.Declared, h *policy.Held) {
	access := cmp.Or(h.Access, d.Access)
	for i := range d.Rules {
		r := &d.Rules[i]
		one := ruleOf{Type: r.Type, Name: r.Name, Rule: r.Text, Origin: r.Origin}
		if r.Type == "fs" && r.Index < len(access.FS) {
			w := &access.FS[r.Index]
			one.Rule, one.Capabilities = fit.FsText(w), w.Caps().Names()
			if stated := fit.FsRule(w.Path, r.Stated); w.Caps() != r.Stated && (w.Caps() != r.Caps || r.Origin != policy.BuiltIn) {
				stated.External = w.External
				one.Declared = fit.FsText(&stated)
				one.Why = r.Note
				if h.Less != nil && w.Caps() != r.Caps {
					one.Why, one.Remedy = h.Less(r.Index)
				}
			}
		}
		o.Rules = append(o.Rules, one)
	}
	if access == nil {
		return
	}
	for i := len(d.Access.FS); i < len(access.FS); i++ {
		w := &access.FS[i]
		o.Rules = append(o.Rules, ruleOf{
			Type: "fs", Name: w.Path, Rule: fit.FsText(w), Capabilities: w.Caps().Names(), Origin: w.Origin,
			Why: "it stands in for a rule above it, which could not be enforced as a whole",
		})
	}
}

// maxShort bounds the places in one line.
const maxShort = 6

// short is the access to files in one line.
func (o *accessOf) short() string {
	switch {
	case o.Error != "":
		why, _, _ := strings.Cut(o.Error, "\n")
		return "access: not known: " + why
	case o.Refused != "":
		return "access: " + o.Refused
	}
	var list []string
	restricted := false
	for _, r := range o.Rules {
		restricted = restricted || r.Type == "fs"
		if r.Type != "fs" || r.Origin == policy.SelfProtection {
			continue
		}
		caps := "nothing"
		if len(r.Capabilities) > 0 {
			caps = strings.Join(r.Capabilities, ", ")
		}
		list = append(list, fmt.Sprintf("%s (%s)", jptool.Quote(r.Name), caps))
	}
	switch more := len(list) - maxShort; {
	case !restricted:
		return "access: all of the workspace"
	case more > 0:
		list = append(list[:maxShort], fmt.Sprintf("and %d more", more))
	}
	return "access: " + strings.Join(list, ", ")
}

// print prints the rules that somebody wrote, and the default for files.
func (o *accessOf) print(a *app) {
	if o.Error != "" {
		a.out.printf("\naccess: not known\n  %s\n", strings.ReplaceAll(show.Text(o.Error), "\n", "\n  "))
		return
	}
	by := "enforced by the operating system: " + string(o.Tier)
	if o.Tier == fit.TierNone {
		by = "enforced by the tool's own checks only"
	}
	a.out.printf("\naccess (%s):\n", by)
	if o.Refused != "" {
		a.out.printf("  %s\n", show.Line(o.Refused))
	}
	if !slices.ContainsFunc(o.Rules, func(r ruleOf) bool { return r.Type == "fs" }) {
		a.out.printf("  all of the workspace\n")
	}
	for _, r := range o.Rules {
		if r.Origin == policy.SelfProtection || r.Origin == policy.BuiltIn && r.Type != "fs" {
			continue
		}
		kind := r.Type
		if kind == "command" {
			kind += " " + r.Name
		}
		a.out.printf("  %s %s   (%s)\n", show.Line(kind), show.Line(r.Rule), show.Line(r.Origin))
		if r.Declared != "" {
			a.out.printf("    declared %s\n", show.Line(r.Declared))
		}
		if r.Why != "" {
			a.out.printf("    %s\n", show.Line(r.Why))
		}
		if r.Remedy != "" {
			a.out.printf("    %s\n", strings.ReplaceAll(show.Text(r.Remedy), "\n", "\n    "))
		}
	}
	a.out.printf("  all of it, with the defaults: jphost policy NAME; why a path is allowed or not: jphost explain NAME CAPABILITY PATH\n")
}
