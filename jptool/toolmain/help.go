package toolmain

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/jptools/jptools/jptool/strictjson"
)

// mostColumns is the width beyond which lines of help are hard to read.
const mostColumns = 100

// help writes the text of --help as wide as the terminal; kong writes the part about the flags.
func (d *definition) help(w io.Writer, parsed *kong.Context) error {
	p := &page{columns: usualColumns}
	if f, ok := w.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			p.columns = min(columns, mostColumns)
		}
	}
	p.wrap("", d.name+": "+d.summary)
	for paragraph := range strings.SplitSeq(strings.TrimSpace(d.description), "\n\n") {
		p.WriteByte('\n')
		p.wrap("", paragraph)
	}
	fmt.Fprintf(p, `
Usage:
  %[1]s [flags]                  at a terminal, in its directory
  %[1]s [flags] < context.json   a Context on standard input
  %[1]s < request.json           {"context": …, "tool": …} there
  %[1]s CONTEXT TOOL             both as JSON on the command line

Examples:
  %[1]s %[2]s
  echo '{"root":"'"$PWD"'","action":"run"}' |
    %[1]s %[2]s
`, d.name, d.example)
	if _, err := p.WriteTo(w); err != nil {
		return err
	}
	parsed.Stdout = w
	if err := parsed.PrintUsage(false); err != nil {
		return err
	}
	for _, a := range d.args {
		p.list("Each of --"+flagName(a.Name)+" is an object with:", ".", a.Items)
	}
	p.list("Options (--option NAME=VALUE, or `options` in the request):", "", d.options)
	p.WriteByte('\n')
	p.wrap("", "At a terminal, or with --format text, the result is text on standard output, and errors and questions are on "+
		"standard error. Else standard output is one line of JSON: a success, an error with a code, or a question. Exit status: "+
		"0 success or question (3 with --fail-on-question and with text), 1 error, 2 a request that cannot be used.")
	_, err := p.WriteTo(w)
	return err
}

// page is text for a terminal of so many columns.
type page struct {
	bytes.Buffer
	columns int
}

// wrap writes a paragraph behind an indent, in lines that end where the screen does.
func (p *page) wrap(indent, text string) {
	line := indent
	for word := range strings.FieldsSeq(text) {
		if line != indent && utf8.RuneCountInString(line)+utf8.RuneCountInString(word) >= p.columns {
			fmt.Fprintln(p, strings.TrimRight(line, " "))
			line = indent
		}
		line += word + " "
	}
	fmt.Fprintln(p, strings.TrimRight(line, " "))
}

// list lists what is not given by a flag of its own.
func (p *page) list(title, prefix string, list strictjson.Fields) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(p, "\n%s\n", title)
	for _, f := range list {
		fmt.Fprintf(p, "  %s%s=%s\n", prefix, f.Name, shortType(&f))
		p.wrap("      ", helpLine(&f))
	}
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
