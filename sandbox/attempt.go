package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox/baseline"
	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/internal/private"
)

// Attempt is one attempt to start a program: the effective policy and the plan as the tree and the machine allow them
// at this moment. If something changes before the program is started there is another Attempt.
type Attempt struct {
	// Fitted has the effective policy (Access), which is what a tool has to be sent: it is nil if the declared policy
	// was not to be sent; and the Plan.
	*fit.Fitted
	// Made are the absolute paths of directories that were made for the call, or, in a preview, would be.
	Made []string
	// NotMade is why directories that rules ask for were not made; only with Options.Off, elsewhere it is an error.
	NotMade error
	// NotGranted are interpreters that the program claims to need and that lie outside of the system's directories
	// and the workspace, so that its claim alone grants nothing. Something else may grant them.
	NotGranted []string

	policy   *fit.Policy
	mode     string
	prepared *fit.Prepared
	temp     *private.Dir
	tempPath string // where temp is, if the tier would have one of its own
	before   *fit.Before
	watcher  *fit.Watcher // nil if nothing is to be watched
}

// attempt prepares a start of c; with dry nothing is made. With a *fit.RefusedError there is an Attempt for its report,
// and nothing to end.
func (p *Prepared) attempt(ctx context.Context, c *Cmd, m fit.Machine, dry bool) (a *Attempt, err error) {
	if p.options.Off || runtime.GOOS != "linux" {
		return p.unenforced(ctx, m, dry)
	}
	access := p.policy.Access
	if access == nil {
		return nil, fit.ErrNoPolicy
	}
	home := jptool.LookupEnv(c.Env, "HOME")
	needs, err := baseline.For(filepath.ToSlash(c.Path), c.Args, baseline.Options{
		Workspace: p.policy.Site.Root, Path: jptool.LookupEnv(c.Env, "PATH"), Network: opensNetwork(access),
		System: p.options.System, Extra: p.options.Paths,
		Names: append(slices.Clone(p.options.Names), home), Writable: p.targets(), Home: resolved(home),
	})
	if err != nil {
		return nil, err
	}
	a = &Attempt{policy: p.policy, mode: "auto", NotGranted: needs.Outside}
	if p.options.Required {
		a.mode = "required"
	}
	defer func(a *Attempt) {
		if err != nil {
			err = errors.Join(err, a.release())
		}
	}(a)
	shelf := private.ShelfIn(p.options.TempDir)
	name := shelf.Name()
	granted := slices.Concat(needs.Grants, needs.Links)
	if p.options.Keep {
		// What is to be kept has to outlive the private tree, so that the directory is made outside of it.
		name = shelf.NameToKeep()
		a.tempPath = filepath.ToSlash(shelf.Path(name))
		n := fit.Node{Path: a.tempPath, Kind: fit.Dir}
		if !dry {
			if n, err = a.makeTemp(shelf, name); err != nil {
				return nil, err
			}
		}
		granted = append(granted, fit.Grant{Node: n, Caps: jptool.AllCaps &^ jptool.Execute})
	}
	a.prepared, err = fit.Prepare(ctx, p.policy, m, fit.Options{
		Required: p.options.Required, Tier: p.options.Tier, Runtime: granted, Given: needs.Given, Devices: needs.Devices,
		Temp: filepath.ToSlash(shelf.Path(name)), Limits: p.options.Limits, Arguments: p.options.Arguments, Dry: dry,
		Checks: p.options.Checks, FirstFD: 3 + len(c.ExtraFiles),
	})
	if a.prepared == nil {
		return nil, err
	}
	a.Fitted, a.Made = a.prepared.Fitted, a.prepared.Made
	if p.policy.Unsent {
		a.unsend()
	}
	if err != nil {
		return a, err
	}
	for _, missing := range needs.Missing {
		a.NotEnforced = append(a.NotEnforced, fit.NotEnforced{
			What: "access to " + missing.Path, Origin: missing.Origin, Why: "it does not exist", Known: true,
		})
	}
	if dry {
		return a, nil
	}
	if a.Plan.Tier != fit.TierNamespace && a.Plan.Temp != "" && a.temp == nil {
		if _, err = a.makeTemp(shelf, name); err != nil {
			return nil, err
		}
	}
	return a, a.watch(ctx)
}

