package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/tools/fs_modify_file/edit"
)

const (
	linesMost    = 20       // line numbers told per file
	hintPatterns = 5        // patterns with closest places
	hintFiles    = 3        // files looked at per pattern
	messageMost  = 24 << 10 // bytes of an error message

	// growMost bounds by how many bytes the files of a call may become larger together,
	// since a short call can ask for any amount. The change takes several times as much
	// memory.
	growMost = 64 << 20
	// placesMost bounds the places that are known at a time: those changed so far, in all
	// files, and the matches of one pattern.
	placesMost = 2 * edit.MaxMatches
)

var errTooManyPlaces = jptool.Errorf(jptool.CodeTooLarge, "there are more than %d matches in the files together", placesMost)

// failures collects what is wrong with the patterns, for one error.
type failures struct {
	code    jptool.Code
	text    []string
	data    []failureData
	hinted  int
	missing int
}

// failureData is the machine-readable form of one failed pattern.
type failureData struct {
	Index    int         `json:"index"`
	Problem  jptool.Code `json:"problem"`
	Matches  int         `json:"matches"`
	Expected int         `json:"expected,omitempty"`
	Lines    []lineData  `json:"lines,omitempty"`
	Closest  []placeData `json:"closest,omitempty"`
}

type lineData struct {
	Path  string `json:"path"`
	Lines []int  `json:"lines"`
}

type placeData struct {
	Path string `json:"path"`
	edit.Place
}

// match applies all patterns in memory. It returns one error for all that do not match
// as they should; then nothing may be written.
func (ch *change) match(ctx context.Context, all bool) error {
	var failed failures
	for _, p := range ch.patterns {
		if err := ch.matchOne(ctx, p, all, &failed); err != nil {
			return err
		}
	}
	return failed.err(len(ch.patterns))
}

// matchOne applies one pattern to all its files, or adds to failed.
func (ch *change) matchOne(ctx context.Context, p *pattern, all bool, failed *failures) error {
	var where []lineData
	var places []string // the same for the message
	ambiguous := false
	known, grown := 0, ch.grown // places, and bytes that all files are larger by then
	for _, f := range ch.files {
		known += len(f.content.Edits)
	}
	for _, f := range p.files {
		m, err := p.edit.Find(ctx, f.content.View())
		if err != nil {
			return findError(p, f, err)
		}
		n := len(m.Spans)
		if known += n; known > placesMost {
			return findError(p, f, errTooManyPlaces)
		}
		p.hits = append(p.hits, hit{file: f, count: n})
		if n > 0 {
			lines := m.Lines(linesMost)
			for k := range lines {
				lines[k] += f.linesBefore()
			}
			where = append(where, lineData{f.path(), lines})
			places = append(places, fmt.Sprintf("%s at %s", jptool.Quote(f.path()), lineNumbers(lines, n)))
		}
		ambiguous = ambiguous || n > 1 && !all
		// What is known of the matches can be much; only the edits are kept of each file.
		if !ambiguous && (p.expected == 0 || p.matches() <= p.expected) {
			others := grown - max(0, f.grown)
			h := &p.hits[len(p.hits)-1]
			if err := p.makeEdits(ctx, h, m, growMost-others); err != nil {
				return findError(p, f, err)
			}
			grown = others + max(0, h.grown)
		}
	}
	total := p.matches()
	switch {
	case total == 0:
		for _, f := range p.files {
			if err := ch.makeWhole(f); err != nil {
				return err
			}
		}
		failed.noMatch(p)
	case ambiguous:
		failed.ambiguous(p, where, places, "and replace_all is false: make `old` longer, so that it is unique")
	case p.expected > 0 && total != p.expected:
		failed.ambiguous(p, where, places, fmt.Sprintf("expected %d", p.expected))
	default:
		ch.grown = grown
		for _, h := range p.hits {
			h.file.grown = h.grown
			h.file.replaced += h.count
			h.file.content.Apply(h.edits)
		}
	}
	return nil
}

