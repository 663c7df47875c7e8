// Package policy compiles the access rules that people declared for a tool into the policy of one call. The result
// is ready for the wire, and each rule knows where it was written. Package jptool finds the place of each rule;
// this package adds configuration layers, approvals (RFD D43), the defaults of RFD 075, self-protection, what a
// tool needs, and explanations.
//
// Compiling only takes away from what the rules say. A rule whose target is not approved grants nothing, the
// host's own files are protected, and a capability that the tool never needs is not granted. A type of resource
// without rules gets its default as written rules, because an empty list on the wire would open everything.
//
// The package enforces nothing: the tools' own checks and the sandbox do. It describes the file system at one
// moment, and the tools resolve every rule again.
package policy

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/netrule"
	"github.com/jptools/jptools/sandbox/fit"
)

// Request is what a policy is compiled from.
type Request struct {
	Workspace state.Workspace
	Config    *config.Config
	// Tool is a local tool of Config.
	Tool *config.Tool
	// Approve runs the approval lifecycle of one external path, as [consent.Store.Resolve] does. Compile calls it
	// once per path and target. Nil approves nothing.
	Approve func(context.Context, consent.Request) (consent.Result, error)
	// Home is the user's home directory, StateDir the directory of all state of the host;
	// both absolute, "" when there is none. StateDir need not exist yet.
	Home, StateDir string
	// ConfigFile is the user's own configuration file, absolute, "" for none. Its directory belongs to the
	// host even if it does not exist yet.
	ConfigFile string
	// Programs are the host's own programs, absolute: jphost and the tools beside it.
	Programs []string
	// PresetEnv and PresetNet are the rules of the tool's presets. What the tool's own rules say counts instead.
	PresetEnv []jptool.EnvRule
	PresetNet []jptool.NetRule
	// Reach are the writable places outside the workspace that are granted besides the rules, by sandbox.paths or
	// flags.
	Reach []Reach
	// OSSandbox says that this machine can sandbox a tool, even if the sandbox is switched off. Without it, a tool
	// that declares nothing gets no policy (RFD 075), but see [Declared.ForFit].
	OSSandbox bool
	// Deny and Places are patterns besides those of Tool; Places are further places of secrets.
	Deny, Places []config.Pattern
	// AllowSecrets withholds no place of secrets; Allowed are those that a person allowed, with the capabilities that other
	// rules grant around them.
	AllowSecrets bool
	Allowed      map[string]jptool.Caps
	// RefuseLinks makes it an error if a rule of [Given] grants, through a symlink of the workspace, something
	// that is not granted at the link's target without that rule.
	RefuseLinks bool
}

// Reach is a canonical absolute path outside the workspace, and what is granted there.
type Reach struct {
	Abs  string
	Caps jptool.Caps
}

// Report is what `jphost policy TOOL --json` prints of a policy. Lists are never null.
type Report struct {
	// Tool is the tool's name; "" when the policy came from the wire.
	Tool string `json:"tool,omitempty"`
	// Root is the canonical path of the workspace.
	Root string `json:"root"`
	// Access is the policy on the wire. It is nil, which means unrestricted inside the workspace, only if nothing is
	// declared and the machine has no sandbox.
	Access *jptool.AccessPolicy `json:"access"`
	// Needs are the names of all capabilities that the tool says it uses. Access grants no other.
	Needs []string `json:"needs,omitempty"`
	// Deny and Secrets are the patterns of Access, in its order.
	Deny    []Pattern `json:"deny,omitempty"`
	Secrets []Pattern `json:"secrets,omitempty"`
	// Rules are all rules of Access in its order, fs, net, env, then commands by name.
	Rules []Rule `json:"rules"`
	// Dropped are the rules that grant nothing, or less, until a target is approved.
	Dropped []Dropped `json:"dropped"`
	// Sensitive are the places of secrets that the tool may reach because rules name them: the caller asks about
	// them once per session.
	Sensitive []Sensitive `json:"sensitive"`
	// Warnings are for people.
	Warnings []Warning `json:"warnings"`
}

