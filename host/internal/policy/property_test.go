package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
)

var (
	propNames = []string{"a", "b", "c", ".jp", ".git", ".jp.toml", "config", "hooks", "link", "out"}
	propPaths = rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(propNames), 1, 3).Draw(t, "parts"), "/")
	})
	allCaps = []string{"read", "create", "update", "delete", "execute"}
)

// randomTree makes a small tree with links inside, to the outside and to nothing.
func randomTree(t *rapid.T, w *world) {
	for _, p := range []string{"a/b", "c/d", "config"} {
		if err := os.MkdirAll(w.outside+"/"+p, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for range rapid.IntRange(0, 7).Draw(t, "entries") {
		at := w.root + "/" + propPaths.Draw(t, "entry")
		if os.MkdirAll(filepath.Dir(at), 0o755) != nil {
			continue
		}
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			_ = os.Mkdir(at, 0o755)
		case 1:
			_ = os.WriteFile(at, nil, 0o644)
		case 2:
			_ = os.Symlink(w.root+"/"+propPaths.Draw(t, "to"), at)
		case 3:
			_ = os.Symlink(w.outside+rapid.SampledFrom([]string{"", "/a", "/a/b", "/c", "/none"}).Draw(t, "out"), at)
		}
	}
	// The host reads its configuration there.
	if fi, err := os.Lstat(w.root + "/.jp"); err == nil && !fi.IsDir() {
		_ = os.Remove(w.root + "/.jp")
	}
	_ = os.RemoveAll(w.root + "/.jp/config.toml")
	_ = os.RemoveAll(w.root + "/.jp.toml")
}

func randomRules(t *rapid.T, label string) string {
	var b strings.Builder
	b.WriteString("conversation.tools.t.access.fs = [\n")
	for range rapid.IntRange(1, 5).Draw(t, label) {
		path := "."
		if rapid.IntRange(0, 3).Draw(t, "dot") > 0 {
			path = propPaths.Draw(t, "path")
		}
		fmt.Fprintf(&b, "{ path = %q", path)
		if path != "." && rapid.IntRange(0, 2).Draw(t, "external") == 0 {
			b.WriteString(", external = true")
		}
		for _, c := range append([]string{"write"}, allCaps...) {
			if rapid.IntRange(0, 2).Draw(t, c) == 0 {
				fmt.Fprintf(&b, ", %s = %t", c, rapid.Bool().Draw(t, "value"))
			}
		}
		b.WriteString(" },\n")
	}
	return b.String() + "]\n"
}

// raw is what the rules say by the library alone, with the approved targets filled in.
func raw(w *world, tool string) (*jptool.Workspace, error) {
	t, _ := w.config().Tool(tool)
	access := t.Access.Policy()
	for i := range access.FS {
		r := &access.FS[i]
		rel, err := wspath.Parse(r.Path)
		if err != nil {
			return nil, err
		}
		c, err := wspath.Canonicalize(w.root, rel, false, nil)
		if r.External && err == nil && !c.Missing && w.approved[c.Abs] {
			r.ApprovedTarget = &c.Abs
		}
	}
	ctx := jptool.Context{Root: w.root, Action: jptool.Run, Access: access}
	return ctx.Open()
}

func grants(ws *jptool.Workspace, capability, path string) bool {
	var err error
	switch capability {
	case "read":
		_, err = ws.CheckRead(path)
	case "create":
		_, err = ws.CheckCreate(path)
	case "update":
		_, err = ws.CheckUpdate(path)
	case "delete":
		_, err = ws.CheckDelete(path)
	case "execute":
		_, err = ws.CheckExecute(path)
	}
	return err == nil
}

// Compile never grants more than the rules do by the library alone; what it puts on the
// wire means the same when it is read again; and nobody but the user's own rules opens
// what is protected.
func TestNeverMore(t *testing.T) {
	compiled, refused, allowed, narrowed := 0, 0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		randomTree(rt, w)
		mine := rapid.Bool().Draw(rt, "mine")
		if mine {
			w.mine(randomRules(rt, "user"))
		}
		w.repo(randomRules(rt, "repository"))
		for _, target := range []string{"", "/a", "/a/b", "/c"} {
			w.approved[w.outside+target] = rapid.Bool().Draw(rt, "approved")
		}
		d, err := Compile(context.Background(), w.request("t"))
		oracle, rawErr := raw(w, "t")
		if err != nil {
			refused++
			if rawErr == nil {
				rt.Fatalf("refused without need: %v", err)
			}
			return
		}
		compiled++
		if rawErr != nil && len(d.Dropped) == 0 {
			rt.Fatalf("accepted what the library refuses: %v\n%s", rawErr, shown(d))
		}
		ws, err := d.open(d.Access)
		if err != nil {
			rt.Fatal(err)
		}
		defer ws.Close()
		wire, err := json.Marshal(d.Access)
		if err != nil {
			rt.Fatal(err)
		}
		again, err := FromWire(wire, w.root)
		if err != nil {
			rt.Fatalf("the wire is refused: %v\n%s", err, wire)
		}
		reread, err := again.open(again.Access)
		if err != nil {
			rt.Fatal(err)
		}
		defer reread.Close()
		if rawErr == nil {
			defer oracle.Close()
		}
		for range 40 {
			path := propPaths.Draw(rt, "question")
			// What a tool compiles from the wire decides as the rules do that the sandbox is made from.
			for _, check := range []func(string, jptool.Caps) (*jptool.Target, error){ws.CheckContent, ws.CheckEntry} {
				if target, err := check(path, 0); err == nil {
					if placed := d.rules.At(d.rules.PlaceOf(target.Place())).Caps(); placed != target.Granted() {
						rt.Fatalf("%s (%s): placed rules grant %s, those of the wire %s\n%s\n%s", path, target.Place(), placed, target.Granted(), wire, w.text())
					}
				}
			}
			for _, c := range allCaps {
				got := grants(ws, c, path)
				if got {
					allowed++
				}
				if again := grants(reread, c, path); again != got {
					rt.Fatalf("%s %s: %v, but %v when read again\n%s", c, path, got, again, wire)
				}
				e, err := d.ExplainFS(c, path)
				if err != nil || e.Allowed != got {
					rt.Fatalf("%s %s: %v, but explained %v %v", c, path, got, e, err)
				}
				if !e.Allowed && e.Remedy == "" {
					rt.Fatalf("%s %s: no remedy: %+v", c, path, e)
				}
				if rawErr != nil {
					continue
				}
				was := grants(oracle, c, path)
				if got && !was {
					rt.Fatalf("%s %s is granted, and the rules do not\n%s\n%s", c, path, shown(d), w.text())
				}
				if was && !got {
					narrowed++
				}
				if got && !mine && c != "read" && c != "execute" {
					target, _ := ws.CheckEntry(path, 0)
					if c == "update" {
						target, _ = ws.CheckContent(path, 0)
					}
					for _, p := range []string{".jp", ".jp.toml", ".git/config", ".git/hooks"} {
						if _, ok := wspath.Within(p, target.Path()); ok {
							rt.Fatalf("%s %s leads to %s, which is protected\n%s", c, path, target.Path(), shown(d))
						}
					}
				}
			}
		}
	})
	t.Logf("compiled %d, refused %d, allowed %d, narrowed %d", compiled, refused, allowed, narrowed)
	if compiled < 20 || refused < 5 || allowed < 100 || narrowed < 20 {
		t.Error("the cases are too one-sided to say anything")
	}
}

// text is the configuration, for messages.
func (w *world) text() string {
	var b strings.Builder
	for _, f := range []string{w.user, w.root + "/.jp/config.toml"} {
		data, _ := os.ReadFile(f)
		b.Write(data)
	}
	return b.String()
}
