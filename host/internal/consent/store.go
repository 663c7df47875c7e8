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
	"github.com/jptools/jptools/jptool/strictjson"
	"github.com/jptools/jptools/jptool/wspath"
)

// Store is the approval store of one workspace (RFD D43, "Storage").
type Store struct{ f file[Mount] }

// OpenStore returns the store in dir. Warnings, such as of a store set aside, go to warn.
func OpenStore(dir *state.Dir, warn func(string)) *Store {
	s := &Store{file[Mount]{dir: dir, name: "approvals.json", key: "mounts"}}
	s.f.mend = s.f.setAside(warn)
	return s
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

	raw object // as it stands in the file
}

type mounts []Mount

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
	look, err := s.Snapshot(ctx)
	if err != nil {
		return Decision{}, err
	}
	return look(b), nil
}

// Snapshot reads the store once and returns a Lookup that does no more I/O.
func (s *Store) Snapshot(ctx context.Context) (func(Binding) Decision, error) {
	list, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	return mounts(list).lookup, nil
}

// List returns what is stored, in the order of the file.
func (s *Store) List(ctx context.Context) ([]Mount, error) { return s.f.load(ctx) }

// Record approves the bindings, all or none, replacing other targets of their paths. The
// returned undo puts back what was stored for these paths, unless somebody has changed
// it since.
func (s *Store) Record(ctx context.Context, list ...Binding) (undo func(context.Context) error, err error) {
	var put mounts
	for _, b := range list {
		m, err := newMount(b, s.f.dir.Now())
		if err != nil {
			return nil, err
		}
		put = append(put, m)
	}
	before := map[string]mounts{}
	err = s.f.update(ctx, func(all []Mount) ([]Mount, bool) {
		for _, m := range put {
			before[m.RulePath] = mounts(all).find(m.RulePath)
			all = mounts(all).replace(m.RulePath, m)
		}
		return all, len(put) > 0
	})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		return s.f.update(ctx, func(all []Mount) (_ []Mount, changed bool) {
			for _, m := range put {
				if now := mounts(all).find(m.RulePath); len(now) == 1 && now[0].same(m) {
					all = mounts(all).replace(m.RulePath, before[m.RulePath]...)
					changed = true
				}
			}
			return all, changed
		})
	}, nil
}

// Revoke removes every entry of the rule paths and returns what it removed.
func (s *Store) Revoke(ctx context.Context, rulePaths ...string) (gone []Mount, err error) {
	err = s.f.update(ctx, func(all []Mount) ([]Mount, bool) {
		for _, p := range rulePaths {
			gone = append(gone, mounts(all).find(normalPath(p))...)
			all = mounts(all).replace(normalPath(p))
		}
		return all, len(gone) > 0
	})
	return gone, err
}

// UnmarshalJSON reads an entry, and keeps it as it is written.
func (m *Mount) UnmarshalJSON(data []byte) error {
	if err := m.raw.UnmarshalJSON(data); err != nil {
		return err
	}
	for _, field := range m.raw {
		var err error
		switch field.Key {
		case "rule_path":
			err = json.Unmarshal(field.Value, &m.RulePath)
		case "canonical_target":
			err = json.Unmarshal(field.Value, &m.Target)
		case "approved_at":
			err = json.Unmarshal(field.Value, &m.ApprovedAt)
		default:
			m.Unknown = append(m.Unknown, field.Key)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", field.Key, err)
		}
	}
	if m.RulePath == "" || m.Target == "" {
		return errors.New("rule_path and canonical_target are needed")
	}
	m.RulePath, m.Target = normalPath(m.RulePath), filepath.ToSlash(m.Target)
	return nil
}

// MarshalJSON writes an entry as it was read.
func (m Mount) MarshalJSON() ([]byte, error) { return m.raw.MarshalJSON() }

func newMount(b Binding, now time.Time) (Mount, error) {
	rel, err := wspath.Parse(b.RulePath)
	if err != nil || rel.IsRoot() {
		return Mount{}, fmt.Errorf("%q is not a path below the workspace that could be approved", b.RulePath)
	}
	target := filepath.ToSlash(b.Target)
	if !filepath.IsAbs(b.Target) || filepath.ToSlash(filepath.Clean(b.Target)) != target {
		return Mount{}, fmt.Errorf("%q is not a canonical absolute path", b.Target)
	}
	m := Mount{Binding: Binding{rel.Slash(), target}, ApprovedAt: now.UTC().Truncate(time.Second)}
	return m, errors.Join(
		m.raw.set("rule_path", m.RulePath),
		m.raw.set("canonical_target", m.Target),
		m.raw.set("approved_at", m.ApprovedAt),
	)
}

// same reports whether two entries are written alike, but for the white space.
func (m Mount) same(o Mount) bool {
	return slices.EqualFunc(m.raw, o.raw, func(a, b strictjson.Member) bool {
		return a.Key == b.Key && bytes.Equal(bytes.TrimSpace(a.Value), bytes.TrimSpace(b.Value))
	})
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

func (all mounts) lookup(b Binding) Decision {
	path, target := normalPath(b.RulePath), filepath.ToSlash(b.Target)
	verdict := Decision{}
	for _, m := range all.find(path) {
		switch {
		case m.Target != target:
			return Decision{Retargeted, m.Target}
		case len(m.Unknown) > 0:
			return Decision{}
		}
		verdict.Verdict = Approved
	}
	return verdict
}

func (all mounts) find(path string) mounts {
	var list mounts
	for _, m := range all {
		if m.RulePath == path {
			list = append(list, m)
		}
	}
	return list
}

// replace puts new entries of a path where its first one was, or at the end.
func (all mounts) replace(path string, put ...Mount) mounts {
	first := slices.IndexFunc(all, func(m Mount) bool { return m.RulePath == path })
	rest := slices.DeleteFunc(slices.Clone(all), func(m Mount) bool { return m.RulePath == path })
	if first < 0 {
		first = len(rest)
	}
	return slices.Insert(rest, first, put...)
}
