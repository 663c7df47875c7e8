package toolmain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool"
)

// definition is a Tool without its type parameters.
type definition struct {
	name, summary, description, example string
	args, options                       Args

	// failOnQuestion is the flag, once the request was taken.
	failOnQuestion bool
}

// failOnQuestion is for scripts: `tool && next` must not go on when the tool only asked.
const failOnQuestion = "fail-on-question"

func define[A, O any](t Tool[A, O]) *definition {
	return &definition{
		name: t.Name, summary: t.Summary, description: t.Description, example: t.Example,
		args: argsOf(reflect.TypeFor[A](), nil), options: argsOf(reflect.TypeFor[O](), nil),
	}
}

// request takes the request from wherever it is: two JSON values on the command line,
// one whole request on standard input, or a bare Context there and flags.
func (d *definition) request(s Streams) (*jptool.Request, error) {
	words := slices.DeleteFunc(slices.Clone(s.Args), func(a string) bool { return a == "--"+failOnQuestion })
	only := len(words) == 0 // that flag goes with each form
	if !only && strings.HasPrefix(strings.TrimLeft(words[0], " \t\r\n"), "{") {
		d.failOnQuestion = len(words) < len(s.Args)
		return d.positional(words)
	}
	var given *flagValues
	if len(s.Args) > 0 {
		var err error
		if given, err = d.parseFlags(s.Args); err != nil {
			return nil, err
		}
		d.failOnQuestion = given.failOnQuestion
	}
	if s.Terminal {
		return nil, d.usage("standard input is a terminal, so no request will come")
	}
	body, err := io.ReadAll(io.LimitReader(s.Stdin, MaxRequest+1))
	switch {
	case err != nil:
		return nil, jptool.Errorf(jptool.CodeInvalidRequest, "reading the request from standard input: %w", err)
	case len(body) > MaxRequest:
		return nil, jptool.Errorf(jptool.CodeInvalidRequest, "the request is larger than the limit of %d MiB", MaxRequest>>20)
	case len(bytes.TrimSpace(body)) == 0:
		return nil, d.usage("standard input is empty: there is no request")
	}
	req, whole, err := jptool.Decode(body)
	switch {
	case err != nil:
		return nil, err
	case whole && !only:
		return nil, jptool.Errorf(jptool.CodeInvalidRequest, "the request on standard input has its arguments already; flags go with a bare Context (`{\"root\": …, \"action\": \"run\"}`)")
	case whole:
		return req, nil
	case given == nil:
		given = &flagValues{}
	}
	req.Tool = jptool.Call{Name: d.name, Arguments: given.arguments, Answers: given.answers, Options: given.options}
	return req, nil
}

func (d *definition) positional(args []string) (*jptool.Request, error) {
	if len(args) != 2 {
		return nil, d.usage(fmt.Sprintf("the JSON form on the command line takes two arguments, the Context and the tool object; got %d", len(args)))
	}
	ctx, err := jptool.DecodeContext([]byte(args[0]))
	if err != nil {
		return nil, err
	}
	call, err := jptool.DecodeCall([]byte(args[1]))
	if err != nil {
		return nil, err
	}
	return &jptool.Request{Context: *ctx, Tool: *call}, nil
}

// usage is the error for a call that carries no request.
func (d *definition) usage(why string) error {
	return jptool.Errorf(jptool.CodeInvalidRequest, `%s. Call it with a Context on standard input and flags:
  echo '{"root":"'"$PWD"'","action":"run"}' | %s %s
or with one JSON object {"context": …, "tool": {"name": …, "arguments": …}} on standard input. See %s --help.`, why, d.name, d.example, d.name)
}

// flagValues are the arguments, answers and options given as flags.
type flagValues struct {
	arguments, answers, options jptool.Object
	failOnQuestion              bool
}

// keyValues reads `key=value` pairs; a value that is JSON is taken as such, any other
// as a string.
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
		obj[key] = jsonOrString(value)
	}
	return obj, nil
}

func jsonOrString(value string) json.RawMessage {
	// As strict as the request on standard input.
	if obj, err := jptool.ParseObject([]byte(`{"value":` + value + `}`)); err == nil && len(obj) == 1 {
		return obj["value"]
	}
	return jsonString(value)
}

func jsonString(value string) json.RawMessage {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err) // no string fails
	}
	return raw
}
