package agreement

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/internal/engine"
	"github.com/jptools/jptools/sandbox/internal/linux"
)

// The known differences (docs/known-differences.md).
const (
	masked    = "a masked directory lists as empty"
	replaces  = "create and delete replace content by renaming"
	exdev     = "rename or link across grants or mounts"
	emptyFile = "create without update leaves an empty file"
	missing   = "a rule on a missing path"
	later     = "a pattern covers what was not there"
	onTheWay  = "a pattern covers a link to what it does not cover, or what holds the link"
	reported  = "reported as not enforced, and found after the call"
)

// way is a machine and what is wanted of it.
type way struct {
	machine fit.Machine
	options fit.Options
	tier    fit.Tier
}

// bug is a planted one. Nil parts change nothing.
type bug struct {
	fitted func(*fit.Fitted)
	plan   func(*fit.Plan)
	// mapping changes the rights that capabilities become, capabilities leaves the program those of the process.
	mapping      func(*rights)
	capabilities bool
}

// rights are the Landlock rights that capabilities become.
type rights struct{ Read, Create, Update, Delete, Execute uint64 }

// faults are the parts of a bug that the engine makes.
func (b bug) faults() engine.Faults {
	f := engine.Faults{KeepCapabilities: b.capabilities}
	if b.mapping != nil {
		m := linux.DefaultMapping
		r := rights{m[0], m[1], m[2], m[3], m[4]}
		b.mapping(&r)
		f.Mapping = &[5]uint64{r.Read, r.Create, r.Update, r.Delete, r.Execute}
	}
	return f
}

// runner runs scenes in a directory of its own.
type runner struct {
	base    string
	binary  string
	machine fit.Machine
	ways    map[string]way
	planted bool
	bug     bug
	n       int
	counts  counts
}

// result of one operation: what the check says, and what happened.
type result struct {
	op         op
	allowed    bool
	control    string
	kernel     string
	difference string
}

// wrong is a disagreement.
type wrong struct {
	scene  *scene
	op     op
	what   string
	fitted *fit.Fitted
}

func (w *wrong) String() string {
	one, drawn := *w.scene, w.op
	drawn.FD = 0 // the runner chose it
	if i := slices.Index(one.Ops, drawn); i >= 0 && !one.Chain {
		one.Ops = one.Ops[i : i+1]
	}
	var b strings.Builder
	fmt.Fprintf(&b, "DISAGREEMENT on %s: %s\ntree:\n  %s\ndeny %q, secrets %q, declared:\n", w.op, w.what, strings.Join(one.Tree, "\n  "), one.Access.Deny, one.Access.Secrets)
	for i := range one.Access.FS {
		fmt.Fprintf(&b, "  %s\n", fit.FsText(&one.Access.FS[i]))
	}
	if w.fitted != nil {
		fmt.Fprintf(&b, "effective:\n")
		for i := range w.fitted.Access.FS {
			fmt.Fprintf(&b, "  %s\n", fit.FsText(&w.fitted.Access.FS[i]))
		}
		fmt.Fprintf(&b, "  pinned %q, deny %q, secrets %q\n", w.fitted.Access.Pinned, w.fitted.Access.Deny, w.fitted.Access.Secrets)
		fmt.Fprintf(&b, "withheld: %+v\n", w.fitted.Withheld)
		fmt.Fprintf(&b, "plan: %s\nnot enforced: %+v\nafter: %+v\n", must(json.Marshal(w.fitted.Plan)), w.fitted.NotEnforced, w.fitted.After)
	}
	fmt.Fprintf(&b, "alone: go test ./internal/agreement -run TestScene -agreement.scene='%s'", one.String())
	return b.String()
}