// Declared is the compiled policy of one tool. It is immutable and safe for concurrent use.
type Declared struct {
	Report

	needs *jptool.Caps // nil if the tool does not say
	// rules are the fs rules at their places, and sources where each comes from.
	rules   *jptool.Rules
	sources []source
	others  []Rule // of net, env and commands
	net     *netrule.Policy
	env     *jptool.EnvPolicy
	// commands is compiled as net and env are.
	commands *jptool.CommandPolicy
	// listOrigin is where the list of fs rules is written, needsOrigin where needs.fs is.
	listOrigin, needsOrigin string

	// protected are the places that tools may only read and execute, protectedLinks the links of the workspace that
	// lead to them.
	protected      []protectedPlace
	protectedLinks []jptool.Place
	// beyond and beyondLinks are protected too, in places that no rule can name.
	beyond      []Place
	beyondLinks []string
	// ways are the links that lead to any of these.
	ways []fit.Way
	// without is, if Access is nil, the policy that a machine with a sandbox would have.
	without *Declared
}

// newDeclared returns a policy without rules.
func newDeclared(tool, root string) *Declared {
	return &Declared{
		Report: Report{
			Tool: tool, Root: root,
			Rules: []Rule{}, Dropped: []Dropped{}, Sensitive: []Sensitive{}, Warnings: []Warning{},
		},
		rules: jptool.NewRules(jptool.Site{Root: root}),
	}
}

// Rule is one rule of a policy and where it comes from.
type Rule struct {
	// Type is fs, net, env or command; Index counts within the type.
	Type  string `json:"type"`
	Index int    `json:"index"`
	// Name is the subject of the effective rule: the canonical path ("." for the workspace), the host, or the name of
	// the variable or program.
	Name string `json:"name"`
	// Written is the path as it was written, "" if that is Name.
	Written string `json:"written,omitempty"`
	// Text is the effective rule as an inline table of TOML.
	Text string `json:"text"`
	// Origin is the place `file:line:column`, or BuiltIn, SelfProtection or Wire.
	Origin string `json:"origin"`
	// Layer is the configuration layer that wrote it, "" for rules that nobody wrote. Key is the full key.
	Layer string `json:"layer,omitempty"`
	Key   string `json:"key,omitempty"`
	// Note says what compiling changed, such as that the rule was narrowed.
	Note string `json:"note,omitempty"`
	// Dir says that the path was written with a slash at its end.
	Dir bool `json:"dir,omitempty"`
	// Caps is what an fs rule grants; Stated is what it says, before it was narrowed.
	Caps   jptool.Caps `json:"-"`
	Stated jptool.Caps `json:"-"`
}

// Origins of rules that nobody wrote.
const (
	// BuiltIn: the default of a type that is not declared.
	BuiltIn = "built-in default"
	// SelfProtection: the host added it for its own files, or for what makes git run programs.
	SelfProtection = "self-protection"
	// Private: the host added it for the contents that it keeps, which are those of other calls.
	Private = "what jphost keeps of other calls"
	// Wire: the policy was read by FromWire.
	Wire = "the given policy"
	// Allowed: a person allowed it for this session.
	Allowed = "allowed for this session"
)

// Dropped is an external rule that would grant something and grants nothing now (RFD D43).
type Dropped struct {
	// Path is the rule's path, Origin where it was written.
	Path   string `json:"path"`
	Origin string `json:"origin"`
	// Reason says why, for people; Command is what approves it, "" when nothing can yet.
	Reason  string `json:"reason"`
	Command string `json:"command,omitempty"`
}

// Sensitive is a place of secrets that a rule lets the tool reach (RFD 075, "Sensitive
// path protection").
type Sensitive struct {
	// Path is as the tool names it; Pattern the entry of the list that it matched.
	Path    string `json:"path"`
	Pattern string `json:"pattern"`
	// Rule is the path of the rule that grants it, Origin where that was written.
	Rule         string   `json:"rule"`
	Origin       string   `json:"origin"`
	Capabilities []string `json:"capabilities"`
	// Touch is what a person is asked about.
	Touch Touch `json:"-"`
}

// Warning is something a person should know and that stops nothing.
type Warning struct {
	// Origin is the place it is about; Message and Help are one line each.
	Origin  string `json:"origin,omitempty"`
	Message string `json:"message"`
	Help    string `json:"help,omitempty"`
}

// NewWarning makes a warning of a text whose second line says what to do.
func NewWarning(origin, text string) Warning {
	message, help, _ := strings.Cut(text, "\n")
	return Warning{Origin: origin, Message: message, Help: help}
}

