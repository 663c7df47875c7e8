package mount

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/afero"

	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/state/testdata/statetest"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

func TestMount(t *testing.T) {
	w := newWorld(t, nil)
	specs := []string{"fs_read_file:new/dir/fork=~/code/alias", "fs_modify_file:new/dir/fork=~/code/x:rw", "fs_read_file:file=~/code/file.txt"}
	if err := w.apply(w.plan(t, specs...)); err != nil {
		t.Fatal(err)
	}
	if w.readlink(t, "new/dir/fork") != "/code/x" || w.readlink(t, "file") != "/code/file.txt" {
		t.Error(w.tree(t))
	}
	if got := w.approvals(t); got != "new/dir/fork → /code/x\nfile → /code/file.txt\n" {
		t.Errorf("approvals:\n%s", got)
	}
	// Again: nothing to do, nobody to ask.
	before := w.tree(t)
	if p := w.plan(t, specs...); !p.Empty() {
		t.Errorf("again: %v %+v", p.bindings, shown(p.delta))
	} else if err := w.apply(p); err != nil || w.tree(t) != before {
		t.Errorf("again: %v", err)
	}
	// What was stored compiles, and means what was asked for.
	target := w.home + "/code/x"
	for tool, want := range map[string]jptool.Caps{"fs_read_file": jptool.Read, "fs_modify_file": jptool.Read | jptool.Write} {
		var rules []jptool.FsRule
		for _, r := range w.delta.Tools[tool].FS {
			if r.Path == "new/dir/fork" {
				r.ApprovedTarget = &target
			}
			rules = append(rules, r)
		}
		ws := jptooltest.Open(t, w.req.Root, rules...)
		_, err := ws.CheckRead("new/dir/fork/lib.rs")
		_, uerr := ws.CheckUpdate("new/dir/fork/lib.rs")
		if err != nil || (uerr == nil) != want.Has(jptool.Update) {
			t.Errorf("%s: read %v, update %v", tool, err, uerr)
		}
		if _, err := ws.CheckUpdate("src/lib.rs"); err != nil {
			t.Errorf("%s: the workspace is lost: %v", tool, err)
		}
	}
}

func TestNothingIsDoneWithoutConfirmation(t *testing.T) {
	for name, p := range map[string]term.Prompter{
		"no terminal": term.None{}, "declined": &person{}, "cancelled": &person{err: term.ErrCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			before := w.tree(t)
			w.prompter = p
			err := w.apply(w.plan(t, "fs_read_file:a=~/code/x", "b=~/code/y"))
			if !errors.Is(err, ErrDeclined) {
				t.Errorf("got %v", err)
			}
			if name == "no terminal" && !strings.Contains(err.Error(), "\nname the tool instead, once for each: TOOL:NAME=PATH") {
				t.Errorf("no way out: %v", err)
			}
			if w.tree(t) != before || w.approvals(t) != "" || !w.delta.Empty() {
				t.Errorf("something was done:\n%s%s", w.tree(t), w.approvals(t))
			}
		})
	}
}

func TestEveryConfirmationIsAskedFor(t *testing.T) {
	w := newWorld(t, nil)
	p := &person{yes: true}
	w.prompter = p
	if err := w.apply(w.plan(t, "home=~")); err != nil || p.asked != 3 {
		t.Errorf("asked %d times, %v", p.asked, err)
	}
	if got := w.approvals(t); got != "home → \n" {
		t.Errorf("%q", got)
	}
}

// A person who agreed to a plan agreed to what it showed, and to nothing else.
func TestWhatWasShownIsConfirmed(t *testing.T) {
	w := newWorld(t, nil)
	shown := w.plan(t, "a=~/code/x", "fs_read_file:b=~/code/y")
	for _, c := range []struct {
		specs  []string
		asked  int
		spoken string
	}{
		{[]string{"a=~/code/x", "fs_read_file:b=~/code/y"}, 0, "the same"},
		{[]string{"a=~/code/y", "fs_read_file:b=~/code/y"}, 1, "another target"},
		{[]string{"a=~/code/x", "fs_read_file:b=~/code/x"}, 1, "another target of a link that needs no confirmation"},
		{[]string{"a=~/code/x", "b=~/code/y"}, 1, "more tools"},
		{[]string{"a=~/code/x"}, 1, "other links"},
		{[]string{"fs_read_file:b=~/code/y"}, 0, "nothing to confirm, of other links"},
	} {
		p, now := &person{yes: true}, w.plan(t, c.specs...)
		if err := now.Confirm(ctx, p, shown); err != nil || p.asked != c.asked {
			t.Errorf("%s: asked %d times, want %d: %v", c.spoken, p.asked, c.asked, err)
		}
		if got := now.Confirmed(shown); got != (c.spoken == "the same") {
			t.Errorf("%s: confirmed %v", c.spoken, got)
		}
		if !now.Confirmed(now) || now.Confirmed(nil) != (len(now.confirm) == 0) {
			t.Errorf("%s: by itself %v, by nothing %v", c.spoken, now.Confirmed(now), now.Confirmed(nil))
		}
	}
}

