package jptool_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/jptooltest"
)

var (
	rule  = jptooltest.Rule
	mount = jptooltest.Mount
)

// checks maps a capability name to the check that a tool would call.
func check(ws *jptool.Workspace, capability, path string) (*jptool.Target, error) {
	switch capability {
	case "read":
		return ws.CheckRead(path)
	case "create":
		return ws.CheckCreate(path)
	case "update":
		return ws.CheckUpdate(path)
	case "delete":
		return ws.CheckDelete(path)
	}
	return ws.CheckExecute(path)
}

// expect holds lines such as "read src/x allow" or "update src/x access_denied" or
// "read alias/x allow src/x" (the canonical path) against the workspace.
func expect(t *testing.T, ws *jptool.Workspace, lines ...string) {
	t.Helper()
	for _, line := range lines {
		f := strings.Fields(line)
		target, err := check(ws, f[0], f[1])
		got := "allow"
		if err != nil {
			got = string(jptool.CodeOf(err))
		}
		if got != f[2] {
			t.Errorf("%s %s: %s (%v); want %s", f[0], f[1], got, err, f[2])
			continue
		}
		if len(f) > 3 && target.Path() != f[3] {
			t.Errorf("%s %s: canonical path %q; want %q", f[0], f[1], target.Path(), f[3])
		}
	}
}

func TestRFD076Example(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file README.md x", "file src/lib.rs x", "file src/generated/schema.rs x", "file tests/main.rs x", "file .env x")
	ws := jptooltest.Open(
		t, root,
		rule(".", "read write"), rule("src", "read"), rule("src/generated", "read write"), rule(".env", ""),
	)
	expect(
		t, ws,
		"read README.md allow", "update README.md allow", "execute README.md access_denied",
		"read src/lib.rs allow", "update src/lib.rs access_denied", "create src/new.rs access_denied",
		"update src/generated/schema.rs allow", "create src/generated/deep/new.rs allow",
		"delete tests/main.rs allow", "read .env access_denied", "read .env.local allow",
		"read src_generated/x allow", "read . allow", "delete . access_denied",
	)
}

func TestWriteAlias(t *testing.T) {
	for caps, want := range map[string]string{
		"write":         "create, update, delete",
		"write -delete": "create, update",
		"create":        "create",
		"-write create": "create",
		"":              "nothing",
	} {
		r := rule("x", caps)
		if got := r.Caps().String(); got != want {
			t.Errorf("%q grants %s; want %s", caps, got, want)
		}
	}
}

func TestTiesAndDefaultDeny(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file a/x 1", "file b/x 1", "symlink alias a")
	ws := jptooltest.Open(
		t, root,
		rule("a", "read write"), rule("a", "read"),
		// The same place by another spelling is a tie too.
		rule("b", "read"), rule("./c/../b/", "read update"),
		rule("*", "read"), rule("alias", "read execute"),
	)
	expect(
		t, ws,
		"read a/x allow", "execute a/x allow", "update a/x access_denied",
		"update b/x allow", "read other access_denied", "read *x access_denied", "read */x allow",
	)
}

func TestLinksInside(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(
		t, root,
		"file secret/key k", "file pub/doc d", "symlink pub/link ../secret/key", "symlink hidden pub",
		"symlink pub/dangling nothing", "symlink pub/gone ../secret/nothing", "symlink pub/out /etc/passwd", "symlink pub/outgone /nowhere/x",
		"symlink secret/toout /etc/passwd", "symlink secret/topub ../pub/doc",
		"symlink src real", "file real/f x",
	)
	ws := jptooltest.Open(t, root, rule("pub", "read write"), rule("src", "read"))
	expect(
		t, ws,
		"read pub/doc allow", "read hidden/doc allow pub/doc",
		"read pub/link access_denied", "delete pub/link allow pub/link", "update pub/link access_denied",
		"read src/f allow real/f", "read real/f allow", "create src/new access_denied",
		// Dangling: told to who may act there, and not to others.
		"read pub/dangling not_found", "read pub/gone access_denied", "create pub/dangling allow",
		"create pub/dangling/x not_found", "delete pub/dangling allow",
		// Outside: existing or not makes no difference.
		"read pub/out path_escape", "read pub/outgone path_escape", "delete pub/out allow",
		// Below a refused directory everything looks alike.
		"read secret/toout access_denied", "read secret/none access_denied", "read secret/key/x access_denied",
		"read secret/topub allow pub/doc",
	)
	same := func(a, b string) {
		t.Helper()
		_, errA := ws.CheckRead(a)
		_, errB := ws.CheckRead(b)
		if strings.ReplaceAll(errA.Error(), a, "P") != strings.ReplaceAll(errB.Error(), b, "P") {
			t.Errorf("a refused caller can tell %s from %s:\n%v\n%v", a, b, errA, errB)
		}
	}
	same("secret/key", "secret/none")
	same("secret/key", "secret/toout")
	same("pub/out", "pub/outgone")
}