// String is the warning for a terminal, the help on a line of its own.
func (w Warning) String() string {
	s := show.Text(w.Message)
	if w.Origin != "" {
		s = show.Text(w.Origin) + ": " + s
	}
	if w.Help != "" {
		s += "\n  " + show.Text(w.Help)
	}
	return s
}

// open opens the workspace with a policy, as a tool does. The caller closes it.
func (d *Declared) open(access *jptool.AccessPolicy) (*jptool.Workspace, error) {
	c := jptool.Context{Root: d.Root, Action: jptool.Run, Access: access}
	ws, err := c.Open()
	if err != nil {
		return nil, fmt.Errorf("the policy cannot be opened: %w", err)
	}
	return ws, nil
}

// Place is where fs rules of a policy hold.
type Place = fit.Place

// ForFit returns the policy in the form that package fit needs. If nothing is declared and the machine has no sandbox,
// the tool is sent no policy, but that is the default one: its protected files are still compared after the call.
func (d *Declared) ForFit() *fit.Policy {
	unsent, sent := d.without != nil, d.Access
	if d.without != nil {
		d = d.without
	}
	p := &fit.Policy{Access: d.Access, Needs: d.needs, Unsent: unsent, Places: d.Places(), Mounts: d.Mounts(), Site: d.rules.Site, Evaluator: d.rules}
	if unsent {
		p.Sent = sent
	}
	for i := range d.Rules {
		r := &d.Rules[i]
		p.Rules = append(p.Rules, fit.Rule{Type: r.Type, Index: r.Index, Text: r.Text, Origin: r.Origin})
	}
	if d.Access == nil {
		return p
	}
	// The entries that Access pins, and the links that lead to protected places.
	for _, path := range d.Access.Pinned {
		p.Pins = append(p.Pins, d.rules.Abs(d.rules.Lexical(path)))
	}
	p.Pins = append(p.Pins, d.beyondLinks...)
	p.Ways = slices.Concat(fit.Ways(d.rules), d.ways)
	return p
}

// Places returns the places of all fs rules, each once, sorted by path. It is empty if file access is not
// restricted.
func (d *Declared) Places() []Place {
	if d.Access == nil {
		return nil
	}
	byPath := map[string]*Place{}
	for i := range d.rules.Placed {
		r, s := &d.rules.Placed[i], &d.sources[i]
		if r.Gone {
			continue
		}
		abs := d.rules.Abs(r.Place)
		p := byPath[abs]
		if p == nil {
			p = &Place{Abs: abs, Outside: r.Place.Outside}
			p.Guarded = slices.ContainsFunc(d.protected, func(g protectedPlace) bool { return g.place.Contains(r.Place) })
			byPath[abs] = p
		}
		p.All = append(p.All, s.Index)
		p.Caps, p.Index, p.Dir = r.Caps, s.Index, s.Dir
		p.SelfProtection = s.Origin == SelfProtection
	}
	list := make([]Place, 0, len(byPath))
	for _, p := range byPath {
		list = append(list, *p)
	}
	for _, p := range d.beyond {
		if byPath[p.Abs] == nil {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b Place) int { return cmp.Compare(a.Abs, b.Abs) })
	return list
}

// Mounts returns the mounts that grant something, in the order of their rules.
func (d *Declared) Mounts() []fit.Mount {
	var list []fit.Mount
	for _, m := range d.rules.Mounts {
		if r := &d.rules.Placed[m.Rule]; r.Caps != 0 {
			list = append(list, fit.Mount{Link: d.rules.Abs(m.Link), Target: m.Target, Index: d.sources[m.Rule].Index})
		}
	}
	slices.SortFunc(list, func(a, b fit.Mount) int { return cmp.Compare(a.Index, b.Index) })
	return list
}

// WirePath returns the path of the wire for a canonical absolute path in the workspace or in a mount, and false
// for any other path.
func (d *Declared) WirePath(abs string) (string, bool) { return d.rules.WirePath(abs) }

