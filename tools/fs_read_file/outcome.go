package main

import (
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
		lf := c.endsWithNewline()
		r.FinalLF = &lf
	}
	r.Truncated = len(p.rest) > 0
	r.Next = next(p.rest)
	ends := p.describe(r)

	var b strings.Builder
	p.writeLines(&b)
	notes := p.notes(r, c, ends)
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
