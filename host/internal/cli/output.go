package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	xterm "golang.org/x/term"

	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/jptool"
)

// What is printed where:
//
//   - standard output: results. With --format json that is one JSON value, even if the command fails (see failed);
//   - standard error: errors (`jphost: …`), warnings (`warning: …`), notes, and what a failed tool printed there;
//   - the terminal itself: questions, see package term.
//
// A terminal never receives a character that it would act on: control characters and the like are written out,
// whatever TERM says. Files and pipes receive every byte as it is. Only terminals get colours, and none if NO_COLOR is
// set or TERM is dumb.
type output struct {
	w              *bufio.Writer // to standard output
	stdout, stderr io.Writer     // as [Run] got them
	json           bool
	// answered: a JSON value was printed, so that a failure adds none.
	answered bool
	// terminal is standard output if it is a terminal, else nil.
	terminal *screen
	// errTerminal: standard error is a terminal. styled: terminals get colours and bold text.
	errTerminal, styled bool
	warned              map[string]bool
	// after is a note to print after the failure.
	after string
}

func newOutput(environ []string, stdout, stderr io.Writer) *output {
	o := &output{stdout: stdout, stderr: stderr, errTerminal: isTerminal(stderr), warned: map[string]bool{}}
	o.styled = jptool.LookupEnv(environ, "NO_COLOR") == "" && jptool.LookupEnv(environ, "TERM") != "dumb"
	if isTerminal(stdout) {
		o.terminal = &screen{to: stdout, json: &o.json}
		stdout = o.terminal
	}
	o.w = bufio.NewWriter(stdout)
	return o
}

// screen writes to a terminal what can be seen and does nothing else there.
type screen struct {
	to   io.Writer
	json *bool  // escape as JSON does
	rest []byte // of the last line
}

// Write implements io.Writer. It writes whole lines, because the character before can decide how one is shown.
func (s *screen) Write(p []byte) (int, error) {
	s.rest = append(s.rest, p...)
	end := bytes.LastIndexByte(s.rest, '\n') + 1
	err := s.show(s.rest[:end])
	s.rest = append(s.rest[:0], s.rest[end:]...)
	return len(p), err
}

// flush writes a last line that has no line end.
func (s *screen) flush() error {
	err := s.show(s.rest)
	s.rest = nil
	return err
}

func (s *screen) show(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	if *s.json {
		p = show.JSON(p)
	} else {
		p = []byte(show.Text(string(p)))
	}
	_, err := s.to.Write(p)
	return err
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && xterm.IsTerminal(int(f.Fd()))
}

func (o *output) flush() error {
	err := o.w.Flush()
	if o.terminal != nil {
		err = errors.Join(err, o.terminal.flush())
	}
	return err
}

func (o *output) printf(format string, args ...any) { fmt.Fprintf(o.w, format, args...) }

// heading prints a heading of the host's own.
func (o *output) heading(text string) {
	o.printf("\n")
	if o.terminal == nil || !o.styled {
		o.printf("%s\n", text)
		return
	}
	_ = o.flush()
	fmt.Fprintf(o.stdout, "\x1b[1m%s\x1b[0m\n", text)
}

// table prints rows of as many cells each, which went through a function of package show, behind an indent.
func (o *output) table(indent string, rows [][]string) {
	t := tabwriter.NewWriter(o.w, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintln(t, indent+strings.Join(r, "\t"))
	}
	_ = t.Flush() // what cannot be printed is noticed when the output is flushed
}

// list prints the result of a command that lists things: in JSON all rows as one list, else what text prints of each.
// A note says what it means if there are none.
func list[T any](o *output, rows []T, none string, text func(T)) error {
	if o.json {
		return o.value(append([]T{}, rows...))
	}
	if len(rows) == 0 && none != "" {
		o.note(none)
	}
	for _, row := range rows {
		text(row)
	}
	return nil
}

// text prints a text of somebody else, ending in a line end.
func (o *output) text(s string) {
	o.w.WriteString(s)
	if s != "" && !strings.HasSuffix(s, "\n") {
		o.w.WriteByte('\n')
	}
}

