package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/jptools/jptools/jptool/cmdline"
)

const helpHelp = "Print this help."

// writeHelp writes what there is to know of the last command of a line.
func (l *line) writeHelp(w io.Writer) error {
	c := l.path[len(l.path)-1]
	h := &helpText{width: helpWidth(w)}
	global, own := formOf(nil, &globals{}), &cmdline.Form{}
	if l.run != nil {
		l.run.form(own)
	}
	h.usage(l.name(), c, own)
	h.printf("\n%s\n", c.help)
	if r, ok := l.run.(interface{ Help() string }); ok {
		h.printf("\n")
		h.prose(r.Help())
	}
	if len(c.examples) > 0 {
		h.printf("\nExamples:\n\n  %s\n", strings.Join(c.examples, "\n  "))
	}
	if len(own.Words) > 0 {
		h.printf("\nArguments:\n")
		var rows [][2]string
		for _, word := range own.Words {
			rows = append(rows, [2]string{"  " + optional(word), word.Help})
		}
		h.table(rows)
	}
	h.commands(c)
	h.flags("Flags", own.Flags)
	h.flags("Flags of every command", append(global.Flags, &cmdline.Flag{Name: "help", Short: "h", Help: helpHelp}))
	if c == program {
		h.printf("\nMore on a command: jphost <command> --help\n")
	}
	_, err := io.WriteString(w, h.String())
	return err
}

// helpText is a help while it is written, in lines of at most width columns.
type helpText struct {
	strings.Builder
	width int
}

func (h *helpText) printf(format string, args ...any) { fmt.Fprintf(h, format, args...) }

func (h *helpText) usage(name string, c *command, f *cmdline.Form) {
	h.printf("Usage: %s", name)
	switch {
	case c.first:
		h.printf(" [<command>]")
	case c.subs != nil:
		h.printf(" <command>")
	}
	if f.Others != nil && f.Others([]string{""}) { // what follows the first word is somebody else's
		h.printf(" [flags] [--]")
	}
	for _, word := range f.Words {
		h.printf(" %s", optional(word))
	}
	if f.Others == nil || !f.Others([]string{""}) {
		h.printf(" [flags]")
	}
	h.printf("\n")
}

func optional(w *cmdline.Word) string {
	if w.Optional {
		return "[" + w.String() + "]"
	}
	return w.String()
}

func (h *helpText) flags(title string, flags []*cmdline.Flag) {
	if len(flags) == 0 {
		return
	}
	h.printf("\n%s:\n", title)
	var rows [][2]string
	for _, f := range flags {
		rows = append(rows, [2]string{flagColumn(f), f.Help})
	}
	h.table(rows)
}

func flagColumn(f *cmdline.Flag) string {
	text := "      --" + f.Name
	if f.Short != "" {
		text = "  -" + f.Short + ", --" + f.Name
	}
	switch {
	case f.Value == "":
	case f.Needs():
		text += "=" + f.Value
	default:
		text += "[=" + f.Value + "]"
	}
	return text
}

// commands lists what a group holds, the program's under their headings.
func (h *helpText) commands(c *command) {
	var rows [][2]string
	section := ""
	for _, sub := range c.subs {
		if title := cmp.Or(sub.section, "Commands"); title != section {
			h.table(rows)
			rows, section = nil, title
			h.printf("\n%s:\n", section)
		}
		rows = append(rows, [2]string{"  " + sub.name, sub.help})
	}
	h.table(rows)
	if c.first {
		h.printf("\nWithout a command: %s\n", c.subs[0].name)
	}
}

// prose writes a text of paragraphs; those that are indented keep their lines.
func (h *helpText) prose(text string) {
	var paragraph []string
	end := func() {
		if len(paragraph) > 0 {
			h.table([][2]string{{"", strings.Join(paragraph, " ")}})
			paragraph = nil
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" && line[0] != ' ' {
			paragraph = append(paragraph, line)
			continue
		}
		end()
		h.printf("%s\n", line)
	}
	end()
}

// table writes two columns; what is too wide for the first has a line of its own.
func (h *helpText) table(rows [][2]string) {
	const most = 34
	left := 0
	for _, row := range rows {
		if n := utf8.RuneCountInString(row[0]); n <= most {
			left = max(left, n)
		}
	}
	gap := 2
	if left == 0 {
		gap = 0
	}
	for _, row := range rows {
		line, column := row[0], utf8.RuneCountInString(row[0])
		for i, word := range strings.Fields(row[1]) {
			n := utf8.RuneCountInString(word)
			switch {
			case i == 0 && column <= left:
				line += strings.Repeat(" ", left-column+gap) + word
				column = left + gap + n
			case i == 0 || column+1+n > h.width:
				line += "\n" + strings.Repeat(" ", left+gap) + word
				column = left + gap + n
			default:
				line += " " + word
				column += 1 + n
			}
		}
		h.printf("%s\n", line)
	}
}

// helpWidth is the width of the terminal where there is one, as far as lines are good to read.
func helpWidth(w io.Writer) int {
	const usual, most = 80, 100
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return min(width, most)
		}
	}
	return usual
}