func TestInputForms(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file a x")
	ws := jptooltest.Open(t, root)
	for path, want := range map[string]jptool.Code{
		root + "/a": jptool.CodeAbsolutePath, "../a": jptool.CodePathEscape, "a/../../x": jptool.CodePathEscape,
		"a\x00": jptool.CodeInvalidArguments, strings.Repeat("d/", 5000): jptool.CodeInvalidArguments,
		"a/b": jptool.CodeWrongType,
	} {
		_, err := ws.CheckRead(path)
		if jptool.CodeOf(err) != want {
			t.Errorf("CheckRead(%.30q): %v; want %s", path, err, want)
		}
		if err != nil && strings.HasPrefix(err.Error(), root) {
			t.Errorf("the message names an absolute path: %v", err)
		}
	}
	// Unrestricted is still confined.
	jptooltest.Tree(t, root, "symlink out /etc")
	expect(t, ws, "read out/passwd path_escape", "create out/x path_escape", "update new allow", "execute a allow")
}

func TestMounts(t *testing.T) {
	base := jptooltest.TempRoot(t)
	jptooltest.Tree(
		t, base,
		"file ext/src/lib.rs x", "file ext/secrets/key k", "symlink ext/inner secrets", "symlink ext/away $ROOT/other",
		"file other/f x", "file single x",
		"symlink ws/fork $ROOT/ext", "symlink ws/file $ROOT/single", "symlink ws/alias fork/src", "file ws/in x",
		"symlink ext/home $ROOT/ws/in", "symlink ws/unapproved $ROOT/other", "symlink ws/moved $ROOT/other", "symlink ws/broken $ROOT/none",
	)
	root := base + "/ws"
	ws := jptooltest.Open(
		t, root,
		mount("fork", base+"/ext", "read write"), mount("fork/secrets", "", ""),
		mount("file", base+"/single", "read update"),
		mount("unapproved", "", "read"), mount("moved", base+"/ext2", "read write"), mount("broken", base+"/none", "read"),
	)
	expect(
		t, ws,
		"read fork/src/lib.rs allow fork/src/lib.rs", "update fork/src/lib.rs allow", "create fork/new/x allow fork/new/x",
		"read alias/lib.rs allow fork/src/lib.rs",
		"read fork/secrets/key access_denied", "read fork/inner/key access_denied", "create fork/secrets/x access_denied",
		"read fork/away/f path_escape", "read fork/home access_denied", "read in access_denied",
		// The link itself is pinned, the target's root stays.
		"delete fork access_denied", "delete fork/. access_denied", "read fork allow fork", "create fork access_denied",
		"read file allow file", "update file allow", "delete file access_denied",
		"read unapproved/f access_denied", "read moved/f access_denied", "read broken/f access_denied",
	)
	target, err := ws.CheckRead("file")
	if err != nil {
		t.Fatal(err)
	}
	f, err := target.Open()
	if err != nil {
		t.Fatalf("opening a mounted file: %v", err)
	}
	f.Close()
	// The whole file system as a mount: the workspace keeps its own rules.
	jptooltest.Tree(t, base, "symlink ws/slash /")
	all := jptooltest.Open(t, root, mount("slash", "/", "read"))
	expect(
		t, all,
		"read slash/etc/passwd allow slash/etc/passwd", "update slash/etc/passwd access_denied",
		"read slash"+base+"/ws/in access_denied", "delete slash access_denied", "read slash allow",
	)
	if target, err := all.CheckRead("slash/etc/passwd"); err != nil {
		t.Fatal(err)
	} else if f, err := target.Open(); err != nil {
		t.Errorf("opening below a mount of /: %v", err)
	} else {
		f.Close()
	}
	// A workspace rule does not reach below a mount, nor a mount's rule into the workspace.
	ws = jptooltest.Open(t, root, rule(".", "read"), mount("fork", base+"/ext", "read"), rule("fork/secrets", ""))
	expect(
		t, ws,
		"read in allow", "read fork/home allow in", "read fork/secrets/key access_denied", "read fork/inner/key access_denied",
		"update fork/src/lib.rs access_denied", "read unapproved/f path_escape",
	)
	_, err = ws.CheckRead("fork/secrets/key")
	if strings.Contains(err.Error(), base) {
		t.Errorf("the message names an external absolute path: %v", err)
	}
}

