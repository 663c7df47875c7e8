package edit

import (
	"bytes"
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/jptools/jptools/tools/fskit/diff"
)

var bytesOf = rapid.SampledFrom([]string{"a", "b", "ab", "A", "\n", "\n", "\r\n", "\r\n", "\r", "\xff", "\xc3", "é", "\u212a", "\ufffd", "\t", " ", "$1", "\x00"})

func drawBytes(t *rapid.T, label string, least, most int) []byte {
	b := []byte(strings.Join(rapid.SliceOfN(bytesOf, least, most).Draw(t, label), ""))
	if rapid.IntRange(0, 9).Draw(t, label+" mark") == 0 {
		b = append([]byte("\ufeff"), b...)
	}
	return b
}

// drawText draws an argument, which is valid UTF-8.
func drawText(t *rapid.T, label string, least, most int) string {
	return strings.Join(rapid.SliceOfN(bytesOf.Filter(utf8.ValidString), least, most).Draw(t, label), "")
}

// naiveView is the oracle for the view: the text and for every offset of it the offset
// in content.
func naiveView(content []byte) ([]byte, []int) {
	var text []byte
	var at []int
	i := 0
	if bytes.HasPrefix(content, []byte("\ufeff")) {
		i = 3
	}
	for i < len(content) {
		at = append(at, i)
		if content[i] == '\r' && i+1 < len(content) && content[i+1] == '\n' {
			i++
		}
		text = append(text, content[i])
		i++
	}
	return text, append(at, i)
}

// failer is what *testing.T and *rapid.T have in common.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func find(t failer, p Pattern, content []byte) *Matches {
	t.Helper()
	c, err := Compile(p)
	if err != nil {
		t.Fatalf("%q: %v", p.Old, err)
	}
	m, err := c.Find(context.Background(), NewView(content))
	if err != nil {
		t.Fatalf("%q: %v", p.Old, err)
	}
	return m
}

func editsOf(t failer, m *Matches) []diff.Edit {
	t.Helper()
	list, err := m.Edits(context.Background(), 64<<20)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return list
}

func TestLiteralAgainstOracle(t *testing.T) {
	matched := 0
	rapid.Check(t, func(t *rapid.T) {
		content := drawBytes(t, "content", 0, 40)
		text, at := naiveView(content)
		p := Pattern{Old: drawText(t, "old", 1, 3), New: drawText(t, "new", 0, 4)}
		old := strings.ReplaceAll(p.Old, "\r\n", "\n")
		c, err := Compile(p)
		if err != nil {
			return // identical
		}
		var want []Span
		for i := 0; i+len(old) <= len(text); {
			if string(text[i:i+len(old)]) != old {
				i++
				continue
			}
			want = append(want, Span{at[i], at[i+len(old)]})
			i += len(old)
		}
		m, err := c.Find(context.Background(), NewView(content))
		if err != nil || !slices.Equal(m.Spans, want) {
			t.Fatalf("%q in %q: %v, %v; want %v", p.Old, content, m.Spans, err, want)
		}
		matched += len(want)
		edits := editsOf(t, m)
		got := diff.Apply(content, edits)
		// Bytes outside the matches are the same, and what is inside is new.
		var again []byte
		done := 0
		for _, s := range want {
			again = append(again, content[done:s.Start]...)
			text := content[s.Start:s.End]
			for _, e := range edits {
				if e.Start == s.Start {
					text = e.Text
				}
			}
			if plain := regexp.MustCompile(`\r+\n`); plain.ReplaceAllString(string(text), "\n") != plain.ReplaceAllString(p.New, "\n") {
				t.Fatalf("%q -> %q in %q: %q", p.Old, p.New, content, text)
			}
			again = append(again, text...)
			done = s.End
		}
		if again = append(again, content[done:]...); !bytes.Equal(got, again) {
			t.Fatalf("%q in %q gave %q, want %q", p.Old, content, got, again)
		}
	})
	if matched < 5 && !testing.Short() {
		t.Errorf("only %d matches were seen", matched)
	}
}

