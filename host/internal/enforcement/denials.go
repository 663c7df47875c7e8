package enforcement

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/policy"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox"
	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/observe"
)

// Denial is one thing that the sandbox refused. It is diagnostics: the program could make it up.
type Denial struct {
	// Operation is read, list, write, create, delete, execute, see, connect, listen, or
	// "change metadata of".
	Operation observe.Operation `json:"operation"`
	// Path is relative to the workspace, or absolute outside of it; Address is that of a
	// connection.
	Path    string `json:"path,omitempty"`
	Address string `json:"address,omitempty"`
	// Capabilities are those that were lacking.
	Capabilities []string `json:"capabilities,omitempty"`
	// Rule is the one that decided, where there is one. Where it is written is not told: that may
	// be a path outside.
	Rule   string `json:"rule,omitempty"`
	Reason string `json:"reason"`
	// NearestGrant is the nearest path on which a rule grants it.
	NearestGrant string `json:"nearest_grant,omitempty"`
	// Remedy is what would allow it, "" where nothing does.
	Remedy string `json:"remedy,omitempty"`
	// Times counts the attempts.
	Times int `json:"times"`
	// Beside counts calls that were refused likewise in the same directory, and are not listed.
	Beside int `json:"beside,omitempty"`

	at   string // outside: what would have to be granted, or nothing
	caps jptool.Caps
}

// String is the denial in one line, and a second one with the remedy; names are made visible.
func (e *Denial) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %s", e.Operation, show.Visible(e.Path+e.Address), show.Line(e.Reason))
	if e.NearestGrant != "" {
		fmt.Fprintf(&b, " (nearest grant: %s)", show.Visible(e.NearestGrant))
	}
	if e.Times > 1 {
		fmt.Fprintf(&b, " [%d times]", e.Times)
	}
	if e.Beside > 0 {
		fmt.Fprintf(&b, " [and %d more calls in its directory]", e.Beside)
	}
	if e.Remedy != "" {
		b.WriteString("\n  " + show.Line(e.Remedy))
	}
	return b.String()
}

// DenialText is a list of denials, as it stands in messages.
func DenialText(list []Denial) string {
	var b strings.Builder
	for i := range list {
		b.WriteString("- " + list[i].String() + "\n")
	}
	return b.String()
}

// ExplainDenials is the flag of `run` and `sandbox exec` that has refusals observed; DenialHint suggests it.
const (
	ExplainDenials = "--explain-denials"
	DenialHint     = "to see what the sandbox refused, run it again with " + ExplainDenials
)

// Explainable refuses the flag where nothing can observe what is refused.
func Explainable(flag bool) error {
	if flag && !observe.Supported {
		return exit.Errorf(exit.Usage, "%s: nothing can observe what is refused on %s/%s (Linux on amd64 or arm64 can)\nleave it out", ExplainDenials, runtime.GOOS, runtime.GOARCH)
	}
	return nil
}

// PrintDenials tells a person what the sandbox refused, and what it refuses unobserved. It leaves out the denials inside
// the workspace if the error of the tool names them already.
func PrintDenials(out *term.Output, inside []Denial, o *Observed, named bool) {
	if len(inside)+len(o.Outside) == 0 {
		out.Note("no refused call was seen")
	}
	if named {
		inside = nil
	}
	for _, e := range slices.Concat(inside, o.Outside) {
		out.Say("refused: ", "1;35", e.String())
	}
	if o.More > 0 {
		out.Note(fmt.Sprintf("%d more calls were refused; only the first %d different ones are listed", o.More, observe.Most))
	}
	if o.Unread > 0 {
		out.Note(fmt.Sprintf("%d calls could not be looked at", o.Unread))
	}
	out.Note("not observed:\n  " + strings.Join(o.NotObserved, "\n  "))
}

// Observed is what was found out of refused calls besides those in the workspace. It names
// paths outside and is for a person, not for a model.
type Observed struct {
	// Outside are refusals outside the workspace and its mounts, and in them those of what is
	// hidden: a model is not told whether it exists.
	Outside []Denial `json:"outside"`
	// More counts refused calls beyond those that are listed, Unread calls that could not be
	// looked at.
	More   int `json:"more"`
	Unread int `json:"unread"`
	// NotObserved is what is refused without being listed.
	NotObserved []string `json:"not_observed"`
}

