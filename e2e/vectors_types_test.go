package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/jptools/jptools/jptool"
)

// invalid reads the rules of a vector file that must be refused, each by itself.
func invalid(t *testing.T, name string) []json.RawMessage {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "vectors", name))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Invalid []json.RawMessage }
	if err := json.Unmarshal(data, &file); err != nil || len(file.Invalid) == 0 {
		t.Fatalf("%s: %d invalid cases, %v", name, len(file.Invalid), err)
	}
	return file.Invalid
}

// compile decodes an `access` object as a tool does and compiles all of it.
func compile(access string) (*jptool.Policy, error) {
	decoded, err := jptool.DecodeAccess([]byte(access))
	if err != nil {
		return nil, err
	}
	ctx := jptool.Context{Root: os.TempDir(), Action: jptool.Run, Access: decoded}
	ws, err := ctx.Open()
	if err != nil {
		return nil, err
	}
	defer ws.Close()
	return ws.Policy(), nil
}

func refused(t *testing.T, name, key string) {
	t.Helper()
	for _, rule := range invalid(t, name) {
		list := "[" + string(rule) + "]"
		if key == "commands" {
			list = string(rule)
		}
		if _, err := compile(`{"` + key + `":` + list + `}`); jptool.CodeOf(err) != jptool.CodeInvalidPolicy {
			t.Errorf("%s: %s: %v; want invalid_policy", name, rule, err)
		}
	}
}

func TestVectorsNet(t *testing.T) {
	type netCase struct {
		Name  string
		Rules json.RawMessage
		URLs  map[string]bool
	}
	for _, c := range load[netCase](t, "net.json") {
		p, err := compile(`{"net":` + string(c.Rules) + `}`)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		for url, want := range c.URLs {
			if d, err := p.Net.Evaluate(url); d.Allowed != want {
				t.Errorf("%s: %s: allowed=%v (%v); want %v", c.Name, url, d.Allowed, err, want)
			}
		}
	}
	refused(t, "net.json", "net")
}

func TestVectorsEnv(t *testing.T) {
	type envCase struct {
		Name  string
		Rules json.RawMessage
		Names map[string]bool
	}
	for _, c := range load[envCase](t, "env.json") {
		p, err := compile(`{"env":` + string(c.Rules) + `}`)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		for name, want := range c.Names {
			if d := p.Env.Evaluate(name); d.Allowed != want {
				t.Errorf("%s: %s: allowed=%v; want %v", c.Name, name, d.Allowed, want)
			}
		}
	}
	refused(t, "env.json", "env")
}

func TestVectorsCommands(t *testing.T) {
	type commandCase struct {
		Name     string
		Commands json.RawMessage
		Lines    []json.RawMessage
	}
	for _, c := range load[commandCase](t, "commands.json") {
		p, err := compile(`{"commands":` + string(c.Commands) + `}`)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		for _, raw := range c.Lines {
			var words []string
			var want bool
			if err := json.Unmarshal(raw, &[]any{&words, &want}); err != nil || len(words) == 0 {
				t.Fatalf("%s: bad line %s: %v", c.Name, raw, err)
			}
			if d := p.Commands.Evaluate(words[0], words[1:]); d.Allowed != want {
				t.Errorf("%s: %q: allowed=%v; want %v", c.Name, words, d.Allowed, want)
			}
		}
	}
	refused(t, "commands.json", "commands")
}
