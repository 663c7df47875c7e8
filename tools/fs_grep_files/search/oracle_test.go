package search

import (
	"bytes"
	"errors"
	"math/rand"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
)

// TestOracle compares searches of random texts for random patterns with the
// oracle, in small and large buffers.
func TestOracle(t *testing.T) {
	patterns := 4000
	if testing.Short() {
		patterns = 600
	}
	r := rand.New(rand.NewSource(1))
	stats := map[string]int{}
	var big, small Searcher
	for range patterns {
		o := oracleSpec{multi: r.Intn(4) == 0, fold: r.Intn(3) == 0}
		o.pattern = randomPattern(r, r.Intn(5), o.multi)
		if _, err := regexp.Compile("(?m)" + o.pattern); err != nil {
			stats["invalid"]++
			continue
		}
		m, err := Compile(o.pattern, Options{CaseInsensitive: o.fold, Multiline: o.multi})
		if err != nil {
			t.Fatalf("Compile(%q): %v", o.pattern, err)
		}
		stats[engine(m)]++
		for range 10 {
			o.before, o.after, o.limit = r.Intn(3), r.Intn(3), int64(r.Intn(4))
			text := randomText(r, 40)
			small.bufSize, small.headSize = 16+r.Intn(40), 1+r.Intn(20)
			small.buf = nil
			compare(t, &big, m, o, text)
			compare(t, &small, m, o, text)
			stats["texts"]++
		}
	}
	t.Log(stats)
	for _, what := range []string{"texts", "whole", "find", "automaton"} {
		if stats[what] < patterns/100 {
			t.Errorf("only %d times %s", stats[what], what)
		}
	}
}

// engine names what a matcher searches with.
func engine(m *Matcher) string {
	switch {
	case m.whole:
		return "whole"
	case m.find != nil:
		return "find"
	case m.prog != nil:
		return "automaton"
	}
	return "regexp"
}

// compare fails if the searcher and the oracle disagree.
func compare(t *testing.T, s *Searcher, m *Matcher, o oracleSpec, text []byte) {
	t.Helper()
	want, matches := oracle(o, text)
	s.Before, s.After, s.MaxReported, s.Mode = o.before, o.after, o.limit, Lines
	got := recorder{spans: true}
	result, err := s.Search(bytes.NewReader(text), m, &got)
	if err != nil {
		t.Fatalf("%+v: %v", o, err)
	}
	if !reflect.DeepEqual(got.out, want) || result.Matches != matches {
		t.Fatalf("%+v (%s) in %q, buffer %d:\ngot  %q, %d matches\nwant %q, %d matches",
			o, engine(m), text, s.bufSize, got.out, result.Matches, want, matches)
	}
	got.out = nil
	if result = s.SearchBytes(text, m, &got); !reflect.DeepEqual(got.out, want) || result.Matches != matches {
		t.Fatalf("%+v in %q: SearchBytes: %q, %d matches", o, text, got.out, result.Matches)
	}
	s.Mode = Count
	if result, _ = s.Search(iotest.HalfReader(bytes.NewReader(text)), m, nil); result.Matches != matches {
		t.Fatalf("%+v in %q: Count: %+v, want %d", o, text, result, matches)
	}
	s.Mode = Exists
	if result, _ = s.Search(bytes.NewReader(text), m, nil); result.Matches != min(matches, 1) {
		t.Fatalf("%+v in %q: Exists: %+v, want %d", o, text, result, matches)
	}
}

// TestOracleEngines compares the finder and the automaton alone with the oracle,
// whichever of them Compile prefers.
func TestOracleEngines(t *testing.T) {
	patterns := 3000
	if testing.Short() {
		patterns = 300
	}
	r := rand.New(rand.NewSource(2))
	var s Searcher
	forced := 0
	for range patterns {
		o := oracleSpec{fold: r.Intn(3) == 0, pattern: randomPattern(r, 1+r.Intn(3), false)}
		if _, err := regexp.Compile("(?m)" + o.pattern); err != nil {
			continue
		}
		m, err := Compile(o.pattern, Options{CaseInsensitive: o.fold})
		if err != nil {
			t.Fatal(err)
		}
		without := *m
		without.find, without.whole = nil, false
		bare := without
		bare.prog = nil
		for range 5 {
			text := randomText(r, 60)
			compare(t, &s, &without, o, text)
			compare(t, &s, &bare, o, text)
			slow := *m
			slow.prog = nil
			compare(t, &s, &slow, o, text)
			if m.find != nil && m.find.rare >= 0 {
				probing, f := *m, *m.find
				f.rare = -1
				probing.find = &f
				compare(t, &s, &probing, o, text)
				forced++
			}
		}
	}
	if forced < patterns/10 {
		t.Errorf("only %d searches with probes forced", forced)
	}
}

// TestAutomatonForgets runs the automaton with hardly any room for states.
func TestAutomatonForgets(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	o := oracleSpec{pattern: `(a|b|foo)[a-z]*\b.{3}[ac]..$`}
	m, err := Compile(o.pattern, Options{})
	if err != nil {
		t.Fatal(err)
	}
	m.find = nil
	var s Searcher
	for range 200 {
		compare(t, &s, m, o, randomText(r, 200))
		if n := len(s.cursor.auto.states); n > 40 {
			s.cursor.auto.empty()
		}
	}
}

// TestAutomatonGivesUp shows that a pattern with too many states is searched all
// the same.
func TestAutomatonGivesUp(t *testing.T) {
	const pattern = `[ab]*a[ab]{40}c`
	m := mustCompile(t, pattern, Options{})
	r := rand.New(rand.NewSource(4))
	line := make([]byte, 60_000)
	for i := range line {
		line[i] = "ab"[r.Intn(2)]
	}
	text := append(line, line...)
	text = append(text, "c\nab\n"...)
	text = append(text, text...)
	var s Searcher
	for range 2 {
		var got recorder
		if result := s.SearchBytes(text, m, &got); result.Matches != 2 || got.out[1][:2] != "3:" {
			t.Fatalf("%+v", result)
		}
		if !s.cursor.auto.broken {
			t.Error("the automaton did not give up")
		}
	}
	m.find = nil
	if result := s.SearchBytes(text, m, &recorder{}); result.Matches != 2 {
		t.Fatalf("%+v", result)
	}
}

func FuzzSearch(f *testing.F) {
	f.Add("fo+", "foo\nbar", false, false)
	f.Add(`a\s*\n`, "a \n", true, true)
	f.Add(`\btask$`, "TAſ\u212a\r\n", true, false)
	f.Add(`[a-z]+[0-9]{5,}`, "x12345\xff\n", false, false)
	f.Add(`)\`, "0", false, true)
	f.Fuzz(func(t *testing.T, pattern, text string, fold, multi bool) {
		o := oracleSpec{pattern: pattern, fold: fold, multi: multi, before: 1, after: 1, limit: 2}
		if _, err := regexp.Compile("(?m)" + pattern); err != nil || strings.Contains(text, "\x00") {
			t.Skip()
		}
		if mark, _ := byteOrderMark([]byte(text)); mark > 0 {
			t.Skip()
		}
		m, err := Compile(pattern, Options{CaseInsensitive: fold, Multiline: multi})
		if errors.Is(err, ErrNewline) {
			t.Skip()
		}
		if err != nil {
			t.Fatal(err)
		}
		s := Searcher{bufSize: 16, headSize: 4}
		compare(t, &s, m, o, []byte(text))
	})
}
