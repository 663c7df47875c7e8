package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/jptool"
)

// Explanation is the answer of `jphost explain`.
type Explanation struct {
	// Type is fs, net, env or command. Target is what was asked about, as given;
	// Capability is set for fs.
	Type       string `json:"type"`
	Target     string `json:"target"`
	Capability string `json:"capability,omitempty"`
	// Canonical is the form that was judged: a path without links, a normalised URL.
	Canonical string `json:"canonical,omitempty"`
	Allowed   bool   `json:"allowed"`
	// Code is that of the wire for what is not allowed.
	Code jptool.Code `json:"code,omitempty"`
	// Granted are all capabilities on the path that hold. Declared are those that the rules say, where
	// less holds.
	Granted  []string `json:"granted,omitempty"`
	Declared []string `json:"declared,omitempty"`
	// Rule is the rule that decided, nil when none matched or none was asked; Origin
	// where it was written.
	Rule   *Rule  `json:"rule"`
	Origin string `json:"origin"`
	// Reason says in a sentence what decided; Remedy what would have to change, "" for
	// what is allowed.
	// Withheld is the pattern that withholds the path.
	Withheld   *Pattern   `json:"withheld,omitempty"`
	Reason     string     `json:"reason"`
	Remedy     string     `json:"remedy"`
	NearMisses []NearMiss `json:"near_misses,omitempty"`
	// Notes are what a person should know besides.
	Notes []string `json:"notes,omitempty"`
}

// NearMiss is a rule that did not decide but might be taken for it.
type NearMiss struct {
	Rule   string `json:"rule"`
	Origin string `json:"origin"`
	Why    string `json:"why"`
}

// maxMisses bounds the list of near misses.
const maxMisses = 10

// rule finds a rule by its type and index.
func (d *Declared) rule(kind string, index int) *Rule {
	i := slices.IndexFunc(d.Rules, func(r Rule) bool { return r.Type == kind && r.Index == index })
	if i < 0 {
		return nil
	}
	return &d.Rules[i]
}

func (e *Explanation) decidedBy(r *Rule) {
	if r != nil {
		e.Rule, e.Origin = r, r.Origin
	}
}

// list is where a rule of a type would be added.
func (d *Declared) list(kind string) string {
	if d.Tool == "" {
		return "access." + kind
	}
	return toolKey(d.Tool) + ".access." + kind
}

// ExplainNet says whether a request to an absolute URL is allowed. The error is for what
// is no URL.
func (d *Declared) ExplainNet(url string) (Explanation, error) {
	e := Explanation{Type: "net", Target: url}
	decision, err := d.net.Evaluate(url)
	if err != nil {
		return e, jptool.Errorf(jptool.CodeInvalidArguments, "%w", err)
	}
	e.Canonical, e.Allowed = decision.Target.String(), decision.Allowed
	e.decidedBy(d.rule("net", decision.Rule))
	e.sentence(decision.Explain(), d.list("net"))
	for _, miss := range decision.NearMisses() {
		if r := d.rule("net", miss.Rule); r != nil && len(e.NearMisses) < maxMisses {
			e.NearMisses = append(e.NearMisses, NearMiss{r.Text, r.Origin, miss.Why})
		}
	}
	return e, nil
}

// ExplainEnv says whether the tool gets the variable with this name. The error is for
// what no variable can be named.
func (d *Declared) ExplainEnv(name string) (Explanation, error) {
	e := Explanation{Type: "env", Target: name}
	if name == "" || strings.ContainsAny(name, "=\x00") {
		return e, jptool.Errorf(jptool.CodeInvalidArguments, "no environment variable is named %q\nwrite the name without the value", name)
	}
	decision := d.env.Evaluate(name)
	e.Allowed = decision.Allowed
	e.decidedBy(d.rule("env", decision.Rule))
	e.sentence(decision.Explain(), d.list("env"))
	return e, nil
}

// ExplainCommand says whether the tool may start a program with these arguments; argv[0]
// is the program as the tool would name it. The error is for an empty command line.
func (d *Declared) ExplainCommand(argv []string) (Explanation, error) {
	e := Explanation{Type: "command", Target: strings.Join(argv, " ")}
	if len(argv) == 0 || argv[0] == "" {
		return e, jptool.Errorf(jptool.CodeInvalidArguments, "the command line names no program\nwrite the program and its arguments")
	}
	decision := d.commands.Evaluate(argv[0], argv[1:])
	e.Allowed = decision.Allowed
	if i := slices.IndexFunc(d.Rules, func(r Rule) bool { return r.Type == "command" && r.Name == argv[0] }); i >= 0 {
		e.decidedBy(&d.Rules[i])
	}
	e.sentence(decision.Explain(), d.list("commands"))
	return e, nil
}

// sentence splits what the library says into what decided and what to do.
func (e *Explanation) sentence(text, list string) {
	e.Reason = text
	if e.Allowed {
		return
	}
	e.Code = jptool.CodeAccessDenied
	for _, cut := range []string{"; to allow it, ", "; to allow them, ", "; "} {
		if reason, remedy, ok := strings.Cut(text, cut); ok {
			e.Reason, e.Remedy = reason, remedy
			break
		}
	}
	if strings.HasPrefix(e.Remedy, "add {") {
		e.Remedy += " to " + list
	}
	e.Remedy = strings.Replace(e.Remedy, "add access.commands", "add "+list, 1)
}

// String is the explanation for a terminal, several lines, without a final line end.
// Everything that comes from files is made visible.
func (e Explanation) String() string {
	var b strings.Builder
	verdict := "allowed"
	if !e.Allowed {
		verdict = "not allowed"
	}
	fmt.Fprintf(&b, "%s: %s", verdict, show.Line(strings.TrimSpace(e.Capability+" "+e.Target)))
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "\n  %-9s %s", name, show.Line(text))
		}
	}
	if e.Canonical != e.Target {
		line("judged as", e.Canonical)
	}
	if e.Rule != nil {
		origin := e.Origin
		if e.Rule.Layer != "" {
			origin += " (" + e.Rule.Layer + ")"
		}
		line("rule", e.Rule.Text)
		line("origin", origin)
		line("note", e.Rule.Note)
	}
	if e.Withheld != nil {
		line("origin", e.Origin)
	}
	if e.Declared != nil {
		line("holds", cmp.Or(strings.Join(e.Granted, ", "), "nothing"))
	}
	line("because", e.Reason)
	line("remedy", e.Remedy)
	for _, miss := range e.NearMisses {
		line("near miss", miss.Rule+" ("+miss.Origin+"): "+miss.Why)
	}
	for _, note := range e.Notes {
		line("note", note)
	}
	return b.String()
}

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
	ws, err := d.open(d.Access)
	if err != nil {
		e.deny(jptool.CodeOf(err), err.Error(), "")
		return e, true
	}
	defer ws.Close()
	check := ws.CheckContent
	if entry && p != "" {
		check = ws.CheckEntry
	}
	target, err := check(p, 0)
	if err != nil {
		e.deny(jptool.CodeOf(err), err.Error(), "")
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
	best, parts := -1, strings.Split(p, "/")
	for _, r := range d.Rules {
		common := 0
		for i, part := range strings.Split(r.Name, "/") {
			if i < len(parts) && i == common && parts[i] == part {
				common++
			}
		}
		if r.Type == "fs" && r.Caps.Has(need) && common > best {
			best, near, ok = common, r, true
		}
	}
	return near, ok
}
