// Package toolmain is the frame that every tool binary shares: it takes a request in
// any of its three forms, decodes the arguments by one definition that also makes the
// flags, the help and the JSON Schema, opens the workspace, runs the tool, and writes
// exactly one Outcome.
//
//	func main() { os.Exit(toolmain.Main(tool)) }
//
// Standard output gets one line of JSON and nothing else, but for --help, --schema and --version; standard error gets
// remarks for people. For a person, whose standard output is a terminal, the answer is text instead.
package toolmain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime/debug"
	"slices"
	"time"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/strictjson"
)

// The exit codes of a tool; docs/exit-codes.md has the table.
const (
	ExitOK         = 0 // success, or a question
	ExitError      = 1 // an error Outcome
	ExitBadRequest = 2 // a request that cannot be used
	ExitQuestion   = 3 // a question, with --fail-on-question
)

// maxRemarks bounds the notes on what was ignored.
const maxRemarks = 10

// MaxRequest is the largest request body in bytes.
const MaxRequest = 64 << 20

// Tool defines a tool. A and O are structs whose fields, by their types and tags, are
// the arguments and the options; see [strictjson.Fields].
type Tool[A, O any] struct {
	Name    string
	Summary string // one line
	// Description is what the help says after the summary.
	Description string
	// Example is a command line without the program name.
	Example string
	// Run does the work, or previews it when c.Preview is set. A returned error becomes
	// an error Outcome. If O has an integer field Deadline, ctx ends after so many seconds; 0 is no limit.
	Run func(ctx context.Context, c *Call, args *A, options *O) (jptool.Outcome, error)
}

// Strings is an argument that is one or many.
type Strings = strictjson.Strings

// Call is one call of a tool.
type Call struct {
	// Workspace is the way to every file.
	Workspace *jptool.Workspace
	// Preview says that the host wants the arguments formatted: nothing may change.
	Preview bool
	// Person says that the answer is text for a person. What a model may get shows less of a file that it did not ask for.
	Person bool
	// Stderr takes remarks for people.
	Stderr io.Writer
	// Progress is what a person who waits is shown. It is never nil.
	Progress *Progress

	tool    string
	answers jptool.Object
	written jptool.Object
	// answered are the ids of the questions that the answers decided.
	answered []string
}

// Streams are the surroundings of a run.
type Streams struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Args   []string // without the program name
	// Dir is the root of a call without a Context. It is "" if the Context has to come over Stdin: then nothing stands
	// in for a Context that is missing.
	Dir string
	// Columns is the width of the terminal that Stdout is, 0 if it is none. StderrTerminal: Stderr is one; Live: and it
	// can erase a line, so that long work is shown there.
	Columns              int
	StderrTerminal, Live bool
}

// Main runs the tool with the process's own streams and returns its exit code.
func Main[A, O any](t Tool[A, O]) int {
	return Run(context.Background(), t, ofProcess())
}

// Run runs the tool once. It writes one Outcome line to s.Stdout and returns the exit code.
func Run[A, O any](ctx context.Context, t Tool[A, O], s Streams) (code int) {
	def := define(t)
	out, err := answer(ctx, t, def, s)
	if print := printed(nil); errors.As(err, &print) {
		if err := print(s.Stdout); err != nil {
			return ExitError
		}
		return ExitOK
	}
	if err != nil {
		out = Failure(err)
	}
	write := def.writeLine
	if def.text(s) {
		write = def.writeText
	}
	if err := write(s, &out); err != nil {
		fmt.Fprintf(s.Stderr, "%s: writing the result: %v\n", t.Name, err)
		return ExitError
	}
	switch {
	case len(out.Questions) > 0 && (def.failOnQuestion || def.text(s)): // with text, nobody will answer
		return ExitQuestion
	case out.Err == nil:
		return ExitOK
	case out.Err.Code.BadRequest():
		return ExitBadRequest
	}
	return ExitError
}

