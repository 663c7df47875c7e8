package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"syscall"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/toolmain"
	"github.com/jptools/jptools/tools/fskit"
)

// arguments are what a model gives.
type arguments struct {
	Path      string      `json:"path" required:"" help:"File to read, relative to the workspace." example:"src/lib.rs"`
	StartLine *int        `json:"start_line" min:"1" help:"First line to show, counted from 1; absent is the start of the file."`
	EndLine   *int        `json:"end_line" min:"1" help:"Last line to show, inclusive; absent is the end of the file."`
	Tail      *int        `json:"tail" min:"1" help:"Show the last so many lines instead of a range."`
	Ranges    []lineRange `json:"ranges" help:"Several ranges instead of one; shown in the order of the file, overlapping ones joined."`
	StartByte *int        `json:"start_byte" min:"1" help:"Show the one line start_line from this byte of it on, for lines too long to be shown whole."`
	Digest    bool        `json:"digest" help:"Also show the digest of the whole file, to give to an editing tool as expected_digest."`
}

// lineRange is one of several ranges.
type lineRange struct {
	StartLine *int `json:"start_line" min:"1" help:"First line, counted from 1; absent is the start of the file."`
	EndLine   *int `json:"end_line" min:"1" help:"Last line, inclusive; absent is the end of the file."`
}

// options are what a person configures.
type options struct {
	Suppress     toolmain.Strings `json:"suppress" help:"Gitignore patterns, anchored at the workspace, of files not to show." example:"[\".git/\"]"`
	MaxLines     int              `json:"max_lines" min:"1" default:"2000" help:"Most lines shown in one call; at most 200000."`
	MaxBytes     int              `json:"max_bytes" min:"1" default:"131072" help:"Most bytes of lines shown in one call; at most 16777216."`
	MaxLineBytes int              `json:"max_line_bytes" min:"1" default:"2000" help:"Most bytes shown of one line."`
	Deadline     int              `json:"deadline" min:"0" default:"60" help:"Seconds after which the call gives up; 0 is no limit."`
}

var tool = toolmain.Tool[arguments, options]{
	Name:    "fs_read_file",
	Summary: "show the lines of a file, numbered",
	Description: `Each line is shown as "N: text": its number, right-aligned, a colon, one space, and then the
text exactly as it is in the file, indentation included. Notes follow after an empty line:
how to read on when not all was shown, line endings other than LF, a byte order mark, bytes
that are not text. A binary file is named by its kind and size, and not shown.`,
	Example: "--path src/lib.rs --start-line 10 --end-line 20",
	Run:     run,
}

// run checks in this order, so that a caller who may not read a path learns nothing about it:
// form of the path, policy, suppression, existence and type, then the ranges.
func run(ctx context.Context, c *toolmain.Call, a *arguments, o *options) (jptool.Outcome, error) {
	globs, err := fskit.Suppress(c.Workspace, o.Suppress)
	if err != nil {
		return jptool.Outcome{}, err
	}
	t, err := fskit.CheckContent(c.Workspace, globs, a.Path, jptool.Read)
	if err != nil {
		return jptool.Outcome{}, err
	}
	out, err := show(ctx, t, a, o)
	if err != nil {
		return jptool.Outcome{}, fskit.NotFound(globs, t, err)
	}
	if err := c.Confirm(func() (toolmain.Preview, error) { return preview(t, a) }, nil); err != nil {
		return jptool.Outcome{}, err
	}
	return out, nil
}

// show reads the file. A preview does so too, to fail where the run would.
func show(ctx context.Context, t *jptool.Target, a *arguments, o *options) (jptool.Outcome, error) {
	f, err := t.Open()
	switch {
	case err == nil:
		defer f.Close()
	case t.Kind() == jptool.KindDir, errors.Is(err, syscall.EISDIR):
		return jptool.Outcome{}, jptool.Errorf(jptool.CodeWrongType, "path %s is a directory, not a file; fs_list_files shows what is in it", jptool.Quote(t.Path()))
	default:
		return jptool.Outcome{}, err
	}
	sel, err := selectionOf(a)
	if err != nil {
		return jptool.Outcome{}, err
	}
	content, err := load(ctx, f, a.Digest)
	if err != nil {
		return jptool.Outcome{}, failed(t, err)
	}
	if content.kind != "" {
		return binaryOutcome(t, a, content), nil
	}
	lim := limits{lines: min(o.MaxLines, mostLines), bytes: min(o.MaxBytes, mostBytes)}
	// One line always fits, or reading on would never get past it.
	lim.lineBytes = min(o.MaxLineBytes, lim.bytes)
	page, err := readPage(ctx, content, sel, lim)
	if err != nil {
		return jptool.Outcome{}, failed(t, err)
	}
	return page.outcome(t, a, content)
}

// failed names the file in an error of reading it.
func failed(t *jptool.Target, err error) error {
	var own *jptool.Error
	if errors.As(err, &own) {
		return err
	}
	return t.Fail(err)
}

