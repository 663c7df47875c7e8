package fit_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/sandbox/fit"
)

// declared is a policy with these rules for the workspace at root.
func declared(t testing.TB, root string, rules ...jptool.FsRule) *fit.Policy {
	t.Helper()
	s := scene{root: root}
	d, err := s.read(&jptool.AccessPolicy{FS: rules})
	do(t, err)
	return d
}

func rule(path string, names string) jptool.FsRule { return jptooltest.Rule(path, names) }

// madeRules are for a directory that is made for the call.
func madeRules(t testing.TB, dir string) *fit.Policy {
	return declared(t, dir+"/ws", rule("", "read"), rule("build/", "read write"))
}

func prepared(t *testing.T, dir string) *fit.Prepared {
	t.Helper()
	p, err := fit.Prepare(context.Background(), madeRules(t, dir), full, fit.Options{})
	do(t, err)
	return p
}

func TestMake(t *testing.T) {
	made := func(t *testing.T, p *fit.Prepared, dir string, want bool) {
		t.Helper()
		if _, err := os.Lstat(dir + "/ws/build"); (err == nil) != want {
			t.Errorf("build: %v", err)
		}
		if want && len(p.Narrowed) > 0 {
			t.Errorf("narrowed: %v", p.Narrowed)
		}
	}
	t.Run("empty", func(t *testing.T) {
		dir := jptooltest.TempRoot(t)
		jptooltest.Tree(t, dir, "dir ws", "dir home")
		p := prepared(t, dir)
		made(t, p, dir, true)
		do(t, p.Undo())
		made(t, p, dir, false)
	})
	t.Run("filled", func(t *testing.T) {
		dir := jptooltest.TempRoot(t)
		jptooltest.Tree(t, dir, "dir ws", "dir home")
		p := prepared(t, dir)
		do(t, os.WriteFile(dir+"/ws/build/out", nil, 0o644))
		do(t, p.Undo())
		made(t, p, dir, true)
	})
	t.Run("there already", func(t *testing.T) {
		dir := jptooltest.TempRoot(t)
		jptooltest.Tree(t, dir, "dir ws/build", "dir home")
		p := prepared(t, dir)
		do(t, p.Undo())
		made(t, p, dir, true)
	})
	t.Run("replaced", func(t *testing.T) {
		dir := jptooltest.TempRoot(t)
		jptooltest.Tree(t, dir, "dir ws", "dir home")
		p := prepared(t, dir)
		do(t, os.Rename(dir+"/ws/build", dir+"/ws/other"))
		do(t, os.Mkdir(dir+"/ws/build", 0o755))
		do(t, p.Undo())
		made(t, p, dir, true)
	})
	t.Run("refused", func(t *testing.T) {
		dir := jptooltest.TempRoot(t)
		jptooltest.Tree(t, dir, "dir ws", "dir home")
		m := full
		m.Seccomp = false
		p, err := fit.Prepare(context.Background(), madeRules(t, dir), m, fit.Options{Required: true})
		var refused *fit.RefusedError
		if !errors.As(err, &refused) || p == nil || !strings.Contains(err.Error(), "jphost doctor") {
			t.Fatalf("%v, %v", p, err)
		}
		made(t, p, dir, false)
	})
}

// TestSurveyMoved: a path that a symlink leads away from since the policy was read grants
// nothing, and nothing behind the link is looked at.
func TestSurveyMoved(t *testing.T) {
	dir := jptooltest.TempRoot(t)
	jptooltest.Tree(t, dir, "file ws/a/b/c", "dir out/b", "dir ws")
	d := declared(t, dir+"/ws", rule("", "read"), rule("a/b", "read write"))
	do(t, os.Rename(dir+"/ws/a", dir+"/gone"))
	do(t, os.Symlink("../out", dir+"/ws/a"))
	f, err := fit.Survey(context.Background(), d, fit.Options{})
	do(t, err)
	if n := f.Nodes[dir+"/ws/a/b"]; n.Kind != fit.Missing || n.ID != (fit.ID{}) {
		t.Errorf("looked through the link: %+v", n)
	}
	fitted, err := fit.Fit(d, f, full, fit.Options{})
	do(t, err)
	for _, g := range fitted.Plan.Grants {
		if g.Caps&jptool.Write != 0 {
			t.Errorf("granted: %+v", g)
		}
	}
}