// run runs a scene. It is not usable when the policy is refused, or held in another way than the
// scene wants.
func (r *runner) run(s *scene) (list []result, usable bool, bad *wrong) {
	r.n++
	dir, twin := fmt.Sprintf("%s/s%d", r.base, r.n), fmt.Sprintf("%s/t%d", r.base, r.n)
	defer func() { do(errors.Join(removeAll(dir), removeAll(twin))) }()
	build(dir, s.Tree)
	root := dir + "/ws"
	declared, err := s.declared(dir)
	if err != nil {
		return nil, false, nil
	}
	w := r.ways[s.Way]
	w.options.Runtime, w.options.Arguments = runtimeOf(r.binary), s.Named
	ctx := context.Background()
	p, err := fit.Prepare(ctx, declared, w.machine, w.options)
	if err != nil {
		return nil, true, &wrong{s, op{}, fmt.Sprintf("it cannot be fitted: %v", err), nil}
	}
	defer func() {
		if err := p.Undo(); !r.planted { // where a mistake is planted, a program can move what was made for the call
			do(err)
		}
	}()
	if p.Plan.Tier != w.tier {
		return nil, false, nil
	}
	if s.leads(root) {
		r.counts.linked++
	}
	if r.bug.fitted != nil {
		r.bug.fitted(p.Fitted)
	}
	fail := func(o op, format string, args ...any) *wrong {
		return &wrong{s, o, fmt.Sprintf(format, args...), p.Fitted}
	}
	effective, err := open2(root, p.Access)
	if err != nil {
		return nil, true, fail(op{}, "the effective policy cannot be opened: %v", err)
	}
	defer effective.Close()
	asDeclared := must(open2(root, declared.Access))
	defer asDeclared.Close()
	bare := *p.Access
	bare.Deny, bare.Secrets = nil, nil
	without := must(open2(root, &bare))
	defer without.Close()
	check, wide, loose := &judge{ws: effective, root: root, plan: p.Plan, mounts: declared.Mounts}, &judge{ws: asDeclared, root: root, plan: p.Plan}, &judge{ws: without, root: root, plan: p.Plan}
	for _, place := range declared.Places {
		check.rules = append(check.rules, place.Abs)
	}
	for _, place := range declared.Evaluator.Denied() {
		check.rules = append(check.rules, declared.Site.Abs(place))
	}
	if len(p.Withheld) > 0 {
		r.counts.withheld++
	}
	before := must(fit.Snapshot(ctx, p.After))

	build(twin, s.Tree)
	is := scan(dir)
	for at, e := range is { // made for the call
		if e.kind == 'd' {
			do(os.MkdirAll(path.Join(twin, at), 0o755))
		}
	}
	was := scan(twin)
	plan := *p.Plan
	plan.Covers, plan.Grants, plan.Pins = slices.Clone(plan.Covers), slices.Clone(plan.Grants), slices.Clone(plan.Pins)
	if r.bug.plan != nil {
		r.bug.plan(&plan)
	}
	c, err := start(r.bug.faults(), &plan, r.binary)
	if err != nil {
		return nil, true, fail(op{}, "it cannot be started: %v", err)
	}
	defer func() {
		if err := c.end(); err != nil && bad == nil {
			bad = fail(op{}, "%v", err)
		}
	}()
	spare := r.base + "/spare"
	used := map[int]bool{} // files that have a name
	for _, o := range s.Ops {
		if o.Do == "replace" && check.missing(o.B) {
			o.Do = "rename" // what was to be replaced has never come to be, or is gone
		}
		control := attempt(o.in(twin))
		did := scan(twin)
		done := effect(twin, was, did, true)
		if control.Result != "ok" {
			r.counts.useless++
			was = restore(twin, spare, was)
			continue
		}
		if o.Do == "stage" {
			if o.FD = check.staged(o.A, used); o.FD == 0 {
				r.counts.useless++
				was = restore(twin, spare, was)
				continue
			}
		}
		res := result{op: o, allowed: check.allows(o), control: control.text(done)}
		if more := check.excess(wide, o); more != 0 {
			return list, true, fail(o, "the effective policy grants %s, and the declared one does not", more)
		}
		across, behind := check.across(o) || o.Do == "stage" && s.strange(check, o), check.behindMask(o.A) || o.B != "" && check.behindMask(o.B)
		behind = behind || o.Do == "link" && check.hidden(o.A)
		// All that a path says is asked before the operation, which may take away what it leads through.
		copies := o.Do == "rename" && check.copies(o.A, o.B) && !check.holdsMount(o.A)
		skeleton, above, over := check.skeleton(o.A), check.aboveMissing(o), check.entryGrant(o)
		detour := !res.allowed && check.byOwnName(o)
		unfound := check.unfound(loose, p.Withheld, o)
		empty := loose.emptyFile(o, s, dir)
		got, err := c.attempt(o.in(dir))
		if err != nil {
			return list, true, fail(o, "the probe died: %v", err)
		}
		used[o.FD] = o.FD != 0 && got.Result == "ok"
		now := scan(dir)
		became := effect(dir, is, now, true)
		res.kernel = got.text(became)
		same := res.kernel == res.control
		nothing := got.Seen == "" && became == ""
		switch {
		case res.allowed && same:
			if (o.Do == "replace" || o.Do == "exchange") && !over.Has(jptool.Update) {
				res.difference = replaces
			}
		case res.allowed && nothing && behind:
			res.difference = masked
		case res.allowed && nothing && across && slices.Contains(refusals, got.Result):
			res.difference = exdev
			if !copies {
				break
			}
			o.Do = "copy"
			if got, err = c.attempt(o.in(dir)); err != nil {
				return list, true, fail(o, "the probe died: %v", err)
			}
			now = scan(dir)
			if copied := effect(dir, is, now, false); got.Result != "ok" || copied != effect(twin, was, did, false) {
				return list, true, fail(res.op, "the check allows it, a rename gives %s, and a copy %s", res.kernel, got.text(copied))
			}
		case res.allowed:
			return list, true, fail(o, "the check allows it, unprotected it gives %s, in the sandbox %s", res.control, res.kernel)
		case nothing:
		case o.Do == "write" && got.Result != "ok" && check.entry(o.A, 0) != nil && became == check.emptyFile(o, s, dir):
			res.difference = emptyFile
		case unfound && (same || o.Do == "write" && got.Result != "ok" && became == empty):
			res.difference = later
		case detour && same:
			res.difference = onTheWay
		case o.Do == "list" && became == "" && subset(strings.Fields(got.Seen), skeleton):
			res.difference = masked
		default:
			changes := before.Verify(ctx)
			if len(changes) == 0 && above && same {
				res.difference = missing
				break
			}
			if len(changes) == 0 || p.Exact() && !onlyMissing(changes, p.After) {
				return list, true, fail(o, "the check refuses it, and in the sandbox it gives %s", res.kernel)
			}
			res.difference = reported
			if p.Exact() {
				res.difference = missing
			}
			return append(list, res), true, nil // what was protected is another object now
		}
		list = append(list, res)
		if !slices.Equal(was.mounted(), did.mounted()) || !slices.Equal(is.mounted(), now.mounted()) {
			return list, true, nil // what is mounted cannot be put back
		}
		if s.Chain && same {
			is, was = now, did
			continue
		}
		is, was = restore(dir, spare, is), restore(twin, spare, was)
	}
	return list, true, nil
}

