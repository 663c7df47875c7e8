package jptool_test

import (
	"strings"
	"testing"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

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

func TestExplain(t *testing.T) {
	root := jptooltest.TempRoot(t)
	ws := jptooltest.Open(t, root, rule(".", "read write"), rule("src", "read"), rule("build", "read write"))
	target, err := ws.CheckContent("src/a", 0)
	if err != nil {
		t.Fatal(err)
	}
	e := target.Explain(jptool.Update)
	if e.Allowed || !e.Matched || e.Index != 1 ||
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