// WriteText writes the policy for people: each type with its rules and origins, then what
// is pinned, dropped and sensitive. Everything that comes from files is made visible.
func (d *Declared) WriteText(w io.Writer) error {
	b := bufio.NewWriter(w)
	if d.Tool != "" {
		fmt.Fprintf(b, "policy of %s in %s\n", show.Visible(d.Tool), show.Visible(d.Root))
	} else {
		fmt.Fprintf(b, "policy in %s\n", show.Visible(d.Root))
	}
	if d.Unrestricted() {
		why := "nothing is declared"
		if d.Tool != "" { // else it would have the defaults
			why += ", and there is no sandbox on this machine"
		}
		fmt.Fprintln(b, "unrestricted inside the workspace: "+why)
		d.writePatterns(b)
		return b.Flush()
	}
	if d.needs != nil {
		fmt.Fprintf(b, "needs: %s (%s)\n", *d.needs, show.Line(d.needsOrigin))
	}
	for _, t := range []struct{ name, title string }{{"fs", "fs"}, {"net", "net"}, {"env", "env"}, {"command", "commands"}} {
		fmt.Fprintf(b, "\n%s:\n", t.title)
		none := true
		for i := range d.Rules {
			if d.Rules[i].Type == t.name {
				none = false
				d.Rules[i].print(b)
			}
		}
		switch {
		case !none:
		case t.name == "command" && d.Access.Commands != nil:
			fmt.Fprintln(b, "  none may be started")
		case t.name == "fs":
			fmt.Fprintln(b, "  unrestricted in the workspace")
		default:
			fmt.Fprintln(b, "  unrestricted")
		}
	}
	d.writePatterns(b)
	if len(d.Access.Pinned) > 0 {
		fmt.Fprintln(b, "\nkept in place:")
		for _, path := range d.Access.Pinned {
			fmt.Fprintf(b, "  %s\n", show.Visible(path))
		}
	}
	if len(d.Dropped) > 0 {
		fmt.Fprintln(b, "\ndropped:")
	}
	for _, x := range d.Dropped {
		fmt.Fprintf(b, "  %s   (%s)\n    %s\n", show.Visible(x.Path), show.Line(x.Origin), show.Line(x.Reason))
		if x.Command != "" {
			fmt.Fprintf(b, "    approve it with: %s\n", show.Line(x.Command))
		}
	}
	if len(d.Sensitive) > 0 {
		fmt.Fprintln(b, "\nplaces of secrets within reach:")
	}
	for _, x := range d.Sensitive {
		fmt.Fprintf(b, "  %s (%s), by the rule on %s   (%s)\n", show.Visible(x.Path), show.Line(x.Pattern), show.Visible(x.Rule), show.Line(x.Origin))
	}
	return b.Flush()
}

// Unrestricted reports whether the rules restrict nothing: only patterns withhold something.
func (d *Declared) Unrestricted() bool { return d.Access == nil || d.without != nil }

// writePatterns lists what is withheld whatever the rules grant, and what is unless a rule names it.
func (d *Declared) writePatterns(w io.Writer) {
	for _, list := range []struct {
		title    string
		patterns []Pattern
	}{{"deny", d.Deny}, {"places of secrets, withheld unless a rule names them", d.Secrets}} {
		if len(list.patterns) > 0 {
			fmt.Fprintf(w, "\n%s:\n", list.title)
		}
		for i := 0; i < len(list.patterns); { // those of one origin on one line
			origin, names := list.patterns[i].Origin, []string{}
			for ; i < len(list.patterns) && list.patterns[i].Origin == origin; i++ {
				p := list.patterns[i]
				if name := show.Visible(cmp.Or(p.Written, p.Pattern)); !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
			line := " "
			for i, name := range names {
				if i < len(names)-1 {
					name += ","
				}
				if len(line)+len(name) > 76 {
					fmt.Fprintln(w, line)
					line = " "
				}
				line += " " + name
			}
			fmt.Fprintf(w, "%s   (%s)\n", line, show.Line(origin))
		}
	}
}

func (r *Rule) print(w io.Writer) {
	text := r.Text
	if r.Type == "command" {
		text = r.Name + " = " + text
	}
	origin := r.Origin
	if r.Layer != "" {
		origin += ", " + r.Layer
	}
	fmt.Fprintf(w, "  %s   (%s)\n", show.Line(text), show.Line(origin))
	if r.Written != "" {
		fmt.Fprintf(w, "    written as %s\n", show.Visible(r.Written))
	}
	if r.Note != "" {
		fmt.Fprintf(w, "    %s\n", show.Line(r.Note))
	}
}
