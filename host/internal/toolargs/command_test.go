package toolargs

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/jptools/jptools/host/internal/config"
)

func request(context string, tool []byte) json.RawMessage {
	return fmt.Appendf(nil, `{"context":%s,"tool":%s}`, context, tool)
}

var sample = request(
	`{"root": "/ws", "action": "run", "access": {"fs": [{"lexical_path": "src"}]}, "workspace_id": null}`,
	[]byte(` {"name": "t", "arguments": {"path": "a b.txt", "n": 1.50, "yes": true, "nothing": null, "html": "<'&'>",
		"list": ["x", {"y": "z"}], "dry-run": "d", "deep": {"er": {"text": "🙂"}}, "null byte": "a\u0000b", "empty": ""}, "options": {"x": [ ]}}`))

func TestRender(t *testing.T) {
	for in, want := range map[string]string{
		"":                                      "",
		"plain } }} { text":                     "plain } }} { text",
		"{{tool.arguments.path}}":               "a b.txt",
		"-p={{ tool . arguments.path }}!":       "-p=a b.txt!",
		"{{context.root}}/{{tool.name}}":        "/ws/t",
		"{{tool.arguments.n}}":                  "1.50",
		"{{tool.arguments.yes}}":                "true",
		"{{tool.arguments.nothing}}":            "null",
		"{{tool.arguments.absent}}":             "null",
		"{{tool.arguments.absent.deeper}}":      "null",
		"{{tool.arguments.path.deeper}}":        "null",
		"{{tool.answers.q}}":                    "null",
		"{{context.workspace_id}}":              "null",
		"{{context.conversation_id}}":           "null",
		"{{tool.arguments.empty}}":              "",
		"{{tool.arguments.list}}":               `["x",{"y":"z"}]`,
		"{{tool.arguments.list.0}}":             "x",
		"{{tool.arguments.list[1].y}}":          "z",
		"{{tool.arguments.list.7}}":             "null",
		"{{tool.arguments.list.x}}":             "null",
		`{{tool.arguments["dry-run"]}}`:         "d",
		`{{tool["arguments"]['path']}}`:         "a b.txt",
		"{{tool.arguments.deep}}":               `{"er":{"text":"🙂"}}`,
		"{{tool.options}}":                      `{"x":[]}`,
		"{{context.access.fs.0.lexical_path}}":  "src",
		"{{context}}":                           `{"root":"/ws","action":"run","access":{"fs":[{"lexical_path":"src"}]},"workspace_id":null}`,
		"{{tool.arguments.path|tojson}}":        `"a b.txt"`,
		"{{ tool.arguments.absent | tojson }}":  "null",
		"{{ tool.arguments.html }}":             "<'&'>",
		"{{ tool.arguments.html | tojson }}":    `"\u003c\u0027\u0026\u0027\u003e"`,
		`{{ "{{" }}x{{ '}}' }}{{"{%"}}`:         "{{x}}{%",
		`{{ "it's \"\\" }}{{ "'" | tojson }}`:   `it's "\"\u0027"`,
		"a{{tool.name}}b{{tool.name|tojson}}{c": `atb"t"{c`,
	} {
		c, err := Compile(config.Command{Program: "p", Args: []string{in}})
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		got, err := c.Render(sample)
		if diff := cmp.Diff([]string{"p", want}, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", in, err, diff)
		}
	}
}