// unenforced prepares a start without any restriction.
func (p *Prepared) unenforced(ctx context.Context, m fit.Machine, dry bool) (*Attempt, error) {
	a := &Attempt{policy: p.policy, mode: "off"}
	why, remedy := `sandbox.mode = "off"`, `set sandbox.mode = "auto"`
	if !p.options.Off {
		a.mode = "auto"
		why, remedy = m.Lacks("landlock")
	}
	a.Fitted = &fit.Fitted{
		Access: p.policy.Access, Plan: &fit.Plan{Tier: fit.TierNone},
		Rules: []fit.Enforced{}, Narrowed: []fit.Narrowing{}, NotEnforced: []fit.NotEnforced{{What: fit.Nothing, Why: why, Remedy: remedy}},
		Unavailable: []fit.Unavailable{},
	}
	if p.policy.Unsent {
		a.Access = p.policy.Sent
	}
	if !p.options.Off && p.options.Required {
		a.mode = "required"
		return a, &fit.RefusedError{Tier: fit.TierNone, Reasons: a.NotEnforced}
	}
	if p.policy.Access != nil && !p.policy.Unsent {
		made, err := fit.Prepare(ctx, p.policy, fit.Machine{}, fit.Options{Arguments: p.options.Arguments, Dry: dry})
		if a.NotMade = err; err == nil {
			a.prepared, a.Made = made, made.Made
		}
	}
	if p.options.Keep && !dry {
		shelf := private.ShelfIn(p.options.TempDir)
		name := shelf.NameToKeep()
		if _, err := a.makeTemp(shelf, name); err != nil {
			return nil, errors.Join(err, a.release())
		}
		a.tempPath = filepath.ToSlash(shelf.Path(name))
	}
	return a, nil
}

// makeTemp makes the private directory.
func (a *Attempt) makeTemp(shelf private.Shelf, name string) (n fit.Node, err error) {
	if a.temp, err = shelf.Make(name); err == nil {
		n, err = fit.Look(filepath.ToSlash(shelf.Path(name)))
	}
	if err != nil {
		err = fmt.Errorf("making the private directory of the call: %w\nset TMPDIR to a directory that may be written", err)
	}
	return n, err
}

// watch begins to watch what must stay and what must not appear, and then looks at what has to be the same after the
// call. If nothing can be watched, the report says so, or the call is refused.
func (a *Attempt) watch(ctx context.Context) error {
	what, checks := fit.Watched{Trees: a.Plan.Trees}, slices.Clone(a.After)
	for _, n := range a.Plan.Entries() {
		checks = append(checks, fit.Check{Path: n.Path, Want: fit.SameEntry, Node: n})
	}
	for _, check := range checks {
		switch check.Want {
		case fit.StillMissing:
			what.Absent = append(what.Absent, check.Path)
		case fit.SameEntry: // without a mount on it the program can replace it for a moment
			what.Entries = append(what.Entries, check.Node)
		}
	}
	if len(what.Entries)+len(what.Absent) > 0 {
		var err error
		if a.watcher, err = fit.Watch(what); err != nil {
			if !errors.Is(err, fit.ErrNoWatch) {
				return err
			}
			not := fit.NotEnforced{
				What:   "that the call ends at once when something appears where nothing may be, or a mount is lost",
				Why:    err.Error(),
				Remedy: "raise fs.inotify.max_user_watches and fs.inotify.max_user_instances (sysctl), or end programs that watch many files",
			}
			if errors.Is(err, fs.ErrPermission) {
				not.Remedy = "make that directory readable for this user"
			}
			a.NotEnforced = append(a.NotEnforced, not)
			if a.mode == "required" {
				return &fit.RefusedError{Tier: a.Plan.Tier, Reasons: []fit.NotEnforced{not}}
			}
		}
	}
	var err error
	a.before, err = fit.Snapshot(ctx, checks)
	if err != nil {
		return err
	}
	for _, p := range a.before.Incomplete {
		a.NotEnforced = append(a.NotEnforced, fit.NotEnforced{What: "that " + p + " stays as it is", Why: "it holds too much to be compared after the call"})
	}
	return nil
}

// unsend leaves of the policy what is enforced although the tool is sent none.
func (a *Attempt) unsend() {
	a.Access = a.policy.Sent
	rules := []fit.Enforced{}
	for _, r := range a.Rules {
		r.EnforcedBy = strings.TrimPrefix(strings.TrimPrefix(r.EnforcedBy, fit.OwnCheck), " + ")
		if r.EnforcedBy != "" {
			rules = append(rules, r)
		}
	}
	a.Rules = rules
}

// end looks at what has to be as it was, when all processes of the call are gone, and removes what was made for it.
// Nothing is ever repaired: somebody else may have made the change.
func (a *Attempt) end(ctx context.Context, s *State) error {
	if a.before != nil {
		var lost *fit.Loss
		if a.watcher != nil {
			lost = a.watcher.Close() // from here on it has seen everything
		}
		s.Changes = noticed(lost, a.before.Verify(ctx))
		for _, p := range a.before.Touched {
			name, _ := a.Name(p)
			s.Touched = append(s.Touched, name)
		}
	}
	if a.temp != nil {
		s.Kept = a.temp.Keep()
	}
	return a.release()
}

// release removes what was made for the call.
func (a *Attempt) release() error {
	var errs []error
	if a.watcher != nil {
		a.watcher.Close()
	}
	if a.temp != nil {
		errs = append(errs, a.temp.Remove())
		a.temp = nil
	}
	if a.prepared != nil {
		errs = append(errs, a.prepared.Undo())
	}
	return errors.Join(errs...)
}

