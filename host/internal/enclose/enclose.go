// Package enclose prepares one start of a program for the sandbox, and looks after it: what
// the program needs, the policy fitted to the machine and the tree, a private directory, what
// must not change while it runs, and what has to be as it was afterwards.
//
// A Call is for one start: the tree changes between starts.
package enclose

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/policy"
	"github.com/jptools/jptools/host/internal/private"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/sandbox/baseline"
	"github.com/jptools/jptools/sandbox/fit"
)

// Settings are what a call is held with.
type Settings struct {
	// Required refuses what cannot be held exactly; Tier forces one.
	Required bool
	Tier     fit.Tier
	Machine  fit.Machine
	// Paths are what programs may use besides (sandbox.paths, from the user's own config).
	Paths []baseline.Extra
	// Names are paths as people write them, whose links a private tree has too; HOME is always one.
	Names  []string
	Limits fit.Limits
	// TempBase is where the private directory is made if the tier has none of its own.
	TempBase string
	// Keep makes the private directory there in every tier, so that what a tool that was killed left of
	// the files that it was writing can be kept: see [private.Dir.Keep].
	Keep bool
	// Arguments are the texts among the arguments of the call: what they name may need directories
	// that are missing.
	Arguments []string
	// Dry: the call is only looked at. Nothing is made, and it is not started.
	Dry bool
	// FirstFD is the number of the first descriptor for staged files; 0 is 3.
	FirstFD int
}

// WithoutNamespaces are the settings after a start that was refused them, as err says.
func (s Settings) WithoutNamespaces(err error) Settings {
	why := map[string]string{}
	maps.Copy(why, s.Machine.Why)
	why["namespaces"] = err.Error()
	s.Machine.Namespaces, s.Machine.Why = false, why
	return s
}

// Program is what is to be started.
type Program struct {
	// Path is absolute, Argv its command line with the name it is called by.
	Path string
	Argv []string
	// Env is its whole environment.
	Env []string
}

// Call is a start that is prepared. End it, also when the program was never started.
type Call struct {
	*fit.Prepared
	// Outside are interpreters that the program claims to have and that were not granted because of
	// that claim, see [baseline.Baseline].
	Outside  []string
	program  Program
	required bool
	temp     *private.Dir
	keep     string   // where temp is, if something of it may be kept
	kept     []string // what was
	before   *fit.Before
	watcher  *fit.Watcher // nil where nothing is watched
	stop     context.CancelCauseFunc
	declared *policy.Declared
}

