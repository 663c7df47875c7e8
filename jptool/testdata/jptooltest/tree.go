// Package jptooltest has what tests of the library and of the tools share: trees of
// files from a small language, and contexts for them.
package jptooltest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jptools/jptools/jptool"
)

// Tree makes files below dir, one per line, parents included:
//
//	"dir a/b"            a directory
//	"file a/c text"      a file; the text may be empty, \n stands for a line end
//	"symlink a/l ../c"   a symlink with that text
//	"hardlink a/h a/c"   another name for a file
//	"fifo a/p"           a FIFO, where the system has them
//
// In texts, $ROOT stands for dir.
func Tree(t testing.TB, dir string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		kind, rest, _ := strings.Cut(line, " ")
		name, text, _ := strings.Cut(rest, " ")
		text = strings.ReplaceAll(text, "$ROOT", dir)
		path := filepath.Join(dir, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(path), 0o777)
		if err == nil {
			switch kind {
			case "dir":
				err = os.MkdirAll(path, 0o777)
			case "file":
				err = os.WriteFile(path, []byte(strings.ReplaceAll(text, `\n`, "\n")), 0o666)
			case "symlink":
				err = os.Symlink(text, path)
			case "hardlink":
				err = os.Link(filepath.Join(dir, text), path)
			case "fifo":
				err = exec.Command("mkfifo", path).Run()
			default:
				t.Fatalf("tree: unknown kind in %q", line)
			}
		}
		if err != nil {
			t.Fatalf("tree: %q: %v", line, err)
		}
	}
}

// TempRoot returns a new temporary directory by its canonical path.
func TempRoot(t testing.TB) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// OpenRoot is a TempRoot that other users may enter and look at.
func OpenRoot(t testing.TB) string {
	t.Helper()
	root := TempRoot(t)
	for p := root; len(p) > len(os.TempDir()); p = filepath.Dir(p) {
		_ = os.Chmod(p, 0o755)
	}
	return root
}

// Root reports whether this process may do what root may. The user 0 of a container or sandbox may not: it is an
// ordinary user, and t says why.
func Root(t testing.TB) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		return false
	}
	// A process without capabilities can give nothing away.
	if err := os.Chown(t.TempDir(), 1, 1); err != nil {
		t.Logf("the user 0 is not root here: %v", err)
		return false
	}
	return true
}

// Rule makes an FsRule from a path and capability names, "write" included. More than
// one name is separated by spaces; "-delete" withholds explicitly.
func Rule(path, caps string) jptool.FsRule {
	r := jptool.FsRule{Path: path}
	known := map[string]**bool{
		"read": &r.Read, "write": &r.Write, "create": &r.Create, "update": &r.Update, "delete": &r.Delete, "execute": &r.Execute,
	}
	for _, name := range strings.Fields(caps) {
		name, off := strings.CutPrefix(name, "-")
		capability, ok := known[name]
		if !ok {
			panic("jptooltest: unknown capability " + name)
		}
		*capability = new(bool)
		**capability = !off
	}
	return r
}

// Mount makes an approved external rule.
func Mount(path, target, caps string) jptool.FsRule {
	r := Rule(path, caps)
	r.External = true
	if target != "" {
		r.ApprovedTarget = &target
	}
	return r
}

// Open opens a workspace with these rules; none means unrestricted.
func Open(t testing.TB, root string, rules ...jptool.FsRule) *jptool.Workspace {
	t.Helper()
	ctx := runContext(root, rules)
	ws, err := ctx.Open()
	if err != nil {
		t.Fatalf("open %v: %v", rules, err)
	}
	t.Cleanup(func() { ws.Close() })
	return ws
}

// Context returns the JSON of a bare Context with these rules.
func Context(t testing.TB, root string, rules ...jptool.FsRule) string {
	t.Helper()
	raw, err := json.Marshal(runContext(root, rules))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func runContext(root string, rules []jptool.FsRule) jptool.Context {
	ctx := jptool.Context{Root: root, Action: jptool.Run}
	if len(rules) > 0 {
		ctx.Access = &jptool.AccessPolicy{FS: rules}
	}
	return ctx
}
