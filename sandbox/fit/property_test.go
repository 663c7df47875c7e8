package fit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/fit/testdata/fittest"
)

var (
	full  = fit.Machine{Landlock: 7, Namespaces: true, Seccomp: true, Notify: true}
	plain = fit.Machine{Landlock: 7, Seccomp: true, Notify: true, Why: map[string]string{"namespaces": "they are switched off"}}
)

// scene is a random workspace with a mount, and rules on it.
type scene struct {
	dir, root string
	access    jptool.AccessPolicy
	runtime   []fit.Grant
	links     map[string]string // of mounts that were drawn
	d         *fit.Policy
}

var (
	names   = []string{"a", "b", "c", "d"}
	anyPath = rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(names), 1, 3).Draw(t, "parts"), "/")
	})
	// anyCaps has the sets that people write more often than the others.
	anyCaps = rapid.OneOf(
		rapid.SampledFrom([]jptool.Caps{0, 0, jptool.Read, jptool.Read | jptool.Write, jptool.AllCaps, jptool.Read | jptool.Execute, jptool.Create}),
		rapid.Custom(func(t *rapid.T) jptool.Caps {
			return jptool.Caps(rapid.IntRange(0, int(jptool.AllCaps)).Draw(t, "caps"))
		}),
	)
)

// scenes counts what properties saw, so that none passes on nothing.
type scenes struct{ usable, refused int }

// least is how many of something random cases have to bring about. A short run has a fifth of the cases.
func least(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}

func (c *scenes) enough(t *testing.T) {
	t.Helper()
	if c.usable < least(20) || c.usable < c.refused/4 {
		t.Errorf("only %d of %d random policies could be used", c.usable, c.usable+c.refused)
	}
}

