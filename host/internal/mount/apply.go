package mount

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/jptool/wspath"
)

// Env is what applying needs.
type Env struct {
	Store *consent.Store
	// Persist stores the delta in the conversation, as the last step; nil stores nothing.
	Persist func(context.Context, Delta) error
}

// ErrDeclined: the person said no to a confirmation, or there was nobody to ask.
var ErrDeclined = errors.New("not mounted")

// Confirm asks a person to agree to the plan. shown is an earlier plan of the same batch that they agreed to, or nil:
// what it asked, for the same links, is not asked twice. The caller must not hold a lock meanwhile,
// since a person takes their time. It makes the plan anew before it applies it (see [Plan.Confirmed]).
func (p *Plan) Confirm(ctx context.Context, prompter term.Prompter, shown *Plan) error {
	for _, c := range p.confirm {
		if p.showed(shown, c) {
			continue
		}
		answer, err := prompter.Bool(ctx, c.Question())
		switch {
		case errors.Is(err, term.ErrNoTerminal):
			return fmt.Errorf("%w: %s needs a confirmation (%s), and %w\n%s", ErrDeclined, visibleList(c.Paths), c.Reason, err, c.Remedy)
		case err != nil:
			return fmt.Errorf("%w: %w", ErrDeclined, err)
		case !answer.Yes:
			return fmt.Errorf("%w: the %s of %s was declined", ErrDeclined, c.Reason, visibleList(c.Paths))
		}
	}
	return nil
}

// Confirmed reports whether nothing is left to ask once a person agreed to the plan shown, nil for none.
func (p *Plan) Confirmed(shown *Plan) bool {
	return shown == nil && len(p.confirm) == 0 || p.sameLinks(shown) &&
		!slices.ContainsFunc(p.confirm, func(c Confirmation) bool { return !p.showed(shown, c) })
}

func (p *Plan) showed(shown *Plan, c Confirmation) bool {
	return p.sameLinks(shown) && slices.ContainsFunc(shown.confirm, func(o Confirmation) bool {
		return o.Reason == c.Reason && o.Body == c.Body && slices.Equal(o.Paths, c.Paths)
	})
}

// sameLinks compares where the links lead; one may have been made meanwhile.
func (p *Plan) sameLinks(o *Plan) bool {
	return o != nil && slices.EqualFunc(p.links, o.links, func(a, b Link) bool {
		return a.Path == b.Path && a.Target == b.Target && a.Dir == b.Dir
	})
}

// Apply does all of the batch, or nothing. It checks that the facts are still the same, makes the links, stores
// the approvals and then the rules; if a step fails, the earlier ones are undone. It
// asks nothing: Confirm did. A crash can leave links behind, which grant nothing,
// and directories that were made for them. The caller must have the conversation's lock.
func (p *Plan) Apply(ctx context.Context, env Env) (err error) {
	if err := p.verify(); err != nil {
		return err
	}
	root, err := wspath.OpenDir(p.root)
	if err != nil {
		return fmt.Errorf("opening the workspace: %w", err)
	}
	defer root.Close()
	var undo undoList
	defer func() {
		if err != nil {
			err = undo.run(err)
		}
	}()
	for _, l := range p.links {
		if l.Exists {
			continue
		}
		if err := p.make(root, l, &undo); err != nil {
			return fmt.Errorf("mounting %s: %w", show.Visible(l.Path.String()), err)
		}
	}
	// A link that somebody replaced meanwhile would get the approval of another target.
	for _, l := range p.links {
		if e, err := p.look.Entry(l.Path); err != nil || e.Path != l.Path || e.Kind != Symlink || e.Target != l.Target {
			return changed(l)
		}
	}
	if len(p.bindings) > 0 {
		revert, err := env.Store.Record(ctx, p.bindings...)
		if err != nil {
			return fmt.Errorf("storing the approval: %w", err)
		}
		undo.add("the approval", func() error { return revert(context.WithoutCancel(ctx)) })
	}
	if env.Persist != nil && !p.delta.Empty() {
		if err := env.Persist(ctx, p.delta); err != nil {
			return fmt.Errorf("storing the mount in the conversation: %w", err)
		}
	}
	return nil
}

func visibleList(paths []string) string {
	shown := make([]string, len(paths))
	for i, p := range paths {
		shown[i] = show.Visible(p)
	}
	return strings.Join(shown, ", ")
}

func changed(l Link) error {
	return fmt.Errorf("mounting %s: the workspace or the target changed in the meantime\nlook at it and try again", show.Visible(l.Path.String()))
}

// verify compares the facts with those the plan was made from.
func (p *Plan) verify() error {
	for _, l := range p.links {
		e, err := p.look.Entry(l.Path)
		want := Missing
		if l.Exists {
			want = Symlink
		}
		if err != nil || e.Path != l.Path || e.Kind != want || l.Exists && e.Target != l.Target {
			return changed(l)
		}
		if t, err := p.look.Target(l.Target); err != nil || t.Abs != l.Target || t.Dir != l.Dir {
			return changed(l)
		}
	}
	return nil
}

// make makes the link and the directories above it. It follows no symlink, so that
// nothing is made outside the workspace while others change the tree.
func (p *Plan) make(root *wspath.Dir, l Link, undo *undoList) error {
	parent := l.Path.Parent().Slash()
	for i := 0; i <= len(parent); i++ {
		if i < len(parent) && parent[i] != '/' || parent == "" {
			continue
		}
		dir := parent[:i]
		err := root.Mkdir(dir, 0o777)
		if err == nil {
			undo.add(show.Visible(dir), func() error { return root.RemoveDir(dir) })
		} else if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	text := filepath.FromSlash(l.Target)
	if err := makeLink(root, p.root, text, l); err != nil {
		return err
	}
	undo.add(show.Visible(l.Path.String()), func() error { return removeLink(root, p.root, l.Path.Slash(), text) })
	return nil
}

// undoList has what undoes each step, in the order of the steps.
type undoList []undoStep

type undoStep struct {
	what string
	undo func() error
}

func (u *undoList) add(what string, undo func() error) { *u = append(*u, undoStep{what, undo}) }

// run undoes all steps, the last one first, and adds to the error what could not be undone.
func (u undoList) run(err error) error {
	for _, step := range slices.Backward(u) {
		if e := step.undo(); e != nil {
			err = fmt.Errorf("%w\nand %s could not be taken back: %w", err, step.what, e)
		}
	}
	return err
}
