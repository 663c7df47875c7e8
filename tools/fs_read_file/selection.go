package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool"
)

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