// leads reports whether a symlink that is no mount leads from the path of a rule to where it holds.
func (s *scene) leads(root string) bool {
	mounts := map[string]bool{}
	for _, r := range s.Access.FS {
		mounts[path.Join(root, r.Path)] = r.External
	}
	return slices.ContainsFunc(s.Access.FS, func(r jptool.FsRule) bool {
		rel, err := wspath.Parse(r.Path)
		if err != nil || r.External {
			return false
		}
		to, _ := wspath.Canonicalize(root, rel, false, nil)
		return slices.ContainsFunc(to.Hops, func(h wspath.Hop) bool { return !mounts[h.Entry] })
	})
}

// declared is the policy of a scene in dir.
func (s *scene) declared(dir string) (*fit.Policy, error) {
	text := strings.ReplaceAll(string(must(json.Marshal(s.Access))), "$ROOT", dir)
	access, err := jptool.DecodeAccess([]byte(text))
	if err != nil {
		return nil, err
	}
	p, err := fit.Compile(access, dir+"/ws")
	if err != nil || !s.Guarded {
		return p, err
	}
	return guarded(p, access)
}

// guarded adds rules as the host makes them, to protect what makes git run programs.
func guarded(p *fit.Policy, access *jptool.AccessPolicy) (*fit.Policy, error) {
	made := map[string]bool{}
	for _, name := range []string{".git/config", ".git/hooks", ".jp", ".jp.toml"} {
		abs := p.Site.Root + "/" + name
		var caps jptool.Caps
		own := false
		for _, place := range p.Places { // ordered, so that the deepest comes last
			own = own || holds(abs, place.Abs)
			if holds(place.Abs, abs) {
				caps = place.Caps
			}
		}
		if own || caps&jptool.Write == 0 {
			continue
		}
		access.FS = append(access.FS, fit.FsRule(name, caps&(jptool.Read|jptool.Execute)))
		made[abs] = true
	}
	p, err := fit.Compile(access, p.Site.Root)
	if err == nil {
		for i := range p.Places {
			p.Places[i].SelfProtection, p.Places[i].Guarded = made[p.Places[i].Abs], made[p.Places[i].Abs]
		}
	}
	return p, err
}

