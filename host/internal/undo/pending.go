package undo

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/jptools/jptools/jptool"
)

// Call is what [Store.Begin] has to know of a call.
type Call struct {
	Conversation, Tool string
	// Undoes is the record that the call takes back, 0 if it is a call of a tool.
	Undoes int
	// Changed are the places that the call may change, of a move the source and then the target.
	Changed []*jptool.Target
	Move    bool
	// Near are directories that the call may make or remove together with the places, outermost first.
	Near []*jptool.Target
}

// Pending is a call that is under way.
type Pending struct {
	store   *Store
	slot    *slot
	record  *Record
	targets []*jptool.Target
	move    bool
	// large are the names of files with copies that are not in the slot.
	large []string
	bytes int64
}

// Begin keeps what a call may change. The workspace of its places must stay open until [Pending.Finish]. An error means
// that the call cannot be undone; nothing is left of it.
func (s *Store) Begin(c Call) (*Pending, error) {
	p := &Pending{store: s, move: c.Move, targets: slices.Concat(c.Changed, c.Near), record: &Record{
		Time: s.dir.Now().UTC(), Token: rand.Text(), Conversation: c.Conversation, Tool: c.Tool, Undoes: c.Undoes,
		Running: true, Moved: c.Move,
	}}
	var err error
	if p.slot, err = s.take(); err != nil {
		return nil, fmt.Errorf("what it changes is not kept: %w", err)
	}
	for i, t := range p.targets {
		before, err := p.keep(t, !c.Move || i > 0)
		if err != nil {
			p.Drop()
			return nil, fmt.Errorf("what it changes is not kept: %w", err)
		}
		p.record.Items = append(p.record.Items, Item{
			Name: t.Path(), Abs: t.Place(), Before: before, After: State{Kind: Unknown, UID: -1, GID: -1},
		})
	}
	if err := p.slot.write(p.record); err != nil {
		p.Drop()
		return nil, fmt.Errorf("what it changes is not kept: %w", err)
	}
	return p, nil
}

// keep looks at a place and copies the content of a file. The content of what is only moved is not copied.
func (p *Pending) keep(t *jptool.Target, content bool) (State, error) {
	s, f, err := open(t)
	if f != nil {
		defer f.Close()
	}
	switch {
	case err != nil || s.Kind != File:
		return s, err
	case f == nil:
		s.NotKept = "its owner may not read it"
	case !t.Granted().Has(jptool.Read):
		s.NotKept = "the tool may not read it"
	case !content:
		if s.Size <= digestMost {
			s.Digest, err = digest(f)
		}
	case s.Size > p.store.limits.Bytes/4:
		s.NotKept = "it is larger than a quarter of conversation.undo.budget"
	case p.bytes+s.Size > p.store.limits.Bytes/2:
		s.NotKept = "the call changes more than half of conversation.undo.budget"
	default:
		if failed := p.copy(f, &s); failed != nil {
			s.Kept, s.NotKept = nil, "copying it failed: "+failed.Error()
		}
		p.bytes += s.Size
	}
	return s, err
}

// copy copies a file, a large one to a file of its own; its digest is not known then.
func (p *Pending) copy(f *os.File, s *State) error {
	if s.Size > digestMost {
		name := "call-" + rand.Text()[:12] + ".large"
		p.large = append(p.large, name)
		s.Kept = &Copy{File: name}
		return p.store.large(name, f, s.Size)
	}
	content, err := io.ReadAll(io.NewSectionReader(f, 0, digestMost))
	if err != nil {
		return err
	}
	s.Size = int64(len(content))
	if s.Digest, err = digest(bytes.NewReader(content)); err == nil {
		s.Kept, err = p.slot.copy(content)
	}
	return err
}

// Drop forgets the call.
func (p *Pending) Drop() {
	if p == nil || p.slot == nil {
		return
	}
	for _, name := range p.large { // those of records have other names by now
		_ = os.Remove(p.store.dir.File(name))
	}
	p.slot.free()
	p.slot = nil
}

// Told is what a tool says of the content of files, by their names.
type Told map[string]Digests

// Digests are those of a file before a call and after it; "" if the tool does not say.
type Digests struct{ Before, After string }

// Finish looks at what the call has changed and keeps the record of that. It returns its number, 0 if nothing has
// changed.
func (p *Pending) Finish(told Told) (int, error) {
	if p == nil || p.slot == nil {
		return 0, nil
	}
	defer p.Drop()
	r := p.record
	changed := false
	for i, t := range p.targets {
		item := &r.Items[i]
		after, err := look(t)
		if err != nil && after.Kind != Other {
			return 0, err
		}
		item.After = after
		changed = changed || !item.unchanged()
		item.heed(told[item.Name].Before, told[item.Name].After)
	}
	if !changed {
		return 0, nil
	}
	r.Moved = p.move && r.Items[0].After.Kind == Absent && r.Items[1].After.Kind == r.Items[0].Before.Kind
	r.Running = false
	p.leaveOut()
	return p.store.add(r, p.slot)
}

// unchanged reports whether a place is as it was.
func (item *Item) unchanged() bool {
	is, err := same(item.After, item.Before, func() (string, error) { return "", errors.New("it may have changed") })
	return is && err == nil
}

// heed believes the tool rather than what was seen before and after it, when another program may have changed the file.
func (item *Item) heed(before, after string) {
	b, a := &item.Before, &item.After
	if before != "" && b.Kind == File {
		if b.Digest != "" && b.Digest != before {
			b.Kept, b.NotKept = nil, "another program changed it just before the call"
		}
		b.Digest = before
	}
	if after != "" && a.Kind == File {
		a.Digest = after
	}
}

// leaveOut removes places that are as they were, but for the two ends of a move.
func (p *Pending) leaveOut() {
	r := p.record
	first := 0
	if r.Moved {
		first = 2
	}
	rest := slices.DeleteFunc(slices.Clone(r.Items[first:]), func(item Item) bool { return item.unchanged() })
	r.Items = slices.Concat(r.Items[:first], rest)
}
