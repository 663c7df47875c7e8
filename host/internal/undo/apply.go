package undo

import (
	"errors"
	"fmt"
	"slices"

	"github.com/jptools/jptools/jptool"
)

// errChanged: a place is no longer as it was when the plan was made.
var errChanged = errors.New("it was changed just now; nothing was done to it")

// Apply takes one record back, and returns the number of the change that this is; 0 if there was nothing to do. The steps
// of a plan are applied in their order. Every place has its old or its new content at any time. After an error, what was
// done before it stays, and the change has a number too.
func (p *Plan) Apply(s *Step) (id int, err error) {
	todo := slices.DeleteFunc(slices.Clone(s.Actions), func(a *Action) bool { return a.Skip })
	if i := slices.IndexFunc(todo, func(a *Action) bool { return a.Conflict != "" }); i >= 0 {
		return 0, fmt.Errorf("%s: %s", jptool.Quote(todo[i].Path), todo[i].Conflict)
	}
	if len(todo) == 0 {
		return 0, nil
	}
	ws, err := p.open(s.Record.Tool)
	if err != nil {
		return 0, err
	}
	w := &work{store: p.store, ws: ws, record: s.Record}
	pending, err := w.begin(todo)
	if err != nil {
		return 0, err
	}
	for _, a := range todo {
		if err = w.do(a); err != nil {
			err = fmt.Errorf("%s %s: %w", a.Verb, jptool.Quote(a.Path), err)
			break
		}
	}
	pending.record.Partial = err != nil
	id, failed := pending.Finish(nil)
	return id, errors.Join(err, failed)
}

// work takes one record back.
type work struct {
	store  *Store
	ws     *jptool.Workspace
	record *Record
}

// begin keeps what the actions change.
func (w *work) begin(todo []*Action) (*Pending, error) {
	c := Call{Conversation: w.record.Conversation, Tool: w.record.Tool, Undoes: w.record.ID}
	for _, a := range todo {
		if a.from != nil {
			from, err := resolve(w.ws, a.from)
			if err != nil {
				return nil, err
			}
			c.Changed, c.Move = append(c.Changed, from), true
		}
		t, err := resolve(w.ws, a.item)
		if err != nil {
			return nil, err
		}
		switch {
		case a.Verb == MakeDir || a.Verb == RemoveDir:
			c.Near = append(c.Near, t)
		case slices.ContainsFunc(c.Changed, t.Same):
			c.Move = false // what was moved onto something is put back as two contents
		default:
			c.Changed = append(c.Changed, t)
		}
	}
	return w.store.Begin(c)
}

// do takes one action, if the place is still as it was when the plan was made.
func (w *work) do(a *Action) error {
	if err := a.allowed(w.ws); err != nil {
		return err
	}
	t, err := resolve(w.ws, a.item)
	if err != nil {
		return err
	}
	place := t
	if a.from != nil {
		if place, err = resolve(w.ws, a.from); err != nil {
			return err
		}
	}
	now, err := look(place)
	if err != nil {
		return err
	}
	if !a.expected(now, place) {
		return errChanged
	}
	e, err := entryOf(place)
	if err != nil {
		return err
	}
	defer e.dir.Close()
	before := &a.item.Before
	switch {
	case a.Verb == MoveBack:
		return e.moveTo(t, now)
	case a.Verb == MakeDir:
		return e.mkdir(before)
	case a.Verb == RemoveDir:
		return e.rmdir()
	case a.Verb == Remove:
		return e.remove(now)
	case before.Kind == Link:
		return e.link(before.Link, now)
	}
	content, err := w.store.Kept(before)
	if err != nil {
		return err
	}
	defer content.Close()
	return e.write(content, before, now)
}

// expected reports whether a place is as the plan saw it, or as an action before has left it.
func (a *Action) expected(now State, t *jptool.Target) bool {
	if a.now.t != nil {
		return now.Kind == a.now.Kind && (now.Kind == Absent || now.Stamp == a.now.Stamp && now.Size == a.now.Size && now.Mode == a.now.Mode)
	}
	if now.Kind == File && a.now.State.Kind == File && a.now.Digest == "" {
		return now.Size == a.now.Size && now.Mode == a.now.Mode // a large one, that this process has just written
	}
	then := a.now.State
	then.Stamp = Stamp{}
	is, err := same(now, then, func() (string, error) { return (&seen{t: t}).digest() })
	return is && err == nil
}
