package jptool_test

import (
	"testing"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

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
