package main

import (
	"fmt"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/tools/fs_modify_file/edit"
	"github.com/jptools/jptools/tools/fskit/diff"
)

// firstLine shows a pattern in a message: its first line, at most 60 characters.
func firstLine(s string) string {
	line, _, more := strings.Cut(s, "\n")
	r := []rune(line)
	switch {
	case len(r) > 60:
		line = string(r[:57]) + "..."
	case more:
		line += "..."
	}
	return "`" + diff.Visible([]byte(line)) + "`"
}

// hintText is what a model needs to mend the pattern without reading the file again.
func hintText(h edit.Hint, path string, name bool) string {
	var b strings.Builder
	in := ""
	if name {
		in = " in " + jptool.Quote(path)
	}
	for _, n := range h.Notes {
		fmt.Fprintf(&b, "\n  %s%s", n, in)
	}
	for i, p := range h.Places {
		lines := fmt.Sprintf("lines %d-%d", p.Line, p.EndLine)
		if p.Line == p.EndLine {
			lines = fmt.Sprintf("line %d", p.Line)
		}
		why := ""
		if p.Why != "" {
			why = ", where " + p.Why
		}
		if i > 0 {
			fmt.Fprintf(&b, "\n  also similar%s: %s%s", in, lines, why)
			continue
		}
		fmt.Fprintf(&b, "\n  closest%s: %s%s; the file has there:\n%s", in, lines, why, fenced("", p.Text))
		if p.Cut {
			b.WriteString("\n  (cut)")
		}
		for _, d := range p.Differences {
			fmt.Fprintf(&b, "\n  at line %d, with → for a tab and · for a space:", d.Line)
			side(&b, "you sent", d.Want)
			side(&b, "file has", d.Got)
		}
	}
	return b.String()
}

func side(b *strings.Builder, who string, lines []string) {
	const most = 6
	if len(lines) == 0 {
		fmt.Fprintf(b, "\n    %s: (no such line)", who)
	}
	for i, l := range lines {
		if i == most {
			fmt.Fprintf(b, "\n    %s: … %d more lines", who, len(lines)-most)
			break
		}
		fmt.Fprintf(b, "\n    %s: `%s`", who, l)
	}
}

// fenced puts text into a code block whose fence the text does not hold.
func fenced(kind, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	end := "\n"
	if strings.HasSuffix(text, "\n") {
		end = ""
	}
	return fence + kind + "\n" + text + end + fence
}
