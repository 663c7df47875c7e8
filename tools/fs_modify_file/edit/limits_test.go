package edit

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// costs fails when f takes more than a time or more memory than some MiB.
func costs(t *testing.T, most time.Duration, mib uint64, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	f()
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	if made := (after.TotalAlloc - before.TotalAlloc) >> 20; took > most || made > mib {
		t.Errorf("took %v and %d MiB", took, made)
	}
}

// Groups that the template does not use cost nothing for each match.
func TestGroupsThatAreNotUsed(t *testing.T) {
	text := []byte(strings.Repeat("a", 30_000))
	for _, p := range []Pattern{
		{Old: "a" + strings.Repeat("()", 400), New: "b", Regex: true},
		{Old: "(?=a)" + strings.Repeat("()", 50) + "a", New: "<$0>", Regex: true},
	} {
		costs(t, 20*time.Second, 40, func() {
			if m := find(t, p, text); len(m.Spans) != len(text) || len(editsOf(t, m)) != len(text) {
				t.Errorf("%d matches", len(m.Spans))
			}
		})
	}
}

// Those that it does use are bounded, with as many matches as fit.
func TestGroupsThatAreUsed(t *testing.T) {
	for _, old := range []string{"a" + strings.Repeat("()", 400), "(?=a)" + strings.Repeat("()", 400) + "a"} {
		c, err := Compile(Pattern{Old: old, New: "$400", Regex: true})
		if err != nil {
			t.Fatal(err)
		}
		most := maxOffsets / (2 * 401)
		for _, n := range []int{most, most + 1} {
			_, err := c.Find(context.Background(), NewView([]byte(strings.Repeat("a", n))))
			if want := n > most; errors.Is(err, ErrTooManyGroups) != want || !want && err != nil {
				t.Errorf("%.10s: %d matches: %v", old, n, err)
			}
		}
	}
}

// The result is never made when it is too large, and the bound is exact.
func TestResultIsBounded(t *testing.T) {
	long := strings.Repeat("b", 5000)
	for _, c := range []struct {
		p    Pattern
		text string
	}{
		{Pattern{Old: "a", New: long}, strings.Repeat("a", 200_000)},
		{Pattern{Old: "a", New: long, Fold: true}, strings.Repeat("A", 200_000)},
		{Pattern{Old: "(a+)", New: strings.Repeat("$1", 2000), Regex: true}, strings.Repeat("a", 200_000)},
		{Pattern{Old: "(?=a)(a+)", New: strings.Repeat("$1", 2000), Regex: true}, strings.Repeat("a", 20_000)},
		{Pattern{Old: "a", New: strings.Repeat("\n", 3000)}, strings.Repeat("a", 200_000) + "\r\n"},
	} {
		m := find(t, c.p, []byte(c.text))
		costs(t, 10*time.Second, 128, func() {
			if _, err := m.Edits(context.Background(), 16<<20); !errors.Is(err, ErrResult) {
				t.Errorf("%q: %v", c.p.Old, err)
			}
		})
	}
	for _, p := range []Pattern{{Old: "a", New: "bc\n"}, {Old: "(a)", New: "bc\n", Regex: true}, {Old: "(a)", New: "$1$1$1\n", Regex: true}} {
		// Each of the three becomes four bytes, with the CR of its place.
		m := find(t, p, []byte("a-a-a-\r\n"))
		want := 8 + 3*(len(p.New)+1-1)
		if strings.Contains(p.New, "$") {
			want = 8 + 3*4
		}
		if _, err := m.Edits(context.Background(), want); err != nil {
			t.Errorf("%q: %v", p.New, err)
		}
		if _, err := m.Edits(context.Background(), want-1); !errors.Is(err, ErrResult) {
			t.Errorf("%q, one byte less: %v", p.New, err)
		}
	}
}

// No pattern costs much to compile: both compilers are kept from what they have no bound for.
func TestPatternsThatAreTooLarge(t *testing.T) {
	nested := func(open string, n int) string { return strings.Repeat(open, n) + "a" + strings.Repeat(")", n) }
	for _, p := range []Pattern{
		{Old: nested("(?=", 1_000_000), Regex: true},
		{Old: nested("(?=", 1001), Regex: true},
		{Old: "(?=a)" + strings.Repeat("b", 9<<10), Regex: true},
		{Old: strings.Repeat("a", 65<<10), Regex: true},
		{Old: nested("(", 20_000), Regex: true},
		{Old: strings.Repeat("a{1000}", 3000), Regex: true},
		{Old: strings.Repeat("(a)", 1000) + strings.Repeat("a{1000}", 100), New: "$1", Regex: true},
		{Old: strings.Repeat("a", 65<<10), Fold: true},
		{Old: "(a)", New: strings.Repeat("$1", 20_000), Regex: true},
		{Old: "(a)", New: "$" + strings.Repeat("b", 1<<20), Regex: true},
	} {
		costs(t, 2*time.Second, 64, func() {
			if _, err := Compile(p); err == nil || len(err.Error()) > 600 {
				t.Errorf("%.20q: %.1000v", p.Old, err)
			}
		})
	}
	for _, p := range []Pattern{
		{Old: nested("(?=", 1000), Regex: true},
		{Old: `(?=a)` + strings.Repeat(`\(`, 2000), Regex: true},
		{Old: strings.Repeat("(a)", 1000), New: "$1", Regex: true},
		{Old: "(a)", New: strings.Repeat("$$", 1_000_000) + "$1", Regex: true},
	} {
		costs(t, 2*time.Second, 64, func() {
			if _, err := Compile(p); err != nil {
				t.Errorf("%.20q: %v", p.Old, err)
			}
		})
	}
}

// Many places on one line do not look for its end each for itself.
func TestLineEndsOfALongLine(t *testing.T) {
	for _, text := range []string{strings.Repeat("a", 500_000) + "\r\n", "\r\n" + strings.Repeat("a", 500_000)} {
		costs(t, 5*time.Second, 256, func() { editsOf(t, find(t, Pattern{Old: "a", New: "b\n"}, []byte(text))) })
	}
	rapid.Check(t, func(t *rapid.T) {
		v := NewView(drawBytes(t, "content", 0, 30))
		for range 10 {
			start := rapid.IntRange(0, len(v.raw)).Draw(t, "start")
			end := rapid.IntRange(start, len(v.raw)).Draw(t, "end")
			if bytes.IndexByte(v.raw[start:end], '\n') >= 0 {
				continue
			}
			if got, want := v.endAround(start, end), NewView(v.raw).endAround(start, end); got != want {
				t.Fatalf("%q at %d-%d: %v, afresh %v", v.raw, start, end, got, want)
			}
		}
	})
}