func draw(t *rapid.T, base string, c *scenes) (*scene, bool) {
	dir, err := os.MkdirTemp(base, "scene")
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{dir: dir, root: dir + "/ws", links: map[string]string{}}
	for _, p := range []string{s.root, dir + "/out"} {
		if err := os.Mkdir(p, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, top := range []string{s.root, dir + "/out"} {
		for range rapid.IntRange(0, 7).Draw(t, "entries") {
			at := top + "/" + anyPath.Draw(t, "entry")
			if os.MkdirAll(filepath.Dir(at), 0o755) != nil {
				continue
			}
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0, 1:
				_ = os.Mkdir(at, 0o755)
			case 2, 3:
				_ = os.WriteFile(at, nil, 0o644)
			case 4:
				_ = os.Symlink(top+"/"+anyPath.Draw(t, "to"), at)
			}
		}
	}
	mount := rapid.SampledFrom([]string{"", "m", "a/m", "up"}).Draw(t, "mount")
	if mount != "" {
		target := dir + "/out"
		if mount == "up" {
			target = dir // a mount that holds the workspace
		}
		_ = os.MkdirAll(s.root+"/"+path.Dir(mount), 0o755)
		if os.Symlink(target, s.root+"/"+mount) == nil {
			r := fit.FsRule(mount, anyCaps.Draw(t, "mount caps"))
			r.External, r.ApprovedTarget = true, &target
			s.access.FS = append(s.access.FS, r)
			if real, err := filepath.EvalSymlinks(s.root + "/" + mount); err == nil && mount != "up" {
				s.links[mount] = real
			}
		}
	}
	// A second mount of the same, or of a part of it, has the same rights, or the policy is refused.
	if len(s.links) > 0 && rapid.IntRange(0, 2).Draw(t, "second") == 0 {
		target := s.links[mount]
		if below := target + "/" + rapid.SampledFrom(names).Draw(t, "below"); rapid.Bool().Draw(t, "a part") {
			if fi, err := os.Lstat(below); err == nil && fi.Mode()&fs.ModeSymlink == 0 {
				target = below
			}
		}
		if os.Symlink(target, s.root+"/n") == nil {
			r := s.access.FS[0]
			r.Path, r.ApprovedTarget = "n", &target
			s.access.FS = append(s.access.FS, r)
			if fi, err := os.Stat(target); err == nil && fi.IsDir() {
				s.links["n"] = target
			}
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "root rule") > 0 {
		s.access.FS = append(s.access.FS, fit.FsRule("", anyCaps.Draw(t, "root caps")))
	}
	for range rapid.IntRange(0, 5).Draw(t, "rules") {
		p := anyPath.Draw(t, "rule")
		if mount != "" && mount != "up" && rapid.IntRange(0, 3).Draw(t, "below") == 0 {
			p = path.Join(mount, rapid.SampledFrom([]string{"", p}).Draw(t, "on mount"))
		}
		s.access.FS = append(s.access.FS, fit.FsRule(p, anyCaps.Draw(t, "caps")))
	}
	switch rapid.IntRange(0, 7).Draw(t, "runtime") {
	case 2:
		s.runtime = append(s.runtime, fit.Grant{Node: fit.Node{Path: dir, Kind: fit.Dir}, Caps: jptool.Read | anyCaps.Draw(t, "runtime caps")})
	case 3:
		if fi, err := os.Lstat(s.root + "/a"); err == nil && fi.IsDir() {
			s.runtime = append(s.runtime, fit.Grant{Node: fit.Node{Path: s.root + "/a", Kind: fit.Dir}, Caps: jptool.Read | anyCaps.Draw(t, "runtime caps")})
		}
	case 0:
		s.runtime = append(s.runtime, fit.Grant{Node: fit.Node{Path: dir, Kind: fit.Dir}, Caps: jptool.Read | jptool.Execute})
	case 4:
		s.runtime = append(s.runtime, fit.Grant{Node: fit.Node{Path: "/usr", Kind: fit.Dir}, Caps: jptool.Read | jptool.Execute})
	}
	s.d, err = s.read(&s.access)
	if err != nil {
		c.refused++
		return nil, false
	}
	c.usable++
	return s, true
}

// read takes a policy as it comes over the wire.
func (s *scene) read(a *jptool.AccessPolicy) (*fit.Policy, error) {
	text, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	decoded, err := jptool.DecodeAccess(text)
	if err != nil {
		return nil, err
	}
	return fit.Compile(decoded, s.root)
}

func (s *scene) fit(t *rapid.T, d *fit.Policy, m fit.Machine, o fit.Options) *fit.Fitted {
	o.Runtime = s.runtime
	p, err := fit.Prepare(context.Background(), d, m, o)
	if err != nil {
		t.Fatalf("Prepare: %v", err)
	}
	if err := p.Undo(); err != nil {
		t.Fatal(err)
	}
	return p.Fitted
}

func open(t *rapid.T, root string, a *jptool.AccessPolicy) *jptool.Workspace {
	// The wire is what the tool gets.
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	access, err := jptool.DecodeAccess(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	c := jptool.Context{Root: root, Action: jptool.Run, Access: access}
	ws, err := c.Open()
	if err != nil {
		t.Fatalf("the effective policy cannot be opened: %v\n%s", err, text)
	}
	return ws
}

// ways are the machines and wishes that everything is tried with.
var ways = map[string]struct {
	m fit.Machine
	o fit.Options
}{
	"full":             {full, fit.Options{}},
	"no namespaces":    {plain, fit.Options{}},
	"forced landlock":  {full, fit.Options{Tier: fit.TierLandlock}},
	"forced namespace": {full, fit.Options{Tier: fit.TierNamespace}},
	"old landlock":     {fit.Machine{Landlock: 2, Namespaces: true, Seccomp: true}, fit.Options{}},
}

func TestAgreement(t *testing.T) {
	base := jptooltest.TempRoot(t)
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			var c scenes
			allowed, refused, tiers := 0, 0, map[fit.Tier]int{}
			rapid.Check(t, func(t *rapid.T) {
				s, ok := draw(t, base, &c)
				if !ok {
					return
				}
				f := s.fit(t, s.d, way.m, way.o)
				tiers[f.Plan.Tier]++
				declared, effective := open(t, s.root, s.d.Access), open(t, s.root, f.Access)
				defer declared.Close()
				defer effective.Close()
				k := newKernel(f.Plan)
				if f.Exact() {
					held(t, k, f)
				}
				for _, q := range questions(s.root, s.links) {
					may, can := check(effective, q), k.answer(q)
					if can {
						allowed++
					} else {
						refused++
					}
					if may && !check(declared, q) {
						t.Fatalf("%s %s is allowed and was not declared\n%s", q.need, q.path, fittest.Show(f))
					}
					if may != can && !(can && watched(s.d, f, q)) {
						t.Fatalf("%s %s (%s): the check says %v, the kernel %v\ndeclared %s\n%s", q.need, q.path, q.abs, may, can, fittest.Rules(s.d.Access), fittest.Show(f))
					}
				}
			})
			c.enough(t)
			t.Logf("%d allowed, %d refused, tiers %v", allowed, refused, tiers)
			if allowed < least(100) || refused < least(100) {
				t.Errorf("only %d allowed, %d refused", allowed, refused)
			}
			if name == "full" && (tiers[fit.TierLandlock] < least(5) || tiers[fit.TierNamespace] < least(20)) {
				t.Errorf("tiers: %v", tiers)
			}
		})
	}
}

