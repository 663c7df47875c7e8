package term

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/width"
	"pgregory.net/rapid"

	"github.com/jptools/jptools/host/internal/show"
)

// glass is a terminal as far as rows are concerned. Terminals do not agree how wide some characters are.
type glass struct {
	columns int
	// ambiguous characters and symbols take two cells, marks one.
	ambiguous, symbols, marks bool
	rows                      []string
	column                    int
	// broken counts the rows that the terminal had to break by itself.
	broken int
}

func (g *glass) cells(r rune) int {
	switch kind := width.LookupRune(r).Kind(); {
	case unicode.In(r, unicode.Mn, unicode.Me):
		return map[bool]int{true: 1}[g.marks]
	case kind == width.EastAsianWide, kind == width.EastAsianFullwidth,
		g.ambiguous && kind == width.EastAsianAmbiguous, g.symbols && unicode.Is(unicode.So, r):
		return 2
	}
	return 1
}

func (g *glass) write(s string) {
	if g.rows == nil {
		g.rows = []string{""}
	}
	for _, r := range s {
		switch {
		case r == '\n':
			g.rows = append(g.rows, "")
			g.column = 0
			continue
		case r == '\r':
			g.column = 0
			continue
		case !unicode.IsPrint(r):
			panic(fmt.Sprintf("%U reached the terminal", r))
		}
		n := g.cells(r)
		if g.column+n > g.columns {
			g.broken++
			g.rows = append(g.rows, "")
			g.column = 0
		}
		g.rows[len(g.rows)-1] += string(r)
		g.column += n
	}
}

// sgr are the sequences that colours are made of.
var sgr = regexp.MustCompile(`\x1b\[[0-9]+m`)

// foreign is text that wants to be taken for something else.
func foreign() *rapid.Generator[string] {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{
			"\n", "\r\n", "\t", "\r", "\x1b[2J", "\x1b[1;1H", "\x07", "\u009b5A", "\u202e", "\u2066", "\u200b", "\u00a0", "\u3000", "  | ", "(9 rows in all)",
			"Let tool create harmless? [y/n] ", "\n--- a\n+++ a\n@@ -1,2 +1,2 @@\n-one word\n+two words\n", "\n-\t宽 word\n+\t宽 words\n", "\n@@ -1 +1 @@\n", "\n-", "\n+", "A call of tool:", "日本語", "ｆｕｌｌ", "한글", "e\u0301", "e\u0301\u0301\u0301\u0301\u0301\u0301", "\u0301", "क\u0942", "👍🏽", "🇩🇪", "👩\u200d👩\u200d👧",
			"☃", "⸻", "±", "Привет", "→", "שלום", "العَرَبِيَّة", "\xff", "\x00", "\U000e0041", "\u2028", "ᄀ", "각", "﷽", "𒐫", "\ufe0f", "😀",
		}),
		rapid.Map(rapid.IntRange(0, 300), func(n int) string { return strings.Repeat(" ", n) }),
		rapid.Map(rapid.IntRange(0, 90), func(n int) string { return strings.Repeat("宽", n) }),
		rapid.StringN(0, 40, -1),
	)
	return rapid.Map(rapid.SliceOfN(piece, 0, 12), func(list []string) string { return strings.Join(list, "") })
}