// A step that fails takes back those before.
func TestBatchIsAllOrNothing(t *testing.T) {
	specs := []string{"fs_read_file:one=~/code/x", "fs_read_file:new/dir/two=~/code/y"}
	failure := errors.New("disk full")
	for name, c := range map[string]struct {
		spoil func(t *testing.T, w *world, p *Plan)
		want  string
	}{
		"the conversation cannot be stored": {func(_ *testing.T, w *world, _ *Plan) {
			w.env.Persist = func(context.Context, Delta) error { return failure }
		}, "storing the mount in the conversation: disk full"},
		"a file appears in the place of a link": {func(t *testing.T, w *world, p *Plan) {
			// Each is looked at once to verify, entry before target; then the links are made.
			p.look = &hook{System: System{w.req.Root}, n: 2, do: func() { jptooltest.Tree(t, w.home, "file ws/one x") }}
		}, "mounting one: file exists"},
		"a directory turns into a link to outside": {func(t *testing.T, w *world, p *Plan) {
			p.look = &hook{System: System{w.req.Root}, targets: 2, do: func() { jptooltest.Tree(t, w.home, "symlink ws/new ../code") }}
		}, "the path changed while it was being used"},
		"a link is replaced right after": {func(t *testing.T, w *world, p *Plan) {
			p.look = &hook{System: System{w.req.Root}, n: 3, do: func() {
				must(t, os.Remove(w.home+"/ws/one"))
				must(t, os.Symlink("/etc", w.home+"/ws/one"))
			}}
		}, "mounting one: the workspace or the target changed in the meantime"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			_, err := w.store.Record(ctx, consent.Binding{RulePath: "kept", Target: "/kept"})
			must(t, err)
			before := strings.Split(w.tree(t), "\n")
			p := w.plan(t, specs...)
			c.spoil(t, w, p)
			if err := w.apply(p); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v; want %q", err, c.want)
			}
			for _, line := range strings.Split(w.tree(t), "\n") {
				planted := strings.HasPrefix(line, "ws/one ") && !strings.Contains(line, "/code/x") || strings.HasPrefix(line, "ws/new L")
				if !contains(before, line) && !planted {
					t.Errorf("left behind: %s", line)
				}
			}
			if got := w.approvals(t); got != "kept → /kept\n" || !w.delta.Empty() {
				t.Errorf("approvals:\n%s%+v", got, w.delta)
			}
		})
	}
}

// Whatever operation on the store fails, there are both links and approvals, or neither.
func TestStoreFaultsLeaveNoHalfMount(t *testing.T) {
	for at := 1; ; at++ {
		failing := &statetest.Faults{FS: &afero.OsFs{}}
		w := newWorld(t, failing)
		before := w.tree(t)
		p := w.plan(t, "fs_read_file:one=~/code/x", "fs_read_file:two=~/code/y")
		start := failing.Count()
		failing.At = start + at
		err := w.apply(p)
		if failing.Count() < failing.At {
			if err != nil || at < 5 {
				t.Fatalf("after %d operations: %v", at, err)
			}
			break
		}
		failing.At = 0
		if err == nil {
			continue // a fault that does not matter, such as one in cleaning up
		}
		if w.tree(t) != before || !w.delta.Empty() {
			t.Fatalf("operation %d: %v left\n%s", at, err, w.tree(t))
		}
	}
}

// While a person thinks, the target may be replaced: then nothing is mounted.
func TestTargetReplacedDuringTheQuestion(t *testing.T) {
	for name, swap := range map[string][]string{
		"target": {"code/x", "../.ssh"}, "directory of the link": {"ws/foo", "../code"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.prompter = &person{yes: true, first: func() {
				at := filepath.Join(w.home, swap[0])
				must(t, os.RemoveAll(at))
				must(t, os.Symlink(swap[1], at))
			}}
			err := w.apply(w.plan(t, "foo/fork=~/code/x"))
			if err == nil || !strings.Contains(err.Error(), "changed in the meantime") || w.approvals(t) != "" {
				t.Errorf("%v\n%s", err, w.approvals(t))
			}
			if strings.Contains(w.tree(t), "/fork ") {
				t.Error(w.tree(t))
			}
		})
	}
}
