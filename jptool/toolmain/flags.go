package toolmain

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/strictjson"
	"github.com/jptools/jptools/jptool/version"
)

// commandLine is what a command line holds, as the undecoded objects that a JSON request holds, so that there is one
// way in from there on.
type commandLine struct {
	call           jptool.Call
	failOnQuestion bool
	format         string
	// words are the arguments without flags: none, or the Context and the tool object.
	words []string
}

// flags reports whether there are arguments, answers or options.
func (l *commandLine) flags() bool {
	return len(l.call.Arguments)+len(l.call.Answers)+len(l.call.Options) > 0
}

// commonFlags stand beside those of a tool's arguments.
type commonFlags struct {
	Answer         texts    `placeholder:"ID=VALUE" help:"Answer a question of the tool." group:"Common flags:"`
	Option         texts    `placeholder:"NAME=VALUE" help:"Set an option." group:"Common flags:"`
	Format         string   `placeholder:"text|json" enum:",text,json" default:"" help:"Text for people, JSON for hosts. Default: text at a terminal, else JSON." group:"Common flags:"`
	FailOnQuestion bool     `help:"Exit with 3 when the tool asks something, as with text." group:"Common flags:"`
	Schema         bool     `help:"Print the JSON Schema of the arguments." group:"Common flags:"`
	Version        bool     `help:"Print the version, and what it was built from." group:"Common flags:"`
	Help           bool     `short:"h" help:"Print this help." group:"Common flags:"`
	JSON           []string `arg:"" optional:"" help:"CONTEXT and TOOL, in place of standard input and flags."`
}

// texts are the values of a flag that may be repeated.
type texts []string

// Decode takes the next word for the value unless it looks like a flag: then the value was probably forgotten.
func (t *texts) Decode(ctx *kong.DecodeContext) error {
	token := ctx.Scan.Pop()
	value := token.String()
	switch {
	case token.IsEOL():
		return errors.New("the value is missing")
	case token.Type == kong.UntypedToken && looksLikeFlag(value):
		return fmt.Errorf("the value is missing; if %s is the value, write --%s=%[1]s", jptool.Quote(value), ctx.Value.Name)
	}
	*t = append(*t, value)
	return nil
}

// looksLikeFlag reports whether a word can be a flag. A dash alone cannot, and neither can a number below zero or a text
// with blanks in front of any `=`, as lists in Markdown have.
func looksLikeFlag(word string) bool {
	name, _, _ := strings.Cut(word, "=")
	return len(word) > 1 && word[0] == '-' && (word[1] < '0' || word[1] > '9') && !strings.ContainsAny(name, " \t\r\n")
}

// flagName is an argument's name on the command line.
func flagName(arg string) string { return strings.ReplaceAll(arg, "_", "-") }

// grammar returns a pointer to a struct that kong fills: a field for each argument in their order, and the common flags.
func (d *definition) grammar() reflect.Value {
	fields := make([]reflect.StructField, len(d.args), len(d.args)+1)
	for i, a := range d.args {
		// kong would put in variables for names behind a dollar sign.
		help := strings.ReplaceAll(helpLine(&a), "$", "$$")
		tag := fmt.Sprintf(`name:%q help:%q group:"Flags:"`, flagName(a.Name), help)
		fields[i] = reflect.StructField{Name: fmt.Sprintf("Argument%d", i)}
		if a.Kind == strictjson.KindBool {
			fields[i].Type, tag = reflect.TypeFor[*bool](), tag+` negatable:""`
		} else {
			fields[i].Type, tag = reflect.TypeFor[texts](), tag+fmt.Sprintf(` placeholder:%q`, shortType(&a))
		}
		fields[i].Tag = reflect.StructTag(tag)
	}
	fields = append(fields, reflect.StructField{Name: "Common", Type: reflect.TypeFor[commonFlags](), Tag: `embed:""`})
	return reflect.New(reflect.StructOf(fields))
}

// parseFlags reads the command line. The error is of type printed when that is what it asks for.
func (d *definition) parseFlags(args []string) (*commandLine, error) {
	for _, a := range args {
		if !utf8.ValidString(a) {
			return nil, jptool.Errorf(jptool.CodeInvalidArguments, "the command line holds invalid UTF-8: %q", a)
		}
	}
	into := d.grammar()
	parser, err := kong.New(into.Interface(),
		kong.Name(d.name), kong.NoDefaultHelp(), kong.Writers(io.Discard, io.Discard),
		kong.ConfigureHelp(kong.HelpOptions{NoAppSummary: true, WrapUpperBound: mostColumns}))
	if err != nil {
		return nil, fmt.Errorf("the arguments of %s make no command line: %w", d.name, err)
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return nil, jptool.Errorf(jptool.CodeInvalidArguments, "%w; see %s --help", err, d.name)
	}
	common := into.Elem().Field(len(d.args)).Interface().(commonFlags)
	switch {
	case common.Help:
		return nil, printed(func(w io.Writer) error { return d.help(w, parsed) })
	case common.Schema:
		return nil, printedText(d.schemaText())
	case common.Version:
		return nil, printedText(version.Read().Line(d.name))
	}
	line := &commandLine{failOnQuestion: common.FailOnQuestion, format: common.Format, words: common.JSON}
	line.call = jptool.Call{Name: d.name, Arguments: jptool.Object{}}
	for i, a := range d.args {
		raw, err := fromFlag(&a, into.Elem().Field(i).Interface())
		if err != nil {
			return nil, err
		}
		if raw != nil {
			line.call.Arguments[a.Name] = raw
		}
	}
	if line.call.Answers, err = keyValues("answer", common.Answer); err != nil {
		return nil, err
	}
	line.call.Options, err = keyValues("option", common.Option)
	return line, err
}

// fromFlag makes the JSON value of an argument, nil when its flag was not given.
func fromFlag(f *strictjson.Field, value any) (json.RawMessage, error) {
	if truth, ok := value.(*bool); ok {
		if truth == nil {
			return nil, nil
		}
		return json.Marshal(*truth)
	}
	values := value.(texts)
	if len(values) == 0 {
		return nil, nil
	}
	many := f.Kind == strictjson.KindStrings || f.Kind == strictjson.KindObjects
	if len(values) > 1 && !many {
		return nil, jptool.Errorf(jptool.CodeInvalidArguments, "--%s is given %d times; once is enough", flagName(f.Name), len(values))
	}
	switch {
	case f.Kind == strictjson.KindString:
		return strictjson.String(values[0]), nil
	case f.Kind == strictjson.KindInt:
		return strictjson.ValueOrString(values[0]), nil
	case len(values) == 1 && (f.Kind == strictjson.KindObjects || strings.HasPrefix(values[0], "[")):
		return strictjson.ValueOrString(values[0]), nil
	}
	items := make([]json.RawMessage, len(values))
	for i, v := range values {
		items[i] = strictjson.String(v)
		if f.Kind == strictjson.KindObjects {
			items[i] = strictjson.ValueOrString(v)
		}
	}
	return json.Marshal(items)
}

// keyValues reads `key=value` pairs; a value that is JSON is taken as such, any other as a string.
func keyValues(flag string, pairs []string) (jptool.Object, error) {
	obj := jptool.Object{}
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, jptool.Errorf(jptool.CodeInvalidArguments, "--%s takes KEY=VALUE, got %q", flag, pair)
		}
		if _, twice := obj[key]; twice {
			return nil, jptool.Errorf(jptool.CodeInvalidArguments, "--%s %s is given twice", flag, key)
		}
		obj[key] = strictjson.ValueOrString(value)
	}
	return obj, nil
}