// One character of a passage changes: no line end in it may, whatever the mix.
func TestLineEndsOfMatchedTextStay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		content := drawBytes(t, "content", 2, 40)
		text, at := naiveView(content)
		if len(text) == 0 || !utf8.Valid(text) {
			return
		}
		from := rapid.IntRange(0, len(text)-1).Draw(t, "from")
		to := rapid.IntRange(from+1, len(text)).Draw(t, "to")
		k := rapid.IntRange(from, to-1).Draw(t, "changed")
		old := string(text[from:to])
		if strings.Contains(old, "\r\n") || text[k] >= utf8.RuneSelf || text[k] == '\n' || text[k] == '\r' || !utf8.ValidString(old) {
			return
		}
		// The CR of the content must not become the end of a line by losing a neighbour.
		c, err := Compile(Pattern{Old: old, New: old[:k-from] + "Z" + old[k-from+1:]})
		if err != nil {
			return
		}
		m, err := c.Find(context.Background(), NewView(content))
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range m.Spans {
			if s.Start != at[from] {
				continue
			}
			want := slices.Clone(content[s.Start:s.End])
			want[at[k]-s.Start] = 'Z'
			for _, e := range editsOf(t, m) {
				if e.Start == s.Start && !bytes.Equal(e.Text, want) {
					t.Fatalf("match %d of %q in %q: %q, want %q", i, old, content, e.Text, want)
				}
			}
		}
	})
}

func TestRegexAgainstStandardReplace(t *testing.T) {
	sources := []string{"a+", "a*", "(?s).", "^", "$", "b?$", "(a)(b)?", "[^a]", `\b`, "^.*$", "(?i)k", `\n`, `\s+`, "é|\ufffd", `x{0}`, `\z`, `\A`}
	rapid.Check(t, func(t *rapid.T) {
		content := bytes.ReplaceAll(drawBytes(t, "content", 0, 30), []byte("\r"), nil)
		content = append(bytes.TrimPrefix(content, mark), '\n')
		p := Pattern{Old: rapid.SampledFrom(sources).Draw(t, "regex"), Regex: true, Fold: rapid.Bool().Draw(t, "fold")}
		p.New = rapid.SampledFrom([]string{"", "x", "<$0>", "$$0", "${0}$0", "$"}).Draw(t, "new")
		if p.Old == p.New {
			return
		}
		flags := "(?m)"
		if p.Fold {
			flags = "(?mi)"
		}
		want := regexp.MustCompile(flags+p.Old).ReplaceAll(content, []byte(p.New))
		got := diff.Apply(content, editsOf(t, find(t, p, content)))
		if !bytes.Equal(got, want) {
			t.Fatalf("%q -> %q in %q: %q, want %q", p.Old, p.New, content, got, want)
		}
	})
}

func TestBacktrackerAgainstStandard(t *testing.T) {
	sources := []string{"a+", "a*", "^", "$", "b?$", "(a)(b)?", "[^a]", "^.*$", `\n`, `\s+`, "é", `\z`, `\A`, `(?P<n>a)|b`, `\w+`, `[[:alpha:]]`}
	rapid.Check(t, func(t *rapid.T) {
		text := drawBytes(t, "content", 0, 30)
		source := rapid.SampledFrom(sources).Draw(t, "regex")
		b, err := newBacktracker(source, false)
		if err != nil {
			t.Fatal(err)
		}
		got, err := b.find(context.Background(), text, b.groups)
		if err != nil {
			t.Fatal(err)
		}
		want := regexp.MustCompile("(?m)"+source).FindAllSubmatchIndex(text, -1)
		if !slices.EqualFunc(got, want, slices.Equal) {
			t.Fatalf("%q in %q: %v, want %v", source, text, got, want)
		}
	})
}

func TestComposeIsOneAfterTheOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string, size int) []diff.Edit {
			var list []diff.Edit
			at := 0
			for range rapid.IntRange(0, 5).Draw(t, label) {
				start := rapid.IntRange(at, size).Draw(t, "start")
				end := rapid.IntRange(start, min(size, start+4)).Draw(t, "end")
				list = append(list, diff.Edit{Start: start, End: end, Text: drawBytes(t, "text", 0, 3)})
				at = end
			}
			return list
		}
		old := drawBytes(t, "old", 0, 20)
		c := NewContent(old)
		want := old
		for range rapid.IntRange(1, 4).Draw(t, "rounds") {
			edits := draw("edits", len(want))
			want = diff.Apply(want, edits)
			c.Apply(edits)
		}
		if got := diff.Apply(old, c.Edits); !bytes.Equal(got, want) || !bytes.Equal(c.New(), want) {
			t.Fatalf("composed %q, one by one %q", got, want)
		}
	})
}

