package fit_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/fit/testdata/fittest"
)

// withheld fits a policy with patterns to a tree.
func withheld(t testing.TB, root string, m fit.Machine, access *jptool.AccessPolicy, o fit.Options) (*fit.Prepared, error) {
	t.Helper()
	d, err := fit.Compile(access, root)
	do(t, err)
	p, err := fit.Prepare(context.Background(), d, m, o)
	if p != nil {
		t.Cleanup(func() { p.Undo() })
	}
	return p, err
}

func foundPlaces(p *fit.Prepared) string {
	var list []string
	for _, w := range p.Withheld {
		list = append(list, w.By+" "+w.Path)
	}
	return strings.Join(list, ", ")
}

// What exists is hidden in the namespace tier, and left out of what is granted in the other one.
func TestWithheldIsHidden(t *testing.T) {
	dir := jptooltest.TempRoot(t)
	jptooltest.Tree(t, dir, "file ws/.env x", "file ws/a/b/.env.local x", "file ws/keys/in/k x", "file ws/README x", "file ws/named/.env x",
		"file ws/conf/real x", "symlink ws/a/.env ../conf/real", "symlink ws/.env.up ..", "symlink ws/.env.out /etc/passwd", "symlink ws/.env.gone nothing")
	access := &jptool.AccessPolicy{
		FS: []jptool.FsRule{rule("", "read"), rule("named/.env", "read")}, Deny: []string{"keys/", "/later/x.key"}, Secrets: []string{"**/.env", "**/.env.*"},
	}
	p, err := withheld(t, dir+"/ws", full, access, fit.Options{})
	do(t, err)
	if diff := cmp.Diff("secrets .env, secrets .env.gone, secrets .env.out, secrets .env.up, secrets a/.env, secrets a/b/.env.local, deny keys, secrets conf/real", foundPlaces(p)); diff != "" {
		t.Error(diff)
	}
	text := strings.ReplaceAll(fittest.Show(p.Fitted), dir, "")
	for _, want := range []string{
		"tier namespace", "cover /ws/.env: hide", "cover /ws/a/b/.env.local: hide", "cover /ws/keys: hide", "cover /ws/conf/real: hide",
		"AFTER /ws/later/x.key: missing",
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "/ws/named/.env") || strings.Contains(text, "cover /ws:") && strings.Contains(text, "cover /ws: hide") {
		t.Error(text)
	}
	if diff := cmp.Diff([]string{"**/.env", "**/.env.*", "/conf/real"}, p.Access.Secrets); diff != "" {
		t.Error(diff)
	}
	alone := full
	alone.Namespaces = false
	p, err = withheld(t, dir+"/ws", alone, access, fit.Options{})
	do(t, err)
	text = strings.ReplaceAll(fittest.Show(p.Fitted), dir, "")
	for _, path := range []string{"/ws", "/ws/a", "/ws/a/b", "/ws/conf", "/ws/.env", "/ws/keys", "/ws/conf/real"} {
		if strings.Contains(text, "grant "+path+":") {
			t.Errorf("%s is granted:\n%s", path, text)
		}
	}
	if !strings.Contains(text, "grant /ws/README: read") || !strings.Contains(text, "grant /ws/named: read") {
		t.Error(text)
	}
	if p.Scanned.Entries != 14 || p.Scanned.Directories != 5 {
		t.Errorf("%+v", p.Scanned)
	}
}

// A link that is denied takes away what it leads to, although that lies in a place of secrets and a rule names it.
func TestDeniedLinkToNamedSecret(t *testing.T) {
	dir := jptooltest.TempRoot(t)
	jptooltest.Tree(t, dir, "file .ssh/config x", "file .ssh/key x", "symlink x .ssh/config")
	access := &jptool.AccessPolicy{FS: []jptool.FsRule{rule("", "read"), rule(".ssh/config", "read")}, Deny: []string{"x"}, Secrets: []string{".ssh"}}
	p, err := withheld(t, dir, full, access, fit.Options{})
	do(t, err)
	if diff := cmp.Diff("secrets .ssh, deny x, deny .ssh/config", foundPlaces(p)); diff != "" {
		t.Error(diff)
	}
	text := strings.ReplaceAll(fittest.Show(p.Fitted), dir, "")
	if !strings.Contains(text, "cover /.ssh: hide\n") || strings.Contains(text, "/.ssh/config: again") || strings.Contains(text, "grant /.ssh") {
		t.Error(text)
	}
	access.Deny = nil
	p, err = withheld(t, dir, full, access, fit.Options{})
	do(t, err)
	if text := strings.ReplaceAll(fittest.Show(p.Fitted), dir, ""); !strings.Contains(text, "/.ssh/config: again") {
		t.Errorf("control: %s", text)
	}
}

