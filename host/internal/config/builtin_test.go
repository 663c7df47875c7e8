package config_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/toolargs"
	"github.com/jptools/jptools/jptool"
)

var shippedTools = []string{"fs_create_file", "fs_delete_file", "fs_grep_files", "fs_list_files", "fs_modify_file", "fs_move_file", "fs_read_file"}

func shipped(t *testing.T) *config.Config {
	t.Helper()
	cfg, err := config.Load(config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestTheSevenTools(t *testing.T) {
	var got []string
	for _, tool := range shipped(t).Tools() {
		got = append(got, tool.Name)
		reads := *tool.Needs == jptool.Read
		if (tool.Run == "unattended") != reads || !reads && tool.Run != "ask" {
			t.Errorf("%s: run = %s: what only reads is unattended, what writes asks", tool.Name, tool.Run)
		}
		if tool.Needs.Has(jptool.Execute) || tool.Access != nil {
			t.Errorf("%s: needs %s, access %v", tool.Name, tool.Needs, tool.Access)
		}
	}
	if diff := cmp.Diff(shippedTools, got); diff != "" {
		t.Error(diff)
	}
}

// The parameters are those of the binaries, less what a configuration cannot say: bounds
// of numbers and examples.
func TestParametersAreThoseOfTheBinaries(t *testing.T) {
	cfg, dir := shipped(t), t.TempDir()
	for _, name := range shippedTools {
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
			s, err := toolargs.New(tool.Parameters)
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
				t.Errorf("parameters (- binary, + configuration):\n%s", diff)
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
