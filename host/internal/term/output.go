package term

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"golang.org/x/term"

	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/strictjson"
)

// Output is what a command prints:
//
//   - on standard output: results. With --format json that is one JSON value, even if the command fails;
//   - on standard error: errors (`jphost: …`), warnings (`warning: …`), notes, and what a tool printed there;
//   - on a terminal's standard error: what a tool prints while it runs, if that takes long, see [Live].
//
// Questions go to the terminal itself, see [Terminal].
//
// A terminal never receives a character that it would act on: control characters and the like are written out,
// whatever TERM says. Files and pipes receive every byte as it is. Only terminals get colours, and none if NO_COLOR is
// set or TERM is dumb.
type Output struct {
	Stdout, Stderr io.Writer
	// JSON: results are JSON values. Answered: one was printed, so that a failure adds none.
	JSON, Answered bool
	// Buffer has what Flush writes to standard output.
	bytes.Buffer
	lost error // the first error of writing it
	// OnTerminal: standard error is a terminal; stdoutTerminal: standard output is one. styled: they get colours and
	// bold text.
	OnTerminal, stdoutTerminal, styled bool
	// dumb: the terminal cannot erase a line.
	dumb   bool
	warned map[string]bool
	// After is a note to print after the error of the command.
	After string
}

// NewOutput returns the output of a command with these streams.
func NewOutput(environ []string, stdout, stderr io.Writer) *Output {
	kind := jptool.LookupEnv(environ, "TERM")
	return &Output{
		Stdout: stdout, Stderr: stderr, OnTerminal: IsTerminal(stderr), stdoutTerminal: IsTerminal(stdout),
		warned: map[string]bool{},
		styled: jptool.LookupEnv(environ, "NO_COLOR") == "" && kind != "dumb",
		dumb:   kind == "" || kind == "dumb",
	}
}

// IsTerminal reports whether a stream of the process is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && f != nil && term.IsTerminal(int(f.Fd()))
}

// StdoutTerminal reports whether standard output is a terminal.
func (o *Output) StdoutTerminal() bool { return o.stdoutTerminal }

// Flush writes what was printed on standard output. Its error is the first one of all calls.
func (o *Output) Flush() error {
	data := o.Bytes()
	switch {
	case len(data) == 0 || o.lost != nil:
		return o.lost
	case o.stdoutTerminal && o.JSON:
		data = show.JSON(data)
	case o.stdoutTerminal:
		data = []byte(show.Text(string(data)))
	}
	_, o.lost = o.Stdout.Write(data)
	o.Reset()
	return o.lost
}

// Printf prints on standard output.
func (o *Output) Printf(format string, args ...any) { fmt.Fprintf(o, format, args...) }

// Heading prints a heading of the host's own.
func (o *Output) Heading(text string) {
	o.Printf("\n")
	if !o.stdoutTerminal || !o.styled {
		o.Printf("%s\n", text)
		return
	}
	_ = o.Flush()
	fmt.Fprintf(o.Stdout, "\x1b[1m%s\x1b[0m\n", text)
}

// Diff prints a unified diff behind an indent and a bar, in colours if it goes to a terminal that has them.
func (o *Output) Diff(indent, text string) {
	text = strings.TrimRight(text, "\n")
	if !o.stdoutTerminal {
		o.Printf("%s| %s\n", indent, strings.ReplaceAll(show.Text(text), "\n", "\n"+indent+"| "))
		return
	}
	_ = o.Flush()
	inner := strings.TrimSuffix(indent, strings.TrimSuffix(Bar, "| "))
	l := newLayout(o.columns() - len(inner))
	l.indent, l.colours = inner, o.styled
	l.barred(text, false, true)
	fmt.Fprint(o.Stdout, l.b.String())
}

// Table prints rows of as many cells each, which went through a function of package show, behind an indent.
func (o *Output) Table(indent string, rows [][]string) {
	if columns := o.columns(); o.stdoutTerminal && tableWidth(indent, rows) > columns {
		if list, ok := narrower(indent, rows, columns); ok {
			o.Table(indent, list)
			return
		}
		for _, r := range rows { // each cell on lines of its own, further in than the first
			if r[0] != "" {
				o.Paragraph(indent, r[0])
			}
			for _, cell := range r[1:] {
				for line := range strings.SplitSeq(cell, "\n") {
					if strings.TrimSpace(line) != "" {
						o.Paragraph(indent+"    ", line)
					}
				}
			}
		}
		return
	}
	t := tabwriter.NewWriter(o, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintln(t, indent+strings.Join(r, "\t"))
	}
	_ = t.Flush() // to memory
}

// leastCell is how narrow the last column of a table may get.
const leastCell = 32

// narrower folds the last cells of a table, if the others leave room for that.
func narrower(indent string, rows [][]string, columns int) (list [][]string, ok bool) {
	var first [][]string
	last := len(rows[0]) - 1
	for _, r := range rows {
		first = append(first, append(slices.Clone(r[:last]), ""))
	}
	lead := tableWidth(indent, first)
	if columns-lead < leastCell {
		return nil, false
	}
	for _, r := range rows {
		for line := range strings.SplitSeq(r[last], "\n") {
			for part := range strings.SplitSeq(fold(line, "", 0, columns-lead), "\n") {
				list = append(list, append(r[:last:last], part))
				r = make([]string, last+1)
			}
		}
	}
	return list, tableWidth(indent, list) <= columns
}