func TestCompileErrors(t *testing.T) {
	for in, want := range map[string]string{
		"{{":                             "does not end",
		"{{}}":                           "is no placeholder",
		"{{tool.name":                    "does not end",
		"{{ tool.name }":                 "does not end",
		"{{tool.argument.path}}":         `no "argument" in tool` + "\nwrite one of name, arguments, answers, options",
		"{{request}}":                    `no "request" in a request` + "\nwrite one of context, tool",
		"{{context.root.x}}":             "context.root has nothing inside",
		"{{context.access.shell}}":       `no "shell" in context.access`,
		"{{tool.name.0}}":                "has nothing inside",
		"{{tool.}}":                      "is no placeholder",
		"{{tool.arguments.a-b}}":         "is no placeholder",
		"{{tool.arguments[path]}}":       "is no placeholder",
		"{{tool.arguments['path'}}":      "is no placeholder",
		`{{tool.arguments["pa}}`:         "is no placeholder",
		`{{"a\n"}}`:                      "is no placeholder",
		"{{tool.name|upper}}":            `filter "upper" is not supported` + "\nthe only filter is tojson",
		"{{tool.name|default('x')}}":     "is no placeholder",
		"{{tool.name|}}":                 "is no placeholder",
		"{{tool.name|tojson|tojson}}":    "is no placeholder",
		"{{tool.name + 1}}":              "is no placeholder",
		"{{1}}":                          `no "1" in a request`,
		"{{ -tool.name }}":               "is no placeholder",
		"{{- tool.name }}":               "is no placeholder",
		"{% if tool.name %}x{% endif %}": `"{% if tool.name %}" is a statement`,
		"{# note #}":                     `"{# note #}" is a comment`,
	} {
		for _, c := range []struct {
			part string
			config.Command
		}{{"program: ", config.Command{Program: in}}, {"args[1]: ", config.Command{Program: "p", Args: []string{"", in}}}, {"program: ", config.Command{Program: "echo " + in, Shell: true}}} {
			_, err := Compile(c.Command)
			if err == nil || !strings.HasPrefix(err.Error(), c.part) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: got %v, want %q", in, err, want)
			}
		}
	}
	if _, err := Compile(config.Command{Program: " "}); err == nil {
		t.Error("an empty program passed")
	}
}

func TestRenderErrors(t *testing.T) {
	for _, c := range []config.Command{{Program: "p", Args: []string{`{{tool.arguments["null byte"]}}`}}, {Program: "{{tool.arguments.empty}}"}} {
		tmpl, err := Compile(c)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := tmpl.Render(sample); err == nil {
			t.Errorf("%+v rendered as %q", c, got)
		}
	}
}

// Whatever the values are, they change no number of words, and each word is its text
// with the values in their places.
func TestRenderNeverSplits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[^\x00]*`).Draw(t, "value")
		args, err := json.Marshal(map[string]any{"arguments": map[string]string{"x": value}})
		if err != nil {
			t.Fatal(err)
		}
		parts := rapid.SliceOf(rapid.SampledFrom([]string{"{{tool.arguments.x}}", "a", " ", "'", `"`, "$", "\\", "{", "}"})).Draw(t, "word")
		word, want := "", ""
		for _, p := range parts {
			if p == "{" && strings.HasSuffix(word, "{") {
				continue
			}
			if strings.HasPrefix(p, "{{") && strings.HasSuffix(word, "{") {
				word, want = strings.TrimSuffix(word, "{"), strings.TrimSuffix(want, "{")
			}
			word += p
			want += strings.ReplaceAll(p, "{{tool.arguments.x}}", value)
		}
		tmpl, err := Compile(config.Command{Program: "p", Args: []string{word, "last"}})
		if err != nil {
			t.Fatalf("%q: %v", word, err)
		}
		got, err := tmpl.Render(request("{}", args))
		if diff := cmp.Diff([]string{"p", want, "last"}, got); err != nil || diff != "" {
			t.Fatalf("%q: %v %s", word, err, diff)
		}
	})
}

// Compiling never panics, and what compiles renders to as many words as it was written in.
func FuzzCompile(f *testing.F) {
	for _, s := range []string{"", "{{tool.name}}", "{{context|tojson}}", `{{"a"}}`, "{{tool.arguments['a'][0].b}}", "{% x %}", "a '{{tool.name}}' \"$(b {{tool.name}})\" # {{tool.name}}"} {
		f.Add(s, "x", false)
		f.Add("p", s, true)
		f.Add(s, s, true)
	}
	f.Fuzz(func(t *testing.T, program, arg string, shell bool) {
		tmpl, err := Compile(config.Command{Program: program, Args: []string{arg}, Shell: shell})
		if err != nil {
			return
		}
		got, err := tmpl.Render(sample)
		if err != nil {
			return
		}
		if !shell && len(got) != 2 {
			t.Fatalf("%q", got)
		}
		again, err := tmpl.Render(request(`{}`, []byte(`{"name":"'; \" $(id) \n","arguments":{"path":"x y"}}`)))
		if err == nil && len(again) != len(got) {
			t.Fatalf("%q and %q", got, again)
		}
		if err == nil && shell && again[2] != got[2] {
			t.Fatalf("a value changed the script: %q and %q", got[2], again[2])
		}
	})
}
