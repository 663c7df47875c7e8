package consent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/jptool/wspath"
)

// Store is the approval store of one workspace (RFD D43, "Storage").
type Store struct{ f file }

// OpenStore returns the store in dir. Warnings, such as of a store set aside, go to warn.
func OpenStore(dir *state.Dir, warn func(string)) *Store {
	return &Store{file{dir: dir, name: "approvals.json", warn: warn}}
}

// Binding is what is approved: that a workspace-relative rule path may resolve to a
// canonical absolute target. It says nothing about capabilities.
type Binding struct{ RulePath, Target string }

// Mount is a stored binding.
type Mount struct {
	Binding
	// ApprovedAt is zero when the entry was written by hand without a time.
	ApprovedAt time.Time
	// Unknown names keys of the entry that this version does not know. Such an entry
	// approves nothing: a newer version may have limited it.
	Unknown []string
}

// Verdict is the result of a lookup.
type Verdict int

// The results of a lookup.
const (
	// Unknown: nothing is stored for the rule path.
	Unknown Verdict = iota
	// Approved: exactly this binding is stored.
	Approved
	// Retargeted: the rule path was approved for another target.
	Retargeted
)

// Decision is a verdict and, for Retargeted, the target that was approved.
type Decision struct {
	Verdict  Verdict
	Previous string
}

// Lookup compares a binding with what is stored. When several entries for the path
// disagree, nothing is approved.
func (s *Store) Lookup(ctx context.Context, b Binding) (Decision, error) {
	doc, err := s.load(ctx)
	if err != nil {
		return Decision{}, err
	}
	return doc.lookup(b), nil
}

// Snapshot reads the store once and returns a Lookup that does no more I/O.
func (s *Store) Snapshot(ctx context.Context) (func(Binding) Decision, error) {
	doc, err := s.load(ctx)
	if err != nil {
		return nil, err
	}
	return doc.lookup, nil
}

// List returns what is stored, in the order of the file.
func (s *Store) List(ctx context.Context) ([]Mount, error) {
	doc, err := s.load(ctx)
	if err != nil {
		return nil, err
	}
	var list []Mount
	for _, e := range doc.entries {
		list = append(list, e.mount)
	}
	return list, nil
}

// Record approves the bindings, all or none, replacing other targets of their paths. The
// returned undo puts back what was stored for these paths, unless somebody has changed
// it since.
func (s *Store) Record(ctx context.Context, list ...Binding) (undo func(context.Context) error, err error) {
	var put []entry
	for _, b := range list {
		e, err := newEntry(b, s.f.dir.Now())
		if err != nil {
			return nil, err
		}
		put = append(put, e)
	}
	before := map[string][]entry{}
	err = s.update(ctx, func(doc *document) bool {
		for _, e := range put {
			before[e.mount.RulePath] = doc.replace(e.mount.RulePath, []entry{e})
		}
		return len(put) > 0
	})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		return s.update(ctx, func(doc *document) (changed bool) {
			for _, e := range put {
				path := e.mount.RulePath
				if now := doc.find(path); len(now) == 1 && sameRaw(now[0].raw, e.raw) {
					doc.replace(path, before[path])
					changed = true
				}
			}
			return changed
		})
	}, nil
}

// Revoke removes every entry of the rule paths and returns what it removed.
func (s *Store) Revoke(ctx context.Context, rulePaths ...string) ([]Mount, error) {
	var gone []Mount
	err := s.update(ctx, func(doc *document) bool {
		gone = nil
		for _, p := range rulePaths {
			for _, e := range doc.replace(normalPath(p), nil) {
				gone = append(gone, e.mount)
			}
		}
		return len(gone) > 0
	})
	return gone, err
}

// update is a load-modify-save under the lock; nothing is written when change reports
// no change.
func (s *Store) update(ctx context.Context, change func(*document) bool) error {
	return s.f.dir.Locked(ctx, s.f.name, func() error {
		var doc document
		if err := s.f.loadLocked(doc.parse); err != nil {
			return err
		}
		if !change(&doc) {
			return nil
		}
		return doc.save(&s.f)
	})
}

func (s *Store) load(ctx context.Context) (*document, error) {
	var doc document
	return &doc, s.f.load(ctx, doc.parse)
}

// document is approvals.json with everything in it.
type document struct {
	all     object
	entries []entry
}

type entry struct {
	mount Mount
	raw   object
}