// What is granted besides the rules is looked through, too; what a person names there is not withheld.
func TestWithheldOutside(t *testing.T) {
	dir := jptooltest.TempRoot(t)
	jptooltest.Tree(t, dir, "dir ws", "file ro/a/.env x", "file ro/f x", "file rw/.env x", "file lib/f x", "file named/.env x", "dir denied/in", "file named/b/.env x")
	given := func(path string, caps jptool.Caps) fit.Grant {
		n, err := fit.Look(dir + path)
		do(t, err)
		return fit.Grant{Node: n, Caps: caps}
	}
	o := fit.Options{Runtime: []fit.Grant{
		given("/ro", jptool.Read), given("/rw", jptool.AllCaps), given("/lib", jptool.Read), given("/named", jptool.Read), given("/named/.env", jptool.AllCaps),
		given("/denied/in", jptool.Read),
	}}
	for _, g := range o.Runtime {
		o.Given = append(o.Given, g.Path)
	}
	access := &jptool.AccessPolicy{FS: []jptool.FsRule{rule("", "read write")}, Deny: []string{"denied/"}, Secrets: []string{"**/.env"}}
	p, err := withheld(t, dir+"/ws", full, access, o)
	do(t, err)
	if got := strings.ReplaceAll(foundPlaces(p), dir, ""); got != "deny /denied/in, secrets /named/b/.env, secrets /ro/a/.env, secrets /rw/.env" {
		t.Error(got)
	}
	text := strings.ReplaceAll(fittest.Show(p.Fitted), dir, "")
	for _, want := range []string{"tree /ro\n", "tree /rw\n", "tree /named\n", "cover /ro: read-only", "cover /ro/a/.env: hide\n", "cover /rw/.env: hide\n", "grant /ro: read\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "tree /lib") || strings.Contains(text, "/denied") || strings.Contains(text, "cover /named/.env: hide") {
		t.Error(text)
	}
	// Without namespaces nothing can be withheld there, so that nothing is started.
	alone := full
	alone.Namespaces = false
	_, err = withheld(t, dir+"/ws", alone, access, o)
	if refused := (*fit.RefusedError)(nil); !errors.As(err, &refused) || !refused.Always || !strings.Contains(err.Error(), "/ro/a/.env") {
		t.Error(err)
	}
}

// What protects the host's own outside gives nothing back that a pattern withholds.
func TestWithheldBeatsProtection(t *testing.T) {
	dir := jptooltest.TempRoot(t)
	jptooltest.Tree(t, dir, "dir ws", "file rw/.git/config x", "file rw/.git/hooks/post x")
	d, err := fit.Compile(&jptool.AccessPolicy{FS: []jptool.FsRule{rule("", "read")}, Deny: []string{".git/"}}, dir+"/ws")
	do(t, err)
	for _, name := range []string{"config", "hooks"} {
		d.Places = append(d.Places, fit.Place{
			Abs: dir + "/rw/.git/" + name, Outside: true, Caps: jptool.Read | jptool.Execute, Index: -1, SelfProtection: true, Unnamed: true,
		})
	}
	n, err := fit.Look(dir + "/rw")
	do(t, err)
	o := fit.Options{Runtime: []fit.Grant{{Node: n, Caps: jptool.AllCaps}}, Given: []string{n.Path}}
	p, err := fit.Prepare(context.Background(), d, full, o)
	do(t, err)
	t.Cleanup(func() { p.Undo() })
	text := strings.ReplaceAll(fittest.Show(p.Fitted), dir, "")
	if !strings.Contains(text, "cover /rw/.git: hide\n") || strings.Contains(text, "/rw/.git/config: again") || strings.Contains(text, "grant /rw/.git") {
		t.Error(text)
	}
}