// held fails if rights could move away from the path that has them: Landlock follows the
// object, and so would whoever renames a directory on the way to it.
func held(t *rapid.T, k *kernel, f *fit.Fitted) {
	var places []fit.Node
	for _, g := range f.Plan.Grants {
		places = append(places, g.Node)
		if _, tree := k.tree(g.Path); !tree && g.Kind != fit.Dir && k.create(g.Path) && !k.points[g.Path] && k.rights[g.Path]&^k.on(path.Dir(g.Path)) != 0 {
			t.Fatalf("%s can get a second name\n%s", g.Path, fittest.Show(f))
		}
	}
	for _, c := range f.Plan.Covers {
		places = append(places, c.Node)
	}
	for _, n := range places {
		top, _ := k.tree(n.Path)
		for p := n.Path; p != top; p = path.Dir(p) {
			if k.delete(p) {
				t.Fatalf("%s can be moved away\n%s", p, fittest.Show(f))
			}
		}
	}
}

// watched reports whether the kernel doing more than the check allows is looked for after
// the call, or named as not enforced because a program needs it.
func watched(d *fit.Policy, f *fit.Fitted, q question) bool {
	for _, c := range f.After {
		switch {
		case c.Want == fit.StillMissing && (c.Path == q.abs || strings.HasPrefix(q.abs, c.Path+"/")):
			return true
		case c.Want == fit.SameEntry && c.Path == q.abs && q.need == jptool.Delete && !f.Exact():
			return true
		}
	}
	// Without namespaces nothing keeps the target of a mount in its place within another of the same rights.
	if f.Plan.Tier == fit.TierLandlock && q.need == jptool.Delete {
		within := func(p string) bool {
			return slices.ContainsFunc(f.Access.FS, func(r jptool.FsRule) bool { return r.ApprovedTarget != nil && *r.ApprovedTarget == p })
		}
		if within(q.abs) && slices.ContainsFunc(above(path.Dir(q.abs)), within) {
			return true
		}
	}
	for _, n := range f.NotEnforced {
		for _, p := range above(q.abs) {
			name, known := d.Site.WirePath(p)
			switch {
			case !known:
				name = p
			case name == "":
				name = "."
			}
			if strings.Contains(n.Why, "sandbox.paths or a flag") && strings.HasSuffix(n.What, fmt.Sprintf("on %q", name)) {
				return true
			}
		}
	}
	return false
}

// TestDry: a dry preparation reports what a call would get, and makes nothing.
func TestDry(t *testing.T) {
	base := jptooltest.TempRoot(t)
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			var c scenes
			made := 0
			rapid.Check(t, func(t *rapid.T) {
				s, ok := draw(t, base, &c)
				if !ok {
					return
				}
				o := way.o
				o.Runtime = s.runtime
				for _, r := range s.access.FS {
					o.Arguments = append(o.Arguments, path.Join(r.Path, "x"))
				}
				before := entries(s.root)
				o.Dry = true
				dry, err := fit.Prepare(context.Background(), s.d, way.m, o)
				if err != nil {
					t.Fatal(err)
				}
				if now := entries(s.root); now != before {
					t.Fatalf("it was %s, and is %s", before, now)
				}
				o.Dry = false
				p, err := fit.Prepare(context.Background(), s.d, way.m, o)
				if err != nil {
					t.Fatal(err)
				}
				defer p.Undo()
				made += len(p.Made)
				if a, b := fittest.Show(dry.Fitted), fittest.Show(p.Fitted); a != b || !slices.Equal(dry.Made, p.Made) {
					t.Fatalf("declared %s\ndry %v %s\nthen %v %s", fittest.Rules(s.d.Access), dry.Made, a, p.Made, b)
				}
			})
			c.enough(t)
			if made < least(20) {
				t.Errorf("only %d directories were made", made)
			}
		})
	}
}

