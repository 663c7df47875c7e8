package jptool_test

import (
	"os"
	"strings"
	"testing"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

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
		// Only a caller that may act there learns that the link is dangling.
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

// A rule below a link stays in force, whatever a tool makes of the directory that the link leads to.
func TestRulesBelowALinkOutliveItsTarget(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "symlink x r", "dir r", "symlink deep p/../r/s")
	rules := []jptool.FsRule{rule("", "read write"), rule("x/deny", ""), rule("x/grant", "read update"), rule("deep/deny", ""), rule("plain/grant", "read")}
	there := []string{"create r/deny access_denied", "create x/deny access_denied", "create r/s/deny access_denied", "create r/other allow"}
	expect(t, jptooltest.Open(t, root, rules...), append(there, "update r/grant allow", "create r/grant access_denied")...)
	// The directory is gone: what was denied is not free to be made.
	if err := os.Remove(root + "/r"); err != nil {
		t.Fatal(err)
	}
	gone := jptooltest.Open(t, root, rules...)
	expect(t, gone, append(there, "create r/grant access_denied", "read r/grant access_denied", "delete x access_denied", "create r allow")...)
	if w := strings.Join(gone.Policy().Warnings(), "\n"); !strings.Contains(w, `"x/grant"`) || strings.Contains(w, "deny") {
		t.Errorf("warnings %q", w)
	}
	// Something that is no directory in its place changes nothing either, nor does it make the policy unusable.
	jptooltest.Tree(t, root, "file r text", "file plain text")
	expect(t, jptooltest.Open(t, root, rules...), "create r/deny access_denied", "create x/deny access_denied", "delete r allow", "delete plain allow", "create other allow")
	// It comes back: the rules hold as at first.
	if err := os.Remove(root + "/r"); err != nil {
		t.Fatal(err)
	}
	jptooltest.Tree(t, root, "dir r")
	expect(t, jptooltest.Open(t, root, rules...), append(there, "update r/grant allow")...)
}

// The deepest of nested mounts decides about a path that cannot be resolved.
func TestNestedMounts(t *testing.T) {
	base := jptooltest.TempRoot(t)
	jptooltest.Tree(t, base, "dir outer/b", "file inner/f x", "symlink inner/gone none", "symlink ws/a $ROOT/outer", "symlink outer/c $ROOT/inner")
	for _, swapped := range []bool{false, true} {
		mounts := []jptool.FsRule{mount("a", base+"/outer", "update"), mount("a/c", base+"/inner", "read")}
		if swapped {
			mounts[0], mounts[1] = mounts[1], mounts[0]
		}
		expect(t, jptooltest.Open(t, base+"/ws", mounts...), "read a/c/f allow a/c/f", "read a/c/gone not_found", "read a/c/gone/x not_found", "update a/c/gone access_denied", "read a/b access_denied")
	}
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
		"read unapproved/f access_denied", "read moved/f access_denied",
		// A caller that would be granted the mount learns that it is broken; the link itself stays.
		"read broken/f not_found", "read broken not_found", "update broken/f access_denied", "delete broken access_denied",
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
	single := "slash" + base + "/single"
	expect(
		t, all,
		"read "+single+" allow "+single, "update "+single+" access_denied",
		"read slash"+base+"/ws/in access_denied", "delete slash access_denied", "read slash allow",
	)
	if target, err := all.CheckRead(single); err != nil {
		t.Fatal(err)
	} else if slash, err := os.Open("/"); err != nil {
		t.Logf("not tried: opening below a mount of /, which may not be opened here: %v", err)
	} else if f, err := target.Open(); slash.Close() != nil || err != nil {
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

// What is pinned says why, names the rule that decides, and lists the grants that exist.
func TestPinnedDenialSaysWhy(t *testing.T) {
	base := jptooltest.TempRoot(t)
	jptooltest.Tree(t, base, "file ws/.env KEY=1", "file ws/d/deep/f x", "file ws/kept x", "file ext/f x", "symlink ws/fork $ROOT/ext")
	ws := jptooltest.Open(t, base+"/ws", rule(".", "read write"), rule(".env", ""), rule("d/deep/f", "read"), mount("fork", base+"/ext", "read"))
	pinned := openPinned(t, base+"/ws", []string{".env", "d", "kept"}, rule(".", "read write"), rule(".env", ""), rule("d/deep/f", "read"))
	bare := openPinned(t, base+"/ws", []string{"kept"})
	const grants = " Grants: . (read, create, update, delete)"
	for _, c := range []struct {
		ws   *jptool.Workspace
		path string
		want []string
		ask  bool // the user to change the rules
	}{
		{pinned, ".env", []string{"the rule on .env grants nothing. The entry is pinned, because it has an access rule of its own: it may be neither", grants}, true},
		{pinned, "d", []string{"the rule on . grants only read, create, update, delete. The entry is pinned, because the access rule on d/deep/f lies below it", grants}, false},
		{pinned, "kept", []string{"because an access rule or the host depends on it", grants}, false},
		{ws, "fork", []string{"because it is the link of a mount", grants, "; fork (read)"}, false},
		{ws, ".env", []string{"the rule on .env grants nothing.", grants}, true},
		{bare, "kept", []string{"all is granted here. The entry is pinned"}, false},
	} {
		_, err := c.ws.CheckDelete(c.path)
		if jptool.CodeOf(err) != jptool.CodeAccessDenied {
			t.Errorf("delete %s: %v", c.path, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("delete %s: %v; want %q in it", c.path, err, want)
			}
		}
		if strings.Contains(err.Error(), "d/deep/f (") {
			t.Errorf("delete %s: %v; it lists a rule that only takes away", c.path, err)
		}
		if strings.Contains(err.Error(), "ask the user") != c.ask || strings.Contains(err.Error(), "No rule grants") {
			t.Errorf("delete %s: %v", c.path, err)
		}
	}
}

// openPinned opens a workspace with entries that must keep their place.
func openPinned(t *testing.T, root string, pinned []string, rules ...jptool.FsRule) *jptool.Workspace {
	t.Helper()
	c := jptool.Context{Root: root, Access: &jptool.AccessPolicy{FS: rules, Pinned: pinned}}
	ws, err := c.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	return ws
}
