package defaults_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/defaults"
	"github.com/jptools/jptools/host/internal/schema"
	"github.com/jptools/jptools/jptool"
)

var names = []string{"fs_create_file", "fs_delete_file", "fs_grep_files", "fs_list_files", "fs_modify_file", "fs_move_file", "fs_read_file"}

func load(t *testing.T) *config.Config {
	t.Helper()
	cfg, err := config.Load(config.Options{Defaults: defaults.Layer})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

var update = flag.Bool("update", false, "write layer.go from defaults.toml")

// What is built in is what the file says, at the places where it says it.
func TestLayerIsTheFile(t *testing.T) {
	toml, err := os.ReadFile("defaults.toml")
	if err != nil {
		t.Fatal(err)
	}
	want, err := config.Freeze(toml)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		var b strings.Builder
		b.WriteString("// Code generated from defaults.toml by go test . -update; DO NOT EDIT.\n\npackage defaults\n\nimport \"github.com/jptools/jptools/host/internal/config\"\n\n")
		b.WriteString("// Layer is the built-in layer, as config.Options.Defaults takes it. It must not be changed.\nvar Layer = config.Frozen{\n")
		for _, v := range want {
			kind := map[config.Kind]string{config.Bool: "Bool", config.Integer: "Integer", config.String: "String", config.List: "List", config.Table: "Table"}[v.Kind]
			fmt.Fprintf(&b, "\t{Kind: config.%s", kind)
			for _, f := range []struct{ name, text string }{{"Name", v.Name}, {"Key", v.Key}, {"Text", v.Text}} {
				if f.text != "" {
					fmt.Fprintf(&b, ", %s: %q", f.name, f.text)
				}
			}
			for _, f := range []struct {
				name string
				n    int64
			}{{"Line", int64(v.Line)}, {"Column", int64(v.Column)}, {"Number", v.Number}} {
				if f.n != 0 {
					fmt.Fprintf(&b, ", %s: %d", f.name, f.n)
				}
			}
			b.WriteString("},\n")
		}
		b.WriteString("}\n")
		if err := os.WriteFile("layer.go", []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, defaults.Layer); diff != "" {
		t.Errorf("(- defaults.toml, + layer.go); go test . -update writes layer.go\n%s", diff)
	}
}

func TestTheSevenTools(t *testing.T) {
	var got []string
	for _, tool := range load(t).Tools() {
		got = append(got, tool.Name)
		reads := *tool.Needs == jptool.Read
		if (tool.Run == "unattended") != reads || !reads && tool.Run != "ask" {
			t.Errorf("%s: run = %s: what only reads is unattended, what writes asks", tool.Name, tool.Run)
		}
		if tool.Needs.Has(jptool.Execute) || tool.Access != nil {
			t.Errorf("%s: needs %s, access %v", tool.Name, tool.Needs, tool.Access)
		}
	}
	if diff := cmp.Diff(names, got); diff != "" {
		t.Error(diff)
	}
}

// The parameters are those of the binaries, less what a configuration cannot say: bounds
// of numbers and examples.
func TestParametersAreThoseOfTheBinaries(t *testing.T) {
	cfg, dir := load(t), t.TempDir()
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			bin := filepath.Join(dir, name)
			build := exec.Command("go", "build", "-o", bin, ".")
			build.Dir = filepath.Join("..", "..", "..", "tools", name)
			build.Env = append(os.Environ(), "GOWORK=off")
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			out, err := exec.Command(bin, "--schema").Output()
			if err != nil {
				t.Fatal(err)
			}
			var want map[string]any
			if err := json.Unmarshal(out, &want); err != nil {
				t.Fatal(err)
			}
			tool, _ := cfg.Tool(name)
			if tool.Summary != want["description"] {
				t.Errorf("summary = %q, want %q", tool.Summary, want["description"])
			}
			for _, key := range []string{"$schema", "title", "description"} {
				delete(want, key)
			}
			reduce(want) // and got: the order of required means nothing
			s, err := schema.New(tool.Parameters)
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(s.JSON())
			if err != nil {
				t.Fatal(err)
			}
			var got map[string]any
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatal(err)
			}
			reduce(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("parameters (- binary, + defaults.toml):\n%s", diff)
			}
		})
	}
}

// reduce drops what a configuration cannot say.
func reduce(node map[string]any) {
	delete(node, "minimum")
	delete(node, "examples")
	if list, ok := node["required"].([]any); ok {
		slices.SortFunc(list, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	}
	for key, v := range node {
		if m, ok := v.(map[string]any); ok {
			if key == "properties" {
				for _, p := range m {
					reduce(p.(map[string]any))
				}
				continue
			}
			reduce(m)
		}
	}
}