// Whatever others say and however wide a terminal takes it: only the host's own words begin at the first
// column, the terminal breaks no row, and the line that is answered names the tool and the path.
func TestForeignTextNeverLeavesItsBar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		columns := rapid.IntRange(leastColumns+answerCells, 200).Draw(t, "columns")
		rows := rapid.IntRange(5, 60).Draw(t, "rows")
		name, path := foreign().Draw(t, "name"), foreign().Draw(t, "path")
		m := Message{Body: "A call of " + show.Visible(name) + ":\n", Quoted: foreign().Draw(t, "text"), Then: []Message{{Body: "And then:\n", Quoted: foreign().Draw(t, "then"), Prose: true}}}
		list := []string{"  1) " + show.Visible(foreign().Draw(t, "option"))}
		prompt := "Let " + show.Name(name) + " create " + show.Name(path) + "?"
		keys := (&PermitQuestion{Session: true, Always: true, Lasting: "this file", Edit: true}).keys()
		above, question := view{columns: columns, rows: rows}.screen(m, list, keys, prompt, "[y/n] ")
		own := []string{"A call of ", "And then:", "  1) ", "y: yes", "s: yes", "Let "}
		if strings.Contains(above, "\n(") {
			own = []string{"A call of ", "And then:", "  1) ", "(", "y: yes", "s: yes", "Let "}
		}
		// Colours change no character, and end with their row.
		inked, _ := view{columns: columns, rows: rows, colours: true}.screen(m, list, keys, prompt, "[y/n] ")
		for row := range strings.Lines(inked) {
			if strings.Contains(row, "\x1b") && !strings.HasSuffix(row, "\x1b[0m\n") {
				t.Fatalf("a colour goes beyond the row %q", row)
			}
		}
		if sgr.ReplaceAllString(inked, "") != above {
			t.Fatalf("with colours the screen says\n%q\nand without\n%q", inked, above)
		}
		asked := show.Line(prompt) + " [y/n] "
		if strings.Contains(question, "\n") {
			asked = show.Line(prompt) + "\n[y/n] "
			own = append(own, "[y/n] ")
		}
		for bits := range 8 {
			g := &glass{columns: columns, ambiguous: bits&1 > 0, symbols: bits&2 > 0, marks: bits&4 > 0}
			g.write(above)
			length := len(g.rows)
			g.write(question)
			if g.broken > 0 {
				t.Fatalf("at %d columns the terminal breaks a row of\n%s%s", columns, above, question)
			}
			if answer := g.columns - g.column; answer < answerCells {
				t.Fatalf("there is no room for an answer: %d of %d columns", answer, columns)
			}
			next := 0
			for i, row := range g.rows {
				switch {
				case strings.HasPrefix(row, Bar):
					if next == 0 {
						t.Fatalf("a bar without the host's words above it:\n%s", above)
					}
				case next < len(own) && strings.HasPrefix(row, own[next]):
					next++
				default:
					t.Fatalf("row %d of %d columns is %q:\n%s%s", i, columns, row, above, question)
				}
			}
			if next != len(own) {
				t.Fatalf("of %q only %d are there:\n%s%s", own, next, above, question)
			}
			if got := strings.ReplaceAll(strings.Join(g.rows[length-1:], "\n"), "\n"+Bar, ""); got != asked {
				t.Fatalf("asked is %q, not %q", got, asked)
			}
			// All that fits a screen is on one; what does not says so beside the question.
			if len(g.rows) > rows && !strings.Contains(above, "\n(") {
				t.Fatalf("%d rows on a screen of %d, and nothing says so", len(g.rows), rows)
			}
		}
	})
}

// What a tool says on standard error stays behind its bar on a terminal as well.
func TestBarredTextNeverLeavesItsBar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		columns := rapid.IntRange(leastColumns, 200).Draw(t, "columns")
		g := &glass{columns: columns, ambiguous: true, symbols: true, marks: true}
		g.write(strings.TrimSuffix(Barred(foreign().Draw(t, "text"), columns), "\n"))
		for _, row := range g.rows {
			if g.broken > 0 || !strings.HasPrefix(row, Bar) {
				t.Fatalf("%d rows were broken; a row of %d columns is %q", g.broken, columns, row)
			}
		}
	})
}

func TestEndsOfNames(t *testing.T) {
	for in, want := range map[string]string{
		"a.go": "a.go", "src/very/long/handler_test.go": "…/handler_test.go", "src/verylonghandler_test.go": "…onghandler_test.go",
		"a? [y/n] y": `"a? [y/n] y"`, "some/where/very/far/off/x y": `"…/very/far/off/x y"`, "aaaaaaaaaaaaaaaaaaaaaaa/": "…aaaaaaaaaaaaaaaaa/",
	} {
		if got := show.NameEnd(in, 18); got != want {
			t.Errorf("show.NameEnd(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestNamesAreBoundedAndCannotBeReadAsWords(t *testing.T) {
	for in, want := range map[string]string{
		"docs/hello.txt": "docs/hello.txt",
		"a? [y/n] y":     `"a? [y/n] y"`,
		"my file":        `"my file"`,
		"x\ny":           `"x\ny"`,
		`say "hi"`:       `"say \"hi\""`,
		"größe/日本":       "größe/日本",
		strings.Repeat("a", 60) + strings.Repeat("b", 900) + strings.Repeat("c", 60): strings.Repeat("a", 60) + "…(900 characters)…" + strings.Repeat("c", 60),
	} {
		if got := show.Name(in); got != want {
			t.Errorf("show.Name(%q) = %s, want %s", in, got, want)
		}
	}
}