// A rule whose path leads through links holds only while they stay, so they do; and no
// link may come to stand where a rule would follow it.
func TestRulesAndLinks(t *testing.T) {
	base := jptooltest.TempRoot(t)
	jptooltest.Tree(
		t, base, "file ws/real/secret/k K", "symlink ws/vault real/secret", "dir ws/a/deep", "symlink ws/a/vault ../real", "symlink ws/via a",
		"file ws/private/k K", "symlink ws/work/l ../private", "file ws/work/f x", "symlink ws/work/tree/sub ../../private", "file ws/notes x",
		"symlink ws/up $ROOT", "symlink ws/work/tree2/mid ../../private",
	)
	root := base + "/ws"
	ws := jptooltest.Open(
		t, root, rule("", "read write"), rule("vault", ""), rule("via/vault/other", "read"),
		mount("up", base, "read write"), rule("out", "read write"), rule("out2/sub", "read write"), rule("out3/mid/x", "read"), rule("notes", "read write"),
	)
	expect(
		t, ws,
		"read real/secret/k access_denied", "read vault/k access_denied",
		"delete vault access_denied", "create vault access_denied", "delete via access_denied", "delete a/vault access_denied",
		"delete up access_denied", "read up/ws/notes allow notes", "delete up/ws access_denied",
	)
	for _, c := range []struct {
		src, dst string
		dir, ok  bool
	}{
		{"a", "b", true, false},              // holds a link that a rule leads through
		{"real", "b", true, false},           // holds what a rule is on
		{"work/l", "out", false, false},      // the rule on out would hold for private
		{"work/l", "notes", false, false},    //
		{"work/l", "out2", false, false},     // a rule lies below
		{"work/l", "elsewhere", false, true}, //
		{"work/f", "out", false, true},       // a file leads nowhere
		{"work/tree", "out2", true, false},   // its link would stand at out2/sub
		{"work/tree", "other", true, true},   //
		{"work/tree2", "out3", true, false},  // and on the way to a rule
	} {
		src, err := ws.CheckDelete(c.src)
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		dst, err := ws.CheckEntry(c.dst, jptool.Create|jptool.Update)
		if err != nil {
			t.Errorf("%s: %v", c.dst, err)
			continue
		}
		if err := ws.CheckMove(src, dst, c.dir); (err == nil) != c.ok {
			t.Errorf("move %s to %s: %v; want ok=%v", c.src, c.dst, err, c.ok)
		}
	}
	// The workspace in a mount of its parent's parent stays where it is.
	jptooltest.Tree(t, base, "dir p/q/inner/keep", "symlink p/q/inner/fork $ROOT")
	ws = jptooltest.Open(t, base+"/p/q/inner", mount("fork", base, "read write"), rule("keep", "read"))
	src, err := ws.CheckDelete("fork/p")
	if err != nil {
		t.Fatal(err)
	}
	dst, err := ws.CheckCreate("fork/r")
	if err != nil {
		t.Fatal(err)
	}
	if err := ws.CheckMove(src, dst, true); jptool.CodeOf(err) != jptool.CodeAccessDenied {
		t.Errorf("moving a directory that holds the workspace: %v", err)
	}
	expect(t, ws, "delete fork/p/q/inner access_denied", "delete fork/p/q allow")
}

// Through a granted link into a refused directory everything looks alike, too.
func TestNoOracleThroughLinks(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(
		t, root, "dir secret/dir", "file hidden/where x", "symlink pub/l ../secret/dir", "symlink secret/dir/out /etc/passwd",
		"symlink secret/dir/in ../../hidden/where", "symlink secret/dir/gone ../../pub/nope", "symlink secret/dir/self self", "file secret/dir/file x",
		"symlink secret/dir/pub ../../pub/doc", "file pub/doc x",
	)
	ws := jptooltest.Open(t, root, rule("pub", "read write"))
	for _, name := range []string{"missing", "out", "in", "gone", "self", "file", "file/x"} {
		for _, capability := range []string{"read", "create", "update"} {
			_, err := check(ws, capability, "pub/l/"+name)
			want := "cannot " + capability + " secret/dir/" + name + ": no rule matches it."
			if jptool.CodeOf(err) != jptool.CodeAccessDenied || !strings.Contains(err.Error(), want) {
				t.Errorf("%s pub/l/%s: %v; want %q", capability, name, err, want)
			}
		}
	}
	expect(t, ws, "read pub/l/pub allow pub/doc", "create pub/l/out/x access_denied")
}

