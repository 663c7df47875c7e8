package toolmain

import (
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/jptools/jptools/jptool"
)

// common are the flags that every tool has besides its arguments.
type common struct {
	Answer []string `sep:"none"`
	Option []string `sep:"none"`
	Help   bool     `short:"h"`
	Schema bool
}

// flagName is an argument's name on the command line.
func flagName(arg string) string { return strings.ReplaceAll(arg, "_", "-") }

// parseFlags turns the command line into the same undecoded objects that a JSON
// request holds, so that there is one way in from there on.
func (d *definition) parseFlags(args []string) (*flagValues, error) {
	for _, a := range args {
		if !utf8.ValidString(a) {
			return nil, jptool.Errorf(jptool.CodeInvalidArguments, "the command line holds invalid UTF-8: %q", a)
		}
	}
	grammar := reflect.New(d.grammar())
	parser, err := kong.New(grammar.Interface(), kong.Name(d.name), kong.NoDefaultHelp(),
		kong.Exit(func(int) {}), kong.Writers(io.Discard, io.Discard))
	if err != nil {
		return nil, jptool.Errorf(jptool.CodeIO, "the flags of %s: %w", d.name, err)
	}
	if _, err := parser.Parse(args); err != nil {
		if word, ok := strings.CutPrefix(err.Error(), "unexpected argument "); ok && len(d.args) > 0 {
			return nil, jptool.Errorf(jptool.CodeInvalidArguments, "unexpected argument %s: each has its flag; did you mean --%s %s? See %s --help", word, flagName(d.args[0].Name), word, d.name)
		}
		return nil, jptool.Errorf(jptool.CodeInvalidArguments, "%w; see %s --help", err, d.name)
	}
	fixed := grammar.Elem().Field(0).Interface().(common)
	switch {
	case fixed.Help:
		return nil, helpText(d.help())
	case fixed.Schema:
		return nil, helpText(d.schemaText())
	}
	values := &flagValues{arguments: jptool.Object{}}
	for i, a := range d.args {
		raw, err := a.fromFlags(grammar.Elem().Field(i + 1))
		if err != nil {
			return nil, err
		}
		if raw != nil {
			values.arguments[a.Name] = raw
		}
	}
	if values.answers, err = keyValues("answer", fixed.Answer); err != nil {
		return nil, err
	}
	values.options, err = keyValues("option", fixed.Option)
	return values, err
}

// grammar is the struct type that kong reads: the common flags, then one per argument.
func (d *definition) grammar() reflect.Type {
	fields := []reflect.StructField{{
		Name: "Common", Type: reflect.TypeFor[common](), Tag: `embed:""`,
	}}
	for _, a := range d.args {
		f := reflect.StructField{
			Name: "Arg_" + a.Name, Type: reflect.TypeFor[[]string](),
			Tag: reflect.StructTag(`name:"` + flagName(a.Name) + `" sep:"none"`),
		}
		if a.Kind == KindBool {
			f.Type, f.Tag = reflect.TypeFor[*bool](), reflect.StructTag(`name:"`+flagName(a.Name)+`" negatable:""`)
		}
		fields = append(fields, f)
	}
	return reflect.StructOf(fields)
}

// fromFlags makes the JSON value of an argument, nil when its flag was not given.
func (a *Arg) fromFlags(field reflect.Value) (json.RawMessage, error) {
	if a.Kind == KindBool {
		if field.IsNil() {
			return nil, nil
		}
		return json.Marshal(field.Elem().Bool())
	}
	given := field.Interface().([]string)
	if len(given) == 0 {
		return nil, nil
	}
	many := a.Kind == KindStrings || a.Kind == KindObjects
	if len(given) > 1 && !many {
		return nil, jptool.Errorf(jptool.CodeInvalidArguments, "--%s is given %d times; once is enough", flagName(a.Name), len(given))
	}
	switch {
	case a.Kind == KindString:
		return jsonString(given[0]), nil
	case a.Kind == KindInt:
		return jsonOrString(given[0]), nil
	case len(given) == 1 && (a.Kind == KindObjects || strings.HasPrefix(given[0], "[")):
		return jsonOrString(given[0]), nil
	}
	items := make([]json.RawMessage, len(given))
	for i, g := range given {
		items[i] = jsonString(g)
		if a.Kind == KindObjects {
			items[i] = jsonOrString(g)
		}
	}
	return json.Marshal(items)
}