// TestListLimit: what has too many entries is not granted entry by entry.
func TestListLimit(t *testing.T) {
	dir := jptooltest.TempRoot(t)
	jptooltest.Tree(t, dir, "dir ws/secret")
	for i := range 30 {
		jptooltest.Tree(t, dir, fmt.Sprintf("file ws/f%d", i))
	}
	d := declared(t, dir+"/ws", rule("", "read"), rule("secret", ""))
	for limit, want := range map[int]int{31: 30, 30: 0} {
		f, err := fit.Survey(context.Background(), d, fit.Options{})
		do(t, err)
		fitted, err := fit.Fit(d, f, plain, fit.Options{})
		do(t, err)
		if len(fitted.Want) != 1 || fitted.Want[0] != dir+"/ws" || len(fitted.Plan.Grants) != 0 {
			t.Fatalf("limit %d: wants %v, grants %v", limit, fitted.Want, fitted.Plan.Grants)
		}
		do(t, f.List(context.Background(), fitted.Want, limit))
		fitted, err = fit.Fit(d, f, plain, fit.Options{})
		do(t, err)
		if len(fitted.Want) != 0 || len(fitted.Plan.Grants) != want || len(fitted.Narrowed) != 1 {
			t.Errorf("limit %d: wants %v, %d grants, narrowed %v", limit, fitted.Want, len(fitted.Plan.Grants), fitted.Narrowed)
		}
		if said := strings.Contains(fitted.Narrowed[0].Why, "too many"); said != (want == 0) {
			t.Errorf("limit %d: %s", limit, fitted.Narrowed[0].Why)
		}
	}
}

// TestListNames: names that no rule can hold are left out.
func TestListNames(t *testing.T) {
	dir := jptooltest.TempRoot(t)
	jptooltest.Tree(t, dir, "dir ws/secret", "file ws/good", "fifo ws/pipe", "symlink ws/link good")
	do(t, os.WriteFile(dir+"/ws/bad\xff", nil, 0o644))
	p, err := fit.Prepare(context.Background(), declared(t, dir+"/ws", rule("", "read"), rule("secret", "")), plain, fit.Options{})
	do(t, err)
	if g := p.Plan.Grants; len(g) != 1 || g[0].Path != dir+"/ws/good" {
		t.Errorf("granted: %+v", g)
	}
}

func TestNoPolicy(t *testing.T) {
	dir := jptooltest.TempRoot(t)
	d, err := fit.Compile(nil, dir)
	do(t, err)
	if p, err := fit.Prepare(context.Background(), d, full, fit.Options{}); err == nil || !strings.Contains(err.Error(), "access policy") {
		t.Errorf("%v, %v", p, err)
	}
}