// Explanation is how refusals of a call are explained.
type Explanation struct {
	// Declared is the policy that the call was prepared from, Attempt what it was started with.
	Declared *policy.Declared
	Attempt  *sandbox.Attempt
	// Home is the home directory that the program saw.
	Home string
	// Flags: remedies are flags of `sandbox exec`, after Before, instead of settings.
	Flags  bool
	Before string
}

// Explain returns what a program was refused in the workspace and its mounts, and the rest, which a model is not shown.
func (x Explanation) Explain(seen *observe.Seen) ([]Denial, *Observed) {
	inside := []Denial{}
	o := &Observed{Outside: []Denial{}, More: seen.More, Unread: seen.Unread, NotObserved: observe.Unseen(x.Attempt.Plan)}
	for i := range seen.Refusals {
		if e, in := x.explain(&seen.Refusals[i]); in {
			inside = append(inside, e)
		} else {
			o.Outside = append(o.Outside, e)
		}
	}
	together(o.Outside, x.Home)
	for i := range o.Outside {
		if e := &o.Outside[i]; e.at != "" {
			e.Remedy = x.outside(e.at, e.caps)
		}
	}
	o.Outside = slices.DeleteFunc(slices.Clone(o.Outside), func(e Denial) bool { return e.onTheWay(o.Outside) })
	// What almost every runtime tries at its start last.
	slices.SortStableFunc(o.Outside, func(x, y Denial) int { return system(x.Path) - system(y.Path) })
	return inside, o
}

// onTheWay reports whether e is only a look at what another of list is, or is in: who grants that makes
// e visible too, and to grant e itself, such as the home directory, would be far too much.
func (e *Denial) onTheWay(list []Denial) bool {
	return e.Operation == observe.OpSee && path.IsAbs(e.Path) && slices.ContainsFunc(list, func(f Denial) bool {
		return f.Remedy != "" && (strings.HasPrefix(f.Path, e.Path+"/") || f.Path == e.Path && f.Operation != e.Operation)
	})
}

func system(p string) int {
	for _, dir := range []string{"/proc/", "/sys/", "/dev/"} {
		if strings.HasPrefix(p, dir) {
			return 1
		}
	}
	return 0
}

// explain reports also whether a model may read it.
func (x Explanation) explain(r *observe.Refusal) (Denial, bool) {
	d := x.Declared
	e := Denial{Operation: r.Operation, Path: r.Path, Address: r.Address, Capabilities: r.Lacking.Names(), Times: r.Times, Beside: r.Beside}
	if r.Address != "" {
		x.connection(&e)
		return e, true
	}
	need := cmp.Or(r.Lacking, jptool.Read)
	entry := need&(jptool.Create|jptool.Delete) != 0
	why, inside := d.ExplainRefusal(r.Path, need, entry)
	if !inside {
		e.beyond(r)
		return e, false
	}
	e.Path, e.Reason, e.Remedy = why.Target, why.Reason, why.Remedy
	if why.Rule != nil {
		e.Rule = why.Rule.Text
	}
	if near, ok := d.Nearest(need, e.Path); ok && !why.Allowed {
		e.NearestGrant = near.Name
	}
	switch {
	case r.Why == observe.Special:
		e.special()
	case r.Why == observe.Kept && !why.Allowed && why.Rule != nil && why.Rule.Name == e.Path:
		// Its own rule would have to grant it in any case.
	case r.Why == observe.Kept:
		e.Reason, e.Remedy = "it has to stay where it is, because a rule depends on it", ""
		if keeper, ok := d.Keeper(e.Path); ok {
			e.Rule, e.Reason = keeper.Text, fmt.Sprintf("it has to stay where it is, because the rule on %q depends on it", keeper.Name)
		}
	case why.Allowed:
		e.narrowed(x.Attempt.Narrowed)
	case x.Flags:
		at := e.Path
		if entry {
			at = path.Dir(at)
		}
		caps := r.Lacking
		for _, name := range why.Granted {
			had, _ := jptool.ParseCapability(name)
			caps |= had
		}
		e.Remedy = x.grant(at, caps)
	}
	if why.Rule != nil && why.Rule.Name == e.Path && need&(jptool.Create|jptool.Delete) == jptool.Create && e.Remedy != "" {
		// Its directory would have to allow it, for all that is in there.
		e.Remedy = "create it before the call; or " + e.Remedy
	}
	return e, r.Why != observe.Hidden
}

