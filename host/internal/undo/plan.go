package undo

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool"
)

// Opener opens the workspace for taking back changes of a tool: with every right but those on the places that the host
// protects from tools, and with the mounts that the tool has now. The caller of [Store.Plan] closes it.
type Opener func(tool string) (*jptool.Workspace, error)

// Plan is what has to be done to take records back.
type Plan struct {
	// Steps are in the order in which they are done: the newest change first.
	Steps []*Step
	store *Store
	open  Opener
}

// Step takes one record back.
type Step struct {
	Record  *Record
	Actions []*Action
}

// Verb is what an action does.
type Verb string

// The verbs.
const (
	PutBack  Verb = "put back"
	Remove   Verb = "remove"
	MoveBack Verb = "move back"
	MakeDir  Verb = "make directory"
	// RemoveDir leaves a directory in which there is something.
	RemoveDir Verb = "remove directory"
)

// Action makes one place what it was before.
type Action struct {
	Verb Verb `json:"action"`
	// Path is where; From is where what is moved back lies.
	Path string `json:"path"`
	From string `json:"from,omitempty"`
	// Conflict says why the action is not taken; Changed that a person may allow it.
	Conflict string `json:"conflict,omitempty"`
	Changed  bool   `json:"changed,omitempty"`
	// Skip: a person wants the place left as it is.
	Skip bool `json:"skipped,omitempty"`
	// Diff shows what the action does to a file, if the caller asked for it.
	Diff string `json:"diff,omitempty"`

	item, from *Item
	now        seen
}

// Conflicts lists the actions that cannot be taken.
func (p *Plan) Conflicts() (list []*Action) {
	for _, s := range p.Steps {
		for _, a := range s.Actions {
			if a.Conflict != "" && !a.Skip {
				list = append(list, a)
			}
		}
	}
	return list
}

// Plan finds out how to take records back, in this order, the newest first. Nothing is changed. Each record is judged by
// what the steps before it will have left.
func (s *Store) Plan(records []*Record, open Opener) (*Plan, error) {
	p := &Plan{store: s, open: open}
	v := &view{}
	for _, r := range records {
		ws, err := open(r.Tool)
		if err != nil {
			return nil, err
		}
		v.ws = ws
		step := &Step{Record: r}
		for _, a := range actions(v, r) {
			a.judge(v, r)
			v.take(a, r)
			step.Actions = append(step.Actions, a)
		}
		p.Steps = append(p.Steps, step)
	}
	return p, nil
}

// actions are what takes a record back: directories that went are made first, and directories that came are removed last.
func actions(v *view, r *Record) (list []*Action) {
	first := 0
	if r.Moved && (!r.Running || v.moved(r)) {
		first = 2
	}
	var last []*Action
	for i := range r.Items {
		item := &r.Items[i]
		switch {
		case i < first:
		case item.Before.Kind == Dir && item.After.Kind != Dir:
			list = append(list, &Action{Verb: MakeDir, Path: item.Name, item: item})
		case item.After.Kind == Dir, r.Running && item.Before.Kind == Absent && v.look(item.Name).Kind == Dir:
			last = append(last, &Action{Verb: RemoveDir, Path: item.Name, item: item})
		}
	}
	// What is above has the shorter name.
	slices.SortStableFunc(list, func(a, b *Action) int { return len(a.Path) - len(b.Path) })
	slices.SortStableFunc(last, func(a, b *Action) int { return len(b.Path) - len(a.Path) })
	if first > 0 {
		list = append(list, &Action{Verb: MoveBack, Path: r.Items[0].Name, From: r.Items[1].Name, item: &r.Items[0], from: &r.Items[1]})
	}
	for i := range r.Items {
		item := &r.Items[i]
		switch {
		case i == 0 && first > 0, item.Before.Kind == Dir, slices.ContainsFunc(last, func(a *Action) bool { return a.item == item }):
		case item.Before.Kind != Absent:
			list = append(list, &Action{Verb: PutBack, Path: item.Name, item: item})
		case first == 0 || i > 1:
			list = append(list, &Action{Verb: Remove, Path: item.Name, item: item})
		}
	}
	return append(list, last...)
}

