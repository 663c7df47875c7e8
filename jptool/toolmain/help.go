package toolmain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/jptools/jptools/jptool/strictjson"
)

// help is the text of --help; flags is the part that kong writes.
func (d *definition) help(flags string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", d.name, d.summary)
	if d.description != "" {
		fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(d.description))
	}
	fmt.Fprintf(&b, `
Usage:
  %[1]s [flags] < context.json          a Context on standard input
  %[1]s < request.json                  {"context": …, "tool": …} on standard input
  %[1]s CONTEXT TOOL                    both as JSON on the command line

Example:
  echo '{"root":"'"$PWD"'","action":"run"}' | %[1]s %[2]s
`, d.name, d.example)
	b.WriteString(flags)
	for _, a := range d.args {
		writeArgs(&b, "Each of --"+flagName(a.Name)+" is an object with:", ".", a.Items)
	}
	writeArgs(&b, "Options (--option NAME=VALUE, or `options` in the request):", "", d.options)
	b.WriteString(`
Standard output is one line of JSON: a success, an error with a code, or a question.
Exit status: 0 success or question (3 with --fail-on-question), 1 error, 2 a request that cannot be used.
`)
	return b.String()
}

// writeArgs lists what is not given by a flag of its own.
func writeArgs(b *strings.Builder, title, prefix string, list strictjson.Fields) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", title)
	w := tabwriter.NewWriter(b, 0, 4, 2, ' ', 0)
	for _, f := range list {
		fmt.Fprintf(w, "  %s\t%s\t%s\n", prefix+f.Name, shortType(&f), helpLine(&f))
	}
	w.Flush()
}

func helpLine(f *strictjson.Field) string {
	line := f.Help
	if f.Required {
		line += " Required."
	}
	if f.Default != "" {
		line += fmt.Sprintf(" Default: %s.", f.Default)
	}
	if f.Example != "" {
		line += fmt.Sprintf(" Example: %s", f.Example)
	}
	return line
}

// types are the kinds as help shows them, and as JSON Schema has them.
var types = [...]struct {
	short  string
	schema any
}{
	strictjson.KindString:  {"string", "string"},
	strictjson.KindInt:     {"integer", "integer"},
	strictjson.KindBool:    {"boolean", "boolean"},
	strictjson.KindStrings: {"string…", []string{"string", "array"}},
	strictjson.KindObjects: {"object…", "array"},
}

func shortType(f *strictjson.Field) string {
	return cmp.Or(strings.Join(f.Enum, "|"), types[f.Kind].short)
}

// schemaText is the JSON Schema (draft 2020-12) of the arguments, for hosts.
func (d *definition) schemaText() string {
	s := schemaOf(d.args)
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = d.name
	s["description"] = d.summary
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic(err) // maps of strings and numbers
	}
	return string(text) + "\n"
}

func schemaOf(list strictjson.Fields) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, f := range list {
		s := map[string]any{"type": types[f.Kind].schema, "description": f.Help}
		switch f.Kind {
		case strictjson.KindStrings:
			s["items"] = map[string]any{"type": "string"}
		case strictjson.KindObjects:
			s["items"] = schemaOf(f.Items)
		}
		if len(f.Enum) > 0 {
			s["enum"] = f.Enum
		}
		if f.Min != nil {
			s["minimum"] = *f.Min
		}
		if f.Default != "" {
			s["default"] = f.Literal(f.Default)
		}
		if f.Example != "" {
			s["examples"] = []json.RawMessage{f.Literal(f.Example)}
		}
		properties[f.Name] = s
		if f.Required {
			required = append(required, f.Name)
		}
	}
	s := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}
