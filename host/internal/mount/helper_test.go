package mount

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/host/internal/state/testdata/statetest"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/jptool/wspath"
)

var ctx = context.Background()

// person answers every confirmation, after doing something.
type person struct {
	term.None
	yes   bool
	err   error
	first func()
	asked int
}

func (p *person) Bool(context.Context, term.BoolQuestion) (term.BoolAnswer, error) {
	p.asked++
	if p.first != nil {
		p.first()
	}
	return term.BoolAnswer{Yes: p.yes}, p.err
}

// hook looks at the real system and does something before the n-th look at an entry.
type hook struct {
	System
	n       int
	do      func()
	targets int // the n-th look at a target
}

func (h *hook) Target(abs string) (Target, error) {
	if h.targets--; h.targets == 0 {
		h.do()
	}
	return h.System.Target(abs)
}

func (h *hook) Entry(rel wspath.Rel) (Entry, error) {
	if h.n--; h.n == 0 {
		h.do()
	}
	return h.System.Entry(rel)
}

type world struct {
	home  string
	req   Request
	store *consent.Store
	delta Delta
	env   Env

	prompter term.Prompter
}

// apply asks for what the plan wants confirmed, and applies it.
func (w *world) apply(p *Plan) error {
	if err := p.Confirm(ctx, w.prompter, nil); err != nil {
		return err
	}
	return p.Apply(ctx, w.env)
}

func newWorld(t testing.TB, fsys state.FS) *world {
	t.Helper()
	w := &world{home: base(t)}
	w.req = req(w.home)
	dir := statetest.Dir(t, w.home, fsys)
	w.store = consent.OpenStore(dir, func(s string) { t.Error(s) })
	w.prompter = term.None{}
	w.env = Env{Store: w.store, Persist: func(_ context.Context, d Delta) error {
		w.delta.Add(d)
		return nil
	}}
	return w
}

func (w *world) plan(t testing.TB, specs ...string) *Plan {
	t.Helper()
	var err error
	if w.req.Approved, err = w.store.Snapshot(ctx); err != nil {
		t.Fatal(err)
	}
	w.refresh()
	return plan(t, w.req, specs...)
}

// refresh makes the rules those of the layers below and of the conversation.
func (w *world) refresh() {
	clear(w.req.Rules)
	for tool, rules := range w.req.Below {
		w.req.Rules[tool] = rules
	}
	for tool, d := range w.delta.Tools {
		if d.Replace {
			w.req.Rules[tool] = d.FS
		} else {
			w.req.Rules[tool] = append(slices.Clone(w.req.Below[tool]), d.FS...)
		}
	}
	w.req.Stored = w.delta
}

// tree lists the workspace, and what is outside, with the texts of links.
func (w *world) tree(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	for _, top := range []string{"ws", "code"} {
		err := filepath.WalkDir(filepath.Join(w.home, top), func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			text, _ := os.Readlink(p)
			b.WriteString(strings.TrimPrefix(p, w.home+"/") + " " + d.Type().String() + " " + text + "\n")
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func (w *world) approvals(t testing.TB) string {
	t.Helper()
	list, err := w.store.List(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, m := range list {
		b.WriteString(m.RulePath + " → " + strings.TrimPrefix(m.Target, w.home) + "\n")
	}
	return b.String()
}

func (w *world) readlink(t testing.TB, name string) string {
	t.Helper()
	text, err := os.Readlink(filepath.Join(w.home, "ws", name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(text, w.home)
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
