package term

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jptools/jptools/host/internal/show"
)

func newLive(w *bytes.Buffer, columns int) *Live {
	return &Live{w: w, name: "tool", open: -1, stop: make(chan struct{}), columns: func() int { return columns }}
}

// Whatever a tool prints while it runs, and in whatever pieces, each row of it stands behind the bar, and all of it is
// there.
func TestLiveTextNeverLeavesItsBar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		columns := rapid.IntRange(leastColumns, 120).Draw(t, "columns")
		var b bytes.Buffer
		l := newLive(&b, columns)
		l.show()
		texts := [2]string{"x" + foreign().Draw(t, "out"), "y" + foreign().Draw(t, "err")}
		left := texts
		for left[0]+left[1] != "" {
			from := rapid.IntRange(0, 1).Draw(t, "from")
			n := rapid.IntRange(0, len(left[from])).Draw(t, "bytes")
			if left[1-from] == "" && n == 0 {
				n = len(left[from])
			}
			l.take(from, []byte(left[from][:n]))
			left[from] = left[from][n:]
		}
		out, errOut := l.End()
		if !out || !errOut {
			t.Fatal("not all counts as shown")
		}
		g := &glass{columns: columns, ambiguous: true, symbols: true, marks: true}
		g.write(strings.TrimSuffix(b.String(), "\n"))
		for i, row := range g.rows {
			if i == 0 && row == "tool is running, and prints:"[:min(columns, 28)] || i == 1 && columns < 28 {
				continue
			}
			if !strings.HasPrefix(row, Bar) {
				t.Fatalf("row %d of %d columns is %q in\n%s", i, columns, row, b.String())
			}
		}
		if !strings.HasSuffix(b.String(), "\n") {
			t.Fatalf("the last row is open: %q", b.String())
		}
	})
}

func TestLiveShowsStreamsAsTheyCome(t *testing.T) {
	for _, c := range []struct {
		name   string
		pieces []string // those of standard error begin with 2
		want   string
		shown  bool // of standard output
	}{
		{"lines", []string{"one\ntwo\n"}, "  | one\n  | two\n", true},
		{"a line in pieces stays one row", []string{".", ".", ".\n", "end"}, "  | ...\n  | end\n", true},
		{"the other stream begins a row", []string{"one", "2two", "three\n", "2four\n"}, "  | one\n  | two\n  | three\n  | four\n", true},
		{"the end of a line that was interrupted is no empty row", []string{"one", "2two\n", "\nthree\n"}, "  | one\n  | two\n  | three\n", true},
		{"empty lines", []string{"one\n\n\ntwo\n"}, "  | one\n  | \n  | \n  | two\n", true},
		{"a character in pieces", []string{"\xc3", "\xbc\n"}, "  | ü\n", true},
		{"half a character at the end", []string{"a\xc3"}, "  | a\\xc3\n", true},
		{"a line end in pieces", []string{"one\r", "\ntwo\n"}, "  | one\n  | two\n", true},
		{"a carriage return", []string{"50%\r100%\n"}, "  | 50%\\r100%\n", true},
		{"control characters", []string{"\x1b[2J\n"}, "  | \\x1b[2J\n", true},
		{"an Outcome is not shown", []string{" \n", `{"type":`, "2remark\n", `"success"}`}, "  | remark\n", false},
		{"a long line", []string{strings.Repeat("x", 50)}, "  | " + strings.Repeat("x", 35) + "\n  | " + strings.Repeat("x", 15) + "\n", true},
	} {
		var b bytes.Buffer
		l := newLive(&b, 40)
		l.show()
		for _, p := range c.pieces {
			if text, ok := strings.CutPrefix(p, "2"); ok {
				l.Stderr([]byte(text))
			} else {
				l.Stdout([]byte(p))
			}
		}
		if s := &l.streams[toolOut]; s.held && len(s.rest) > 0 {
			t.Errorf("%s: what is not shown is kept", c.name)
		}
		shown, _ := l.End()
		if got := strings.TrimPrefix(b.String(), "tool is running, and prints:\n"); got != c.want || shown != c.shown {
			t.Errorf("%s: got\n%swant\n%sshown %v", c.name, got, c.want, shown)
		}
		l.Stdout([]byte("late"))
		if strings.Contains(b.String(), "late") {
			t.Errorf("%s: something is shown after the end", c.name)
		}
	}
}

func TestLiveShowsNothingOfWhatIsSoonDone(t *testing.T) {
	defer func(d time.Duration) { printsAfter = d }(printsAfter)
	printsAfter = time.Hour
	var b bytes.Buffer
	l := newLive(&b, 80)
	l.Begin()
	l.Stdout([]byte("text\n"))
	if out, errOut := l.End(); out || errOut || b.Len() > 0 {
		t.Errorf("%v %v %q", out, errOut, b.String())
	}
	// The zero of it all.
	var none *Live
	none.Begin()
	none.Stdout([]byte("x"))
	none.End()
}

func TestLiveTimeIsErased(t *testing.T) {
	defer func(a, b, c time.Duration) { printsAfter, timeAfter, timeEvery = a, b, c }(printsAfter, timeAfter, timeEvery)
	printsAfter, timeAfter, timeEvery = time.Millisecond, time.Millisecond, time.Millisecond
	var b bytes.Buffer
	l := newLive(&b, 80)
	l.quiet, l.name = true, "to\x1bol"
	l.Begin()
	l.Stdout([]byte("secret\n"))
	for drawn := false; !drawn; time.Sleep(time.Millisecond) {
		l.mu.Lock()
		drawn = l.drawn
		l.mu.Unlock()
	}
	if out, errOut := l.End(); out || errOut {
		t.Error("what is kept back counts as shown")
	}
	text := b.String()
	if !strings.HasPrefix(text, eraseLine+show.Name("to\x1bol")+" is running, ") || !strings.HasSuffix(text, eraseLine) || strings.Contains(text, "secret") {
		t.Errorf("shown is %q", text)
	}
}
