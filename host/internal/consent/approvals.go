// Package consent remembers what a person consented to, per workspace and only on this machine: bindings of
// external mounts to their targets (RFD D43, approvals.json), the settings of a repository's own config that widen
// access (trust.json), the paths found changed after a call that hold further writing calls back (holds.json), and
// answers for the rest of a session (remembered.json).
//
// Every change is a locked load-modify-save and lands whole or not at all. What cannot be read grants
// nothing: a broken approvals.json or trust.json is set aside, never overwritten, and
// a broken holds.json holds everything.
package consent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/strictjson"
	"github.com/jptools/jptools/jptool/wspath"
)

// Store is the approval store of one workspace (RFD D43, "Storage").
type Store struct{ f records[Mount] }

// OpenStore returns the store in dir. Warnings, such as of a store set aside, go to warn.
func OpenStore(dir *state.Dir, warn func(string)) *Store {
	s := &Store{records[Mount]{dir: dir, name: "approvals.json", key: "mounts"}}
	s.f.mend = s.f.setAside(warn)
	s.f.take = (*Mount).take
	s.f.unknown = func(m *Mount, key string) { m.Unknown = append(m.Unknown, key) }
	return s
}

// Binding is what is approved: that a workspace-relative rule path may resolve to a
// canonical absolute target. It says nothing about capabilities.
type Binding struct {
	RulePath string `json:"rule_path"`
	Target   string `json:"canonical_target"`
}

// Mount is a stored binding.
type Mount struct {
	Binding
	// ApprovedAt is zero when the entry was written by hand without a time.
	ApprovedAt time.Time `json:"approved_at"`
	// Unknown names keys of the entry that this version does not know. Such an entry
	// approves nothing: a newer version may have limited it.
	Unknown []string `json:"-"`

	raw json.RawMessage // as it stands in the file, but for the white space
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
				if now := mounts(all).find(m.RulePath); len(now) == 1 && bytes.Equal(now[0].raw, m.raw) {
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

// take completes an entry that was read, and keeps it as it is written.
func (m *Mount) take(data []byte) error {
	if m.RulePath == "" || m.Target == "" {
		return errors.New("rule_path and canonical_target are needed")
	}
	var raw bytes.Buffer
	if err := json.Compact(&raw, data); err != nil {
		return err
	}
	m.raw = raw.Bytes()
	m.RulePath, m.Target = normalPath(m.RulePath), filepath.ToSlash(m.Target)
	return nil
}

// MarshalJSON writes an entry as it was read.
func (m Mount) MarshalJSON() ([]byte, error) { return m.raw, nil }

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
	type plain Mount // without MarshalJSON
	m.raw, err = strictjson.Marshal(plain(m), "")
	return m, err
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

// Grant is what one tool may do below a mount.
type Grant struct {
	Tool string
	Caps jptool.Caps
}

// Request is an external rule path that wants to be approved, with every tool it affects.
type Request struct {
	Binding
	Grants []Grant
	// Caution says what is risky about the target; lines for people, "" when nothing is known.
	Caution string
}

// Result is the outcome of the approval lifecycle for one rule path.
type Result struct {
	// Approved: the rule may be compiled with the binding's target.
	Approved bool
	// Reason says, for people, why it is not approved and what to do.
	Reason string
	// Declined: a person said no to it just now.
	Declined bool
}

// Resolve runs the approval lifecycle of RFD D43 for one external rule: what is stored proceeds,
// anything else is asked for and stored, and without a terminal it is not approved. The
// prompt is no part of any conversation. An error means that the store failed, or
// that the person cancelled; the rule is not approved then either.
func (s *Store) Resolve(ctx context.Context, p term.Prompter, r Request) (Result, error) {
	was, err := s.Lookup(ctx, r.Binding)
	if err != nil {
		return Result{}, err
	}
	if was.Verdict == Approved {
		return Result{Approved: true}, nil
	}
	answer, err := p.Bool(ctx, Question(r, was))
	switch {
	case errors.Is(err, term.ErrNoTerminal):
		what := "is not approved yet"
		if was.Verdict == Retargeted {
			what = "no longer leads to its approved target"
		}
		return Result{Reason: fmt.Sprintf("the external path %s %s\napprove it with: jphost approvals approve %s",
			show.Visible(r.RulePath), what, show.Word(r.RulePath))}, nil
	case err != nil:
		return Result{Reason: "the question was not answered"}, err
	case !answer.Yes:
		return Result{Declined: true, Reason: fmt.Sprintf("the target of %s was declined", show.Visible(r.RulePath))}, nil
	}
	// What was shown is what is stored, whatever the link says by now.
	if _, err := s.Record(ctx, r.Binding); err != nil {
		return Result{}, err
	}
	return Result{Approved: true}, nil
}

// Question is the prompt of RFD D43 for a new binding or a changed one.
func Question(r Request, was Decision) term.BoolQuestion {
	caution := ""
	if r.Caution != "" {
		caution = "\n" + show.Text(strings.TrimRight(r.Caution, "\n")) + "\n"
	}
	verb := "Approve "
	body := fmt.Sprintf("Approve this target binding?\n\n  %s → %s\n",
		show.Visible(r.RulePath), show.Visible(r.Target)) + grants(r) + caution + `
The target binding will be remembered. Capability changes through
config edits do not re-prompt while the target is unchanged.

`
	if was.Verdict == Retargeted {
		verb = "Allow new target of "
		body = fmt.Sprintf("Symlink `%s` retargeted:\n  was: %s\n  now: %s\n",
			show.Visible(r.RulePath), show.Visible(was.Previous), show.Visible(r.Target)) + caution
	}
	return term.BoolQuestion{Message: term.Message{Body: body}, Prompt: verb + show.Name(r.RulePath) + tools(r) + "?", Default: term.No()}
}

// tools names whom an approval is for.
func tools(r Request) string {
	switch n := len(r.Grants); n {
	case 0:
		return ""
	case 1:
		return " for " + show.Name(r.Grants[0].Tool)
	default:
		return fmt.Sprintf(" for %s and %d more", show.Name(r.Grants[0].Tool), n-1)
	}
}

// grants lists every affected tool.
func grants(r Request) string {
	if len(r.Grants) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nCurrent grants under this mount:\n")
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, g := range r.Grants {
		fmt.Fprintf(w, "  %s:\t%s\n", show.Visible(g.Tool), g.Caps)
	}
	w.Flush()
	return b.String()
}