// Prepare fits a policy to a program, the machine and the tree as it is. With a
// *fit.RefusedError the Call is there for its report, and needs no End. A tool that is told
// nothing (d.Access is nil) is not told more here, but what it leaves is looked at like everybody's.
func Prepare(ctx context.Context, d *policy.Declared, p Program, s Settings) (call *Call, err error) {
	told := d.Access != nil
	d = d.Guarded()
	open := slices.ContainsFunc(d.Access.Net, func(r jptool.NetRule) bool { return r.Allow }) || len(d.Access.Net) == 0
	needs, err := baseline.For(p.Path, p.Argv, baseline.Options{
		Workspace: d.Root, Path: config.Lookup(p.Env, "PATH"), Network: open, Extra: s.Paths,
		Names: append(slices.Clone(s.Names), config.Lookup(p.Env, "HOME")), Writable: targets(d), Home: home(p.Env),
	})
	if err != nil {
		return nil, err
	}
	c := &Call{program: p, required: s.Required, Outside: needs.Outside, declared: d}
	defer func() {
		if err == nil || c.temp == nil { // there is nothing, or End removes it
			return
		}
		if left := c.temp.Remove(); left != nil {
			err = errors.Join(err, left)
		}
	}()
	runtime := parts(needs)
	shelf := private.ShelfIn(s.TempBase)
	temp := shelf.Name()
	if s.Keep {
		temp = shelf.NameToKeep()
		c.keep = filepath.ToSlash(shelf.Path(temp))
		n := fit.Node{Path: c.keep, Kind: fit.Dir}
		if !s.Dry {
			if c.temp, err = shelf.Make(temp); err != nil {
				return nil, NoPrivate(err)
			}
			if n, err = fit.Look(c.keep); err != nil {
				return nil, NoPrivate(err)
			}
		}
		runtime = append(runtime, fit.Grant{Node: n, Caps: jptool.AllCaps &^ jptool.Execute})
	}
	c.Prepared, err = fit.Prepare(ctx, d.ForFit(), s.Machine, fit.Options{
		Required: s.Required, Tier: s.Tier, Runtime: runtime, Devices: devices(needs),
		Temp: filepath.ToSlash(shelf.Path(temp)), Limits: s.Limits, FirstFD: s.FirstFD,
		Arguments: s.Arguments, Dry: s.Dry,
	})
	if c.Prepared == nil {
		return nil, err
	}
	if !told {
		c.untold()
	}
	if err != nil {
		return c, err
	}
	for _, m := range needs.Missing {
		c.NotEnforced = append(c.NotEnforced, fit.NotEnforced{
			What: fmt.Sprintf("access to %s", m.Path), Origin: m.Origin, Why: "it does not exist", Known: true,
		})
	}
	if s.Dry {
		return c, nil
	}
	if c.Plan.Tier != fit.TierNamespace && c.Plan.Temp != "" && c.temp == nil {
		if c.temp, err = shelf.Make(temp); err != nil {
			return nil, errors.Join(NoPrivate(err), c.Undo())
		}
	}
	if err = c.watch(); err == nil {
		c.before, err = fit.Snapshot(ctx, c.checks())
	}
	if err != nil {
		err = errors.Join(err, c.release())
		c.temp = nil
		if refused := (*fit.RefusedError)(nil); errors.As(err, &refused) {
			return c, err
		}
		return nil, err
	}
	for _, p := range c.before.Incomplete {
		c.NotEnforced = append(c.NotEnforced, fit.NotEnforced{What: "that " + p + " stays as it is", Why: "it holds too much to be compared after the call"})
	}
	return c, nil
}

// home is the home directory without links.
func home(env []string) string {
	dir := config.Lookup(env, "HOME")
	if real, err := wspath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return filepath.ToSlash(dir)
}

// targets are the directories outside of the workspace that mounts lead to.
func targets(d *policy.Declared) []string {
	var list []string
	for _, m := range d.Mounts() {
		list = append(list, m.Target)
	}
	return list
}

// NoPrivate says that there is no private directory, and what to do.
func NoPrivate(err error) error {
	return fmt.Errorf("making the private directory of the call: %w\nset TMPDIR to a directory that may be written", err)
}

// Directories makes the directories that a call needs where nothing is enforced by the operating
// system, until what it returns is undone. With dry it only says which.
func Directories(ctx context.Context, d *policy.Declared, arguments []string, dry bool) (*fit.Prepared, error) {
	return fit.Prepare(ctx, d.ForFit(), fit.Machine{}, fit.Options{Arguments: arguments, Dry: dry})
}

// untold leaves of the policy what holds although the tool is not told of it.
func (c *Call) untold() {
	c.Access = nil
	rules := []fit.Enforced{}
	for _, r := range c.Rules {
		r.EnforcedBy = strings.TrimPrefix(strings.TrimPrefix(r.EnforcedBy, fit.OwnCheck), " + ")
		if r.EnforcedBy != "" {
			rules = append(rules, r)
		}
	}
	c.Rules = rules
}

// parts are what the private tree needs of the host's: what is granted, and the links on the
// way to it, which grant nothing.
func parts(b *baseline.Baseline) []fit.Grant {
	list := slices.Grow(slices.Clone(b.Grants), len(b.Links))
	for _, l := range b.Links {
		list = append(list, fit.Grant{Node: fit.Node{Path: l.Path, Kind: fit.Link, ID: l.ID}})
	}
	return list
}

func devices(b *baseline.Baseline) []string {
	list := make([]string, len(b.Devices))
	for i, name := range b.Devices {
		list[i] = "/dev/" + name
	}
	return list
}

// checks are what has to hold afterwards: what the plan asks for, and that what the private
// tree is made of has kept its place.
func (c *Call) checks() []fit.Check {
	return append(slices.Clone(c.After), fit.EntryChecks(c.Plan.Entries())...)
}