func (x Explanation) connection(e *Denial) {
	if e.Operation == observe.OpListen {
		e.Reason = "no program in the sandbox may listen on TCP ports"
		return
	}
	port := e.Address[strings.LastIndexByte(e.Address, ':')+1:]
	e.Reason = "no rule opens TCP port " + port
	e.Remedy = "add a rule with port = " + port + " and allow = true to access.net"
	if x.Flags {
		e.Remedy = `name it in a policy file, --policy FILE, with "net": [{"host": "*", "port": ` + port + `, "allow": true}]`
	}
}

func (e *Denial) special() {
	e.Reason, e.Remedy = "FIFOs, sockets and devices cannot be made here", "make it in the private directory of the call, $TMPDIR"
	e.Capabilities, e.NearestGrant = nil, ""
}

// narrowed is for what the rules grant and the sandbox does not. The reasons may name paths
// outside, so they are left to the report of the sandbox.
func (e *Denial) narrowed(list []fit.Narrowing) {
	e.Reason, e.Remedy = "the rules grant it, but not all that they grant can be held", "see what was narrowed in the report of the sandbox"
	for _, n := range list {
		if n.Rule == e.Rule {
			e.Reason = "the rule was narrowed to " + n.Became
		}
	}
}

// beyond is for paths that no rule of a workspace speaks of. Explain writes the remedies of those that can be granted.
func (e *Denial) beyond(r *observe.Refusal) {
	e.Reason = "it lies outside the workspace and its mounts, and nothing grants it"
	at := r.Path
	if r.Lacking&(jptool.Create|jptool.Delete) != 0 {
		at = path.Dir(at)
	}
	lacking := cmp.Or(r.Lacking, jptool.Read)
	switch {
	case r.Why == observe.Special:
		e.special()
	case system(r.Path) > 0 || at == "/":
		// Not to be had.
	case strings.HasPrefix(r.Path, "/tmp/") && lacking&jptool.Write != 0:
		e.Remedy = "write to the private directory of the call, $TMPDIR"
	default:
		e.at, e.caps = at, lacking
	}
}

// outside is what to write so that caps are granted outside of the workspace.
func (x Explanation) outside(at string, lacking jptool.Caps) string {
	if x.Flags {
		return x.grant(at, lacking)
	}
	caps := lacking&jptool.Execute | jptool.Read // nothing can be used without reading
	if lacking&jptool.Write != 0 {
		caps |= jptool.Write
	}
	return fmt.Sprintf("add %s to sandbox.paths in your own configuration", policy.Suggestion(at, caps))
}

// many is of how many entries of a directory that were refused the directory is proposed: what a program reads of
// a cache or a tool chain is never the same, and file by file nobody comes to an end.
const many = 3

// together has remedies name a directory where many of its entries were refused. Directories that hold more than one
// program's things, and secrets among them, are never proposed: the home directory and what lies in it, and those
// at the root.
func together(list []Denial, home string) {
	dirs := map[string]bool{}
	for i := range list {
		for at := list[i].at; len(at) > 1; at = path.Dir(at) {
			dirs[path.Dir(at)] = true
		}
	}
	home = path.Clean(home)
	deepest := slices.SortedFunc(maps.Keys(dirs), func(a, b string) int {
		return cmp.Or(strings.Count(b, "/")-strings.Count(a, "/"), strings.Compare(a, b))
	})
	for _, dir := range deepest {
		if strings.Count(dir, "/") < 2 || strings.HasPrefix(home+"/", dir+"/") || path.Dir(dir) == home {
			continue
		}
		entries, caps := map[string]bool{}, jptool.Caps(0)
		for i := range list {
			if rest, in := strings.CutPrefix(list[i].at, dir+"/"); in {
				name, _, _ := strings.Cut(rest, "/")
				entries[name] = true
				caps |= list[i].caps
			}
		}
		if len(entries) < many {
			continue
		}
		for i := range list {
			if e := &list[i]; e.at == dir || strings.HasPrefix(e.at, dir+"/") {
				e.at, e.caps = dir, caps|e.caps
			}
		}
	}
}

// grant is the flag that grants caps besides reading.
func (x Explanation) grant(p string, caps jptool.Caps) string {
	p = strings.ReplaceAll(p, ",", `\,`)
	return fmt.Sprintf("add %s--grant %s", x.Before, show.Visible("path="+p+","+strings.Join((caps|jptool.Read).Names(), ",")))
}
