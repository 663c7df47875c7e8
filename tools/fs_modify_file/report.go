package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/toolmain"
	"github.com/jptools/jptools/tools/fs_modify_file/edit"
	"github.com/jptools/jptools/tools/fskit"
	"github.com/jptools/jptools/tools/fskit/diff"
)

const (
	diffBytes  = 64 << 10 // of all diffs of a call
	diffLine   = 500      // bytes of one line of a diff
	textsMost  = 8        // matched texts told per regex
	textsKept  = 10_000   // distinct matched texts counted per regex
	shownChars = 60       // of one of them
)

// result is the machine-readable form.
type result struct {
	Files    []fileData    `json:"files"`
	Patterns []patternData `json:"patterns"`
	DryRun   bool          `json:"dry_run"`
}

type fileData struct {
	Path         string `json:"path"`
	Replacements int    `json:"replacements"`
	Added        int    `json:"added"`
	Removed      int    `json:"removed"`
	OldDigest    string `json:"old_digest"`
	Digest       string `json:"digest"`
	Method       string `json:"method,omitempty"`
}

type patternData struct {
	Index        int           `json:"index"`
	Matches      int           `json:"matches"`
	MatchedTexts []matchedText `json:"matched_texts,omitempty"`
}

type matchedText struct {
	Text  string `json:"text"`
	Count int    `json:"count"`
}

// makeDiffs compares old and new content of every file, within one budget.
func (ch *change) makeDiffs() {
	room := diffBytes
	for _, f := range ch.files {
		f.diff = diff.Unified(jptool.Quote(f.path()), f.content.Old, f.content.Edits,
			diff.Options{MaxBytes: max(room, 1), MaxLine: diffLine, Visible: true, FirstLine: f.linesBefore()})
		room -= len(f.diff.Text)
	}
}

// names lists the changed files.
func (ch *change) names() string {
	var names []string
	for _, f := range ch.changed() {
		names = append(names, jptool.Quote(f.path()))
	}
	return strings.Join(names, ", ")
}

// shown is what a person is asked about: all that changes in the files, unless it is too much.
func (ch *change) shown(title string) (list []toolmain.Shown, cut bool) {
	list = []toolmain.Shown{{Text: title}}
	room := toolmain.MaxShown
	for _, f := range ch.changed() {
		d := diff.Unified(jptool.Quote(f.path()), f.content.Old, f.content.Edits, diff.Options{
			MaxBytes: max(room, 1), MaxLine: diffLine, Whole: true, Visible: true, FirstLine: f.linesBefore(),
		})
		room -= len(d.Text)
		cut = cut || d.Omitted > 0
		list = append(list, toolmain.Shown{Text: string(d.Text), Diff: true})
	}
	if report := ch.report(); report != "" {
		list = append(list, toolmain.Shown{Text: report})
	}
	return list, cut
}

// patch is the diffs of all files one after the other, for a question.
func (ch *change) patch() string {
	var b strings.Builder
	for _, f := range ch.changed() {
		b.Write(f.diff.Text)
		b.WriteString(f.leftOut())
	}
	return b.String()
}

func (f *file) leftOut() string {
	if f.diff.Omitted == 0 {
		return ""
	}
	return fmt.Sprintf("… %s: %d more changed lines are not shown\n", jptool.Quote(f.path()), f.diff.Omitted)
}

// outcome is the result under a title.
func (ch *change) outcome(title string) (jptool.Outcome, error) {
	var b strings.Builder
	b.WriteString(title + "\n")
	for _, f := range ch.changed() {
		if text := string(f.diff.Text) + f.leftOut(); text != "" {
			b.WriteString("\n" + fenced("diff", text) + "\n")
		}
	}
	if report := ch.report(); report != "" {
		b.WriteString("\n" + report + "\n")
	}
	if err := ch.digest(); err != nil {
		return jptool.Outcome{}, err
	}
	data := result{Files: []fileData{}, DryRun: ch.dryRun || ch.call.Preview}
	for _, f := range ch.changed() {
		data.Files = append(data.Files, fileData{f.path(), f.replaced, f.diff.Added, f.diff.Removed, f.oldDigest, f.digest, string(f.method)})
	}
	for _, p := range ch.patterns {
		data.Patterns = append(data.Patterns, patternData{p.number, p.matches(), p.texts.list(textsMost)})
	}
	return jptool.Outcome{Content: strings.TrimSuffix(b.String(), "\n"), Data: data}, nil
}

