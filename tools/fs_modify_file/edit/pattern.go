package edit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/tools/fskit"
	"github.com/jptools/jptools/tools/fskit/diff"
)

// MaxMatches bounds the matches of one pattern in one file.
const MaxMatches = 2_000_000

// The bounds of regexes, which a few bytes can make arbitrarily expensive.
const (
	maxFold     = 64 << 10 // bytes of a text to find without regard to case
	maxTemplate = 10_000   // parts of `new`: groups, and text between them
	// maxOffsets bounds what is kept of all matches: two offsets of each group up to the
	// last that `new` names; the engine keeps those of all groups, for as many threads as
	// its program has instructions.
	maxOffsets = 8 << 20
)

var (
	// ErrTooManyGroups is returned when all matches with all groups are too much to hold.
	ErrTooManyGroups = jptool.Errorf(jptool.CodeTooLarge, "it matches too often for a regex with that many groups; write (?:…) for groups that `new` does not use")
	// ErrResult is returned when the result would be larger than it may.
	ErrResult = jptool.Errorf(jptool.CodeTooLarge, "the result would be too large")
	// ErrTooMany is returned for more than MaxMatches matches.
	ErrTooMany = jptool.Errorf(jptool.CodeTooLarge, "it matches more than %d times in one file", MaxMatches)
	// ErrDeadline is returned when a pattern that needs backtracking takes too long.
	ErrDeadline = jptool.Errorf(jptool.CodeDeadline, "it takes too long: a pattern with lookaround or back-references has only a few seconds; make it more specific")
	// ErrTooLarge is returned when content is too large for such a pattern.
	ErrTooLarge = jptool.Errorf(jptool.CodeTooLarge, "a pattern with lookaround or back-references works on files up to %d MiB only", backtrackMost>>20)
)

// Pattern is what to find and what to put in its place.
type Pattern struct {
	Old, New string
	// Regex makes Old a regular expression in RE2 syntax, in which ^ and $ match at
	// lines, and New a template with $1, ${name} and $$. One that RE2 has no syntax for
	// (lookaround, back-references) runs on a backtracking engine under a deadline.
	Regex bool
	// Fold ignores case, by simple folding.
	Fold bool
}

// Compiled is a pattern ready to be searched for.
type Compiled struct {
	Pattern
	old      []byte // of a literal, with LF line ends
	re       *regexp.Regexp
	back     *backtracker
	template []piece
	groups   int // one more than the last group in the template
	// Size estimates the memory that the compiled pattern takes, in instructions of 140 bytes.
	Size int
}

// Compile checks a pattern. The error says what is wrong with it in one sentence.
func Compile(p Pattern) (*Compiled, error) {
	c := &Compiled{Pattern: p, old: toLF([]byte(p.Old))}
	if p.Old == "" {
		return nil, errors.New("`old` is empty; give the text to replace (to add text, repeat a line next to the place in `new`)")
	}
	if p.Old == p.New {
		return nil, errors.New("`old` and `new` are identical")
	}
	if !p.Regex {
		if bytes.Equal(c.old, toLF([]byte(p.New))) {
			return nil, errors.New("`old` and `new` differ in their line ends only, and line ends are kept as the file has them")
		}
		if !p.Fold {
			return c, nil
		}
		if len(c.old) > maxFold {
			return nil, fmt.Errorf("`old` is longer than the %d KiB that can be searched for without regard to case", maxFold>>10)
		}
		c.Size = len(c.old)
		var err error
		c.re, err = regexp.Compile("(?i)" + regexp.QuoteMeta(string(c.old)))
		return c, err
	}
	flags := "(?m)"
	if p.Fold {
		flags = "(?mi)"
	}
	source := strings.ReplaceAll(p.Old, "\r\n", "\n")
	var err error
	if c.Size, err = fskit.RegexSize(flags+source, syntax.Perl); err != nil {
		return nil, err
	}
	if c.re, err = regexp.Compile(flags + source); err != nil {
		if !otherEngine(err) {
			return nil, fmt.Errorf("invalid regex: %w", plainError(err))
		}
		back, backErr := newBacktracker(source, p.Fold)
		if backErr != nil {
			return nil, fmt.Errorf("invalid regex: %w (and as one with lookaround or back-references: %w)", plainError(err), backErr)
		}
		c.back, c.re = back, nil
	}
	if c.template, err = parseTemplate(p.New, c.group); err != nil {
		return nil, err
	}
	for _, piece := range c.template {
		c.groups = max(c.groups, piece.group+1)
	}
	if c.groups > 1 && c.re != nil && c.Size > maxOffsets/c.offsets() {
		return nil, errors.New("the regex is too large for that many groups; write (?:…) for groups that `new` does not use")
	}
	return c, nil
}

