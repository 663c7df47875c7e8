package toolmain

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/term"

	"github.com/jptools/jptools/jptool"
)

// usualColumns is assumed of a terminal that does not know its width.
const usualColumns = 80

// ofProcess returns the streams of this process.
//
// A terminal as standard input sends no Context, so the working directory is the root. The null device, which is
// also what a closed standard input becomes, means the same only if standard output is a terminal. Hosts read
// standard output: if one of them forgets the Context, the call fails instead of running without rules. So it does
// if a pipe or a file brings nothing. A host may hand down the terminal that it was started on; so with a terminal
// on standard input alone, [definition.request] also wants --format.
func ofProcess() Streams {
	s := Streams{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Args: os.Args[1:],
		StderrTerminal: term.IsTerminal(int(os.Stderr.Fd())),
	}
	s.Live = s.StderrTerminal && !slices.Contains([]string{"", "dumb"}, os.Getenv("TERM"))
	if fd := int(os.Stdout.Fd()); term.IsTerminal(fd) {
		s.Columns = usualColumns
		if columns, _, err := term.GetSize(fd); err == nil && columns > 0 {
			s.Columns = columns
		}
	}
	if term.IsTerminal(int(os.Stdin.Fd())) || s.Columns > 0 && isNull(os.Stdin) {
		s.Dir = "." // for an error that says so
		if dir, err := os.Getwd(); err == nil {
			s.Dir = dir
		}
	}
	return s
}

func isNull(f *os.File) bool {
	is, err := f.Stat()
	null, nullErr := os.Stat(os.DevNull)
	return err == nil && nullErr == nil && os.SameFile(is, null)
}

// text reports whether the answer is text.
func (d *definition) text(s Streams) bool {
	return d.format == "text" || d.format == "" && s.Columns > 0
}

// writeText writes an Outcome for a person: results on standard output, errors and questions on standard error.
func (d *definition) writeText(s Streams, out *jptool.Outcome) error {
	switch {
	case out.Err != nil:
		d.say(s, out.Err.Message)
		return nil
	case len(out.Questions) > 0:
		d.say(s, questionText(out.Questions))
		return nil
	}
	text := out.Content
	if s.Columns > 0 {
		text = Plain(text)
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err := io.WriteString(s.Stdout, text)
	return err
}

// say writes a message on standard error.
func (d *definition) say(s Streams, text string) {
	if s.StderrTerminal {
		text = Plain(text)
	}
	fmt.Fprintf(s.Stderr, "%s: %s\n", d.name, strings.TrimRight(text, "\n"))
}

func questionText(questions []jptool.Question) string {
	text := "nothing was done yet; the tool asks:"
	before := ""
	for _, q := range questions {
		if q.PreAmble != nil && *q.PreAmble != before { // two questions may be about the same diff
			before = *q.PreAmble
			text += "\n" + strings.TrimRight(before, "\n")
		}
		text += fmt.Sprintf("\n%s\n  to say yes: --answer %s=true", q.Text, q.ID)
	}
	return text
}

// Plain returns text of others for a person's terminal: control characters other than line ends and tabs, which could
// paint over what it shows, are written out.
func Plain(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r == '\n' || r == '\t' || strconv.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		q := strconv.QuoteRuneToASCII(r)
		b.WriteString(q[1 : len(q)-1])
	}
	return b.String()
}
