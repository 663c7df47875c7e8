package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// lineEnds counts the line ends of the lines shown.
type lineEnds struct{ lf, crlf int }

// describe puts what is to be said of the lines shown into r.
func (p *page) describe(r *result) lineEnds {
	var e lineEnds
	for i, l := range p.lines {
		switch l.end {
		case endLF:
			e.lf++
		case endCRLF:
			e.crlf++
		}
		r.BadBytes += l.bad
		if l.cut > 0 || l.from > 0 {
			r.Cut = append(r.Cut, cutLine{Line: l.no, From: l.from + 1, Shown: l.total - l.from - l.cut, Total: l.total})
		}
		if i == 0 || l.no != p.lines[i-1].no+1 {
			r.Lines = append(r.Lines, span{Start: l.no})
		}
		r.Lines[len(r.Lines)-1].End = l.no
	}
	switch {
	case e.lf > 0 && e.crlf > 0:
		r.LineEnds = "mixed"
	case e.crlf > 0:
		r.LineEnds = "crlf"
	case e.lf > 0:
		r.LineEnds = "lf"
	default:
		r.LineEnds = "none"
	}
	return e
}

// notes are what a reader of the lines has to know besides, one sentence each.
func (p *page) notes(r *result, c *content, ends lineEnds) []string {
	var notes []string
	say := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	switch {
	case c.size == 0:
		say("the file is empty.")
	case len(p.lines) == 0:
		say("the file has nothing but a byte order mark.")
	default:
		if extent := p.extent(r); extent != "" {
			say("%s", extent)
		}
	}
	for i, cut := range r.Cut {
		if i == 5 {
			say("%d more lines are cut.", len(r.Cut)-i)
			break
		}
		on := ""
		if end := cut.From + cut.Shown; end <= cut.Total {
			on = fmt.Sprintf(" To read on in it: start_line: %d, start_byte: %d.", cut.Line, end)
			if cut.Line < 0 {
				on = ""
			}
		}
		say("line %d is cut: bytes %d-%d of %d.%s", cut.Line, cut.From, cut.From+cut.Shown-1, cut.Total, on)
	}
	if len(p.beyond) > 0 && len(p.lines) > 0 {
		say("the file ends before %s.", spansText(p.beyond))
	}
	if ends.crlf > 0 && ends.lf > 0 {
		say("line endings are mixed: %d CRLF, %d LF.", ends.crlf, ends.lf)
	} else if ends.crlf > 0 {
		say("line endings are CRLF.")
	}
	switch {
	case c.wide != nil:
		say("shown decoded from %s with a byte order mark.", strings.ToUpper(c.name))
	case c.bom > 0:
		say("the file starts with a UTF-8 byte order mark, which is not shown.")
	}
	if r.BadBytes > 0 {
		say("%s not UTF-8 text, shown as U+FFFD (%s).", isAre(r.BadBytes, "byte"), p.badLines())
	}
	if r.FinalLF != nil && !*r.FinalLF && len(p.lines) > 0 && p.lines[len(p.lines)-1].end == noEnd {
		say("the last line has no newline at its end.")
	}
	if c.note != "" {
		say("%s", c.note)
	}
	return notes
}

// extent says which part of the file is shown and how to read on; "" for all of it.
func (p *page) extent(r *result) string {
	text := spansText(r.Lines)
	switch {
	case r.Lines[0].Start < 0:
		text += ", numbered from the end of a file too large to count its lines"
	case p.total < 0:
		text += "; the file goes on"
	case int64(len(p.lines)) == p.total:
		return ""
	default:
		text += fmt.Sprintf(" of %d", p.total)
	}
	if !r.Truncated {
		return text + "."
	}
	if r.Lines[0].Start < 0 {
		return text + ". The lines before are left out."
	}
	return fmt.Sprintf("%s. To read on: %s.", text, nextText(r.Next))
}

// nextText is the arguments as a sentence has them.
func nextText(n *wireNext) string {
	switch {
	case n.Ranges != nil:
		raw, err := json.Marshal(n.Ranges)
		if err != nil {
			panic(err) // numbers
		}
		return "ranges: " + string(raw)
	case n.End > 0:
		return fmt.Sprintf("start_line: %d, end_line: %d", n.Start, n.End)
	}
	return fmt.Sprintf("start_line: %d", n.Start)
}

// badLines lists the lines with bytes that are not text.
func (p *page) badLines() string {
	var nos []string
	more := 0
	for _, l := range p.lines {
		switch {
		case l.bad == 0:
		case len(nos) == 10:
			more++
		default:
			nos = append(nos, fmt.Sprint(l.no))
		}
	}
	text := "line " + strings.Join(nos, ", ")
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func isAre(n int, unit string) string {
	if n == 1 {
		return "1 " + unit + " is"
	}
	return fmt.Sprintf("%d %ss are", n, unit)
}