// columns is the width of the terminal that standard output is.
func (o *Output) columns() int { return columnsOf(o.Stdout) }

func columnsOf(stream io.Writer) int {
	if f, ok := stream.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return usualColumns
}

// tableWidth is how wide a table gets.
func tableWidth(indent string, rows [][]string) int {
	var columns []int
	for _, r := range rows {
		for i, cell := range r {
			if i == len(columns) {
				columns = append(columns, 0)
			}
			for line := range strings.SplitSeq(cell, "\n") {
				columns[i] = max(columns[i], wide(line)+2)
			}
		}
	}
	width := len(indent)
	for _, n := range columns {
		width += n
	}
	return width - 2
}

// Text prints a text of somebody else, ending in a line end.
func (o *Output) Text(s string) {
	o.WriteString(s)
	if s != "" && !strings.HasSuffix(s, "\n") {
		o.WriteByte('\n')
	}
}

// Paragraph prints one line of visible text behind an indent, broken between words if it goes to a terminal.
func (o *Output) Paragraph(indent, text string) {
	if !o.stdoutTerminal {
		o.Printf("%s%s\n", indent, text)
		return
	}
	o.Printf("%s%s\n", indent, fold(strings.Join(strings.Fields(text), " "), indent, len(indent), min(o.columns(), mostColumns)))
}

// Entry prints one line of visible text that begins at the first column. On a terminal its further rows are indented.
func (o *Output) Entry(text string) {
	if o.stdoutTerminal {
		text = fold(text, "    ", 0, o.columns())
	}
	o.Printf("%s\n", text)
}

// fold breaks a line between words, where it does not fit behind the cells that are used. Further rows stand behind the
// indent. A word that is wider than a row is left to the terminal.
func fold(line, indent string, used, columns int) string {
	var b strings.Builder
	for i, word := range strings.Split(line, " ") {
		cells := wide(word)
		switch {
		case i == 0:
		case used+1+cells >= columns && used > len(indent):
			b.WriteString("\n" + indent)
			used = len(indent)
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += cells
	}
	return b.String()
}

// mostColumns is how wide paragraphs get: longer lines are hard to read.
const mostColumns = 100

// Value prints one JSON value.
func (o *Output) Value(v any) error {
	o.Answered = true
	indent := ""
	if o.stdoutTerminal {
		indent = "  "
	}
	data, err := strictjson.Marshal(v, indent)
	o.Text(string(data))
	return err
}

// Result prints what became of a command: the value in JSON, else the line.
func (o *Output) Result(v any, line string) error {
	if o.JSON {
		return o.Value(v)
	}
	o.Printf("%s\n", line)
	return nil
}

// Warn says what a person should know; the same thing once.
func (o *Output) Warn(text string) {
	if !o.warned[text] {
		o.warned[text] = true
		o.Say("warning: ", "1;35", text)
	}
}

// Note says what a person may like to know.
func (o *Output) Note(text string) { o.Say("note: ", "2", text) }

// Say prints a message of the host's on standard error, behind a label in a colour. Its further lines are indented.
func (o *Output) Say(label, colour, text string) {
	_ = o.Flush()
	if o.OnTerminal {
		text = show.Text(text)
	}
	first, rest, _ := strings.Cut(strings.TrimRight(text, "\n"), "\n")
	if o.OnTerminal {
		first = fold(first, "  ", len(label), columnsOf(o.Stderr))
	}
	if o.OnTerminal && o.styled {
		label = "\x1b[" + colour + "m" + label + "\x1b[0m"
	}
	fmt.Fprintln(o.Stderr, label+first)
	for line := range strings.Lines(rest) {
		if line = strings.TrimRight(line, "\n"); !strings.HasPrefix(line, " ") && line != "" {
			line = "  " + line
		}
		if o.OnTerminal {
			line = foldRemedy(line, columnsOf(o.Stderr))
		}
		fmt.Fprintln(o.Stderr, line)
	}
}

// remedy is a line that ends in a command or a flag to copy.
var remedy = settings.Pattern(`^( *)(.*:) ((?:jphost |--[a-z]|echo ).*)$`)

// foldRemedy folds an indented line, or breaks one of somebody else's behind its bar. A command that does not fit has a
// line of its own and is not broken, so that it can be copied.
func foldRemedy(line string, columns int) string {
	if quoted, ok := strings.CutPrefix(line, Bar); ok {
		l := newLayout(columns)
		l.line(Bar, expand(quoted), false)
		return strings.TrimSuffix(l.b.String(), "\n")
	}
	text := strings.TrimLeft(line, " ")
	indent := line[:len(line)-len(text)]
	if at := remedy().FindStringSubmatch(line); at != nil && wide(line) >= columns {
		return indent + fold(at[2], indent+"  ", len(indent), columns) + "\n" + indent + "  " + at[3]
	}
	return indent + fold(text, indent+"  ", len(indent), columns)
}

// Quote prints on standard error what somebody else said, behind a bar and below a line of the host's, if there is one.
func (o *Output) Quote(head, text string) {
	if text == "" {
		return
	}
	_ = o.Flush()
	if head != "" {
		fmt.Fprintln(o.Stderr, head)
	}
	if f, ok := o.Stderr.(*os.File); ok && o.OnTerminal {
		columns, _, _ := term.GetSize(int(f.Fd()))
		fmt.Fprint(o.Stderr, Barred(text, columns))
		return
	}
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		fmt.Fprintln(o.Stderr, "| "+show.Text(strings.TrimRight(line, "\n")))
	}
}