// offsets is how many offsets the engine of c keeps of a match when its groups matter.
func (c *Compiled) offsets() int { return 2 * (c.re.NumSubexp() + 1) }

// otherEngine reports whether RE2 refused a syntax that a backtracking engine may know,
// and not a plain mistake.
func otherEngine(err error) bool {
	var se *syntax.Error
	if !errors.As(err, &se) {
		return false
	}
	return slices.Contains([]syntax.ErrorCode{
		syntax.ErrInvalidPerlOp, syntax.ErrInvalidNamedCapture, syntax.ErrInvalidEscape,
		syntax.ErrInvalidRepeatSize, syntax.ErrLarge, syntax.ErrMissingRepeatArgument,
	}, se.Code)
}

// plainError drops what this package put into the source.
func plainError(err error) error {
	var se *syntax.Error
	if errors.As(err, &se) {
		expr := strings.NewReplacer("(?mi)", "", "(?m)", "").Replace(se.Expr)
		if len(expr) > 200 {
			expr = strings.ToValidUTF8(expr[:200], "") + "…"
		}
		return fmt.Errorf("%s: `%s`", se.Code, expr)
	}
	return err
}

// Broad reports whether the regex matches whatever there is.
func (p Pattern) Broad() bool {
	any := []string{".*", ".+", "^.*$", "^.+$", `[\s\S]*`, `[\s\S]+`}
	return p.Regex && slices.Contains(any, strings.TrimSpace(p.Old))
}

// group returns the number of the group that a template names, or -1.
func (c *Compiled) group(name string) int {
	if c.back != nil {
		return groupOf(name, c.back.groups-1, c.back.re.GroupNumberFromName)
	}
	return groupOf(name, c.re.NumSubexp(), c.re.SubexpIndex)
}

// Needle returns a text that every match has in it, byte for byte in the content, or nil
// when there is none to tell.
func (c *Compiled) Needle() []byte {
	var best []byte
	if !c.Regex && !c.Fold {
		for _, part := range bytes.FieldsFunc(c.old, func(r rune) bool { return r == '\n' || r == '\r' }) {
			if len(part) > len(best) {
				best = part
			}
		}
	}
	return best
}

// Matches are the places of one pattern in one content, in order; they do not overlap.
type Matches struct {
	pattern *Compiled
	view    *View
	// Spans are start and end of each in the content.
	Spans []Span
	// groups holds for a regex the offsets in the view of the groups that are used, at
	// least those of the whole match.
	groups [][]int
}

// Span is a range of the content in bytes.
type Span struct{ Start, End int }

// Find returns all matches in the content that v shows. The errors are ErrTooMany,
// ErrTooManyGroups, ErrDeadline, ErrTooLarge and that of ctx, which a regex in RE2 syntax
// looks at only when it is done: its time has a bound, but one that grows with the product
// of the content and the pattern, and when matches reach far ahead with the square of the
// content.
func (c *Compiled) Find(ctx context.Context, v *View) (*Matches, error) {
	m := &Matches{pattern: c, view: v}
	var err error
	switch {
	case c.back != nil:
		m.groups, err = c.back.find(ctx, v.text(), max(c.groups, 1))
	case c.Regex:
		m.groups, err = c.findRegex(v.text())
	case c.Fold:
		err = m.findFold(ctx)
	default:
		err = m.findLiteral()
	}
	if err == nil {
		err = ctx.Err()
	}
	if err == nil && c.Regex {
		cur := v.cursor()
		m.Spans = make([]Span, len(m.groups))
		for i, g := range m.groups {
			m.Spans[i] = Span{cur.offset(g[0]), cur.offset(g[1])}
		}
	}
	if len(m.Spans) > MaxMatches {
		err = ErrTooMany
	}
	return m, err
}

