package undo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/gofrs/flock"

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

// Pending is a call that is under way. Its directory is locked until it ends, so that other processes can tell one that
// was killed.
type Pending struct {
	store   *Store
	name    string
	lock    *flock.Flock
	record  *Record
	targets []*jptool.Target
	move    bool
	bytes   int64
}

// Begin keeps what a call may change. The workspace of its places must stay open until [Pending.Finish]. An error means
// that the call cannot be undone; nothing is left of it.
func (s *Store) Begin(c Call) (*Pending, error) {
	p := &Pending{store: s, move: c.Move, targets: slices.Concat(c.Changed, c.Near), record: &Record{
		Time: s.dir.Now().UTC(), Conversation: c.Conversation, Tool: c.Tool, Undoes: c.Undoes, Running: true, Moved: c.Move,
	}}
	if err := p.open(); err != nil {
		return nil, fmt.Errorf("what it changes is not kept: %w", err)
	}
	for i, t := range p.targets {
		before, err := p.keep(i, t, !c.Move || i > 0)
		if err != nil {
			p.Drop()
			return nil, fmt.Errorf("what it changes is not kept: %w", err)
		}
		p.record.Items = append(p.record.Items, Item{
			Name: t.Path(), Abs: t.Place(), Before: before, After: State{Kind: Unknown, UID: -1, GID: -1},
		})
	}
	if err := p.write(); err != nil {
		p.Drop()
		return nil, fmt.Errorf("what it changes is not kept: %w", err)
	}
	return p, nil
}

// open makes the directory of the call and locks it.
func (p *Pending) open() error {
	if err := p.store.dir.Ensure(); err != nil {
		return err
	}
	path, err := os.MkdirTemp(p.store.dir.Path(), running)
	if err != nil {
		return err
	}
	p.name = filepath.Base(path)
	p.lock = flock.New(filepath.Join(path, lockFile), flock.SetPermissions(0o600))
	if _, err := p.lock.TryLock(); err != nil {
		p.Drop()
		return err
	}
	return nil
}

func (p *Pending) path(name string) string { return filepath.Join(p.store.dir.File(p.name), name) }

// keep looks at a place and copies the content of a file. The content of what is only moved is not copied.
func (p *Pending) keep(i int, t *jptool.Target, content bool) (State, error) {
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
	case s.Size > p.store.limits.Bytes/4:
		s.NotKept = "it is larger than a quarter of conversation.undo.budget"
	case p.bytes+s.Size > p.store.limits.Bytes/2:
		s.NotKept = "the call changes more than half of conversation.undo.budget"
	case !content:
		if s.Size <= digestMost {
			s.Digest, err = digest(f)
		}
	default:
		s.Kept = strconv.Itoa(i)
		if err = p.copy(f, &s); err != nil {
			_ = os.Remove(p.path(s.Kept))
			s.Kept, s.NotKept = "", "copying it failed: "+err.Error()
		}
		p.bytes += s.Size
		return s, nil
	}
	return s, err
}

// copy copies a file into the directory of the call. A large one is cloned if the file system can, else copied by the
// kernel; its digest is not known then.
func (p *Pending) copy(f *os.File, s *State) error {
	to, err := os.OpenFile(p.path(s.Kept), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer to.Close()
	if s.Size > digestMost {
		if !clone(to, f) {
			if _, err := io.Copy(to, io.LimitReader(f, s.Size)); err != nil {
				return err
			}
		}
		return to.Close()
	}
	content, err := io.ReadAll(io.NewSectionReader(f, 0, s.Size))
	if err != nil {
		return err
	}
	s.Size = int64(len(content))
	if s.Digest, err = digest(bytes.NewReader(content)); err != nil {
		return err
	}
	if _, err := to.Write(content); err != nil {
		return err
	}
	return to.Close()
}

func (p *Pending) write() error {
	data, err := json.Marshal(p.record)
	if err != nil {
		return err
	}
	temp := p.path(recordFile + ".new")
	if err := os.WriteFile(temp, data, 0o600); err != nil {
		return err
	}
	return os.Rename(temp, p.path(recordFile))
}

// Drop forgets the call.
func (p *Pending) Drop() {
	if p != nil && p.lock != nil {
		_ = os.RemoveAll(p.store.dir.File(p.name))
		_ = p.lock.Close()
		p.lock = nil
	}
}

// Told is what a tool says of the content of files, by their names.
type Told map[string]Digests

// Digests are those of a file before a call and after it; "" if the tool does not say.
type Digests struct{ Before, After string }

// Finish looks at what the call has changed and keeps the record of that. It returns its number, 0 if nothing has
// changed.
func (p *Pending) Finish(told Told) (int, error) {
	if p == nil || p.lock == nil {
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
		same, _ := same(after, item.Before, func() (string, error) { return "", errors.New("it may have changed") })
		changed = changed || !same
		item.After = after
		item.heed(told[item.Name].Before, told[item.Name].After)
	}
	if !changed {
		return 0, nil
	}
	r.Moved = p.move && r.Items[0].After.Kind == Absent && r.Items[1].After.Kind == r.Items[0].Before.Kind
	r.Running = false
	p.leaveOut()
	if err := p.write(); err != nil {
		return 0, err
	}
	id, err := p.store.addLocked(p.name, p.lock, p.bytes)
	if err == nil {
		_ = p.lock.Close()
		p.lock = nil
	}
	return id, err
}

// heed believes the tool rather than what was seen before and after it, when another program may have changed the file.
func (item *Item) heed(before, after string) {
	b, a := &item.Before, &item.After
	if before != "" && b.Kind == File {
		if b.Digest != "" && b.Digest != before {
			b.Kept, b.NotKept = "", "another program changed it just before the call"
		}
		b.Digest = before
	}
	if after != "" && a.Kind == File {
		a.Digest = after
	}
}

// leaveOut removes items and copies that say nothing: places that are as they were.
func (p *Pending) leaveOut() {
	r := p.record
	first := 0
	if r.Moved {
		first = 2 // both ends of the move stay
	}
	r.Items = slices.Concat(r.Items[:first], slices.DeleteFunc(slices.Clone(r.Items[first:]), func(item Item) bool {
		as, _ := same(item.After, item.Before, func() (string, error) { return "", errors.New("it changed") })
		if as && item.Before.Kept != "" {
			_ = os.Remove(p.path(item.Before.Kept))
			p.bytes -= item.Before.Size
		}
		return as
	}))
}
