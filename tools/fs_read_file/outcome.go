package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jptools/jptools/jptool"
)

// result is the machine-readable result.
type result struct {
	Path string `json:"path"`
	// Digest is of the bytes of the whole file; null when that was not made.
	Digest       *string `json:"digest"`
	DigestReason string  `json:"digest_reason,omitempty"`
	Size         int64   `json:"size"`
	Binary       bool    `json:"binary"`
	Kind         string  `json:"kind,omitempty"` // of a binary file
	// TotalLines is null when the end of the file was not reached.
	TotalLines *int64    `json:"total_lines"`
	Lines      []span    `json:"lines"` // shown
	Truncated  bool      `json:"truncated"`
	Next       *wireNext `json:"next"` // the arguments to read on with
	Cut        []cutLine `json:"cut_lines"`
	Encoding   string    `json:"encoding,omitempty"`
	BOM        bool      `json:"bom"`
	LineEnds   string    `json:"line_endings,omitempty"` // of the lines shown: lf, crlf, mixed, none
	FinalLF    *bool     `json:"final_newline"`          // null for an empty or binary file
	BadBytes   int       `json:"invalid_bytes"`          // in what is shown
}

type wireNext struct {
	Start  int64  `json:"start_line,omitempty"`
	End    int64  `json:"end_line,omitempty"`
	Ranges []span `json:"ranges,omitempty"`
}

type cutLine struct {
	Line  int64 `json:"line"`
	From  int64 `json:"start_byte"`
	Shown int64 `json:"shown_bytes"`
	Total int64 `json:"total_bytes"`
}

func (t *content) result(path string) *result {
	r := &result{Path: path, Size: t.size, Lines: []span{}, Cut: []cutLine{}}
	if t.digest != "" {
		r.Digest = &t.digest
	} else if t.whole {
		r.DigestReason = "not all of the file was read"
	} else {
		r.DigestReason = fmt.Sprintf("the file is larger than %d MiB; ask for it with `digest`", smallSize>>20)
	}
	return r
}

func (t *content) digestNote(r *result) string {
	if t.digest == "" {
		return "no digest: " + r.DigestReason + "."
	}
	return "digest " + t.digest
}

// binaryOutcome names the file. It is a success: the question what is in the file has
// an answer, and trying again with other arguments would not give a better one.
func binaryOutcome(t *jptool.Target, a *arguments, c *content) jptool.Outcome {
	r := c.result(t.Path())
	r.Binary, r.Kind = true, c.kind
	text := fmt.Sprintf("%s is a binary file (%s, %s); it has no lines to show.\n", jptool.Quote(t.Path()), c.kind, sizeText(c.size))
	if a.Digest {
		text += "\nNote: " + c.digestNote(r) + "\n"
	}
	return jptool.Outcome{Content: text, Data: r}
}

func sizeText(n int64) string {
	switch {
	case n == 1:
		return "1 byte"
	case n < 10<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 10<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

// outcome writes the lines and the notes.
func (p *page) outcome(t *jptool.Target, a *arguments, c *content) (jptool.Outcome, error) {
	if len(p.lines) == 0 && len(p.beyond) > 0 && (p.total > 0 || p.beyond[0].Start > 1) {
		e := jptool.Errorf(jptool.CodeInvalidArguments, "start_line %d is beyond the end of %s, which has %s",
			p.beyond[0].Start, jptool.Quote(t.Path()), count(p.total, "line"))
		e.Data = map[string]any{"path": t.Path(), "total_lines": p.total}
		return jptool.Outcome{}, e
	}
	r := c.result(t.Path())
	r.Encoding, r.BOM = c.name, c.bom > 0
	if p.total >= 0 {
		r.TotalLines = &p.total
	}
	if c.size > int64(c.bom) {
		ended := c.endsWithNewline()
		r.FinalLF = &ended
	}
	r.Truncated = len(p.rest) > 0
	r.Next = next(p.rest)
	lf, crlf := p.describe(r)

	var b strings.Builder
	p.writeLines(&b)
	notes := p.notes(r, c, lf, crlf)
	if a.Digest {
		notes = append(notes, c.digestNote(r))
	}
	if len(p.lines) > 0 && len(notes) > 0 {
		b.WriteByte('\n')
	}
	for _, n := range notes {
		fmt.Fprintf(&b, "Note: %s\n", n)
	}
	return jptool.Outcome{Content: b.String(), Data: r}, nil
}

// writeLines writes the lines without a code fence: the content may hold any fence, and
// the numbers already tell it from what is around it.
func (p *page) writeLines(b *strings.Builder) {
	width := 0
	for i, l := range p.lines {
		if i == 0 {
			width = max(len(fmt.Sprint(l.no)), len(fmt.Sprint(p.lines[len(p.lines)-1].no)))
		}
		if i > 0 && l.no != p.lines[i-1].no+1 {
			b.WriteString("...\n")
		}
		fmt.Fprintf(b, "%*d: ", width, l.no)
		if l.from > 0 {
			fmt.Fprintf(b, "[%s before]…", count(l.from, "byte"))
		}
		b.WriteString(l.text)
		if l.cut > 0 {
			fmt.Fprintf(b, "…[%s more]", count(l.cut, "byte"))
		}
		b.WriteByte('\n')
	}
}

func next(rest []span) *wireNext {
	switch {
	case len(rest) == 0 || rest[0].Start < 0: // nothing asks for lines numbered from the end
		return nil
	case len(rest) > 1:
		return &wireNext{Ranges: rest}
	case rest[0].End == toEnd:
		return &wireNext{Start: rest[0].Start}
	}
	return &wireNext{Start: rest[0].Start, End: rest[0].End}
}

func count(n int64, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}

// describe puts what is to be said of the lines shown into r, and counts their line ends.
func (p *page) describe(r *result) (lf, crlf int) {
	for i, l := range p.lines {
		switch l.end {
		case endLF:
			lf++
		case endCRLF:
			crlf++
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
	case lf > 0 && crlf > 0:
		r.LineEnds = "mixed"
	case crlf > 0:
		r.LineEnds = "crlf"
	case lf > 0:
		r.LineEnds = "lf"
	default:
		r.LineEnds = "none"
	}
	return lf, crlf
}

// notes are what a reader of the lines has to know besides, one sentence each.
func (p *page) notes(r *result, c *content, lf, crlf int) []string {
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
	if crlf > 0 && lf > 0 {
		say("line endings are mixed: %d CRLF, %d LF.", crlf, lf)
	} else if crlf > 0 {
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