// noticed adds to the changes what the watcher has seen, which may have been undone since.
func noticed(l *fit.Loss, changes []fit.Change) []fit.Change {
	if l == nil || slices.ContainsFunc(changes, func(c fit.Change) bool { return c.Path == l.Path }) {
		return changes
	}
	return append(changes, fit.Change{Path: l.Path, What: string(l.Kind)})
}

// Was returns how the path of a change stood before the call, in the words of [fit.State]; "" if it is not enough that
// it stands so again. Somebody may have made use of what was there for a moment only.
func (a *Attempt) Was(change fit.Change) string {
	if change.What == "momentary" || change.What == "unwatched" {
		return ""
	}
	return a.before.Was(change)
}

// Name returns a path as rules write it. ok is false for a path outside of the workspace and its mounts, of which only
// the last part is shown.
func (a *Attempt) Name(abs string) (name string, ok bool) {
	switch name, ok = a.policy.Site.WirePath(abs); {
	case !ok:
		return path.Base(abs) + " (outside of the workspace)", false
	case name == "":
		return ".", true
	}
	return name, true
}

// Explainable returns why refusals of the call cannot be observed, or "" if they can.
func (a *Attempt) Explainable() string {
	switch {
	case a.Plan.Tier == fit.TierNone:
		return "nothing is held by the operating system, so it refuses nothing because of a rule"
	case a.Plan.NoFilter:
		return "there are no system call filters here, which announce what is to be observed"
	}
	return ""
}

// lost returns the error of a call that is ended because of what its watcher noticed.
func (a *Attempt) lost(l fit.Loss) *LostError {
	name, _ := a.Name(l.Path)
	e := &LostError{Loss: l, Name: name}
	if l.Kind != fit.Replaced {
		return e
	}
	var opened jptool.Caps
	for i := range a.Plan.Covers {
		if cover := &a.Plan.Covers[i]; fit.Holds(l.Path, cover.Path) {
			opened |= a.Plan.Granted(cover.Path) & cover.Withholds()
		}
	}
	e.Read, e.Changed = opened.Has(jptool.Read), opened&jptool.Write != 0
	return e
}

func opensNetwork(access *jptool.AccessPolicy) bool {
	return len(access.Net) == 0 || slices.ContainsFunc(access.Net, func(r jptool.NetRule) bool { return r.Allow })
}

// resolved returns a directory without links, as far as that can be found out.
func resolved(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return filepath.ToSlash(dir)
}

// Report says what the operating system enforces of a call. It never says more than was reached.
type Report struct {
	// Mode is auto, required or off; empty if the call came to nothing before that was known.
	Mode string `json:"mode"`
	// Tier is how the call was enforced, none if nothing was started; ABI the version of Landlock in use.
	Tier        fit.Tier          `json:"tier"`
	ABI         int               `json:"abi"`
	Rules       []fit.Enforced    `json:"rules"`
	Narrowed    []fit.Narrowing   `json:"narrowed"`
	NotEnforced []fit.NotEnforced `json:"not_enforced"`
	// Unavailable is what programs usually find around them and the call did without, although no rule took it away.
	Unavailable []fit.Unavailable `json:"unavailable"`
	// Changed is what was not as the rules want it after the call, or while it ran, by absolute paths.
	Changed []fit.Change `json:"changed,omitempty"`
	// Made are directories that were missing and were made for the call, as rules write them. Those that were still
	// empty when it ended are gone again.
	Made []string `json:"made,omitempty"`
	// Withheld are the places that patterns were found to withhold, and Scanned is what was looked at to find them.
	Withheld []fit.Withheld `json:"withheld,omitempty"`
	Scanned  fit.Scanned    `json:"scanned,omitzero"`
}

// NewReport returns the report of a call that started nothing.
func NewReport(mode string) *Report {
	return &Report{
		Mode: mode, Tier: fit.TierNone,
		Rules: []fit.Enforced{}, Narrowed: []fit.Narrowing{}, NotEnforced: []fit.NotEnforced{}, Unavailable: []fit.Unavailable{},
	}
}

// Report returns what the call is enforced with.
func (a *Attempt) Report() *Report {
	return &Report{
		Mode: a.mode, Tier: a.Plan.Tier, ABI: a.Plan.ABI,
		Rules: a.Rules, Narrowed: a.Narrowed, NotEnforced: slices.Clone(a.NotEnforced), Unavailable: a.Unavailable, Made: a.MadeNames(),
		Withheld: a.Withheld, Scanned: a.Scanned,
	}
}

// MadeNames returns Made as rules write the paths.
func (a *Attempt) MadeNames() (names []string) {
	for _, p := range a.Made {
		if name, ok := a.policy.Site.WirePath(p); ok {
			names = append(names, name)
		}
	}
	return names
}
