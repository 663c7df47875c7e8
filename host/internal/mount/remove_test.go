package mount

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// RFD D43, "--no-mount".
func TestNoMount(t *testing.T) {
	for name, c := range map[string]struct {
		names []string
		left  []string // links that stay
		want  map[string][]string
	}{
		"one": {[]string{"fork"}, []string{"other"}, map[string][]string{
			"fs_read_file": {whole, "external other read"},
		}},
		"one in another spelling": {[]string{"foo/../fork/"}, []string{"other"}, map[string][]string{
			"fs_read_file": {whole, "external other read"},
		}},
		"all": {nil, nil, map[string][]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			must(t, w.apply(w.plan(t, "fs_read_file:fork=~/code/x", "fs_modify_file:fork=~/code/x:rw", "fs_read_file:other=~/code/y")))
			w.refresh()
			rm, err := NewRemoval(c.names, w.req)
			must(t, err)
			done, err := rm.Apply(ctx, w.env)
			must(t, err)
			for _, d := range done {
				if !d.Unlinked || d.Frozen != nil {
					t.Errorf("%+v", d)
				}
			}
			if diff := cmp.Diff(c.want, shown(w.delta)); diff != "" {
				t.Error(diff)
			}
			tree := w.tree(t)
			for _, link := range []string{"fork", "other"} {
				if got, want := strings.Contains(tree, "ws/"+link+" "), contains(c.left, link); got != want {
					t.Errorf("link %s is there: %v, want %v", link, got, want)
				}
			}
			if !strings.Contains(tree, "code/x/lib.rs") || !strings.Contains(tree, "code/y/lib.rs") {
				t.Error("a target was touched")
			}
			if got := strings.Contains(w.approvals(t), "fork"); got {
				t.Errorf("approvals:\n%s", w.approvals(t))
			}
		})
	}
}

func TestNoMountKeepsWhatIsNoMount(t *testing.T) {
	w := newWorld(t, nil)
	jptooltest.Tree(t, w.home, "file ws/notes x")
	must(t, os.Symlink("../code/x", w.home+"/ws/fork"))
	w.req.Below = map[string][]jptool.FsRule{
		// Only denied: no mount, and the deny must not vanish.
		"deny": {jptooltest.Mount("fork", "", "")},
		"only": {jptooltest.Mount("fork", "", "read")},
		// A rule of the repository that calls something else a mount.
		"odd":   {jptooltest.Rule("src", "read"), jptooltest.Mount("notes", "", "read"), jptooltest.Mount("in", "", "read"), jptooltest.Mount("missing", "", "read")},
		"other": {jptooltest.Rule("src", "read")},
	}
	w.refresh()
	_, err := NewRemoval([]string{"src"}, w.req)
	if err == nil || !strings.Contains(err.Error(), "no external rule names it\nthe mounts are: fork, in, missing, notes") {
		t.Errorf("a name that is no mount: %v", err)
	}
	rm, err := NewRemoval(nil, w.req)
	must(t, err)
	done, err := rm.Apply(ctx, w.env)
	if err == nil || !strings.Contains(err.Error(), "notes: it is no symlink") || !strings.Contains(err.Error(), "in: it leads to a place inside the workspace") {
		t.Errorf("got %v", err)
	}
	want := map[string][]string{
		// Never an empty list, which would mean unrestricted.
		"only": {"replace", ". nothing"},
		"odd":  {"replace", "src read"},
	}
	if diff := cmp.Diff(want, shown(w.delta)); diff != "" {
		t.Error(diff)
	}
	var unlinked []string
	for _, d := range done {
		if d.Unlinked {
			unlinked = append(unlinked, d.Path)
		}
	}
	if diff := cmp.Diff([]string{"fork"}, unlinked); diff != "" {
		t.Error(diff)
	}
	tree := w.tree(t)
	for _, keep := range []string{"ws/notes -", "ws/in L", "code/x/lib.rs"} {
		if !strings.Contains(tree, keep) {
			t.Errorf("%s is gone", keep)
		}
	}
}

// Only a mount whose rule another layer has leaves a snapshot behind.
func TestNoMountOfAnotherLayer(t *testing.T) {
	src, hand := jptooltest.Rule("src", "read"), jptooltest.Mount("hand", "", "read")
	for name, c := range map[string]struct {
		below  []jptool.FsRule
		stored ToolDelta
		names  []string
		want   []string
		frozen bool
	}{
		"both layers, the conversation's only": {
			[]jptool.FsRule{src, hand},
			ToolDelta{FS: []jptool.FsRule{jptooltest.Mount("fork", "", "read")}},
			[]string{"fork"},
			nil, false,
		},
		"both layers, the other": {
			[]jptool.FsRule{src, hand},
			ToolDelta{FS: []jptool.FsRule{jptooltest.Mount("fork", "", "read")}},
			[]string{"hand"},
			[]string{"replace", "src read", "external fork read"},
			true,
		},
		"the same mount in both": {
			[]jptool.FsRule{src, hand},
			ToolDelta{FS: []jptool.FsRule{jptooltest.Mount("hand", "", "read write")}},
			nil,
			[]string{"replace", "src read"},
			true,
		},
		"the preserved row does not open a list that is declared by now": {
			[]jptool.FsRule{hand},
			ToolDelta{FS: []jptool.FsRule{Preserved(), jptooltest.Mount("fork", "", "read")}},
			[]string{"hand"},
			[]string{"replace", "external fork read"},
			true,
		},
		"nor when nothing else is left": {
			[]jptool.FsRule{hand},
			ToolDelta{FS: []jptool.FsRule{Preserved(), jptooltest.Mount("fork", "", "read")}},
			nil,
			[]string{"replace", ". nothing"},
			true,
		},
		"after a snapshot": {
			[]jptool.FsRule{src, hand},
			ToolDelta{Replace: true, FS: []jptool.FsRule{jptooltest.Mount("fork", "", "read")}},
			nil,
			[]string{"replace", ". nothing"},
			false,
		},
		"a snapshot that has nothing to do with it": {
			[]jptool.FsRule{hand},
			ToolDelta{Replace: true, FS: []jptool.FsRule{src}},
			nil,
			[]string{"replace", "src read"},
			false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			for _, link := range []string{"hand", "fork"} {
				must(t, os.Symlink("../code/x", w.home+"/ws/"+link))
			}
			w.req.Below = map[string][]jptool.FsRule{"t": c.below}
			w.delta = Delta{Tools: map[string]ToolDelta{"t": c.stored}}
			w.refresh()
			rm, err := NewRemoval(c.names, w.req)
			must(t, err)
			done, err := rm.Apply(ctx, w.env)
			must(t, err)
			frozen := false
			for _, d := range done {
				frozen = frozen || slices.Contains(d.Frozen, "t")
			}
			if diff := cmp.Diff(c.want, shown(w.delta)["t"]); diff != "" || frozen != c.frozen {
				t.Errorf("frozen: %v\n%s", frozen, diff)
			}
		})
	}
}

// Access goes first, so that a failure never leaves more than there was.
func TestNoMountFailsTowardsLess(t *testing.T) {
	w := newWorld(t, nil)
	must(t, w.apply(w.plan(t, "fs_read_file:fork=~/code/x")))
	w.refresh()
	rm, err := NewRemoval(nil, w.req)
	must(t, err)
	w.env.Persist = func(context.Context, Delta) error { return errors.New("disk full") }
	if _, err := rm.Apply(ctx, w.env); err == nil {
		t.Error("no error")
	}
	if w.readlink(t, "fork") != "/code/x" || w.approvals(t) == "" {
		t.Error("it was taken apart although nothing could be stored")
	}
}
