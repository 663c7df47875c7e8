package config

import (
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"github.com/pelletier/go-toml/v2"

	"github.com/jptools/jptools/host/internal/settings"
)

// FuzzParse: no panic; what is refused is refused with a place; what is accepted reads
// the same as with the library, and reads the same again after it was rendered.
func FuzzParse(f *testing.F) {
	seeds := 0
	add := func(s string) { f.Add([]byte(s)); seeds++ }
	add(base)
	add(origins)
	add("a = [1, 0x1F, 1_000, -0.0, inf, 1e6, \"x\", '''y''', 1979-05-27T07:32:00Z]\n\"\" = {}\n[a-b.'c d']\ne = [{}, {f = []}]")
	add("[[a]]\n[[a.b]]\nc = 1\n[[a]]\nd.e.f = true\n[g]\n[g.h]\n[[i]]")
	data, err := os.ReadFile("testdata/wrong.txt")
	if err != nil {
		f.Fatal(err)
	}
	for block := range strings.SplitSeq("\n"+string(data), "\n=== ") {
		if _, rest, ok := strings.Cut(block, "\n"); ok {
			input, _, _ := strings.Cut(rest, "\n---\n")
			add(input)
		}
	}
	if seeds < 40 {
		f.Fatalf("%d seeds", seeds)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tree, err := settings.ParseTOML(data, settings.LayerWorkspace, "f")
		var library map[string]any
		libraryErr := toml.Unmarshal(data, &library)
		if err != nil {
			var list settings.Errors
			if !errors.As(err, &list) || len(list) == 0 || list[0].Origin.Line < 1 || list[0].Origin.Column < 1 {
				t.Fatalf("no place in %#v", err)
			}
			if libraryErr == nil && !strings.Contains(err.Error(), "nested deeper") {
				t.Fatalf("refused, but the library takes it: %v", err)
			}
			return
		}
		if libraryErr != nil {
			t.Fatalf("accepted, but the library says %v", libraryErr)
		}
		compareLibrary(t, "", tree, library)
		rendered := tree.TOML(false)
		again, err := settings.ParseTOML(rendered, settings.LayerWorkspace, "f")
		if err != nil {
			t.Fatalf("rendered text is refused: %v\n%s", err, rendered)
		}
		if !again.Equal(tree) {
			t.Fatalf("another tree after rendering:\n%s", rendered)
		}
		if checkLayer(tree) == nil {
			merged := merge(schema(), nil, tree)
			(&Config{merged: merged}).decode(Options{Root: "/ws"}) // must not panic
		}
	})
}

// compareLibrary compares all but dates, whose types differ.
func compareLibrary(t *testing.T, key string, v *settings.Value, x any) {
	t.Helper()
	switch x := x.(type) {
	case map[string]any:
		if v.Kind != settings.Table || len(v.Keys) != len(x) {
			t.Fatalf("%s: %v, library %v", key, v, x)
		}
		for k, y := range x {
			if v.Fields[k] == nil {
				t.Fatalf("%s has no %q", key, k)
			}
			compareLibrary(t, settings.Origin{Key: key}.Child(k).Key, v.Fields[k], y)
		}
	case []any:
		if v.Kind != settings.List || len(v.Items) != len(x) {
			t.Fatalf("%s: %v, library %v", key, v, x)
		}
		for i, y := range x {
			compareLibrary(t, key, v.Items[i], y)
		}
	case float64:
		if v.Kind != settings.Float || v.Scalar != x && x == x {
			t.Fatalf("%s: %v, library %v", key, v, x)
		}
	case string, bool, int64:
		if !reflect.DeepEqual(v.Any(), x) {
			t.Fatalf("%s: %v, library %v", key, v, x)
		}
	}
}

// FuzzLayers: no text of a layer, variable or argument panics.
func FuzzLayers(f *testing.F) {
	f.Add("conversation.tools.x.run = 'ask'", "CONVERSATION_TOOLS_X_RUN=:+1", "conversation.tools.x.access.fs:+=[{}]")
	f.Add(typed, "CONVERSATION__TOOLS__X=:{}", `{"conversation":{"tools":{"x":null}}}`)
	f.Add("[conversation.tools.x]\noptions = { value = {}, strategy = 'keep' }", "SANDBOX=:null", "conversation:=null")
	f.Add("[conversation.tools.'*']\nstyle.parameters = 'a b'", "INHERIT=false", "sandbox.paths=/opt")
	f.Fuzz(func(t *testing.T, file, env, arg string) {
		o := options(t, files{workspaceFile: file})
		o.Environ, o.Args = []string{envPrefix + env}, []string{arg}
		c, err := Load(o)
		if err != nil {
			if strings.ContainsFunc(strings.ReplaceAll(err.Error(), "\n", ""), func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Fatalf("a message speaks to the terminal: %q", err)
			}
			return
		}
		if _, err := c.History(""); err != nil {
			t.Error(err)
		}
		for _, tool := range c.Tools() {
			tool.Access.Policy()
		}
	})
}
