package toolmain

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/nearest"
	"github.com/jptools/jptools/jptool/strictjson"
)

// definition is a Tool without its type parameters.
type definition struct {
	name, summary, description, example string
	args, options                       strictjson.Fields

	// failOnQuestion is the flag: in a script, `tool && next` must not go on if the tool only asked.
	failOnQuestion bool
	// format is the flag: text or json, "" for what standard output asks for.
	format string
	// noContext: the call came without one.
	noContext bool
}

func define[A, O any](t Tool[A, O]) *definition {
	return &definition{
		name: t.Name, summary: t.Summary, description: t.Description, example: t.Example,
		args: strictjson.FieldsOf(reflect.TypeFor[A]()), options: strictjson.FieldsOf(reflect.TypeFor[O]()),
	}
}

// request takes the request from wherever it is: two JSON values on the command line,
// one whole request on standard input, or a bare Context there and flags.
func (d *definition) request(s Streams) (*jptool.Request, error) {
	line := &commandLine{}
	if len(s.Args) > 0 {
		d.format = formatOf(s.Args) // for the error, if they cannot be read
		var err error
		if line, err = d.parseFlags(s.Args); err != nil {
			return nil, err
		}
		d.failOnQuestion, d.format = line.failOnQuestion, line.format
	}
	switch {
	case len(line.words) == 0:
	case !strings.HasPrefix(strings.TrimLeft(line.words[0], " \t\r\n"), "{"):
		return nil, d.unexpected(line.words[0])
	case line.flags():
		return nil, errArgumentsTwice("on the command line")
	case len(line.words) != 2:
		return nil, d.usage(fmt.Sprintf("as JSON, the command line takes two arguments, the Context and the tool object; got %d", len(line.words)))
	default:
		req, whole, err := jptool.Decode([]byte(line.words[0]))
		if err == nil && whole {
			err = d.usage("the first argument is a whole request, which belongs on standard input")
		}
		if err == nil {
			err = req.DecodeTool([]byte(line.words[1]))
		}
		return req, err
	}
	if s.Dir != "" {
		if s.Columns == 0 && d.format == "" {
			return nil, d.usage("standard input is a terminal, so no Context will come, and standard output is none, so a host may have forgotten it; --format text or --format json says that the working directory is meant")
		}
		if len(s.Args) == 0 && slices.ContainsFunc(d.args, func(f strictjson.Field) bool { return f.Required }) {
			return nil, d.usage("there are no arguments")
		}
		d.noContext = true
		return &jptool.Request{Context: jptool.Context{Root: s.Dir, Action: jptool.Run}, Tool: line.call}, nil
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
	case whole && line.flags():
		return nil, errArgumentsTwice("on standard input")
	case whole:
		return req, nil
	}
	req.Tool = line.call
	return req, nil
}

// formatOf finds --format among arguments that may be wrong otherwise.
func formatOf(args []string) string {
	for i, arg := range args {
		value, ok := strings.CutPrefix(arg, "--format=")
		if arg == "--format" && i+1 < len(args) {
			value, ok = args[i+1], true
		}
		if ok && (value == "text" || value == "json") {
			return value
		}
	}
	return ""
}

func errArgumentsTwice(where string) error {
	return jptool.Errorf(jptool.CodeInvalidRequest, "the request %s has its arguments already; flags go with a bare Context (`{\"root\": …, \"action\": \"run\"}`) on standard input", where)
}

// unexpected is the error for a word that is neither a flag nor JSON.
func (d *definition) unexpected(word string) error {
	help := ""
	if len(d.args) > 0 {
		help = fmt.Sprintf(": each has its flag; did you mean --%s %s?", flagName(d.args[0].Name), jptool.Quote(word))
	}
	return jptool.Errorf(jptool.CodeInvalidArguments, "unexpected argument %s%s See %s --help", jptool.Quote(word), help, d.name)
}

// decode fills the structs of the arguments and the options, and lists the arguments that are not known.
func (d *definition) decode(call jptool.Call, args, options any) (ignored []string, err error) {
	decoder := strictjson.Decoder{OneOrMany: true, Unknown: func(path, name string, known []string) error {
		// An argument that is nearly a known one is an error: `dryrun` would change files.
		if near := jptool.Misspelt(name, known); near != "" {
			return fmt.Errorf("%s has no argument %q; did you mean %q?", d.name, path, near)
		}
		ignored = append(ignored, path)
		return nil
	}}
	if err := d.fill("argument", call.Arguments, args, decoder); err != nil {
		return ignored, err
	}
	// An option restricts, as `suppress` does, and one without effect would be a restriction that nobody enforces.
	decoder.Unknown = func(path, name string, known []string) error {
		if near := nearest.Word(name, known); near != "" {
			return fmt.Errorf("%s has no option %q; did you mean %q?", d.name, path, near)
		}
		return fmt.Errorf("%s has no option %q; its options are %s", d.name, path, strings.Join(known, ", "))
	}
	err = d.fill("option", call.Options, options, decoder)
	return ignored, err
}

func (d *definition) fill(what string, obj jptool.Object, into any, decoder strictjson.Decoder) error {
	err := decoder.Decode(obj, into)
	var member *strictjson.MemberError
	switch {
	case errors.As(err, &member):
		return jptool.Errorf(jptool.CodeInvalidArguments, "%s `%s` of %s %s", what, member.Path, d.name, member.Text)
	case err != nil:
		return jptool.Errorf(jptool.CodeInvalidArguments, "%w", err)
	}
	return nil
}

// usage is the error for a call that carries no request.
func (d *definition) usage(why string) error {
	return jptool.Errorf(jptool.CodeInvalidRequest, `%s. At a terminal, call it with flags, for the files in the working directory:
  %[2]s %[3]s
Elsewhere, call it with a Context on standard input and flags:
  echo '{"root":"'"$PWD"'","action":"run"}' | %[2]s %[3]s
or with one JSON object {"context": …, "tool": {"name": …, "arguments": …}} on standard input. See %[2]s --help.`, why, d.name, d.example)
}