// Encoded is the plan as the launcher takes it; nil where nothing is held.
func (c *Call) Encoded() []byte {
	if c.Plan.Tier == fit.TierNone {
		return nil
	}
	return c.Plan.Encode()
}

// Env is the environment of the program, with its private directory.
func (c *Call) Env() []string {
	temp := c.Plan.Temp
	if c.keep != "" {
		temp = c.keep
	}
	if temp == "" {
		return c.program.Env
	}
	return WithTemp(c.program.Env, temp)
}

// WithTemp is the environment with another directory for temporary files.
func WithTemp(env []string, dir string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool { return strings.HasPrefix(kv, "TMPDIR=") })
	return append(env, "TMPDIR="+dir)
}

// watch begins to watch what must stay, and what must not come to be, before anything is started.
// Where that is not possible it is said, or the call refused.
func (c *Call) watch() error {
	what := fit.Watched{Trees: c.Plan.Trees}
	if c.Plan.Tier == fit.TierNamespace {
		what.Entries = c.Plan.Entries()
	}
	for _, check := range c.After {
		switch check.Want {
		case fit.StillMissing:
			what.Absent = append(what.Absent, check.Path)
		case fit.SameEntry: // where no mount keeps it, the program can put another one there for a moment
			what.Entries = append(what.Entries, check.Node)
		}
	}
	if len(what.Entries)+len(what.Absent) == 0 {
		return nil
	}
	var err error
	if c.watcher, err = fit.Watch(what); !errors.Is(err, fit.ErrNoWatch) {
		return err
	}
	not := fit.NotEnforced{
		What:   "that the call ends at once when something appears where nothing may be, or a mount is lost",
		Why:    err.Error(),
		Remedy: "raise fs.inotify.max_user_watches and fs.inotify.max_user_instances (sysctl), or end programs that watch many files",
	}
	c.NotEnforced = append(c.NotEnforced, not)
	if c.required {
		return &fit.RefusedError{Tier: c.Plan.Tier, Reasons: []fit.NotEnforced{not}}
	}
	return nil
}

// LostError says that a call was ended because of what its watcher noticed.
type LostError struct {
	fit.Loss
	// Name is the path as rules write it.
	Name string
	// Opened is what the program may have done with what stands there now: "read", "changed", both
	// or nothing.
	Opened []string
}

// Error names the path and says what happened.
func (e *LostError) Error() string {
	name := show.Visible(e.Name)
	switch {
	case e.Kind == fit.Appeared:
		return "the call was ended: " + name + " appeared, where nothing may be created"
	case e.Kind == fit.Unwatched:
		return "the call was ended: more happened around " + name + " than can be watched"
	case len(e.Opened) == 0:
		return "the call was ended: " + name + " was replaced, moved or removed, and has to stay in its place"
	}
	return "the call was ended: " + name + " was replaced, moved or removed from outside, which undid the mount that protects it\n" +
		"until then the program may have " + strings.Join(e.Opened, " and ") + " what stands there now"
}

// AtOnce tells the launcher to leave the program no time.
func (e *LostError) AtOnce() bool { return true }

// Lost is the error of a call that was ended because the entry at a path is not in its place any more.
func (c *Call) Lost(path string) *LostError {
	return c.lost(fit.Loss{Kind: fit.Replaced, Path: path})
}

func (c *Call) lost(l fit.Loss) *LostError {
	name, _ := c.Name(l.Path)
	e := &LostError{Loss: l, Name: name}
	if l.Kind != fit.Replaced {
		return e
	}
	var opened jptool.Caps
	for i := range c.Plan.Covers {
		if v := &c.Plan.Covers[i]; fit.Holds(l.Path, v.Path) {
			opened |= c.granted(v.Path) & withheld(v)
		}
	}
	if opened.Has(jptool.Read) {
		e.Opened = append(e.Opened, "read")
	}
	if opened&jptool.Write != 0 {
		e.Opened = append(e.Opened, "changed")
	}
	return e
}