// open2 opens a policy as a tool does that reads it from the wire.
func open2(root string, a *jptool.AccessPolicy) (*jptool.Workspace, error) {
	access, err := jptool.DecodeAccess(must(json.Marshal(a)))
	if err != nil {
		return nil, err
	}
	c := jptool.Context{Root: root, Action: jptool.Run, Access: access}
	return c.Open()
}

// in is the operation in the scene at dir.
func (o op) in(dir string) op {
	o.A = dir + "/ws/" + o.A
	if o.B != "" {
		o.B = dir + "/ws/" + o.B
	}
	return o
}

func (a answer) text(became string) string {
	var b strings.Builder
	b.WriteString(a.Result)
	if a.Seen != "" {
		fmt.Fprintf(&b, ", seen %s", a.Seen)
	}
	if became != "" {
		fmt.Fprintf(&b, ", effect %s", became)
	}
	return b.String()
}

// entryGrant is what is granted at the place that an operation puts something into.
func (j *judge) entryGrant(o op) jptool.Caps {
	t, err := j.ws.CheckEntry(o.B, 0)
	if err != nil {
		return 0
	}
	return t.Granted()
}

// missing reports whether nothing is at a place.
func (j *judge) missing(wire string) bool {
	_, err := os.Lstat(j.abs(wire))
	return err != nil
}

// emptyFile is the effect of a new empty file where creating is granted and writing is not.
func (j *judge) emptyFile(o op, s *scene, dir string) string {
	if t := j.entry(o.A, jptool.Create); t == nil || t.Granted().Has(jptool.Update) {
		return "nothing of the kind"
	}
	return "+" + s.scanned(strings.TrimPrefix(j.abs(o.A), dir+"/")) + ` f ""`
}

func subset(list, of []string) bool {
	return !slices.ContainsFunc(list, func(s string) bool { return !slices.Contains(of, s) })
}

// onlyMissing reports whether all changes are about places where nothing was.
func onlyMissing(changes []fit.Change, checks []fit.Check) bool {
	return !slices.ContainsFunc(changes, func(c fit.Change) bool {
		return slices.ContainsFunc(checks, func(k fit.Check) bool {
			return k.Path == c.Path && k.Want != fit.StillMissing && k.Want != fit.NoLink
		})
	})
}