func TestPolicyErrors(t *testing.T) {
	base := jptooltest.TempRoot(t)
	jptooltest.Tree(t, base, "dir ws/dir", "dir ext/sub", "symlink ws/fork $ROOT/ext", "symlink ws/fork2 $ROOT/ext/sub", "symlink ws/dangling nope", "symlink ws/out /etc")
	root := base + "/ws"
	for name, rules := range map[string][]jptool.FsRule{
		"external root":             {mount(".", base+"/ext", "read")},
		"external inside":           {mount("dir", base+"/ext", "read")},
		"target inside":             {mount("fork", root+"/dir", "read")},
		"target relative":           {mount("fork", "ext", "read")},
		"escape":                    {rule("../x", "read")},
		"absolute":                  {rule("/etc", "read")},
		"grant on a dangling link":  {rule("dangling", "read")},
		"grant on a link outside":   {rule("out", "read")},
		"overlap, different rights": {mount("fork", base+"/ext", "read"), mount("fork2", base+"/ext/sub", "read write")},
	} {
		access := &jptool.AccessPolicy{FS: rules}
		ctx := jptool.Context{Root: root, Action: jptool.Run, Access: access}
		if ws, err := ctx.Open(); err == nil || jptool.CodeOf(err) != jptool.CodeInvalidPolicy {
			t.Errorf("%s: %v, %v; want an invalid_policy error", name, ws, err)
		}
	}
	// Denies never disappear; absolute paths below the root are relative.
	ws := jptooltest.Open(
		t, root,
		rule(".", "read write"), rule("dangling", ""), rule("out", ""), mount("nolink", "", ""), rule(root+"/dir", "read"),
		mount("fork", base+"/ext", "read"), mount("fork2", base+"/ext/sub", "read"),
	)
	expect(
		t, ws,
		"delete dangling access_denied", "delete out access_denied", "create nolink access_denied", "create nolink/x access_denied",
		"update dir/x access_denied", "read dir/x allow", "read fork2/x allow",
	)
	// Of two rules on one link the last one counts, also for overlaps.
	jptooltest.Open(
		t, root,
		mount("fork", base+"/ext", "read"), mount("fork2", base+"/ext/sub", "read"),
		mount("fork", base+"/ext", "read write"), mount("fork2", base+"/ext/sub", "read write"),
	)
	// All rules dropped is still default-deny.
	ws = jptooltest.Open(t, root, mount("gone", base+"/gone", "read"))
	expect(t, ws, "read dir access_denied", "read gone access_denied")
}

func TestPinned(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file a/b/f x", "symlink l a")
	ctx := jptool.Context{Root: root, Action: jptool.Run, Access: &jptool.AccessPolicy{
		FS: []jptool.FsRule{rule("", "read write")}, Pinned: []string{"a/b", "l/c"},
	}}
	ws, err := ctx.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	expect(
		t, ws,
		"delete a/b access_denied", "delete l/b access_denied", "create a/b access_denied", "create a/c access_denied",
		"create a/b/x allow", "delete a/b/f allow", "update a/b allow",
	)
	// A directory that holds a pinned entry does not move; pins hold without rules too.
	ctx.Access.FS = nil
	ws2, err := ctx.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer ws2.Close()
	for _, ws := range []*jptool.Workspace{ws, ws2} {
		src, err := ws.CheckDelete("a")
		if err != nil {
			t.Fatal(err)
		}
		dst, err := ws.CheckCreate("z")
		if err != nil {
			t.Fatal(err)
		}
		if err := ws.CheckMove(src, dst, true); jptool.CodeOf(err) != jptool.CodeAccessDenied {
			t.Errorf("moving a directory with a pinned entry: %v", err)
		}
	}
}