// value prints one JSON value.
func (o *output) value(v any) error {
	o.answered = true
	enc := json.NewEncoder(o.w)
	enc.SetEscapeHTML(false)
	if o.terminal != nil {
		enc.SetIndent("", "  ")
	}
	return enc.Encode(v)
}

// result prints what became of a command: the value in JSON, else the line.
func (o *output) result(v any, line string) error {
	if o.json {
		return o.value(v)
	}
	o.printf("%s\n", line)
	return nil
}

// failed is the JSON value of a command that has no other to print.
type failed struct {
	Message string `json:"message"`
	// Code is a word for Exit, the exit status: refused, usage, host or interrupted.
	Code string    `json:"code"`
	Exit exit.Code `json:"exit"`
	// Errors are the single ones of a configuration that cannot be used.
	Errors []problem `json:"errors,omitempty"`
}

// problem is one thing that is wrong in a configuration, as JSON output has it.
type problem struct {
	// File is an absolute path, the name of an environment variable or a flag; Line and Column count
	// from 1 and are absent where there are no lines.
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Key     string `json:"key,omitempty"`
	Message string `json:"message"`
	// Hint is what to do.
	Hint string `json:"hint,omitempty"`
}

func failedBy(err error) failed {
	code := exit.Of(err)
	f := failed{Message: err.Error(), Code: code.String(), Exit: code}
	if list := settings.Errors(nil); errors.As(err, &list) {
		for _, p := range list {
			f.Errors = append(f.Errors, problem{p.Origin.File, p.Origin.Line, p.Origin.Column, p.Origin.Key, p.Message, p.Help})
		}
	}
	return f
}

// failure says why the command failed. Lines after the first say what to do.
func (o *output) failure(err error) {
	if text := err.Error(); o.json && !o.answered && text != "" {
		_ = o.value(failedBy(err))
	}
	_ = o.flush()
	if list := settings.Errors(nil); errors.As(err, &list) && err.Error() == list.Error() {
		for _, p := range list {
			o.say("jphost: ", "31", p.Error())
		}
		return
	}
	if text := err.Error(); text != "" {
		o.say("jphost: ", "31", text)
	}
	if o.after != "" {
		o.note(o.after)
	}
}

// warn says what a person should know; the same thing once.
func (o *output) warn(text string) {
	if o.warned[text] {
		return
	}
	o.warned[text] = true
	_ = o.flush()
	o.say("warning: ", "33", text)
}

// note says what a person may like to know.
func (o *output) note(text string) {
	_ = o.flush()
	o.say("note: ", "2", text)
}

// quote prints on standard error what somebody else said, behind a bar.
func (o *output) quote(text string) {
	_ = o.flush()
	if f, ok := o.stderr.(*os.File); ok && o.errTerminal {
		columns, _, _ := xterm.GetSize(int(f.Fd()))
		fmt.Fprint(o.stderr, term.Barred(text, columns))
		return
	}
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		fmt.Fprintln(o.stderr, "| "+show.Text(strings.TrimRight(line, "\n")))
	}
}

// printed quotes on standard error what a program printed, below a line of the host's.
func (o *output) printed(head, text string) {
	if text == "" {
		return
	}
	_ = o.flush()
	fmt.Fprintln(o.stderr, head)
	o.quote(text)
}

// say prints a message of the host's on standard error. Its further lines are indented.
func (o *output) say(label, colour, text string) {
	if o.errTerminal {
		text = show.Text(text)
	}
	if o.errTerminal && o.styled {
		label = "\x1b[" + colour + "m" + label + "\x1b[0m"
	}
	first, rest, more := strings.Cut(strings.TrimRight(text, "\n"), "\n")
	fmt.Fprintln(o.stderr, label+first)
	if !more {
		return
	}
	for line := range strings.Lines(rest) {
		if line = strings.TrimRight(line, "\n"); !strings.HasPrefix(line, " ") && line != "" {
			line = "  " + line
		}
		fmt.Fprintln(o.stderr, line)
	}
}