// entries is a listing of a tree.
func entries(dir string) string {
	var list []string
	_ = filepath.WalkDir(dir, func(p string, _ fs.DirEntry, _ error) error {
		list = append(list, p)
		return nil
	})
	return strings.Join(list, " ")
}

// TestFittedTwice: what can be held exactly is not narrowed any more.
func TestFittedTwice(t *testing.T) {
	base := jptooltest.TempRoot(t)
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			var c scenes
			narrowed := 0
			rapid.Check(t, func(t *rapid.T) {
				s, ok := draw(t, base, &c)
				if !ok {
					return
				}
				f := s.fit(t, s.d, way.m, way.o)
				if !f.Exact() {
					return
				}
				narrowed += len(f.Narrowed)
				d, err := s.read(f.Access)
				if err != nil {
					t.Fatalf("the effective policy is refused: %v\n%s", err, fittest.Show(f))
				}
				if again := s.fit(t, d, way.m, way.o); len(again.Narrowed) > 0 {
					t.Fatalf("narrowed again\ndeclared %s\nfirst %s\nthen %s", fittest.Rules(s.d.Access), fittest.Show(f), fittest.Show(again))
				}
			})
			c.enough(t)
			if narrowed < least(20) {
				t.Errorf("only %d narrowings", narrowed)
			}
		})
	}
}

// TestCheapestTier: Landlock alone is chosen exactly where it is enough, judged by trying: without
// any mounts the model still agrees with the check.
func TestCheapestTier(t *testing.T) {
	base := jptooltest.TempRoot(t)
	var c scenes
	cheap := 0
	rapid.Check(t, func(t *rapid.T) {
		s, ok := draw(t, base, &c)
		if !ok {
			return
		}
		f := s.fit(t, s.d, full, fit.Options{})
		if f.Plan.Tier == fit.TierLandlock {
			cheap++
			if len(f.Plan.Covers)+len(f.Plan.Pins) > 0 {
				t.Fatalf("mounts without namespaces: %s", fittest.Show(f))
			}
			return
		}
		// Each mount is needed: it changes what the kernel does, to content or to metadata, or
		// keeps an entry in place that its directory lets go.
		for i, c := range f.Plan.Covers {
			fewer := *f.Plan
			fewer.Covers = slices.Delete(slices.Clone(f.Plan.Covers), i, i+1)
			with, without := newKernel(f.Plan), newKernel(&fewer)
			if with.on(c.Path) == without.on(c.Path) && with.on(c.Path+"/x") == without.on(c.Path+"/x") && with.frozen(c.Path) == without.frozen(c.Path) {
				t.Fatalf("the cover on %s does nothing\n%s", c.Path, fittest.Show(f))
			}
		}
		// What may not be written keeps its metadata.
		k := newKernel(f.Plan)
		for _, top := range f.Plan.Trees {
			_ = filepath.WalkDir(top.Path, func(p string, e fs.DirEntry, err error) error {
				if err != nil || e.Type()&fs.ModeSymlink != 0 || k.frozen(p) {
					return nil
				}
				if can := k.on(p) | k.on(path.Dir(p)); can&jptool.Write == 0 || e.IsDir() && k.on(p)&jptool.Write == 0 {
					t.Fatalf("the metadata of %s can be changed\n%s", p, fittest.Show(f))
				}
				return nil
			})
		}
		for _, n := range f.Plan.Pins {
			if newKernel(f.Plan).on(path.Dir(n.Path))&(jptool.Delete|jptool.Create) == 0 {
				t.Fatalf("the pin on %s does nothing\n%s", n.Path, fittest.Show(f))
			}
		}
	})
	c.enough(t)
	if cheap < 5 {
		t.Errorf("landlock was chosen only %d times", cheap)
	}
}