// findRegex finds the offsets of the groups that are used.
func (c *Compiled) findRegex(text []byte) (list [][]int, err error) {
	if c.groups > 1 {
		most := min(MaxMatches, maxOffsets/c.offsets())
		list = c.re.FindAllSubmatchIndex(text, most+1)
		if len(list) > most && most < MaxMatches {
			return nil, ErrTooManyGroups
		}
		return list, nil
	}
	// FindAllIndex would keep the offsets of all groups, this is the one method that finds all
	// matches and does not ask for them. What it is given to replace begins where the rest
	// of the capacity does.
	text = text[:len(text):len(text)]
	var offsets []int
	c.re.ReplaceAllFunc(text, func(match []byte) []byte {
		if at := len(text) - cap(match); len(offsets) <= 2*MaxMatches {
			offsets = append(offsets, at, at+len(match))
		}
		return nil
	})
	return slices.Collect(slices.Chunk(offsets, 2)), nil
}

// findLiteral searches the content itself when line ends do not matter.
func (m *Matches) findLiteral() error {
	v, old := m.view, m.pattern.old
	text, cur := v.raw[v.start:], &cursor{to: v.start, next: math.MaxInt}
	if v.crlf && bytes.ContainsAny(old, "\r\n") {
		text, cur = v.text(), v.cursor()
	}
	for at := 0; len(m.Spans) <= MaxMatches; {
		i := bytes.Index(text[at:], old)
		if i < 0 {
			break
		}
		at += i + len(old)
		m.Spans = append(m.Spans, Span{cur.offset(at - len(old)), cur.offset(at)})
	}
	return nil
}

func (m *Matches) findFold(ctx context.Context) error {
	v := m.view
	text, cur := v.text(), v.cursor()
	for at := 0; len(m.Spans) <= MaxMatches && ctx.Err() == nil; {
		loc := m.pattern.re.FindIndex(text[at:])
		if loc == nil {
			break
		}
		start, end := at+loc[0], at+loc[1]
		if !utf8.Valid(text[start:end]) {
			// The engine takes U+FFFD of the pattern for an invalid byte.
			at = start + 1
			continue
		}
		m.Spans = append(m.Spans, Span{cur.offset(start), cur.offset(end)})
		at = end
	}
	return nil
}

// Edits returns what to put in the place of each match, with the line ends that are
// usual there; in a content without any line end `new` is taken as it is. Edits that
// change nothing are left out. It returns ErrResult, before it holds more than that, when
// the content would have more than most bytes with the edits made, and the error of ctx.
func (m *Matches) Edits(ctx context.Context, most int) ([]diff.Edit, error) {
	room := most - len(m.view.raw)
	for _, s := range m.Spans {
		room += s.End - s.Start
	}
	list := make([]diff.Edit, 0, len(m.Spans))
	literal, template := []byte(m.pattern.New), slices.Clone(m.pattern.template)
	if bytes.Contains(m.view.raw, lf) {
		literal = toLF(literal)
		for i := range template {
			template[i].text = strings.ReplaceAll(template[i].text, "\r\n", "\n")
		}
	}
	for i, s := range m.Spans {
		if i%1024 == 1023 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		text := literal
		if m.groups != nil {
			text = expand(template, m.view.text(), m.groups[i], room)
		}
		if len(text) > room { // before its line ends are looked at, which can take a while
			return nil, ErrResult
		}
		text = m.view.lineEnds(s.Start, s.End, text)
		if room -= len(text); room < 0 {
			return nil, ErrResult
		}
		if !bytes.Equal(text, m.view.raw[s.Start:s.End]) {
			list = append(list, diff.Edit{Start: s.Start, End: s.End, Text: text})
		}
	}
	return list, nil
}

