package jptool

import (
	"errors"
	"io/fs"
	"sync"

	"github.com/jptools/jptools/jptool/netrule"
	"github.com/jptools/jptools/jptool/wspath"
)

// Workspace is an opened Context: the root held open and the policy compiled. Its
// checks are the cooperative layer of RFD 076; they do not stop a program that does
// not ask. It is safe for concurrent use.
type Workspace struct {
	root   string // canonical absolute path
	dir    *wspath.Dir
	policy *Policy
	rules  *Rules // of policy

	mu     sync.Mutex
	mounts map[string]mountDir // by target
}

// mountDir is the open directory of an approved target; for a file it is the parent directory.
type mountDir struct {
	dir  *wspath.Dir
	file string // name of the target in dir when it is a file, else ""
}

// Open resolves and holds the root and compiles the policy. Errors carry
// CodeInvalidRequest for the root and CodeInvalidPolicy for the policy.
func (c *Context) Open() (*Workspace, error) {
	root, err := wspath.CanonicalRoot(c.Root)
	if err != nil {
		return nil, Errorf(CodeInvalidRequest, "context: the root %q cannot be opened: %w", c.Root, wspath.Bare(err))
	}
	dir, err := wspath.OpenDir(root)
	if err != nil {
		return nil, Errorf(CodeInvalidRequest, "context: the root %q cannot be opened as a directory: %w", c.Root, err)
	}
	policy, err := compilePolicy(c.Access, dir, root, c.Root)
	if err != nil {
		dir.Close()
		return nil, err
	}
	return &Workspace{root: root, dir: dir, policy: policy, rules: policy.rules, mounts: map[string]mountDir{}}, nil
}

// Close releases the held directories.
func (w *Workspace) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.mounts {
		m.dir.Close()
	}
	return w.dir.Close()
}

// Root returns the canonical absolute path of the workspace. It is for the host and
// for people, not for opening files below it.
func (w *Workspace) Root() string { return w.root }

// Policy returns the compiled policy.
func (w *Workspace) Policy() *Policy { return w.policy }

// CheckRead checks `read` on the content at a path; symlinks are resolved.
func (w *Workspace) CheckRead(unsafePath string) (*Target, error) {
	return w.CheckContent(unsafePath, Read)
}

// CheckUpdate checks `update` on the content at a path; symlinks are resolved.
func (w *Workspace) CheckUpdate(unsafePath string) (*Target, error) {
	return w.CheckContent(unsafePath, Update)
}

// CheckExecute checks `execute` on the content at a path; symlinks are resolved.
func (w *Workspace) CheckExecute(unsafePath string) (*Target, error) {
	return w.CheckContent(unsafePath, Execute)
}

// CheckCreate checks `create` on a directory entry: only its parent is resolved.
// The operation itself finds out whether something is there already.
func (w *Workspace) CheckCreate(unsafePath string) (*Target, error) {
	t, err := w.CheckEntry(unsafePath, Create)
	if err != nil {
		return nil, err
	}
	return t, t.Require(Create)
}

// CheckDelete checks `delete` on a directory entry: deleting a symlink removes the
// link.
func (w *Workspace) CheckDelete(unsafePath string) (*Target, error) {
	t, err := w.CheckEntry(unsafePath, Delete)
	if err != nil {
		return nil, err
	}
	return t, t.Require(Delete)
}

// CheckContent checks all of need on what a path resolves to. With need zero it
// only locates the path, which still must not leave the workspace.
func (w *Workspace) CheckContent(unsafePath string, need Caps) (*Target, error) {
	return w.check(unsafePath, false, need)
}

// CheckEntry checks that at least one of anyOf is granted on a directory entry, so
// that a caller without any right there does not learn whether it exists. The caller
// then asks for the capability of its operation with [Target.Require].
func (w *Workspace) CheckEntry(unsafePath string, anyOf Caps) (*Target, error) {
	return w.check(unsafePath, true, anyOf)
}

// check implements docs/wire.md, "Steps of evaluation (fs)". The order matters: an error
// must not reveal a fact of the file system before the policy has granted the path.
func (w *Workspace) check(unsafePath string, entry bool, need Caps) (*Target, error) {
	rel, err := wspath.Parse(unsafePath)
	if err != nil {
		return nil, &PathError{Path: unsafePath, Err: err}
	}
	r, err := w.rules.Resolve(rel, entry)
	if err == nil && !w.rules.Known(r.Place) {
		err = errOutside
	}
	t := &Target{w: w, rel: rel, place: r.Place, kind: r.Kind, entry: entry}
	if err == nil && t.enough(t.Granted(), need) {
		p, withheld := w.viaWithheld(rel, &r)
		if !withheld || need == 0 {
			return t, nil
		}
		step := &Target{w: w, rel: rel, place: p, entry: entry}
		return nil, step.denied(need, entry)
	}
	return nil, w.refuse(t, r, err, need)
}

// enough reports whether caps are all of need, or of a directory entry at least a part of it.
func (t *Target) enough(caps, need Caps) bool {
	return caps.Has(need) || t.entry && caps&need != 0
}