// judge finds out whether an action can be taken.
func (a *Action) judge(v *view, r *Record) {
	// An action before may put right what is on the way now, a link or a file. The action itself asks again.
	if err := a.allowed(v.ws); err != nil && (len(v.ops) == 0 || jptool.CodeOf(err) == jptool.CodeAccessDenied) {
		a.Conflict = err.Error()
		return
	}
	place, then := a.item, a.item.After
	if a.from != nil {
		now, from := v.look(a.item.Name), v.look(a.from.Name)
		if is, err := same(now.State, a.item.Before, now.digest); is && err == nil && from.Kind == Absent {
			a.Skip = true // an undo that was interrupted did it
			return
		}
		if now.Kind != Absent {
			a.Conflict = "something else is there now"
			return
		}
		place, then = a.from, a.from.After
		if r.Running {
			then = a.item.Before
		}
	}
	a.now = v.look(place.Name)
	switch is, err := same(a.now.State, then, a.now.digest); {
	case a.now.err != nil:
		a.Conflict = a.now.err.Error()
	case err != nil:
		a.Conflict = err.Error()
	case a.Verb == MakeDir && a.now.Kind == Dir:
		a.Skip = true
	case a.Verb == RemoveDir && a.now.Kind != Dir:
		a.Skip = true
	case a.done(r):
		a.Skip = true
	case v.left(place.Name, r):
		a.now.State = State{Kind: Absent} // what was moved back from here
	case !is && r.Running:
		a.Conflict, a.Changed = "the call was interrupted, so that nobody knows what it did here", a.now.replaceable()
	case !is:
		a.Conflict, a.Changed = "it was changed since", a.now.replaceable()
	}
	if a.Verb == PutBack && a.item.Before.Kind == File && a.item.Before.Kept == nil && !a.Skip {
		a.Conflict, a.Changed = "its content was not kept: "+a.item.Before.NotKept, false
	}
	if a.Verb == PutBack && (a.item.Before.Kind == Other || a.item.Before.Kind == Unknown) {
		a.Conflict, a.Changed = "it was not a file, symlink or directory", false
	}
	a.Changed = a.Changed && (a.Verb == PutBack || a.Verb == Remove)
}

// done reports whether the place is already as it was before the call, as after an undo that was interrupted.
func (a *Action) done(r *Record) bool {
	if a.from != nil {
		return false
	}
	is, err := same(a.now.State, a.item.Before, a.now.digest)
	return err == nil && is
}

// allowed judges an action by the protection of the host's own places.
func (a *Action) allowed(ws *jptool.Workspace) error {
	t, err := resolve(ws, a.item)
	if err != nil {
		return err
	}
	need := jptool.Update
	switch a.Verb {
	case MoveBack, MakeDir:
		need = jptool.Create
	case Remove, RemoveDir:
		need = jptool.Delete
	case PutBack:
		if a.item.After.Kind == Absent {
			need = jptool.Create
		}
	}
	if err := t.Require(need); err != nil || a.from == nil {
		return err
	}
	from, err := resolve(ws, a.from)
	if err == nil {
		err = from.Require(jptool.Delete)
	}
	if err != nil {
		return err
	}
	return ws.CheckMove(from, t, a.item.Before.Kind == Dir)
}

// seen is what is at a place, or will be after the actions before.
type seen struct {
	State
	err error
	// t is where that lies now; nil for what an action before puts there.
	t *jptool.Target
}

func (s *seen) digest() (string, error) {
	if s.t == nil {
		return s.Digest, nil
	}
	f, err := s.t.Open()
	if err != nil {
		return "", err
	}
	defer f.Close()
	return digest(f)
}

