package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

type fsCheck struct {
	Capability, Path, Verdict, Canonical string
	Library                              bool
}

type fsCase struct {
	Name    string
	Root    string
	Tree    []string
	Access  json.RawMessage
	Checks  []fsCheck
	Invalid []json.RawMessage
}

// load reads a vector file; a file without cases is an error.
func load[T any](t *testing.T, name string) []T {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "vectors", name))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []T }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if len(file.Cases) == 0 {
		t.Fatalf("%s holds no cases", name)
	}
	return file.Cases
}

// place makes the tree of a case and returns the base directory.
func (c *fsCase) place(t *testing.T) (base string) {
	base = jptooltest.TempRoot(t)
	jptooltest.Tree(t, base, c.Tree...)
	return base
}

func fill(raw json.RawMessage, base string) json.RawMessage {
	return json.RawMessage(strings.ReplaceAll(string(raw), "$BASE", base))
}

func TestVectorsLibrary(t *testing.T) {
	seen := map[string]int{}
	for _, c := range load[fsCase](t, "fs.json") {
		t.Run(c.Name, func(t *testing.T) {
			base := c.place(t)
			for _, bad := range c.Invalid {
				req, _, err := jptool.Decode([]byte(`{"root":"` + base + "/" + c.Root + `","action":"run","access":` + string(fill(bad, base)) + `}`))
				if err == nil {
					_, err = req.Context.Open()
				}
				if jptool.CodeOf(err) != jptool.CodeInvalidPolicy {
					t.Errorf("policy %s: %v; want invalid_policy", bad, err)
				}
			}
			if len(c.Checks) == 0 {
				return
			}
			req, _, err := jptool.Decode([]byte(`{"root":"` + base + "/" + c.Root + `","action":"run","access":` + string(fill(c.Access, base)) + `}`))
			if err != nil {
				t.Fatal(err)
			}
			ws, err := req.Context.Open()
			if err != nil {
				t.Fatal(err)
			}
			defer ws.Close()
			check := map[string]func(string) (*jptool.Target, error){
				"read": ws.CheckRead, "create": ws.CheckCreate, "update": ws.CheckUpdate, "delete": ws.CheckDelete, "execute": ws.CheckExecute,
			}
			for _, k := range c.Checks {
				target, err := check[k.Capability](strings.ReplaceAll(k.Path, "$BASE", base))
				got := "allow"
				if err != nil {
					got = string(jptool.CodeOf(err))
				}
				seen[got]++
				if got != k.Verdict {
					t.Errorf("%s %q: %s (%v); want %s", k.Capability, k.Path, got, err, k.Verdict)
				} else if k.Canonical != "" && target.Path() != k.Canonical {
					t.Errorf("%s %q: canonical path %q; want %q", k.Capability, k.Path, target.Path(), k.Canonical)
				}
			}
		})
	}
	for _, v := range []string{"allow", "access_denied", "path_escape", "absolute_path", "not_found"} {
		if seen[v] == 0 {
			t.Errorf("no vector with the verdict %s", v)
		}
	}
}

// TestVectorsTools runs the same checks through the binaries, each on a fresh tree,
// and holds that a refused call leaves the tree as it was.
func TestVectorsTools(t *testing.T) {
	ran := 0
	for _, c := range load[fsCase](t, "fs.json") {
		t.Run(c.Name, func(t *testing.T) {
			for _, k := range c.Checks {
				base := c.place(t)
				path := strings.ReplaceAll(k.Path, "$BASE", base)
				var tool string
				arguments, answers := map[string]any{"path": path}, map[string]any{}
				switch {
				case k.Library || k.Capability == "execute":
					continue
				case k.Capability == "read":
					tool = "fs_read_file"
				case k.Capability == "delete":
					tool, answers = "fs_delete_file", map[string]any{"delete_dirty_file": true}
				default:
					tool, arguments["content"], answers = "fs_create_file", "new", map[string]any{"overwrite_file": true}
				}
				before := snapshot(t, base)
				o := runTool(t, tool, request(t, base+"/"+c.Root, fill(c.Access, base), tool, arguments, answers))
				ran++
				got := o.verdict()
				if k.Verdict == "allow" && got == "not_found" && k.Capability == "read" {
					got = "allow" // allowed, and there is nothing
				}
				if got != k.Verdict {
					t.Errorf("%s %q through %s: %s; want %s\n%s", k.Capability, k.Path, tool, got, k.Verdict, o.raw)
				}
				if o.Type == "error" {
					if after := snapshot(t, base); after != before {
						t.Errorf("%s %q was refused but changed the tree:\n%s\nbefore:\n%s", k.Capability, k.Path, after, before)
					}
				}
				if strings.Contains(o.Message, base) && !strings.Contains(path, base) {
					t.Errorf("%s %q: the message names an absolute path: %s", k.Capability, k.Path, o.Message)
				}
			}
		})
	}
	if ran < 80 {
		t.Errorf("only %d vectors ran through the tools", ran)
	}
}

func TestVectorsRequests(t *testing.T) {
	type requestCase struct {
		Name, Stdin, Code string
		Args              []string
	}
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file f x")
	for _, c := range load[requestCase](t, "requests.json") {
		for _, tool := range tools {
			args := make([]string, len(c.Args))
			for i, a := range c.Args {
				args[i] = strings.ReplaceAll(a, "$ROOT", root)
			}
			o := runTool(t, tool, strings.ReplaceAll(c.Stdin, "$ROOT", root), args...)
			if o.Code != c.Code || o.exit != 2 {
				t.Errorf("%s, %s: exit %d, %s; want code %s", c.Name, tool, o.exit, o.raw, c.Code)
			}
		}
	}
}

// snapshot describes a tree: names, types, link texts and contents.
func snapshot(t testing.TB, base string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(base, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(base, path)
		b.WriteString(d.Type().String() + " " + rel)
		switch {
		case d.Type()&os.ModeSymlink != 0:
			text, _ := os.Readlink(path)
			b.WriteString(" -> " + text)
		case d.Type().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			b.WriteString(" = " + string(data))
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
