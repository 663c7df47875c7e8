package search

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"regexp/syntax"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"unicode/utf16"
)

func mustCompile(t testing.TB, pattern string, opts Options) *Matcher {
	t.Helper()
	m, err := Compile(pattern, opts)
	if err != nil {
		t.Fatalf("Compile(%q): %v", pattern, err)
	}
	return m
}

// run searches a text and returns what was reported.
func run(t *testing.T, s *Searcher, pattern string, opts Options, text string) ([]string, Result) {
	t.Helper()
	got := recorder{spans: true}
	result, err := s.Search(strings.NewReader(text), mustCompile(t, pattern, opts), &got)
	if err != nil {
		t.Fatalf("%q in %.40q: %v", pattern, text, err)
	}
	return got.out, result
}

func TestLines(t *testing.T) {
	fold, multi := Options{CaseInsensitive: true}, Options{Multiline: true}
	for _, tt := range []struct {
		name, pattern string
		opts          Options
		text          string
		want          []string
	}{
		{"literal", "foo", Options{}, "a foo\nbar\nfoo", []string{"1:a foo [2,5]", "3:foo [0,3]"}},
		{"empty pattern", "", Options{}, "a\n\nb", []string{"1:a [0,0]", "2: [0,0]", "3:b [0,0]"}},
		{"empty text", "", Options{}, "", nil},
		{"no line after the last end", "^$", Options{}, "a\n", nil},
		{"empty line", "^$", Options{}, "a\n\n", []string{"2: [0,0]"}},
		{"ends of text are line ends", `\Ab\z`, Options{}, "a\nb\nc", []string{"2:b [0,1]"}},
		{"flags off", `(?-m)^b$`, Options{}, "a\nb\nc", []string{"2:b [0,1]"}},
		{"cr is part of the line", `b$`, Options{}, "b\r\nb\n", []string{"2:b [0,1]"}},
		{"cr named", `b\r?$`, Options{}, "b\r\nb\n", []string{"1:b\r [0,2]", "2:b [0,1]"}},
		{"space is not the line end", `a\sb`, Options{}, "a\nb\na b\n", []string{"3:a b [0,3]"}},
		{"class without newline", `a[^x]b`, Options{}, "a\nb\na-b\n", []string{"3:a-b [0,3]"}},
		{"class with newline", `a[\nx]b`, Options{}, "a\nb\naxb\n", []string{"3:axb [0,3]"}},
		{"dot all", `(?s)a.b`, Options{}, "a\nb\na.b\n", []string{"3:a.b [0,3]"}},
		{"leftmost of alternatives", `bc|abcd|ab`, Options{}, "xabcd\n", []string{"1:xabcd [1,5]"}},
		{"fold", "foo", fold, "FOO\nFo\n", []string{"1:FOO [0,3]"}},
		{"fold beyond ascii", "task", fold, "TaſK\n", []string{"1:TaſK [0,5]"}},
		{"fold unicode", "straße", fold, "STRAẞE\n", []string{"1:STRAẞE [0,8]"}},
		{"invalid bytes", "a.b", Options{}, "a\xffb\n\xe4\xb8\n", []string{"1:a\xffb [0,3]"}},
		{"alternation of many", "q1|q2|q3|q4|q5|q6|q7|q8|q9|w1|w2|w3|w4|w5|w6|w7|w8|w9|w0", Options{}, "w0\nw\n", []string{"1:w0 [0,2]"}},
		{"nothing can match", `[^\x00-\x{10ffff}]`, Options{}, "a\n", nil},
		{"nothing is left", `[\n]|b`, Options{}, "a\nb\n", []string{"2:b [0,1]"}},
		{"multiline", `a\nb`, multi, "xa\nby\na\nb", []string{"1:xa [1,2]", "2:by [0,1]", "3:a [0,1]", "4:b [0,1]"}},
		{"multiline dot", `a.b`, multi, "a\nb\n", nil},
		{"multiline dot all", `(?s)a.b`, multi, "a\nb\n", []string{"1:a [0,1]", "2:b [0,1]"}},
		{"multiline start of text", `\Aa`, multi, "a\na\n", []string{"1:a [0,1]"}},
		{"multiline line start", `^a`, multi, "a\na\n", []string{"1:a [0,1]", "2:a [0,1]"}},
		{"multiline matches share a line", `[ab]\n[bc]`, multi, "a\nb b\nc\n", []string{"1:a [0,1]", "2:b b [0,1]", "3:c [0,1]"}},
		{"multiline only the end", `\n`, multi, "a\nb", []string{"1:a [1,1]"}},
		{"multiline end of text", `\z`, multi, "a\n", nil},
		{"multiline empty lines", `\n\n`, multi, "a\n\n\nb", []string{"1:a [1,1]", "2: [0,0]"}},
		{"byte order mark", "^foo", Options{}, "\xef\xbb\xbffoo\n", []string{"1:foo [0,3]"}},
		{"only a byte order mark", "", Options{}, "\xef\xbb\xbf", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, s := range []*Searcher{{}, {bufSize: 16, headSize: 3}} {
				if got, _ := run(t, s, tt.pattern, tt.opts, tt.text); !reflect.DeepEqual(got, tt.want) {
					t.Errorf("got %q, want %q", got, tt.want)
				}
			}
		})
	}
}