func TestCancelled(t *testing.T) {
	dir := jptooltest.TempRoot(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := fit.Prepare(ctx, declared(t, dir, rule("", "read")), full, fit.Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestTiers(t *testing.T) {
	why := map[string]string{"landlock": "no landlock", "namespaces": "no namespaces"}
	for _, c := range []struct {
		m    fit.Machine
		want string
	}{
		{fit.Machine{}, "[], this machine does not have it, this machine does not have it"},
		{fit.Machine{Namespaces: true, Why: why}, "[], no landlock, no namespaces"},
		{fit.Machine{Landlock: 1, Why: why}, "[landlock], no landlock, no namespaces"},
		{fit.Machine{Landlock: 7, Namespaces: true}, "[landlock namespace], this machine does not have it, this machine does not have it"},
	} {
		landlock, _ := c.m.Lacks("landlock")
		namespaces, _ := c.m.Lacks("namespaces")
		if got := fmt.Sprintf("%v, %s, %s", c.m.Tiers(), landlock, namespaces); got != c.want {
			t.Errorf("%+v: %s, want %s", c.m, got, c.want)
		}
	}
}

// TestNet: an open list must never come of rules that allow little.
func TestNet(t *testing.T) {
	p := func(n uint16) *uint16 { return &n }
	s := func(s string) *string { return &s }
	dir := jptooltest.TempRoot(t)
	for _, c := range []struct {
		name  string
		rules []jptool.NetRule
		m     fit.Machine
		want  string
	}{
		{"none", nil, full, "{true false []} true"},
		{"denied", []jptool.NetRule{{Host: "*"}}, full, "{false false []} true"},
		{"port", []jptool.NetRule{{Host: "*", Port: p(22), Allow: true}}, full, "{true false [22]} false"},
		{"scheme", []jptool.NetRule{{Host: "a", Scheme: s("wss"), Allow: true}, {Host: "b", Scheme: s("HTTP"), Allow: true}}, full, "{true false [80 443]} false"},
		{"neither", []jptool.NetRule{{Host: "a", Allow: true}}, full, "{true false [21 80 443]} false"},
		{"scheme without a port", []jptool.NetRule{{Host: "a", Scheme: s("gopher"), Allow: true}}, full, "{false false []} true"},
		{"old kernel", []jptool.NetRule{{Host: "a", Port: p(22), Allow: true}}, fit.Machine{Landlock: 3, Seccomp: true}, "{true false []} false"},
	} {
		d, err := (&scene{root: dir}).read(&jptool.AccessPolicy{FS: []jptool.FsRule{rule("", "read")}, Net: c.rules})
		do(t, err)
		f, err := fit.Prepare(context.Background(), d, c.m, fit.Options{})
		do(t, err)
		if got := fmt.Sprint(f.Plan.Net, f.Exact()); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestWorld: what a call has of its own, and that it is said what it does not have.
func TestWorld(t *testing.T) {
	quiet, future := full, plain
	quiet.Notify, quiet.Why = false, map[string]string{"notify": "somebody else listens"}
	future.Landlock = fit.ResolveABI
	const none, noTree = "loopback local sockets", "loopback local sockets private /tmp pseudo-terminals"
	dir := jptooltest.TempRoot(t)
	for _, c := range []struct {
		name  string
		caps  string
		open  bool
		m     fit.Machine
		own   bool
		local bool
		lacks string
	}{
		{"writing", "read write", false, full, true, true, ""},
		{"reading", "read", false, full, false, false, noTree},
		{"on the network of the host", "read write", true, full, false, false, none},
		{"nobody can listen", "read write", false, quiet, false, false, none},
		{"without namespaces", "read write", false, plain, false, false, noTree},
		{"Landlock knows local sockets", "read", false, future, false, true, "loopback private /tmp pseudo-terminals"},
		{"Landlock knows local sockets, on the network of the host", "read", true, future, false, false, noTree},
		{"no filters", "read write", false, fit.Machine{Landlock: 7, Namespaces: true}, false, false, "loopback"},
	} {
		d, err := (&scene{root: dir}).read(&jptool.AccessPolicy{FS: []jptool.FsRule{rule("", c.caps)}, Net: []jptool.NetRule{{Host: "*", Allow: c.open}}})
		do(t, err)
		f, err := fit.Prepare(context.Background(), d, c.m, fit.Options{})
		do(t, err)
		var lacks []string
		for _, u := range f.Unavailable {
			if lacks = append(lacks, u.What...); u.Why == "" {
				t.Errorf("%s: no reason for %s", c.name, u.What)
			}
		}
		if p := f.Plan; p.Net.Own != c.own || p.Local != c.local || strings.Join(lacks, " ") != c.lacks {
			t.Errorf("%s: own %v, local %v, without %q", c.name, p.Net.Own, p.Local, lacks)
		}
	}
}

// TestScratch: beside a private /tmp the trees below it keep their rights, or there is none.
func TestScratch(t *testing.T) {
	dir := jptooltest.TempRoot(t)
	if !strings.HasPrefix(dir, "/tmp/") {
		t.Skipf("temporary directories are not below /tmp but in %s", dir)
	}
	jptooltest.Tree(t, dir, "dir ws/in", "dir ws/out", "dir beside")
	beside, err := fit.Look(dir + "/beside")
	do(t, err)
	for _, c := range []struct {
		rules []jptool.FsRule
		more  jptool.Caps // on a directory beside
		want  string
	}{
		{[]jptool.FsRule{rule("", "read write execute")}, 0, "/tmp"},
		{[]jptool.FsRule{rule("", "read"), rule("in", "read write")}, 0, "/tmp"},
		{[]jptool.FsRule{rule("", "read write"), rule("in", "")}, 0, "/tmp"},
		{[]jptool.FsRule{rule("", "read create delete")}, 0, ""}, // update could not be taken away again
		{[]jptool.FsRule{rule("in", "read write")}, 0, ""},       // the names beside it would be hidden
		{[]jptool.FsRule{rule("", "read write")}, jptool.Read | jptool.Execute, "/tmp"},
		{[]jptool.FsRule{rule("", "read write")}, jptool.Read, ""}, // it could be executed
		{[]jptool.FsRule{rule("", "read write")}, jptool.Execute, ""},
	} {
		o := fit.Options{Tier: fit.TierNamespace}
		if c.more != 0 {
			o.Runtime = []fit.Grant{{Node: beside, Caps: c.more}}
		}
		f, err := fit.Prepare(context.Background(), declared(t, dir+"/ws", c.rules...), full, o)
		do(t, err)
		said := slices.ContainsFunc(f.Unavailable, func(u fit.Unavailable) bool { return slices.Contains(u.What, "private /tmp") })
		if f.Plan.Scratch != c.want || said != (c.want == "") {
			t.Errorf("%v: %q, %v", c.rules, f.Plan.Scratch, f.Unavailable)
		}
	}
}

// TestTemp: rights on the private temporary directory must not add to those on a tree.
func TestTemp(t *testing.T) {
	base, err := os.MkdirTemp("/var/tmp", "tree")
	if err != nil {
		t.Skipf("the test needs to write to /var/tmp: %v", err)
	}
	defer os.RemoveAll(base)
	if real, err := filepath.EvalSymlinks(base); err != nil || real != base {
		t.Skipf("not run: a sandbox around this process has no /var/tmp but a link: %s, %v", real, err)
	}
	for dir, want := range map[string]string{jptooltest.TempRoot(t): "/var/tmp", base: "/tmp"} {
		p, err := fit.Prepare(context.Background(), declared(t, dir, rule("", "read")), full, fit.Options{Tier: fit.TierNamespace})
		do(t, err)
		if strings.HasPrefix(dir, "/tmp/") != (want != "/tmp") {
			t.Skipf("temporary directories are not below /tmp but in %s", dir)
		}
		if p.Plan.Temp != want {
			t.Errorf("%s: temporary directory %s, want %s", dir, p.Plan.Temp, want)
		}
	}
}

func BenchmarkPrepare(b *testing.B) {
	dir := jptooltest.TempRoot(b)
	jptooltest.Tree(b, dir, "dir home", "dir ws/.git/hooks", "file ws/.git/config", "file ws/a")
	for name, d := range map[string]*fit.Policy{
		"read":  declared(b, dir+"/ws", rule("", "read")),
		"write": declared(b, dir+"/ws", rule("", "read write"), rule(".git/hooks", "read"), rule(".git/config", "read")),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := fit.Prepare(context.Background(), d, full, fit.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
