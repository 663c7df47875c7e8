package mount

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jptools/jptools/host/internal/approval"
	"github.com/jptools/jptools/host/internal/ask"
	"github.com/jptools/jptools/host/internal/disk"
	"github.com/jptools/jptools/host/internal/state/statetest"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/jptooltest"
	"github.com/jptools/jptools/jptool/wspath"
)

var ctx = context.Background()

// person answers every confirmation, after doing something.
type person struct {
	ask.None
	yes   bool
	err   error
	first func()
	asked int
}

func (p *person) Bool(context.Context, ask.BoolQuestion) (ask.BoolAnswer, error) {
	p.asked++
	if p.first != nil {
		p.first()
	}
	return ask.BoolAnswer{Yes: p.yes}, p.err
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
	store *approval.Store
	delta ConversationDelta
	env   Env

	prompter ask.Prompter
}

// apply asks for what the plan wants confirmed, and applies it.
func (w *world) apply(p *Plan) error {
	if err := p.Confirm(ctx, w.prompter, nil); err != nil {
		return err
	}
	return p.Apply(ctx, w.env)
}

func newWorld(t testing.TB, fsys disk.FS) *world {
	t.Helper()
	w := &world{home: base(t)}
	w.req = req(w.home)
	dir := statetest.Dir(t, w.home, fsys)
	w.store = approval.OpenStore(dir, func(s string) { t.Error(s) })
	w.prompter = ask.None{}
	w.env = Env{Store: w.store, Persist: func(_ context.Context, d ConversationDelta) error {
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
	for name, p := range map[string]ask.Prompter{
		"no terminal": ask.None{}, "declined": &person{}, "cancelled": &person{err: ask.ErrCancelled},
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
		spoil func(t *testing.T, w *world)
		want  string
	}{
		"the conversation cannot be stored": {func(_ *testing.T, w *world) {
			w.env.Persist = func(context.Context, ConversationDelta) error { return failure }
		}, "storing the mount in the conversation: disk full"},
		"a file appears in the place of a link": {func(t *testing.T, w *world) {
			// Each is looked at once to verify, entry before target; then the links are made.
			w.env.Look = &hook{System: System{w.req.Root}, n: 2, do: func() { jptooltest.Tree(t, w.home, "file ws/one x") }}
		}, "mounting one: file exists"},
		"a directory turns into a link to outside": {func(t *testing.T, w *world) {
			w.env.Look = &hook{System: System{w.req.Root}, targets: 2, do: func() { jptooltest.Tree(t, w.home, "symlink ws/new ../code") }}
		}, "the path changed while it was being used"},
		"a link is replaced right after": {func(t *testing.T, w *world) {
			w.env.Look = &hook{System: System{w.req.Root}, n: 3, do: func() {
				must(t, os.Remove(w.home+"/ws/one"))
				must(t, os.Symlink("/etc", w.home+"/ws/one"))
			}}
		}, "mounting one: the workspace or the target changed in the meantime"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			_, err := w.store.Record(ctx, approval.Binding{RulePath: "kept", Target: "/kept"})
			must(t, err)
			before := strings.Split(w.tree(t), "\n")
			p := w.plan(t, specs...)
			c.spoil(t, w)
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

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

// Whatever operation on the store fails, there are both links and approvals, or neither.
func TestStoreFaultsLeaveNoHalfMount(t *testing.T) {
	for at := 1; ; at++ {
		faults := &statetest.Faults{FS: disk.OS}
		w := newWorld(t, faults)
		before := w.tree(t)
		p := w.plan(t, "fs_read_file:one=~/code/x", "fs_read_file:two=~/code/y")
		start := faults.Count()
		faults.At = start + at
		err := w.apply(p)
		if faults.Count() < faults.At {
			if err != nil || at < 5 {
				t.Fatalf("after %d operations: %v", at, err)
			}
			break
		}
		faults.At = 0
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
			ToolDelta{FS: []jptool.FsRule{preserved(), jptooltest.Mount("fork", "", "read")}},
			[]string{"hand"},
			[]string{"replace", "external fork read"},
			true,
		},
		"nor when nothing else is left": {
			[]jptool.FsRule{hand},
			ToolDelta{FS: []jptool.FsRule{preserved(), jptooltest.Mount("fork", "", "read")}},
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
			w.delta = ConversationDelta{Tools: map[string]ToolDelta{"t": c.stored}}
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
	w.env.Persist = func(context.Context, ConversationDelta) error { return errors.New("disk full") }
	if _, err := rm.Apply(ctx, w.env); err == nil {
		t.Error("no error")
	}
	if w.readlink(t, "fork") != "/code/x" || w.approvals(t) == "" {
		t.Error("it was taken apart although nothing could be stored")
	}
}

func TestPersistInAConversation(t *testing.T) {
	w := newWorld(t, nil)
	dir, err := statetest.Dir(t, w.home, nil).Conversation("default")
	must(t, err)
	w.env.Persist = PersistIn(dir)
	must(t, w.apply(w.plan(t, "fs_read_file:fork=~/code/x")))
	must(t, w.apply(w.plan(t, "fs_modify_file:fork=~/code/x:rw")))
	raw, err := dir.Read(ConversationFile)
	must(t, err)
	got, err := ParseDelta(raw)
	must(t, err)
	want := map[string][]string{"fs_read_file": {whole, ro}, "fs_modify_file": {whole, rw}}
	if diff := cmp.Diff(want, shown(got)); diff != "" {
		t.Error(diff)
	}
	// A layer that does not parse stops the mount and is left alone.
	must(t, dir.Write(ConversationFile, []byte("[broken")))
	before := w.tree(t)
	if err := w.apply(w.plan(t, "fs_read_file:other=~/code/y")); err == nil || !strings.Contains(err.Error(), "\nrepair the file") {
		t.Errorf("got %v", err)
	}
	if raw, _ := dir.Read(ConversationFile); string(raw) != "[broken" || w.tree(t) != before {
		t.Errorf("%q\n%s", raw, w.tree(t))
	}
}

// The layout of MOUNT_POINT_REPARSE_BUFFER, by hand.
func TestJunctionBuffer(t *testing.T) {
	want, err := hex.DecodeString("030000a0" + "2000" + "0000" + // tag, length, reserved
		"0000" + "0e00" + "1000" + "0600" + // names: offset, length; offset, length
		"5c003f003f005c0043003a005c00" + "0000" + // \??\C:\
		"43003a005c00" + "0000") // C:\
	must(t, err)
	if got := junctionBuffer(`C:\`); !bytes.Equal(got, want) {
		t.Errorf("got  %x\nwant %x", got, want)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
