package policy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox/fit"
)

// source is where a placed rule comes from, and what became of it on the way; by the index of the rule in
// Rules.Placed.
type source struct {
	// Rule is what is reported. Its Index, Name, Text and Caps are set when the policy is written down.
	Rule
	at     settings.Origin
	people bool // a person wrote it, at that place
	// dropped counts from 1 in Declared.Dropped; 0 is a rule that was not dropped itself.
	dropped int
}

func (s *source) note(text string) {
	if s.Note != "" {
		text = s.Note + "; " + text
	}
	s.Note = text
}

// lifts reports whether a rule may lift self-protection: it is the user's own, and no link leads
// from its path as written to its place. Whoever can make a link in the workspace could otherwise
// turn a rule on `build` into one on `.git/hooks`.
func (d *Declared) lifts(i int) bool {
	s := &d.sources[i]
	return s.people && !s.at.Layer.Repository() && !d.rules.Placed[i].Linked
}

// placer lets the library find the places of rules, and answers its questions about approvals and links.
type placer struct {
	d *Declared
	// list are the rules, and sources where each comes from.
	list    []jptool.FsRule
	sources []source
	// lookup runs the approval lifecycle; nil for a policy of the wire, which names the approved targets itself.
	lookup func(consent.Binding) (consent.Result, error)
	// refuseLinks makes it an error if a rule grants more through a link; it is used only without lookup.
	refuseLinks bool
	// deny and secrets are the patterns.
	deny, secrets []Pattern

	problems settings.Errors
	// narrowed says why rules, by their index, are narrowed at the target of a link.
	narrowed map[int]string
}

func (p *placer) add(r jptool.FsRule, s source) {
	s.Written = cmp.Or(r.Path, ".")
	p.list, p.sources = append(p.list, r), append(p.sources, s)
}

// place finds the places of all rules and reports everything that is wrong with any of them.
func (p *placer) place(written string) error {
	d := p.d
	c := jptool.Compiler{Site: jptool.Site{Root: d.Root}, Written: written, Deny: texts(p.deny), Secrets: texts(p.secrets)}
	d.Deny, d.Secrets = p.deny, p.secrets
	switch {
	case p.lookup != nil:
		c.Approve, c.Follow = p.approve, p.follow
	case p.refuseLinks:
		c.Follow = p.refuse
	}
	rules, err := c.FS(p.list)
	if list := jptool.Problems(nil); errors.As(err, &list) {
		for _, x := range list {
			p.problem(x.Placed, x.Message, x.Help)
		}
	} else if err != nil {
		return err
	}
	if len(p.problems) > 0 {
		return p.problems
	}
	d.rules = rules
	rules.Restricted = true
	for i := range rules.Placed {
		d.sources = append(d.sources, p.source(&rules.Placed[i]))
	}
	return nil
}

func (p *placer) problem(r *jptool.Placed, message, help string) {
	s := &p.sources[r.Index]
	p.problems = append(p.problems, &settings.Problem{Origin: s.at, Message: fmt.Sprintf("the rule on %q %s", s.Written, message), Help: help})
}

// source returns where a rule comes from and what compiling changed, and records warnings about it.
func (p *placer) source(r *jptool.Placed) source {
	d, s := p.d, p.sources[r.Index]
	s.Stated = r.Rule.Caps()
	warn := func(message, help string) {
		if !r.Ahead {
			d.Warnings = append(d.Warnings, Warning{Origin: s.Origin, Message: fmt.Sprintf("the rule on %q %s", s.Written, message), Help: help})
		}
	}
	command := "jphost approvals approve "
	narrowed := p.narrowed[r.Index]
	switch {
	case r.Denied != nil:
		s.Dir = false // nothing is made there
		s.note("withheld by deny = " + d.pattern(*r.Denied).String())
		if s.Stated != 0 && s.people {
			warn("grants nothing: deny = "+d.pattern(*r.Denied).String()+" withholds it", "take out one of the two")
		}
	case r.Lost != "":
		s.note("dropped: " + r.Lost)
		help := r.Help
		if r.Target == "" || p.lookup == nil {
			command = ""
		} else {
			command += shellWord(r.Name)
			help = "approve it with: " + command
		}
		warn("grants nothing: "+r.Lost, help)
		if r.Rule.External && !r.Ahead {
			d.Dropped = append(d.Dropped, Dropped{Path: s.Written, Origin: s.Origin, Reason: r.Lost, Command: command})
			s.dropped = len(d.Dropped)
		}
	case narrowed != "":
		command += shellWord(r.Written())
		s.Dir = false // nothing is made there either
		s.note("narrowed: its path leads through a link whose target is not approved")
		warn(narrowed, "write the target in the rule, or approve it with: "+command)
		d.Dropped = append(d.Dropped, Dropped{Path: s.Written, Origin: s.Origin, Reason: narrowed, Command: command})
		s.dropped = len(d.Dropped)
	case r.Missing && !r.Rule.External:
		if help := literal(r.Written()); help != "" {
			warn("is for a file of exactly this name, and there is none", help)
		}
	}
	if r.Ahead {
		s.note("a link on the way leads to nothing; this is where it was heading")
	}
	return s
}

// literal returns advice for a path that is written as if a shell read it, if nothing has that name. RFD 076 takes
// rule paths literally, so that a deny on a pattern protects nothing.
func literal(written string) string {
	switch {
	case strings.ContainsAny(written, "*?["):
		return "paths of rules have no patterns: name the directory, which covers all that is in it, or one file"
	case written == "~" || strings.HasPrefix(written, "~/"):
		return "~ is no home directory here: for what lies outside, write a rule with external = true on a link"
	}
	return ""
}