// What cannot be withheld is not started, also where a rule or what protects the host's own has the same place.
func TestWithheldAtRules(t *testing.T) {
	dir := jptooltest.TempRoot(t)
	jptooltest.Tree(t, dir, "file ws/f x", "file rw/.git/config x", "file rw/other x")
	alone := full
	alone.Namespaces = false
	for name, tt := range map[string]struct {
		deny string
		m    fit.Machine
		ok   bool
	}{
		"control":               {"none", alone, true},
		"protected":             {"config", alone, false},
		"a rule":                {"/" + dir + "/rw/other", alone, false},
		"protected, by a mount": {"config", full, true},
		"a rule, by a mount":    {"/" + dir + "/rw/other", full, true},
	} {
		d, err := fit.Compile(&jptool.AccessPolicy{FS: []jptool.FsRule{rule("", "read")}, Deny: []string{tt.deny}}, dir+"/ws")
		do(t, err)
		d.Places = append(d.Places,
			fit.Place{Abs: dir + "/rw/.git/config", Outside: true, Caps: jptool.Read | jptool.Execute, Index: -1, SelfProtection: true, Unnamed: true},
			fit.Place{Abs: dir + "/rw/other", Outside: true, Index: -1, Unnamed: true})
		n, err := fit.Look(dir + "/rw")
		do(t, err)
		o := fit.Options{Runtime: []fit.Grant{{Node: n, Caps: jptool.AllCaps}}, Given: []string{n.Path}}
		p, err := fit.Prepare(context.Background(), d, tt.m, o)
		if p != nil {
			p.Undo()
		}
		if refused := (*fit.RefusedError)(nil); (err == nil) != tt.ok || err != nil && (!errors.As(err, &refused) || !refused.Always) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Where too much would have to be looked at, nothing is started, and the error says what to do.
func TestTooMuchToWithhold(t *testing.T) {
	dir := jptooltest.TempRoot(t)
	for i := range 20 {
		jptooltest.Tree(t, dir, fmt.Sprintf("file ws/d%d/.env x", i), fmt.Sprintf("file ws/d%d/f x", i))
	}
	access := &jptool.AccessPolicy{FS: []jptool.FsRule{rule("", "read")}, Deny: []string{".env"}}
	for _, tt := range []struct{ entries, places int }{{59, 100}, {100, 19}} {
		restore := fit.SetBounds(tt.entries, tt.places)
		p, err := withheld(t, dir+"/ws", full, access, fit.Options{})
		restore()
		refused := (*fit.RefusedError)(nil)
		if !errors.As(err, &refused) || !refused.Always || !strings.Contains(err.Error(), "node_modules/") || p == nil {
			t.Errorf("%+v: %v", tt, err)
		}
	}
	// A program that checks by itself is started all the same, and the report says so.
	restore := fit.SetBounds(59, 100)
	p, err := withheld(t, dir+"/ws", full, access, fit.Options{Checks: true})
	if err != nil || len(p.NotEnforced) != 1 || p.Exact() {
		t.Errorf("%v %+v", err, p)
	}
	if _, err = withheld(t, dir+"/ws", full, access, fit.Options{Checks: true, Required: true}); err == nil {
		t.Error("it is required and was not refused")
	}
	restore()
	restore = fit.SetBounds(60, 20)
	_, err = withheld(t, dir+"/ws", full, access, fit.Options{})
	restore()
	do(t, err)
	// A withheld directory is not looked into, so that denying a large one helps.
	access.Deny = append(access.Deny, "d1*/")
	restore = fit.SetBounds(47, 20)
	defer restore()
	_, err = withheld(t, dir+"/ws", full, access, fit.Options{})
	do(t, err)
}

// A single directory is not read to its end either.
func TestTooMuchInOneDirectory(t *testing.T) {
	dir := jptooltest.TempRoot(t)
	const files = 2000
	for i := range files {
		do(t, os.WriteFile(fmt.Sprintf("%s/.env.%d", dir, i), nil, 0o644))
	}
	access := &jptool.AccessPolicy{FS: []jptool.FsRule{rule("", "read")}, Deny: []string{".env.*"}}
	for _, tt := range []struct{ entries, places int }{{100, files}, {files, 100}} {
		restore := fit.SetBounds(tt.entries, tt.places)
		p, err := withheld(t, dir, full, access, fit.Options{})
		restore()
		if err == nil || p == nil || p.Scanned.Entries == files {
			t.Errorf("%+v: %v %+v", tt, err, p)
		}
	}
}

// Patterns that nobody looks for are an error, not a policy without them.
func TestWithheldByNobody(t *testing.T) {
	d, err := fit.Compile(&jptool.AccessPolicy{FS: []jptool.FsRule{rule("", "read")}, Deny: []string{".env"}}, jptooltest.TempRoot(t))
	do(t, err)
	d.Evaluator = nil
	if p, err := fit.Prepare(context.Background(), d, full, fit.Options{}); err == nil {
		t.Errorf("%+v", p)
	}
}

// A directory whose names can be used but not listed is withheld whole, and so is one that the program could open with
// chmod: its owner's. As root they can be looked through.
func TestUnlistable(t *testing.T) {
	if jptooltest.Root(t) {
		jptooltest.Passed(t, jptooltest.Ordinary(t, "-test.run=^TestUnlistable$"))
		return
	}
	dir := jptooltest.TempRoot(t)
	jptooltest.Tree(t, dir, "file ws/x/.env x", "file ws/shut/.env x", "file ws/names/in/.env x")
	do(t, os.Chmod(dir+"/ws/names", 0o600))
	do(t, os.Chmod(dir+"/ws/x", 0o311))
	do(t, os.Chmod(dir+"/ws/shut", 0))
	t.Cleanup(func() {
		os.Chmod(dir+"/ws/x", 0o755)
		os.Chmod(dir+"/ws/shut", 0o755)
		os.Chmod(dir+"/ws/names", 0o755)
	})
	p, err := withheld(t, dir+"/ws", full, &jptool.AccessPolicy{FS: []jptool.FsRule{rule("", "read")}, Secrets: []string{".env"}}, fit.Options{})
	do(t, err)
	if diff := cmp.Diff([]string{"/names", "/shut", "/x"}, p.Access.Deny); foundPlaces(p) != "deny names, deny shut, deny x" || diff != "" {
		t.Error(foundPlaces(p), diff)
	}
	// Also the workspace itself, and the tool understands that.
	do(t, os.Chmod(dir+"/ws", 0o311))
	t.Cleanup(func() { os.Chmod(dir+"/ws", 0o755) })
	p, err = withheld(t, dir+"/ws", full, &jptool.AccessPolicy{FS: []jptool.FsRule{rule("", "read")}, Secrets: []string{".env"}}, fit.Options{})
	do(t, err)
	ctx := jptool.Context{Root: dir + "/ws", Access: p.Access}
	ws, err := ctx.Open()
	do(t, err)
	defer ws.Close()
	if _, err := ws.CheckRead("f"); jptool.CodeOf(err) != jptool.CodeAccessDenied {
		t.Error(err)
	}
}

// BenchmarkScan looks through a tree of 100,000 files, or the one at JPTOOLS_TREE.
func BenchmarkScan(b *testing.B) {
	root := os.Getenv("JPTOOLS_TREE")
	if root == "" {
		root = jptooltest.TempRoot(b)
		for i := range 5000 {
			dir := fmt.Sprintf("%s/d%d/e%d", root, i/50, i%50)
			do(b, os.MkdirAll(dir, 0o755))
			for j := range 20 {
				do(b, os.WriteFile(fmt.Sprintf("%s/file%d.go", dir, j), nil, 0o644))
			}
		}
	}
	for name, patterns := range map[string][]string{"none": nil, "names": {"**/.env", "**/.env.*"}, "paths": {"**/.env", "src/**/*.key"}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, err := withheld(b, root, full, &jptool.AccessPolicy{FS: []jptool.FsRule{rule("", "read")}, Secrets: patterns}, fit.Options{})
				do(b, err)
			}
		})
	}
}