// replaceable: a person may let it be replaced.
func (s *seen) replaceable() bool { return s.Kind == Absent || s.Kind == File || s.Kind == Link }

// view is the workspace as it will be after the actions that were planned so far.
type view struct {
	ws  *jptool.Workspace
	ops []op
}

// op is what an action does to the tree: a place gets a state, or is moved to another one.
type op struct {
	name, from string
	state      State
	record     int
}

func (v *view) take(a *Action, r *Record) {
	if a.Skip || a.Conflict != "" && !a.Changed {
		return
	}
	v.ops = append(v.ops, op{name: a.Path, from: a.From, state: a.item.Before, record: r.ID})
}

// look finds out what is at a place.
func (v *view) look(name string) (s seen) {
	for _, o := range slices.Backward(v.ops) {
		rest, inside := below(o.name, name)
		switch {
		case o.from != "" && inside:
			name = o.from + rest
		case o.from != "":
			if _, inside := below(o.from, name); inside {
				return seen{State: State{Kind: Absent}}
			}
		case inside && rest == "":
			return seen{State: o.state}
		case inside: // a file, nothing, or a new directory
			return seen{State: State{Kind: Absent}}
		}
	}
	t, err := v.ws.CheckEntry(name, jptool.AllCaps)
	switch {
	case jptool.CodeOf(err) == jptool.CodeWrongType: // below a file
		return seen{State: State{Kind: Absent}}
	case err != nil:
		return seen{State: State{Kind: Other}, err: err}
	}
	s.t = t
	s.State, s.err = look(t)
	return s
}

// below returns what follows dir in name.
func below(dir, name string) (string, bool) {
	rest, ok := strings.CutPrefix(name, dir)
	return rest, ok && (rest == "" || rest[0] == '/')
}

// resolve finds the place of an item. It must be the one that it was.
func resolve(ws *jptool.Workspace, item *Item) (*jptool.Target, error) {
	t, err := ws.CheckEntry(item.Name, jptool.AllCaps)
	switch {
	case err != nil:
		return nil, err
	case t.Place() != item.Abs || t.IsRoot():
		return nil, fmt.Errorf("the path %s leads somewhere else now", jptool.Quote(item.Name))
	}
	return t, nil
}

// moved reports whether a move that was interrupted took place.
func (v *view) moved(r *Record) bool {
	from, to := v.look(r.Items[0].Name), v.look(r.Items[1].Name)
	is, err := same(to.State, r.Items[0].Before, to.digest)
	return from.Kind == Absent && is && err == nil
}

// left reports whether the record's own move has just left this place.
func (v *view) left(name string, r *Record) bool {
	return len(v.ops) > 0 && slices.ContainsFunc(v.ops, func(o op) bool { return o.record == r.ID && o.from == name })
}

// Kept opens the content that a state has a copy of. It is refused if it is not what was kept. The caller closes it.
func (s *Store) Kept(before *State) (*Content, error) {
	damaged := errors.New("the content that was kept is damaged")
	f, r, err := s.content(before)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("the content that was kept is gone")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", damaged, err)
	}
	fi, err := f.Stat()
	got := before.Digest
	if err == nil && got != "" {
		got, err = digest(r)
	}
	if err != nil || got != before.Digest || fi.Size() < before.Kept.Offset+before.Size {
		f.Close()
		return nil, damaged
	}
	return &Content{SectionReader: r, f: f}, nil
}

// Content is content that was kept, or that of a file.
type Content struct {
	*io.SectionReader
	f *os.File
}

// Close closes the file that it lies in.
func (c *Content) Close() error { return c.f.Close() }

// wholeFile reports whether the content is all of its file, so that it can be cloned.
func (c *Content) wholeFile() bool {
	fi, err := c.f.Stat()
	_, offset, size := c.Outer()
	return err == nil && offset == 0 && fi.Size() == size
}