func TestCheckMove(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file a/f x", "file a/secret/f x", "dir open", "dir drop", "dir target/held")
	ws := jptooltest.Open(
		t, root,
		rule(".", "read write"), rule("a/secret", "read"), rule("target/held", "read"),
		rule("drop", "create delete"), rule("blind", "delete"),
	)
	for _, c := range []struct {
		src, dst string
		dir      bool
		ok       bool
	}{
		{"a", "b", true, false},            // a/secret withholds delete
		{"a/f", "b", false, true},          //
		{"open", "target", true, false},    // target/held withholds create
		{"open", "open2", true, true},      //
		{"open", "drop/x", true, true},     // loses rights
		{"drop/x", "open/x", false, false}, // would gain read
		{"drop/d", "open/d", true, false},  // the same for a tree
		{"blind/x", "drop/x", false, true}, // nothing on the content is gained
		{"blind/d", "drop/d", true, false}, // a directory gains create
		{"a/f", "target/new/x", false, true},
	} {
		src, err := ws.CheckEntry(c.src, jptool.Delete)
		if err != nil {
			t.Fatal(err)
		}
		dst, err := ws.CheckEntry(c.dst, jptool.Create|jptool.Update)
		if err != nil {
			t.Fatal(err)
		}
		if err := ws.CheckMove(src, dst, c.dir); (err == nil) != c.ok {
			t.Errorf("move %s to %s (dir %v): %v; want ok=%v", c.src, c.dst, c.dir, err, c.ok)
		}
	}
}

func TestDeniedMessage(t *testing.T) {
	root := jptooltest.TempRoot(t)
	ws := jptooltest.Open(t, root, rule(".", "read"), rule(".config/jp/tools", "read write"), rule(".env", ""))
	_, err := ws.CheckUpdate("src/lib.rs")
	var denied *jptool.DeniedError
	if !errors.As(err, &denied) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"update", "src/lib.rs", ". (read)", ".config/jp/tools (read, create, update, delete)"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the message lacks %q: %v", want, err)
		}
	}
	if strings.Contains(err.Error(), ".env") {
		t.Errorf("the message lists a rule that grants nothing: %v", err)
	}
	if got := denied.Grants(); len(got) != 1 || got[0] != ".config/jp/tools" {
		t.Errorf("Grants() = %q", got)
	}
	if _, err = ws.CheckEntry("src/x", jptool.Create|jptool.Update); err == nil || !strings.Contains(err.Error(), "create or update") {
		t.Errorf("CheckEntry: %v", err)
	}
}

func TestExplain(t *testing.T) {
	root := jptooltest.TempRoot(t)
	r := rule("src", "read")
	r.Origin = ".jp/config.toml:7"
	ws := jptooltest.Open(t, root, rule(".", "read write"), r, rule("build", "read write"))
	target, err := ws.CheckContent("src/a", 0)
	if err != nil {
		t.Fatal(err)
	}
	e := target.Explain(jptool.Update)
	if e.Allowed || e.Rule != "src" || e.Origin != ".jp/config.toml:7" || e.Index != 1 ||
		strings.Join(e.Shadowed, ",") != "." || strings.Join(e.Elsewhere, ",") != "build" {
		t.Errorf("got %+v", e)
	}
}

func TestOpenBadRoot(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file f x", "dir d", "symlink l d")
	for path, ok := range map[string]bool{root + "/none": false, root + "/f": false, root + "/l": true, root + "/d/../l/.": true} {
		ctx := jptool.Context{Root: path, Action: jptool.Run}
		ws, err := ctx.Open()
		if (err == nil) != ok {
			t.Errorf("root %s: %v", path, err)
		}
		if err == nil {
			ws.Close()
		} else if jptool.CodeOf(err) != jptool.CodeInvalidRequest {
			t.Errorf("root %s: code %s", path, jptool.CodeOf(err))
		}
	}
}

// What was checked is what is used: an entry swapped for a link after the check is
// refused, never followed.
func TestSwapAfterCheck(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file d/f inside", "file secret/f secret")
	ws := jptooltest.Open(t, root, rule("d", "read write"))
	target, err := ws.CheckRead("d/f")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(root+"/d", root+"/d.old"); err != nil {
		t.Fatal(err)
	}
	jptooltest.Tree(t, root, "symlink d secret")
	f, err := target.Open()
	if err == nil {
		f.Close()
		t.Fatal("the swapped path was opened")
	}
	if jptool.CodeOf(err) != jptool.CodeBusy {
		t.Errorf("got %v (%s), want busy", err, jptool.CodeOf(err))
	}
}