// report says what each pattern did, unless all are literals that replaced one place each: that says nothing that the
// diff does not show.
func (ch *change) report() string {
	var lines []string
	if n := len(ch.patterns); n > 1 {
		lines = append(lines, fmt.Sprintf("%d/%d patterns applied.", n, n))
	}
	told := ch.patterns
	if !slices.ContainsFunc(told, func(p *pattern) bool { return p.edit.Regex || p.matches() != 1 || len(p.files) != 1 }) {
		told = nil
	}
	for _, p := range told {
		times := "once"
		if n := p.matches(); n != 1 {
			times = fmt.Sprintf("%d times", n)
		}
		line := fmt.Sprintf("#%d replaced %s", p.number, times)
		if len(p.files) > 1 {
			var parts []string
			for _, h := range p.hits {
				parts = append(parts, fmt.Sprintf("%s %d", jptool.Quote(h.file.path()), h.count))
			}
			line += " (" + strings.Join(parts, ", ") + ")"
		}
		if p.edit.Regex {
			line += "; matched " + p.texts.String()
		}
		lines = append(lines, line)
		if n := p.edit.BackslashGroup(); n != "" {
			lines = append(lines, fmt.Sprintf("  note: `\\%s` in `new` was put in as it is; a group is written $%s", n, n))
		}
	}
	for _, f := range ch.changed() {
		if f.method == "in place" {
			lines = append(lines, jptool.Quote(f.path())+" was written in place, because it could not be replaced as a whole.")
		}
	}
	return strings.Join(lines, "\n")
}

// tally counts distinct texts.
type tally struct {
	counts map[tallied]int
	others int // texts that came when there were too many already
}

// tallied is a text as it is shown, with a digest of the whole of a long one: texts can be as
// large as files.
type tallied struct{ shown, digest string }

func (t *tally) add(text []byte) {
	if t.counts == nil {
		t.counts = map[tallied]int{}
	}
	key := tallied{shown: string(text)}
	if len(text) > shownChars {
		key = tallied{ends(text), fskit.DigestBytes(text)}
	}
	if _, ok := t.counts[key]; !ok && len(t.counts) >= textsKept {
		t.others++
		return
	}
	t.counts[key]++
}

// list returns the most frequent texts: by count, then as they are shown.
func (t *tally) list(most int) []matchedText {
	keys := slices.SortedFunc(maps.Keys(t.counts), func(a, b tallied) int {
		return cmp.Or(cmp.Compare(t.counts[b], t.counts[a]), cmp.Compare(a.shown, b.shown))
	})
	var list []matchedText
	for _, k := range keys[:min(most, len(keys))] {
		list = append(list, matchedText{strings.ToValidUTF8(k.shown, "\ufffd"), t.counts[k]})
	}
	return list
}

func (t *tally) String() string {
	var parts []string
	list := t.list(textsMost)
	for _, m := range list {
		part := strconv.Quote(m.Text)
		if m.Count > 1 {
			part += fmt.Sprintf(" ×%d", m.Count)
		}
		parts = append(parts, part)
	}
	switch more := len(t.counts) - len(list); {
	case t.others > 0:
		parts = append(parts, fmt.Sprintf("more than %d other texts", more))
	case more > 0:
		parts = append(parts, fmt.Sprintf("%d other texts", more))
	}
	return strings.Join(parts, ", ")
}

// ends shortens a text of more than 60 characters to its two ends.
func ends(text []byte) string {
	n := utf8.RuneCount(text)
	if n <= shownChars {
		return string(text)
	}
	head, tail := 0, len(text)
	for range 40 {
		_, size := utf8.DecodeRune(text[head:])
		head += size
	}
	for range 16 {
		_, size := utf8.DecodeLastRune(text[:tail])
		tail -= size
	}
	return fmt.Sprintf("%s…%s (%d chars)", text[:head], text[tail:], n)
}

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
