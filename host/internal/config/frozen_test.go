package config

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A frozen layer is what its file is after reading, checking and merging.
func TestFrozen(t *testing.T) {
	shipped, err := os.ReadFile("../defaults/defaults.toml")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(shipped), base, "", `
[conversation.tools.x]
source = "local"
enable = false
command = "x y"
options = { n = 3, yes = true, no = false, list = [1, ["a"], {}], empty = [], text = "" }
parameters.p = { type = ["array", "null"], required = true, items.type = "string" }
`} {
		tree, err := parseTOML([]byte(text), LayerDefault, builtIn)
		if err != nil {
			t.Fatal(err)
		}
		if err := checkLayer(tree); err != nil {
			t.Fatal(err)
		}
		same := cmp.AllowUnexported(Value{}, howto{})
		got := frozen(t, text).tree()
		if diff := cmp.Diff(tree, got, same); diff != "" {
			t.Errorf("- read + frozen\n%s", diff)
		}
		c, err := Load(Options{FS: files{}.fs(t), Defaults: frozen(t, text)})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(merge(schema(), newTable(Origin{}), tree), c.merged, same); diff != "" {
			t.Errorf("- merged + loaded\n%s", diff)
		}
	}
}

func TestFreezeErrors(t *testing.T) {
	for text, want := range map[string]string{
		"x":     "not valid TOML",
		"x = 1": "unknown key",
		"[conversation.tools.x]\nsource = \"local\"\noptions.f = 1.5":             "built-in:3:9: conversation.tools.x.options.f cannot stand in the built-in layer, being a float",
		"[conversation.tools.x]\nsource = \"local\"\noptions.d = 1979-05-27":      "being a date",
		"[conversation.tools.x]\nsource = \"local\"\naccess.fs = [{path = \"\"}]": "conversation.tools.x.access.fs cannot stand in the built-in layer",
	} {
		if _, err := Freeze([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