// withheld is what a mount takes away.
func withheld(v *fit.Cover) (caps jptool.Caps) {
	if v.Hide {
		return jptool.AllCaps
	}
	if v.ReadOnly {
		caps |= jptool.Write
	}
	if v.NoExec {
		caps |= jptool.Execute
	}
	return caps
}

// granted is what Landlock allows at a path, the mounts aside.
func (c *Call) granted(at string) (caps jptool.Caps) {
	for _, list := range [][]fit.Grant{c.Plan.Grants, c.Plan.Runtime} {
		for i := range list {
			if fit.Holds(list[i].Path, at) {
				caps |= list[i].Caps
			}
		}
	}
	return caps
}

// Say is a change for people and models: a path that a rule could not name is not shown.
func (c *Call) Say(ch fit.Change) string {
	ch.Path, _ = c.Name(ch.Path)
	return show.Line(ch.String())
}

// Name is a path as rules write it, for people and models. It reports whether there is such a name: what
// lies outside of the workspace and its mounts is only said to, with the last part of its path.
func (c *Call) Name(abs string) (name string, ok bool) {
	switch name, ok = c.declared.WirePath(abs); {
	case !ok:
		return path.Base(abs) + " (outside of the workspace)", false
	case name == "":
		return ".", true
	}
	return name, true
}

// Guard ends the context while the program runs, with a *LostError as its cause, when the watcher notices
// something.
func (c *Call) Guard(ctx context.Context) context.Context {
	if c.watcher == nil {
		return ctx
	}
	ctx, c.stop = context.WithCancelCause(ctx)
	go func() {
		if l, ok := <-c.watcher.Lost(); ok {
			c.stop(c.lost(l))
		}
	}()
	return ctx
}

// Was is how the path of a change stood before the call, "" where it does not matter that it stands so again:
// of what was there for a moment only, somebody may have made use.
func (c *Call) Was(change fit.Change) string {
	if change.What == "momentary" || change.What == "unwatched" {
		return ""
	}
	return c.before.Was(change)
}

// End looks at what has to be as it was, when all processes of the call are gone, and removes
// what was made for it. It returns what is not as it was: nothing is ever repaired.
func (c *Call) End(ctx context.Context) ([]fit.Change, error) {
	if c.before == nil {
		return nil, c.release() // a dry one
	}
	if c.watcher != nil {
		c.watcher.Close() // it has seen all there was to see
	}
	changes := c.before.Verify(ctx)
	if c.watcher != nil {
		if l := c.watcher.Seen(); l != nil {
			changes = c.noticed(*l, changes)
		}
	}
	return changes, c.release()
}

// Kept are the paths of what was kept of the private directory, once the call has ended.
func (c *Call) Kept() []string { return c.kept }

// Touched says, after End, what may have been changed and put back while the call ran; "" for nothing. Where
// there are no mounts to keep it, nobody can tell more.
func (c *Call) Touched() string {
	var names []string
	for _, p := range c.before.Touched() {
		name, _ := c.Name(p)
		names = append(names, show.Visible(name))
	}
	if len(names) == 0 {
		return ""
	}
	if more := len(names) - 5; more > 0 {
		names = append(names[:5], fmt.Sprintf("%d more", more))
	}
	return "while the call ran these were touched, or changed and put back: " + strings.Join(names, ", ") +
		"\ntheir content is as it was; with namespaces they would be mounted read-only (jphost doctor)"
}

// noticed adds to the changes what the watcher has seen: a change may have been undone.
func (c *Call) noticed(l fit.Loss, changes []fit.Change) []fit.Change {
	what := map[fit.LossKind]string{fit.Replaced: "replaced", fit.Appeared: "momentary", fit.Unwatched: "unwatched"}[l.Kind]
	for i := range changes {
		if changes[i].Path == l.Path {
			return changes
		}
	}
	return append(changes, fit.Change{Path: l.Path, What: what})
}

func (c *Call) release() error {
	var errs []error
	if c.watcher != nil {
		c.watcher.Close()
	}
	if c.stop != nil {
		c.stop(nil)
	}
	if c.temp != nil {
		c.kept = c.temp.Keep()
		errs = append(errs, c.temp.Remove())
	}
	return errors.Join(append(errs, c.Undo())...)
}