// writeLine writes an Outcome for a host. One that cannot be written becomes an error that says so.
func (d *definition) writeLine(s Streams, out *jptool.Outcome) error {
	line, err := out.Line()
	if err != nil {
		*out = Failure(fmt.Errorf("the result cannot be written as JSON: %w", err))
		line, _ = out.Line()
	}
	_, err = s.Stdout.Write(append(line, '\n'))
	return err
}

// printed prints what --help, --schema and --version ask for; not an error at heart.
type printed func(io.Writer) error

func (printed) Error() string { return "help was asked for" }

func printedText(text string) printed {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

func answer[A, O any](ctx context.Context, t Tool[A, O], def *definition, s Streams) (out jptool.Outcome, err error) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(s.Stderr, "%s: internal error: %v\n%s", t.Name, r, debug.Stack())
			err = jptool.Errorf(jptool.CodeIO, "internal error in %s: %v; this is a bug, please report it", t.Name, r)
		}
	}()
	req, err := def.request(s)
	if err != nil {
		return out, err
	}
	args, options := new(A), new(O)
	ignored, err := def.decode(req.Tool, args, options)
	notes := ignoredNotes(req.Ignored, ignored)
	for _, n := range notes {
		fmt.Fprintf(s.Stderr, "%s: %s\n", t.Name, n)
	}
	if def.noContext {
		notes = append(notes, "no Context was given: the root is the working directory, and no rules restrict the call")
	}
	var call *Call
	defer func() {
		var ended endedError
		switch {
		case errors.As(err, &ended):
			out, err = ended.outcome, nil
		case err != nil:
			out, err = Failure(err), nil
		}
		if call != nil {
			out.Answered = call.answered
		}
		out.Notes = append(out.Notes, notes...)
	}()
	if err != nil {
		return out, err
	}
	ws, err := req.Context.Open()
	if err != nil {
		return out, err
	}
	defer ws.Close()
	for _, w := range ws.Policy().Warnings() {
		fmt.Fprintf(s.Stderr, "%s: warning: %s\n", t.Name, w)
	}
	progress := &Progress{tool: t.Name}
	if s.Live {
		defer progress.watch(s.Stderr)()
	}
	call = &Call{
		Workspace: ws, Stderr: s.Stderr, Progress: progress, Person: def.text(s),
		Preview: req.Context.Action == jptool.FormatArguments, answers: req.Tool.Answers, written: req.Tool.Written, tool: t.Name,
	}
	if limit := reflect.ValueOf(options).Elem().FieldByName("Deadline"); limit.IsValid() && limit.Int() > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(limit.Int())*time.Second)
		defer cancel()
	}
	return t.Run(ctx, call, args, options)
}

// ignoredNotes says what of the request nobody reads.
func ignoredNotes(keys, arguments []string) (notes []string) {
	what := "key"
	for i, name := range slices.Concat(keys, arguments) {
		if i == maxRemarks {
			return append(notes, "more of the request is not known and was ignored")
		}
		if i == len(keys) {
			what = "argument"
		}
		notes = append(notes, fmt.Sprintf("%s %.100q is not known and was ignored", what, name))
	}
	return notes
}

// Failure makes the error Outcome of err.
func Failure(err error) jptool.Outcome {
	var e *jptool.Error
	if errors.As(err, &e) {
		if text := err.Error(); text != e.Message {
			wrapped := *e
			wrapped.Message = text
			e = &wrapped
		}
		return jptool.Outcome{Err: e}
	}
	e = &jptool.Error{Code: jptool.CodeOf(err), Message: err.Error()}
	var temporary interface{ Temporary() bool }
	if errors.As(err, &temporary) {
		e.Transient = temporary.Temporary()
	}
	var detailed interface{ ErrorData() any }
	if errors.As(err, &detailed) {
		e.Data = detailed.ErrorData()
	}
	return jptool.Outcome{Err: e}
}