func (d *document) parse(data []byte) error {
	*d = document{}
	if data == nil {
		return nil
	}
	if err := decodeStrict(data, &d.all); err != nil {
		return err
	}
	mounts := d.all.get("mounts")
	if mounts == nil {
		return nil
	}
	var list []object
	if err := json.Unmarshal(mounts, &list); err != nil {
		return fmt.Errorf("mounts: %w", err)
	}
	for i, raw := range list {
		e := entry{raw: raw}
		if err := e.decode(); err != nil {
			return fmt.Errorf("mounts[%d]: %w", i, err)
		}
		d.entries = append(d.entries, e)
	}
	return nil
}

func (e *entry) decode() error {
	var path, target string
	for _, m := range e.raw {
		var err error
		switch m.key {
		case "rule_path":
			err = json.Unmarshal(m.value, &path)
		case "canonical_target":
			err = json.Unmarshal(m.value, &target)
		case "approved_at":
			err = json.Unmarshal(m.value, &e.mount.ApprovedAt)
		default:
			e.mount.Unknown = append(e.mount.Unknown, m.key)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", m.key, err)
		}
	}
	if path == "" || target == "" {
		return errors.New("rule_path and canonical_target are needed")
	}
	e.mount.Binding = Binding{normalPath(path), filepath.ToSlash(target)}
	return nil
}

func newEntry(b Binding, now time.Time) (entry, error) {
	rel, err := wspath.Parse(b.RulePath)
	if err != nil || rel.IsRoot() {
		return entry{}, fmt.Errorf("%q is not a path below the workspace that could be approved", b.RulePath)
	}
	if !filepath.IsAbs(filepath.FromSlash(b.Target)) || filepath.ToSlash(filepath.Clean(b.Target)) != filepath.ToSlash(b.Target) {
		return entry{}, fmt.Errorf("%q is not a canonical absolute path", b.Target)
	}
	e := entry{mount: Mount{Binding: Binding{rel.Slash(), filepath.ToSlash(b.Target)}, ApprovedAt: now.UTC().Truncate(time.Second)}}
	for _, m := range []struct {
		key string
		v   any
	}{{"rule_path", e.mount.RulePath}, {"canonical_target", e.mount.Target}, {"approved_at", e.mount.ApprovedAt.Format(time.RFC3339)}} {
		if err := e.raw.set(m.key, m.v); err != nil {
			return entry{}, err
		}
	}
	return e, nil
}

// normalPath makes different spellings of a path one; what is no path stays as it is
// and matches nothing.
func normalPath(p string) string {
	rel, err := wspath.Parse(p)
	if err != nil {
		return p
	}
	return rel.Slash()
}

func (d *document) lookup(b Binding) Decision {
	path, target := normalPath(b.RulePath), filepath.ToSlash(b.Target)
	verdict := Decision{}
	for _, e := range d.find(path) {
		switch {
		case e.mount.Target != target:
			return Decision{Retargeted, e.mount.Target}
		case len(e.mount.Unknown) > 0:
			return Decision{}
		}
		verdict.Verdict = Approved
	}
	return verdict
}

func (d *document) find(path string) []entry {
	var list []entry
	for _, e := range d.entries {
		if e.mount.RulePath == path {
			list = append(list, e)
		}
	}
	return list
}

// replace puts the new entries of a path where its first one was, and returns the old.
func (d *document) replace(path string, put []entry) (old []entry) {
	at := slices.IndexFunc(d.entries, func(e entry) bool { return e.mount.RulePath == path })
	old = d.find(path)
	d.entries = slices.DeleteFunc(d.entries, func(e entry) bool { return e.mount.RulePath == path })
	if at < 0 || at > len(d.entries) {
		at = len(d.entries)
	}
	d.entries = slices.Insert(d.entries, at, put...)
	return old
}

func (d *document) save(f *file) error {
	list := []object{}
	for _, e := range d.entries {
		list = append(list, e.raw)
	}
	if err := d.all.set("mounts", list); err != nil {
		return err
	}
	return f.save(d.all)
}

func sameRaw(a, b object) bool {
	x, errA := compact(a)
	y, errB := compact(b)
	return errA == nil && errB == nil && bytes.Equal(x, y)
}

func compact(o object) ([]byte, error) {
	raw, err := o.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = json.Compact(&b, raw)
	return b.Bytes(), err
}
