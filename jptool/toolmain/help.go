package toolmain

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
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
func writeArgs(b *strings.Builder, title, prefix string, list Args) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", title)
	w := tabwriter.NewWriter(b, 0, 4, 2, ' ', 0)
	for _, a := range list {
		fmt.Fprintf(w, "  %s\t%s\t%s\n", prefix+a.Name, a.shortType(), a.helpLine())
	}
	w.Flush()
}

func (a *Arg) helpLine() string {
	line := a.Help
	if a.Required {
		line += " Required."
	}
	if a.Default != "" {
		line += fmt.Sprintf(" Default: %s.", a.Default)
	}
	if a.Example != "" {
		line += fmt.Sprintf(" Example: %s", a.Example)
	}
	return line
}

func (a *Arg) shortType() string {
	if len(a.Enum) > 0 {
		return strings.Join(a.Enum, "|")
	}
	return kinds[a.Kind].short
}

// schemaText is the JSON Schema (draft 2020-12) of the arguments, for hosts.
func (d *definition) schemaText() string {
	s := d.args.schema()
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = d.name
	s["description"] = d.summary
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic(err) // maps of strings and numbers
	}
	return string(text) + "\n"
}

func (list Args) schema() map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, a := range list {
		properties[a.Name] = a.schema()
		if a.Required {
			required = append(required, a.Name)
		}
	}
	s := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

func (a *Arg) schema() map[string]any {
	s := map[string]any{"type": kinds[a.Kind].schema, "description": a.Help}
	switch a.Kind {
	case KindStrings:
		s["items"] = map[string]any{"type": "string"}
	case KindObjects:
		s["items"] = a.Items.schema()
	}
	if len(a.Enum) > 0 {
		s["enum"] = a.Enum
	}
	if a.Min != nil {
		s["minimum"] = *a.Min
	}
	if a.Default != "" {
		s["default"] = a.literal(a.Default)
	}
	if a.Example != "" {
		s["examples"] = []json.RawMessage{a.literal(a.Example)}
	}
	return s
}

// literal is the JSON of a value written in a tag.
func (a *Arg) literal(text string) json.RawMessage {
	if a.Kind == KindString {
		return jsonString(text)
	}
	return jsonOrString(text)
}
