package toolmain

import (
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/cmdline"
	"github.com/jptools/jptools/jptool/version"
)

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
	var answers, options []string
	var schema, which, fail bool
	form, given := cmdline.Form{}, make([]argFlag, len(d.args))
	for i, a := range d.args {
		if name := flagName(a.Name); a.Kind == KindBool {
			form.Choice(&given[i].truth, name, a.Help)
		} else {
			form.List(&given[i].texts, name, a.shortType(), a.Help)
		}
	}
	form.List(&answers, "answer", "ID=VALUE", "answer a question of the tool")
	form.List(&options, "option", "NAME=VALUE", "set an option")
	form.Switch(&fail, failOnQuestion, "exit with 3 when the tool asks something")
	form.Switch(&schema, "schema", "print the JSON Schema of the arguments")
	form.Switch(&which, "version", "print the version")
	err := form.Parse(args)
	var word *cmdline.UnexpectedError
	switch {
	case errors.Is(err, cmdline.ErrHelp):
		return nil, helpText(d.help())
	case errors.As(err, &word) && len(d.args) > 0:
		return nil, jptool.Errorf(jptool.CodeInvalidArguments, "%w: each has its flag; did you mean --%s %s? See %s --help", err, flagName(d.args[0].Name), cmdline.Shown(word.Word), d.name)
	case err != nil:
		return nil, jptool.Errorf(jptool.CodeInvalidArguments, "%w; see %s --help", err, d.name)
	case schema:
		return nil, helpText(d.schemaText())
	case which:
		return nil, helpText(version.Read().Line(d.name))
	}
	values := &flagValues{arguments: jptool.Object{}, failOnQuestion: fail}
	for i, a := range d.args {
		raw, err := a.fromFlags(given[i])
		if err != nil {
			return nil, err
		}
		if raw != nil {
			values.arguments[a.Name] = raw
		}
	}
	if values.answers, err = keyValues("answer", answers); err != nil {
		return nil, err
	}
	values.options, err = keyValues("option", options)
	return values, err
}

// argFlag is what the flag of an argument was given: nothing, a truth value, or texts.
type argFlag struct {
	truth *bool
	texts []string
}

// fromFlags makes the JSON value of an argument, nil when its flag was not given.
func (a *Arg) fromFlags(f argFlag) (json.RawMessage, error) {
	if f.truth != nil {
		return json.Marshal(*f.truth)
	}
	given := f.texts
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
