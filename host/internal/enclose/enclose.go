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
	"path/filepath"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/policy"
	"github.com/jptools/jptools/host/internal/private"
	"github.com/jptools/jptools/host/internal/sandbox"
	"github.com/jptools/jptools/host/internal/sandbox/baseline"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
)

// Settings are what a call is held with.
type Settings struct {
	// Required refuses what cannot be held exactly; Tier forces one.
	Required bool
	Tier     sandbox.Tier
	Machine  sandbox.Machine
	// Paths are what programs may use besides (sandbox.paths, from the user's own config).
	Paths []baseline.Extra
	// Names are paths as people write them, whose links a private tree has too; HOME is always one.
	Names  []string
	Limits sandbox.Limits
	// TempBase is where the private directory is made if the tier has none of its own.
	TempBase string
	// Keep makes the private directory there in every tier, so that what a tool that was killed left of
	// the files that it was writing can be kept: see [private.Dir.Keep].
	Keep bool
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
	*sandbox.Prepared
	program  Program
	required bool
	temp     *private.Dir
	keep     string   // where temp is, if something of it may be kept
	kept     []string // what was
	before   *sandbox.Before
	watcher  *sandbox.Watcher
	stop     context.CancelCauseFunc
}

// Prepare fits a policy to a program, the machine and the tree as it is. With a
// *sandbox.RefusedError the Call is there for its report, and needs no End. A tool that is told
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
	c := &Call{program: p, required: s.Required}
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
		if c.temp, err = shelf.Make(temp); err != nil {
			return nil, NoPrivate(err)
		}
		n, err := sandbox.Look(c.keep)
		if err != nil {
			return nil, NoPrivate(err)
		}
		runtime = append(runtime, sandbox.Grant{Node: n, Caps: jptool.AllCaps &^ jptool.Execute})
	}
	c.Prepared, err = sandbox.Prepare(ctx, d, s.Machine, sandbox.Options{
		Required: s.Required, Tier: s.Tier, Runtime: runtime, Devices: devices(needs),
		Temp: filepath.ToSlash(shelf.Path(temp)), Limits: s.Limits, FirstFD: s.FirstFD,
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
		c.NotEnforced = append(c.NotEnforced, sandbox.NotEnforced{
			What: fmt.Sprintf("access to %s", m.Path), Origin: m.Origin, Why: "it does not exist", Known: true,
		})
	}
	if c.Plan.Tier != sandbox.TierNamespace && c.Plan.Temp != "" && c.temp == nil {
		if c.temp, err = shelf.Make(temp); err != nil {
			return nil, errors.Join(NoPrivate(err), c.Undo())
		}
	}
	if c.before, err = sandbox.Snapshot(ctx, c.checks()); err != nil {
		err = errors.Join(err, c.release())
		c.temp = nil
		return nil, err
	}
	for _, p := range c.before.Incomplete {
		c.NotEnforced = append(c.NotEnforced, sandbox.NotEnforced{What: "that " + p + " stays as it is", Why: "it holds too much to be compared after the call"})
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

// untold leaves of the policy what holds although the tool is not told of it.
func (c *Call) untold() {
	c.Access = nil
	rules := []sandbox.Enforced{}
	for _, r := range c.Rules {
		r.EnforcedBy = strings.TrimPrefix(strings.TrimPrefix(r.EnforcedBy, sandbox.OwnCheck), " + ")
		if r.EnforcedBy != "" {
			rules = append(rules, r)
		}
	}
	c.Rules = rules
}

// parts are what the private tree needs of the host's: what is granted, and the links on the
// way to it, which grant nothing.
func parts(b *baseline.Baseline) []sandbox.Grant {
	list := slices.Grow(slices.Clone(b.Grants), len(b.Links))
	for _, l := range b.Links {
		list = append(list, sandbox.Grant{Node: sandbox.Node{Path: l.Path, Kind: sandbox.Link, ID: l.ID}})
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
func (c *Call) checks() []sandbox.Check {
	return append(slices.Clone(c.After), sandbox.EntryChecks(c.Plan.Entries())...)
}

// Encoded is the plan as the launcher takes it; nil where nothing is held.
func (c *Call) Encoded() []byte {
	if c.Plan.Tier == sandbox.TierNone {
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

// LostError says that a call was ended because something outside replaced what the sandbox
// was made of.
type LostError struct{ Path string }

// Error names the path.
func (e *LostError) Error() string {
	return fmt.Sprintf("%q was replaced or moved by somebody else while the call ran, which opened what a rule withholds there; the call was ended\ntry again when nothing else changes it", e.Path)
}

// Guard watches, while the program runs, the entries that the private tree is made of: the
// context ends, with a *LostError as its cause, when one is lost.
func (c *Call) Guard(ctx context.Context) (context.Context, error) {
	entries := c.Plan.Entries()
	if c.Plan.Tier != sandbox.TierNamespace || len(entries) == 0 {
		return ctx, nil
	}
	ctx, c.stop = context.WithCancelCause(ctx)
	w, err := sandbox.Watch(entries)
	if errors.Is(err, sandbox.ErrNoWatch) {
		return ctx, nil // told afterwards
	}
	if err != nil {
		return ctx, err
	}
	c.watcher = w
	go func() {
		if n, ok := <-w.Lost(); ok {
			c.stop(&LostError{n.Path})
		}
	}()
	return ctx, nil
}

// Was is how the path of a change stood before the call.
func (c *Call) Was(change sandbox.Change) string { return c.before.Was(change) }

// End looks at what has to be as it was, when all processes of the call are gone, and removes
// what was made for it. It returns what is not as it was: nothing is ever repaired.
func (c *Call) End(ctx context.Context) ([]sandbox.Change, error) {
	changes := c.before.Verify(ctx)
	return changes, c.release()
}

// Kept are the paths of what was kept of the private directory, once the call has ended.
func (c *Call) Kept() []string { return c.kept }

func (c *Call) release() error {
	var errs []error
	if c.watcher != nil {
		errs = append(errs, c.watcher.Close())
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
