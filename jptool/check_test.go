package jptool_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
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
	data, err := json.Marshal(denied.ErrorData())
	if err != nil || !strings.Contains(string(data), `{"path":".config/jp/tools","capabilities":["read","create","update","delete"]}`) {
		t.Errorf("%s, %v", data, err)
	}
	if _, err = ws.CheckEntry("src/x", jptool.Create|jptool.Update); err == nil || !strings.Contains(err.Error(), "create or update") {
		t.Errorf("CheckEntry: %v", err)
	}
}