// approve asks for the target of an external rule.
func (p *placer) approve(r *jptool.Placed) (ok bool, why string, err error) {
	res, err := p.lookup(consent.Binding{RulePath: r.Name, Target: r.Target})
	switch {
	case cancelled(err):
		return false, "", err
	case err != nil:
		return false, "its approval cannot be looked up: " + err.Error(), nil
	}
	why, _, _ = strings.Cut(res.Reason, "\n")
	return res.Approved, why, nil
}

// follow asks whether a rule may grant more than have where a symlink leads.
func (p *placer) follow(r *jptool.Placed, have jptool.Caps) (bool, error) {
	gain := r.Caps &^ have
	if p.d.needs != nil {
		gain &= *p.d.needs // what the tool never uses needs no approval
	}
	if gain == 0 {
		return true, nil
	}
	res, err := p.lookup(consent.Binding{RulePath: r.Written(), Target: p.d.rules.Abs(r.Place)})
	if cancelled(err) {
		return false, err
	}
	if err == nil && res.Approved {
		return true, nil
	}
	message := fmt.Sprintf("leads through a symlink to %q, and that target is not approved: it grants there %s", cmp.Or(r.Name, "."), (have & r.Caps).Only())
	if err != nil {
		message += " (its approval cannot be looked up: " + err.Error() + ")"
	}
	p.narrowed[r.Index] = message
	return false, nil
}

// refuse is follow for a policy file on a command line: the person who names it vouches for no link.
func (p *placer) refuse(r *jptool.Placed, _ jptool.Caps) (bool, error) {
	p.problem(r, fmt.Sprintf("leads through a symlink to %q, where it would grant what is not granted there without it", cmp.Or(r.Name, ".")),
		"name the target in the rule, or remove the link")
	return false, nil
}

// cancelled reports whether the person, or the program that started the call, gave up.
func cancelled(err error) bool {
	return errors.Is(err, term.ErrCancelled) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// writeRules narrows the rules to what the tool needs, protects the host's own files, and writes the wire form. It does
// not look at the file system.
func (d *Declared) writeRules() {
	var union jptool.Caps
	for i := range d.rules.Placed {
		r := &d.rules.Placed[i]
		if d.needs != nil && r.Caps&^*d.needs != 0 {
			r.Caps &= *d.needs
			d.sources[i].note("narrowed to what the tool needs")
		}
		union |= r.Caps
	}
	d.strand()
	if union&jptool.Write != 0 {
		for _, link := range d.protectedLinks {
			d.rules.Pin(link)
		}
	}
	d.protect()
	if d.rules.Restricted && !slices.ContainsFunc(d.rules.Placed, func(r jptool.Placed) bool { return !r.Gone }) {
		// An empty list would open everything.
		d.add(jptool.Placed{}, source{Rule: Rule{Origin: d.listOrigin, Note: "no rule of this type grants anything"}})
	}
	for i := range d.rules.Placed {
		r, s := &d.rules.Placed[i], &d.sources[i]
		s.Type, s.Name, s.Caps = "fs", cmp.Or(r.Name, "."), r.Caps
		if s.Written == s.Name {
			s.Written = ""
		}
		if r.Gone {
			continue
		}
		w := fit.Written(r)
		w.Origin = s.Origin
		s.Index, s.Text = len(d.Access.FS), fit.FsText(&w)
		d.Access.FS = append(d.Access.FS, w)
		d.Rules = append(d.Rules, s.Rule)
	}
	for _, pin := range d.rules.Pins {
		if name := d.rules.Name(pin); name != "" {
			d.Access.Pinned = append(d.Access.Pinned, name)
		}
	}
	slices.Sort(d.Access.Pinned)
	d.Access.Pinned = slices.Compact(d.Access.Pinned)
	d.Rules = append(d.Rules, d.others...)
}

// add adds a rule that nobody wrote.
func (d *Declared) add(r jptool.Placed, s source) {
	r.Index, r.Rule = -1, jptool.FsRule{Path: r.Name}
	s.Stated = r.Caps
	d.rules.Add(r)
	d.sources = append(d.sources, s)
}

// strand takes what is left from ordinary rules that lie below a mount which grants
// nothing any more: the library knows no mount there, and would refuse the rule.
func (d *Declared) strand() {
	for i := range d.rules.Placed {
		r := &d.rules.Placed[i]
		if r.Caps == 0 || !r.Place.Outside || r.Target != "" {
			continue
		}
		if !slices.ContainsFunc(d.rules.Mounts, func(m jptool.Mount) bool {
			return d.rules.Placed[m.Rule].Caps != 0 && d.rules.PlaceOf(m.Target).Contains(r.Place)
		}) {
			r.Caps = 0
			d.sources[i].note("lies below a mount that grants nothing")
		}
	}
}

// check reports what a tool would refuse: the rules are placed already, so that no path is resolved for it.
func (d *Declared) check() (err error) {
	if d.net, err = jptool.CompileNet(d.Access.Net); err != nil {
		return err
	}
	if d.env, err = jptool.CompileEnv(d.Access.Env); err != nil {
		return err
	}
	if d.commands, err = jptool.CompileCommands(d.Access.Commands); err != nil {
		return err
	}
	return d.rules.Check()
}

// shellWord quotes a path for a command line that a person may copy.
func shellWord(s string) string {
	if strings.HasPrefix(s, "-") {
		s = "./" + s
	}
	return show.Word(s)
}