func TestCompileErrors(t *testing.T) {
	var syntaxError *syntax.Error
	for _, pattern := range []string{"(", "a)(b", "[a", `\`, "(?=x)", "\xff", "a{2000}", "*"} {
		if _, err := Compile(pattern, Options{}); !errors.As(err, &syntaxError) {
			t.Errorf("Compile(%q) = %v, want a syntax error", pattern, err)
		}
	}
	for _, pattern := range []string{
		`a\nb`, "a\nb", `a|\n`, `\x0a`, `\x0A`, `\x{A}`, `\x{00a}`, `\012`, `\12`, "\\Qa\nb", "\\Qa\n\\E", "\\\n", `[a]\n`, `[]\]]\n`, `[[:alpha:]\]]\n`, `\Q[\E\n`, `[^]a]\n`,
	} {
		if _, err := Compile(pattern, Options{}); !errors.Is(err, ErrNewline) {
			t.Errorf("Compile(%q) = %v, want ErrNewline", pattern, err)
		}
		if _, err := Compile(pattern, Options{Multiline: true}); err != nil {
			t.Errorf("Compile(%q) for multiline: %v", pattern, err)
		}
	}
	for _, pattern := range []string{`\\n`, `[\n]`, `[^\n]`, `\Q\n\E`, `\Q\n`, `\x{0aa}`, `\x0b`, `\123`, `[[:space:]]`, `[]\n]`, `[\]\n]`, `a\|n`, `\s`} {
		if _, err := Compile(pattern, Options{}); err != nil {
			t.Errorf("Compile(%q): %v", pattern, err)
		}
	}
}

func TestContextAndLimit(t *testing.T) {
	const text = "1\n2\nx3\n4\n5\n6\n7\nx8\nx9\n10\n"
	for _, tt := range []struct {
		before, after int
		limit         int64
		want          string
		matches       int64
	}{
		{0, 0, 0, "3:x3 8:x8 9:x9", 3},
		{1, 1, 0, "2-2 3:x3 4-4 -- 7-7 8:x8 9:x9 10-10", 3},
		{2, 2, 0, "1-1 2-2 3:x3 4-4 5-5 6-6 7-7 8:x8 9:x9 10-10", 3},
		{9, 0, 0, "1-1 2-2 3:x3 4-4 5-5 6-6 7-7 8:x8 9:x9", 3},
		{0, 9, 2, "3:x3 4-4 5-5 6-6 7-7 8:x8", 3},
		{0, 9, 1, "3:x3 4-4 5-5 6-6 7-7", 3},
		{0, 0, 1, "3:x3", 3},
	} {
		s := Searcher{Before: tt.before, After: tt.after, MaxReported: tt.limit}
		var got recorder
		result, err := s.Search(strings.NewReader(text), mustCompile(t, "x", Options{}), &got)
		if out := strings.Join(got.out, " "); err != nil || out != tt.want || result.Matches != tt.matches {
			t.Errorf("%+v: %q, %+v, %v", tt, out, result, err)
		}
	}
}

func TestBinary(t *testing.T) {
	filler := strings.Repeat("filler\n", headSize/7+1)
	for _, tt := range []struct {
		name, text string
		asText     bool
		binary     bool
		nul        int64
		matches    int64
	}{
		{"none", "foo\n", false, false, -1, 1},
		{"in the head", "foo\nfoo\x00\n", false, true, 7, 0},
		{"first byte", "\x00", false, true, 0, 0},
		{"later", filler + "foo\nfoo\x00\nfoo", false, false, int64(len(filler)) + 7, 1},
		{"later, no line end before", strings.Repeat("foo", headSize) + "\x00", false, false, 3 * headSize, 0},
		{"as text", "foo\nfoo\x00\nfoo", true, false, -1, 3},
		{"after a mark", "\xef\xbb\xbffoo\x00", false, true, 3, 0},
	} {
		for _, multi := range []bool{false, true} {
			m := mustCompile(t, "foo", Options{Multiline: multi})
			for _, r := range []io.Reader{strings.NewReader(tt.text), iotest.OneByteReader(strings.NewReader(tt.text))} {
				s := Searcher{Text: tt.asText}
				got, err := s.Search(r, m, &recorder{})
				if err != nil || got.Binary != tt.binary || got.NUL != tt.nul || got.Matches != tt.matches {
					t.Errorf("%s: %+v, %v", tt.name, got, err)
				}
				if other := s.SearchBytes([]byte(tt.text), m, &recorder{}); other != got {
					t.Errorf("%s: SearchBytes: %+v", tt.name, other)
				}
			}
		}
	}
}

func TestUTF16(t *testing.T) {
	const text = "first\nfoo é世\U0001f600 bar\r\nlast"
	units := append([]uint16{0xfeff}, utf16.Encode([]rune(text))...)
	lone := append(units[:len(units):len(units)], 0xd800, 'x', 0xdc00)
	encode := func(units []uint16, big bool) string {
		var b strings.Builder
		for _, u := range units {
			pair := []byte{byte(u), byte(u >> 8)}
			if big {
				pair[0], pair[1] = pair[1], pair[0]
			}
			b.Write(pair)
		}
		return b.String()
	}
	want := []string{"2:foo é世\U0001f600 bar\r [4,13]"}
	for _, s := range []*Searcher{{}, {bufSize: 16, headSize: 3}} {
		for _, big := range []bool{false, true} {
			for _, in := range []string{encode(units, big), encode(lone, big), encode(units, big) + "x"} {
				m := mustCompile(t, `é世\pS`, Options{})
				for _, r := range []io.Reader{strings.NewReader(in), iotest.OneByteReader(strings.NewReader(in)), iotest.DataErrReader(strings.NewReader(in))} {
					got := recorder{spans: true}
					result, err := s.Search(r, m, &got)
					if err != nil || !reflect.DeepEqual(got.out, want) {
						t.Errorf("big endian %v: %q, %+v, %v", big, got.out, result, err)
					}
				}
				if result := s.SearchBytes([]byte(in), m, &recorder{}); result.Matches != 1 {
					t.Errorf("big endian %v: SearchBytes: %+v", big, result)
				}
			}
			got, _ := run(t, s, `^last\x{fffd}x\x{fffd}$`, Options{}, encode(lone, big))
			if !reflect.DeepEqual(got, []string{"3:last\ufffdx\ufffd [0,11]"}) {
				t.Errorf("big endian %v: lone halves: %q", big, got)
			}
		}
	}
	// UTF-32 looks like UTF-16 with NULs.
	if _, result := run(t, &Searcher{}, "a", Options{}, "\xff\xfe\x00\x00a\x00\x00\x00"); !result.Binary {
		t.Errorf("UTF-32: %+v", result)
	}
}

func TestLongLines(t *testing.T) {
	s := Searcher{bufSize: 64, headSize: 8, lineLimit: 200}
	long := strings.Repeat("x", 1000)
	got, result := run(t, &s, "foo$|tail", Options{}, "foo\n"+long+"tail\nfoo\n"+long+"\nfoo")
	want := []string{"1:foo [0,3]", "3:foo [0,3]", "5:foo [0,3]"}
	if !reflect.DeepEqual(got, want) || result.CutLines != 2 {
		t.Errorf("%q, %+v", got, result)
	}
	if got, result = run(t, &s, "xxx$", Options{}, long); len(got) != 1 || len(got[0]) > 300 || result.CutLines != 1 {
		t.Errorf("%q, %+v", got, result)
	}
	// Lines within the limit are whole, however small the buffer was.
	if got, result = run(t, &s, "^yx*z$", Options{}, "y"+long[:150]+"z\n"); len(got) != 1 || result.CutLines != 0 {
		t.Errorf("%q, %+v", got, result)
	}
	// Context is kept as far as the limit.
	s.Before = 3
	text := strings.Repeat(long[:100]+"\n", 4) + "foo\n"
	if got, _ = run(t, &s, "foo", Options{}, text); got[len(got)-1] != "5:foo [0,3]" {
		t.Errorf("%q", got)
	}
}

func TestTooLarge(t *testing.T) {
	m := mustCompile(t, "a", Options{Multiline: true})
	for size, want := range map[int]bool{1000: false, 1001: true, 100_000: true} {
		s := Searcher{bufSize: 64, headSize: 8, textLimit: 1000}
		_, err := s.Search(strings.NewReader(strings.Repeat("b", size)), m, nil)
		if errors.Is(err, ErrTooLarge) != want {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	if want := "larger than the 64 MiB that a multiline search can take"; ErrTooLarge.Error() != want {
		t.Error(ErrTooLarge)
	}
}

func TestReadErrors(t *testing.T) {
	broken := errors.New("broken")
	for _, multi := range []bool{false, true} {
		m := mustCompile(t, "foo", Options{Multiline: multi})
		for _, text := range []string{"", "f", "foo\n", strings.Repeat("foo\n", headSize)} {
			var s Searcher
			r := io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken))
			if _, err := s.Search(r, m, &recorder{}); !errors.Is(err, broken) {
				t.Errorf("multiline %v, %d bytes: %v", multi, len(text), err)
			}
		}
	}
	var s Searcher
	if _, err := s.Search(idle{}, mustCompile(t, "foo", Options{}), nil); !errors.Is(err, io.ErrNoProgress) {
		t.Error(err)
	}
}

// idle never yields anything.
type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

// TestLargeText has line numbers right across many buffers.
func TestLargeText(t *testing.T) {
	var b bytes.Buffer
	for i := range 300_000 {
		b.WriteString("some line of text\n")
		if i == 123_455 || i == 299_999 {
			b.WriteString("needle\n")
		}
	}
	s := Searcher{Before: 1}
	got, _ := run(t, &s, "needle", Options{}, b.String())
	want := []string{"123456-some line of text", "123457:needle [0,6]", "--", "300001-some line of text", "300002:needle [0,6]"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
}

// TestSharedMatcher uses one Matcher in several goroutines; run with -race.
func TestSharedMatcher(t *testing.T) {
	text := bytes.Repeat([]byte("foo 123\nbar\nTaſk\n"), 1000)
	for _, pattern := range []string{"foo", `[a-z]+\b.*\d$`, "(?i)task", `\w\n\w`} {
		m := mustCompile(t, pattern, Options{Multiline: strings.Contains(pattern, "n")})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				var s Searcher
				if got := s.SearchBytes(text, m, nullSink{}); got.Matches < 1000 {
					t.Errorf("%s: %+v", pattern, got)
				}
			})
		}
		wg.Wait()
	}
}

func TestNoAllocations(t *testing.T) {
	text := bytes.Repeat([]byte("foo 123\nbar\nTaſk pm_resume\n"), 1000)
	r := bytes.NewReader(text)
	for _, pattern := range []string{"foo", `[a-z]+\b.*\d$`, "(?i)task", "(?i)pm_resume", "foo|bar|baz", `é|\pL+`} {
		m := mustCompile(t, pattern, Options{})
		s := Searcher{Before: 1}
		var sink Sink = nullSink{}
		allocs := testing.AllocsPerRun(5, func() {
			r.Reset(text)
			if _, err := s.Search(r, m, sink); err != nil {
				t.Fatal(err)
			}
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations per text", pattern, allocs)
		}
	}
}