// makeEdits makes the edits of the matches in one file, which may become larger by most bytes. The
// errors are those of [edit.Matches.Edits].
func (p *pattern) makeEdits(ctx context.Context, h *hit, m *edit.Matches, most int) (err error) {
	if h.edits, err = m.Edits(ctx, len(h.file.content.Old)+most); err != nil {
		return err
	}
	h.grown = h.file.grown
	for _, e := range h.edits {
		h.grown += len(e.Text) - (e.End - e.Start)
	}
	if p.edit.Regex {
		for i := range m.Spans {
			p.texts.add(m.Text(i))
		}
	}
	return nil
}

// findError names the pattern and the file in an error of a search.
func findError(p *pattern, f *file, err error) error {
	switch {
	case ctxDone(err):
		return err
	case errors.Is(err, edit.ErrResult):
		err = fmt.Errorf("%w: the files of one call may grow by %d MiB together", err, growMost>>20)
	}
	return jptool.Errorf(jptool.CodeOf(err), "pattern #%d in %s: %w; nothing was changed", p.number, jptool.Quote(f.path()), err)
}

func (fs *failures) ambiguous(p *pattern, where []lineData, places []string, why string) {
	if fs.code == "" {
		fs.code = jptool.CodeAmbiguousMatch
	}
	fs.text = append(fs.text, fmt.Sprintf("#%d %s matches %d times, %s\n  in %s", p.number, firstLine(p.edit.Old), p.matches(), why, strings.Join(places, "\n  in ")))
	fs.data = append(fs.data, failureData{Index: p.number, Problem: jptool.CodeAmbiguousMatch, Matches: p.matches(), Expected: p.expected, Lines: where})
}

// noMatch describes a pattern that matched in none of its files, with what may have
// been meant.
func (fs *failures) noMatch(p *pattern) {
	fs.code = jptool.CodeNoMatch
	fs.missing++
	names := make([]string, 0, len(p.files))
	for _, f := range p.files {
		names = append(names, jptool.Quote(f.path()))
	}
	if more := len(names) - 10; more > 0 {
		names = append(names[:10], fmt.Sprintf("%d more files", more))
	}
	text := fmt.Sprintf("#%d %s does not occur in %s", p.number, firstLine(p.edit.Old), strings.Join(names, ", "))
	if p.edit.Regex {
		text = fmt.Sprintf("#%d regex %s matches nothing in %s", p.number, firstLine(p.edit.Old), strings.Join(names, ", "))
	}
	data := failureData{Index: p.number, Problem: jptool.CodeNoMatch, Expected: p.expected}
	if fs.hinted < hintPatterns {
		fs.hinted++
		for _, f := range p.files[:min(len(p.files), hintFiles)] {
			h := edit.Nearest(p.edit, f.content.View())
			text += hintText(h, f.path(), len(p.files) > 1)
			for _, pl := range h.Places {
				data.Closest = append(data.Closest, placeData{f.path(), pl})
			}
		}
	}
	fs.text = append(fs.text, text)
	fs.data = append(fs.data, data)
}

// err makes the error, or nil when all patterns matched.
func (fs *failures) err(patterns int) error {
	if fs.code == "" {
		return nil
	}
	ok := patterns - len(fs.data)
	title := "nothing was changed: "
	switch {
	case patterns == 1 && fs.missing == 1:
		title += "the pattern does not match"
	case patterns == 1:
		title += "the pattern matches another number of times than it may"
	default:
		title += fmt.Sprintf("%d of %d patterns can be applied, and it is all or none", ok, patterns)
	}
	message := title + "\n" + strings.Join(fs.text, "\n")
	if len(message) > messageMost {
		message = strings.ToValidUTF8(message[:messageMost], "") + "\n…"
	}
	return &jptool.Error{Code: fs.code, Message: message, Data: map[string]any{"patterns": fs.data}}
}

// lineNumbers is "line 3" or "lines 3, 8 and 12 more".
func lineNumbers(lines []int, count int) string {
	if count == 1 {
		return fmt.Sprintf("line %d", lines[0])
	}
	var list []string
	for _, n := range lines {
		list = append(list, strconv.Itoa(n))
	}
	text := "lines " + strings.Join(list, ", ")
	if more := count - len(lines); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