// preview says in one line what would be read.
func preview(t *jptool.Target, a *arguments) (toolmain.Preview, error) {
	sel, err := selectionOf(a)
	name := jptool.Quote(t.Lexical())
	if t.Lexical() != t.Path() {
		name += fmt.Sprintf(" (%s)", jptool.Quote(t.Path()))
	}
	return toolmain.Preview{Text: fmt.Sprintf("Read %s%s", name, sel), Seen: []string{t.Place()}}, err
}

// What is shown is held in memory, so there is a bound that no option lifts.
const mostLines, mostBytes = 200_000, 16 << 20

// limits are the caps of one call.
type limits struct {
	lines, bytes, lineBytes int
}

// toEnd is the end of a span that reaches to the end of the file.
const toEnd = math.MaxInt64

// span is a range of line numbers, inclusive.
type span struct {
	Start int64 `json:"start_line"`
	End   int64 `json:"end_line"`
}

// MarshalJSON leaves out an end that is that of the file.
func (s span) MarshalJSON() ([]byte, error) {
	if s.End == toEnd {
		return fmt.Appendf(nil, `{"start_line":%d}`, s.Start), nil
	}
	return fmt.Appendf(nil, `{"start_line":%d,"end_line":%d}`, s.Start, s.End), nil
}

// spansText is "line 3", "lines 3-5, 9", or "lines 3-5, 9 to the end".
func spansText(spans []span) string {
	const most = 10
	var parts []string
	for i, s := range spans {
		switch {
		case i == most:
			return "lines " + strings.Join(parts, ", ") + fmt.Sprintf(" and %d more ranges", len(spans)-i)
		case s.Start == s.End:
			parts = append(parts, fmt.Sprint(s.Start))
		case s.End == toEnd:
			parts = append(parts, fmt.Sprintf("%d to the end", s.Start))
		default:
			parts = append(parts, fmt.Sprintf("%d-%d", s.Start, s.End))
		}
	}
	if len(spans) == 1 && spans[0].Start == spans[0].End {
		return "line " + parts[0]
	}
	return "lines " + strings.Join(parts, ", ")
}

// selection is what to show: either the last tail lines, or spans in ascending order
// with at least one line between any two.
type selection struct {
	tail  int64
	spans []span
	// fromByte is where the text of the one line starts, from 0.
	fromByte int64
}

// String completes the sentence "Read FILE…".
func (s selection) String() string {
	switch {
	case s.tail == 1:
		return ", the last line"
	case s.tail > 0:
		return fmt.Sprintf(", the last %d lines", s.tail)
	case len(s.spans) == 1 && s.spans[0] == span{1, toEnd}:
		return ""
	}
	text := ", " + spansText(s.spans)
	if s.fromByte > 0 {
		text += fmt.Sprintf(" from byte %d", s.fromByte+1)
	}
	return text
}

// selectionOf reads the arguments that say what to show. An empty list of ranges is
// taken as absent: models fill in what they do not use.
func selectionOf(a *arguments) (selection, error) {
	bad := func(format string, args ...any) (selection, error) {
		return selection{}, jptool.Errorf(jptool.CodeInvalidArguments, format, args...)
	}
	oneRange := a.StartLine != nil || a.EndLine != nil
	switch {
	case a.Tail != nil && (oneRange || len(a.Ranges) > 0):
		return bad("`tail` cannot be combined with start_line, end_line or ranges; give one of them")
	case oneRange && len(a.Ranges) > 0:
		return bad("`ranges` cannot be combined with start_line and end_line; put that range into `ranges`")
	case a.StartByte != nil && (a.StartLine == nil || a.EndLine != nil && *a.EndLine != *a.StartLine):
		return bad("`start_byte` needs start_line, and shows that one line only")
	case a.Tail != nil:
		return selection{tail: int64(*a.Tail)}, nil
	}
	ranges := a.Ranges
	if len(ranges) == 0 {
		ranges = []lineRange{{a.StartLine, a.EndLine}}
	}
	var sel selection
	for i, r := range ranges {
		sp := span{1, toEnd}
		if r.StartLine != nil {
			sp.Start = int64(*r.StartLine)
		}
		if r.EndLine != nil {
			sp.End = int64(*r.EndLine)
		}
		if sp.Start > sp.End {
			where := ""
			if len(a.Ranges) > 0 {
				where = fmt.Sprintf("`ranges` item %d: ", i)
			}
			return bad("%sstart_line %d is after end_line %d", where, sp.Start, sp.End)
		}
		sel.spans = append(sel.spans, sp)
	}
	if a.StartByte != nil {
		sel.fromByte = int64(*a.StartByte) - 1
		sel.spans[0].End = sel.spans[0].Start
	}
	sel.spans = join(sel.spans)
	return sel, nil
}

// join sorts spans and joins those that overlap or touch.
func join(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.Start, b.Start) })
	joined := spans[:1]
	for _, sp := range spans[1:] {
		last := &joined[len(joined)-1]
		if last.End == toEnd || sp.Start <= last.End+1 {
			last.End = max(last.End, sp.End)
			continue
		}
		joined = append(joined, sp)
	}
	return joined
}