func TestReplace(t *testing.T) {
	for _, c := range []struct {
		name          string
		p             Pattern
		content, want string
	}{
		{"LF pattern in a CRLF file", Pattern{Old: "a\nb", New: "a\nx\nb"}, "a\r\nb\r\n", "a\r\nx\r\nb\r\n"},
		{"CRLF pattern in an LF file", Pattern{Old: "a\r\nb", New: "a\r\nx\r\nb"}, "a\nb\n", "a\nx\nb\n"},
		{"CRLF as given where there is no line end", Pattern{Old: "a", New: "a\r\nb"}, "a", "a\r\nb"},
		{"new line takes the end of its place", Pattern{Old: "b", New: "b\nc"}, "a\nb\r\nd\n", "a\nb\r\nc\r\nd\n"},
		{"last line takes the end of the one before", Pattern{Old: "b", New: "b\nc"}, "a\r\nb", "a\r\nb\r\nc"},
		{"mixed ends stay one for one", Pattern{Old: "1\n2\n3\n4\n", New: "1\nII\n3\n4\n5\n"}, "1\r\n2\n3\r\n4\n", "1\r\nII\n3\r\n4\n5\n"},
		{"equal end keeps its ends", Pattern{Old: "x\ny\nz\n", New: "new\nnew\nnew\ny\nz\n"}, "x\r\ny\nz\n", "new\r\nnew\r\nnew\r\ny\nz\n"},
		{"mark is not matched by ^", Pattern{Old: "^", New: "> ", Regex: true}, "\ufeffa\nb", "\ufeff> a\n> b"},
		{"mark stays", Pattern{Old: "a", New: "b"}, "\ufeffa", "\ufeffb"},
		{"dollar is before the CR", Pattern{Old: "$", New: ";", Regex: true}, "a\r\nb", "a;\r\nb;"},
		{"dot leaves the CR alone", Pattern{Old: "^.*$", New: "x", Regex: true}, "a\r\nb\r\n", "x\r\nx\r\nx"},
		{"lone CR is a character", Pattern{Old: "a\rb", New: "c"}, "a\rb\r\n", "c\r\n"},
		{"CR CR LF", Pattern{Old: "b", New: "b\nc"}, "a\r\r\nb\r\r\n", "a\r\r\nb\r\nc\r\r\n"},
		{"captured line ends stay", Pattern{Old: "(a\nb)", New: "$1;\n$1", Regex: true}, "a\r\nb\r\n", "a\r\nb;\r\na\r\nb\r\n"},
		{"delete a line", Pattern{Old: "b\n", New: ""}, "a\r\nb\r\nc", "a\r\nc"},
		{"invalid bytes stay", Pattern{Old: "a", New: "b"}, "\xffa\xfe\xc3", "\xffb\xfe\xc3"},
		{"white space only", Pattern{Old: "  ", New: "\t"}, "a    b   c", "a\t\tb\t c"},
		{"dollar in a folded literal", Pattern{Old: "FOO(", New: "$1 $name $$ ${x}", Fold: true}, "foo(", "$1 $name $$ ${x}"},
		{"folding is simple", Pattern{Old: "straße k", New: "x", Fold: true}, "STRAßE \u212a, STRASSE k", "x, STRASSE k"},
		{"folded U+FFFD is no invalid byte", Pattern{Old: "a\ufffd", New: "x", Fold: true}, "A\xff A\ufffd", "A\xff x"},
		{"lookahead", Pattern{Old: `a(?=b)`, New: "x", Regex: true}, "ab ac", "xb ac"},
		{"lookbehind and invalid bytes", Pattern{Old: `(?<=é\n)b`, New: "[$0]", Regex: true}, "\xff\xfeé\r\nb b", "\xff\xfeé\r\n[b] b"},
		{"back-reference", Pattern{Old: `(\w+) \1`, New: "$1", Regex: true}, "the the cat", "the cat"},
		{"named group", Pattern{Old: `(?P<k>\w+)=(\w+)`, New: "${2}=${k}", Regex: true}, "a=b", "b=a"},
		{"named groups count in order", Pattern{Old: `(?<x>a)(b)(?!c)`, New: "$2$1$x", Regex: true}, "ab", "baa"},
		{"zero-width", Pattern{Old: `x*`, New: "-", Regex: true}, "axb", "-a-b-"},
		{"group that took no part", Pattern{Old: `(a)|(b)`, New: "<$1$2>", Regex: true}, "ab", "<a><b>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := string(diff.Apply([]byte(c.content), editsOf(t, find(t, c.p, []byte(c.content))))); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestCompileErrors(t *testing.T) {
	for _, c := range []struct {
		p    Pattern
		want string
	}{
		{Pattern{Old: "", New: "x"}, "empty"},
		{Pattern{Old: "a", New: "a"}, "identical"},
		{Pattern{Old: "a\n", New: "a\r\n"}, "line ends only"},
		{Pattern{Old: "(", New: "x", Regex: true}, "missing closing ): `(`"},
		{Pattern{Old: "(?<=a", New: "x", Regex: true}, "invalid regex"},
		{Pattern{Old: "a", New: "$1", Regex: true}, "names no group"},
		{Pattern{Old: "(a)", New: "$1x", Regex: true}, "write ${1}x"},
		{Pattern{Old: "(?=(a))", New: "$2", Regex: true}, "names no group"},
		{Pattern{Old: "a", New: "$HOME", Regex: true}, "write $$"},
	} {
		if _, err := Compile(c.p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.p, err)
		}
	}
}

func TestBacktrackingHasADeadline(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	c, err := Compile(Pattern{Old: `(?=a)(a+)+\1c`, New: "", Regex: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = c.Find(context.Background(), NewView(bytes.Repeat([]byte("a"), 64))); err != ErrDeadline {
		t.Errorf("got %v", err)
	}
	if _, err = c.Find(context.Background(), NewView(make([]byte, backtrackMost+1))); err != ErrTooLarge {
		t.Errorf("got %v", err)
	}
}

func TestBroad(t *testing.T) {
	for _, s := range []string{".*", ".+", "^.*$", "^.+$", `[\s\S]*`, `[\s\S]+`, " .* ", "\t.+\n"} {
		if !(Pattern{Old: s, Regex: true}).Broad() || (Pattern{Old: s}).Broad() {
			t.Errorf("%q", s)
		}
	}
	if (Pattern{Old: "a.*", Regex: true}).Broad() {
		t.Error("a specific regex is taken for broad")
	}
}

func FuzzReplace(f *testing.F) {
	f.Add([]byte("a\r\nb\xff"), "a\n", "x", false, false)
	f.Add([]byte("\ufeffab"), "(a)(?=b)", "$1", true, true)
	f.Add([]byte("ab  cd"), "ab cd", "", false, false)
	f.Add([]byte("é  é"), "é é", "", false, true)
	f.Add([]byte("\r\r\n\n"), `\n|^`, "\r\n$0", true, false)
	f.Fuzz(func(t *testing.T, content []byte, old, repl string, regex, fold bool) {
		if !utf8.ValidString(old) || !utf8.ValidString(repl) || len(old) > 100 {
			return
		}
		c, err := Compile(Pattern{Old: old, New: repl, Regex: regex, Fold: fold})
		if err != nil || c.Backtracks() && len(content) > 50 {
			return
		}
		before := bytes.Clone(content)
		m, err := c.Find(context.Background(), NewView(content))
		if err != nil {
			return
		}
		at := 0
		if bytes.HasPrefix(content, mark) {
			at = len(mark)
		}
		for i, s := range m.Spans {
			if s.Start < at || s.End < s.Start || s.End > len(content) || !regex && s.Start == s.End {
				t.Fatalf("spans %v", m.Spans)
			}
			at = s.End
			if !regex && !fold && string(m.Text(i)) != strings.ReplaceAll(old, "\r\n", "\n") {
				t.Fatalf("matched %q for %q", m.Text(i), old)
			}
		}
		at = 0
		for _, e := range editsOf(t, m) {
			if e.Start < at {
				t.Fatalf("edits overlap")
			}
			at = e.End
		}
		if !bytes.Equal(content, before) {
			t.Fatal("the content was written to")
		}
		if len(m.Spans) == 0 && len(content) < 1000 {
			Nearest(c, NewView(content))
		}
	})
}

// Backtracks reports whether the pattern runs on the backtracking engine.
func (c *Compiled) Backtracks() bool { return c.back != nil }