// refuse returns the error for a path that may not be used: a denial, or err if everything on
// the way is granted. A caller without rights on a place must not learn whether a link is
// there, where it leads, or that it leads nowhere: the error is the one for a missing file. So
// the path is judged in steps: as it is written, then at each symlink as if that were an
// ordinary directory, then at the end. The first step that is not granted names the denial.
func (w *Workspace) refuse(t *Target, r Resolved, err error, need Caps) error {
	way := []Place{w.rules.Lexical(t.rel.Slash())}
	for _, hop := range r.Hops {
		p := w.rules.PlaceOf(hop.Path)
		// The link of a mount is no secret, even if it is below another mount.
		if w.rules.Known(p) {
			p = w.rules.Lexical(w.rules.Name(p))
		}
		way = append(way, p)
	}
	way = append(way, r.Place)
	// A mount whose link leads to nothing is not a denial: its rule would grant this, and the person
	// who wrote it has to learn what is wrong (RFD D43 "broken symlinks").
	lost := false
	for _, p := range way {
		if !w.rules.Known(p) {
			if lost {
				break
			}
			return &PathError{Path: t.rel.String(), Err: errOutside}
		}
		step := &Target{w: w, rel: t.rel, place: p, entry: t.entry}
		if step.enough(step.Granted(), need) {
			continue
		}
		rule := step.Cursor().placed()
		lost = errors.Is(err, wspath.ErrDangling) && rule != nil && rule.broken != 0 && step.enough(rule.broken, need)
		if !lost {
			return step.denied(need, t.entry)
		}
	}
	return &PathError{Path: t.rel.String(), Err: err}
}

// Kind says what was at a path when it was checked. It is a hint for messages and for the
// order of work; the operation itself finds out what is there by then.
type Kind uint8

// The kinds. KindUnknown means that the check had no need to look.
const (
	KindUnknown Kind = iota
	KindMissing
	KindFile
	KindDir
	KindOther
)

func kindOfMode(mode fs.FileMode) Kind {
	switch {
	case mode == 0:
		return KindFile
	case mode.IsDir():
		return KindDir
	}
	return KindOther
}

// base returns the held directory that a place is reached through, and the path below it.
func (w *Workspace) base(p Place) (*wspath.Dir, string, error) {
	if !p.Outside {
		return w.dir, p.Path, nil
	}
	m := w.rules.mountOf(p.Path)
	if m == nil {
		return nil, "", errOutside
	}
	below, _ := wspath.WithinAbs(m.Target, p.Path)
	w.mu.Lock()
	defer w.mu.Unlock()
	held, ok := w.mounts[m.Target]
	if !ok {
		var err error
		if held, err = openMount(m.Target); err != nil {
			return nil, "", err
		}
		w.mounts[m.Target] = held
	}
	if held.file != "" {
		return held.dir, wspath.JoinSlash(held.file, below), nil
	}
	return held.dir, below, nil
}

func openMount(target string) (mountDir, error) {
	parent, err := wspath.OpenDir(wspath.ParentOf(target))
	if err != nil {
		return mountDir{}, err
	}
	name := target[len(wspath.ParentOf(target))+1:]
	mode, err := parent.Probe(name)
	if err != nil {
		parent.Close()
		return mountDir{}, err
	}
	if !mode.IsDir() {
		return mountDir{dir: parent, file: name}, nil
	}
	defer parent.Close()
	dir, err := parent.Sub(name)
	return mountDir{dir: dir}, err
}

// Policy is an AccessPolicy compiled for one workspace, ready to be asked. It is immutable and safe for concurrent
// use.
type Policy struct {
	rules  *Rules
	staged []stagedAt

	// Net, Env and Commands are the other resource types of the policy.
	Net      *netrule.Policy
	Env      *EnvPolicy
	Commands *CommandPolicy
}

type stagedAt struct {
	place Place
	fd    int
}

// compilePolicy compiles access for the workspace at the canonical path root, held as
// dir. writtenRoot is the root as the host wrote it. A nil access gives the policy that is unrestricted inside the
// workspace. Errors carry CodeInvalidPolicy and name the rule.
func compilePolicy(access *AccessPolicy, dir *wspath.Dir, root, writtenRoot string) (*Policy, error) {
	if access == nil {
		access = &AccessPolicy{}
	}
	c := Compiler{Site: Site{Root: root, dir: dir}, Written: writtenRoot, Deny: access.Deny, Secrets: access.Secrets}
	rules, err := c.FS(access.FS)
	if err != nil {
		return nil, Errorf(CodeInvalidPolicy, "%w", err)
	}
	p := &Policy{rules: rules}
	if err := rules.PinPaths(access.Pinned, writtenRoot); err != nil {
		return nil, err
	}
	for i, s := range access.Staged {
		if s.FD > 1<<20 { // system calls would take the lower half of a larger number for another descriptor
			return nil, Errorf(CodeInvalidPolicy, "access.staged[%d]: `fd` is %d; want an integer from 3 to %d", i, s.FD, 1<<20)
		}
		var to Resolved
		rel, err := RulePath(s.Path, root, writtenRoot)
		if err == nil {
			to, err = rules.Resolve(rel, false)
		}
		if err != nil {
			return nil, Errorf(CodeInvalidPolicy, "access.staged[%d]: path %q: %w", i, s.Path, err)
		}
		rules.pinHops(to.Hops)
		p.staged = append(p.staged, stagedAt{to.Place, s.FD})
	}
	if p.Net, err = CompileNet(access.Net); err != nil {
		return nil, err
	}
	if p.Env, err = CompileEnv(access.Env); err != nil {
		return nil, err
	}
	if p.Commands, err = CompileCommands(access.Commands); err != nil {
		return nil, err
	}
	return p, nil
}

// Warnings lists what was narrowed while compiling, for people.
func (p *Policy) Warnings() []string {
	var list []string
	for i := range p.rules.Placed {
		if r := &p.rules.Placed[i]; r.Lost != "" && !r.Ahead {
			list = append(list, r.where()+": "+r.Lost+"; nothing below it is granted")
		}
	}
	return list
}

// CompileNet is [netrule.Compile]; the error carries CodeInvalidPolicy.
func CompileNet(rules []NetRule) (*netrule.Policy, error) {
	p, err := netrule.Compile(rules)
	if err != nil {
		return nil, Errorf(CodeInvalidPolicy, "%w", err)
	}
	return p, nil
}