// Text returns what match i matched, with LF line ends.
func (m *Matches) Text(i int) []byte { return toLF(m.view.raw[m.Spans[i].Start:m.Spans[i].End]) }

// Lines returns the line numbers of the first most matches.
func (m *Matches) Lines(most int) []int {
	var list []int
	at, line := 0, 1
	for _, s := range m.Spans[:min(most, len(m.Spans))] {
		line += bytes.Count(m.view.raw[at:s.Start], lf)
		at = s.Start
		list = append(list, line)
	}
	return list
}

// piece is a part of a replacement: a group, or a literal text when group is -1.
type piece struct {
	text  string
	group int
}

// reference is the name of a group, or nothing, behind a dollar sign.
var reference = regexp.MustCompile(`^(?:(\w+)|\{(\w+)\})?`)

// parseTemplate reads $1, $name, ${name} and $$. A name is as long as letters, digits
// and underscores go. One that names no group is an error: leaving it empty, as
// regexp.Expand does, would lose text without a word. Any other $ stands for itself.
func parseTemplate(text string, group func(name string) int) ([]piece, error) {
	var list []piece
	var plain strings.Builder
	flush := func() {
		if plain.Len() > 0 {
			list = append(list, piece{plain.String(), -1})
			plain.Reset()
		}
	}
	for text != "" {
		before, after, found := strings.Cut(text, "$")
		plain.WriteString(before)
		if !found {
			break
		}
		if text, found = strings.CutPrefix(after, "$"); found {
			plain.WriteByte('$')
			continue
		}
		m := reference.FindStringSubmatch(after)
		text = after[len(m[0]):]
		name := m[1] + m[2]
		if name == "" {
			plain.WriteByte('$')
			continue
		}
		n := group(name)
		if n < 0 {
			return nil, badGroup("$"+m[0], name, group)
		}
		flush()
		if len(list) >= maxTemplate {
			return nil, fmt.Errorf("`new` has more than %d parts: groups, and text between them", maxTemplate)
		}
		list = append(list, piece{"", n})
	}
	flush()
	return list, nil
}

func badGroup(ref, name string, group func(string) int) error {
	if len(name) > 100 {
		return fmt.Errorf("`%s…` in `new` names no group of the regex; for a dollar sign write $$", ref[:100])
	}
	hint := ""
	digits := len(name) - len(strings.TrimLeft(name, "0123456789"))
	if digits > 0 && digits < len(name) && group(name[:digits]) >= 0 {
		hint = fmt.Sprintf(" (for group %s and then %q write ${%s}%s)", name[:digits], name[digits:], name[:digits], name[digits:])
	}
	return fmt.Errorf("`%s` in `new` names no group of the regex%s; for a dollar sign write $$", ref, hint)
}

// groupOf finds a group by its number or its name.
func groupOf(name string, most int, byName func(string) int) int {
	if n, err := strconv.Atoi(name); err == nil {
		if n > most {
			return -1
		}
		return n
	}
	return byName(name)
}

// expand fills the template from the groups of one match; one that took no part is
// empty. It stops when the result is larger than room.
func expand(template []piece, text []byte, groups []int, room int) []byte {
	var out []byte
	for _, p := range template {
		out = append(out, p.text...)
		if p.group >= 0 && groups[2*p.group] >= 0 {
			out = append(out, text[groups[2*p.group]:groups[2*p.group+1]]...)
		}
		if len(out) > room {
			break
		}
	}
	return out
}

// BackslashGroup returns the digit of a \1 in the replacement of a regex that has such a
// group: probably $1 was meant. It is "" for none.
func (c *Compiled) BackslashGroup() string {
	if !c.Regex {
		return ""
	}
	for i := 0; i+1 < len(c.New); i++ {
		if d := c.New[i+1]; c.New[i] == '\\' && d >= '1' && d <= '9' && c.group(string(d)) >= 0 {
			return string(d)
		}
	}
	return ""
}
