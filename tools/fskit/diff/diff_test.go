package diff

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// genEdits draws content with repeated short lines of every line end, and edits of it.
func genEdits(t *rapid.T) ([]byte, []Edit) {
	piece := rapid.SampledFrom([]string{"a", "b", "c", "\n", "\n", "\r\n", "\r", "\xff", "\t", "x = 1\n", "é", "\x00"})
	join := func(label string, n int) []byte {
		return []byte(strings.Join(rapid.SliceOfN(piece, 0, n).Draw(t, label), ""))
	}
	old := join("old", 120)
	var edits []Edit
	at := 0
	for range rapid.IntRange(0, 6).Draw(t, "edits") {
		start := rapid.IntRange(at, len(old)).Draw(t, "start")
		end := rapid.IntRange(start, min(len(old), start+rapid.SampledFrom([]int{0, 1, 3, 40}).Draw(t, "span"))).Draw(t, "end")
		edits = append(edits, Edit{start, end, join("text", 12)})
		at = end
	}
	return old, edits
}

// applyUnified is the oracle: it knows nothing of edits, only the format.
func applyUnified(old, patch []byte) ([]byte, error) {
	lines := bytes.SplitAfter(old, newline)
	if len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	var out []byte
	var outLines, at int
	rows := bytes.SplitAfter(patch, newline)
	for i := 0; i < len(rows); i++ {
		row := rows[i]
		noEnd := func(b []byte) []byte {
			if i+1 < len(rows) && bytes.HasPrefix(rows[i+1], []byte(`\ `)) {
				return bytes.TrimSuffix(b, newline)
			}
			return b
		}
		switch {
		case len(row) == 0 || i < 2 || row[0] == '\\':
		case row[0] == '@':
			var a, b [2]int
			for k, field := range bytes.Fields(row)[1:3] {
				start, count, ok := strings.Cut(string(field[1:]), ",")
				a[k], _ = strconv.Atoi(start)
				b[k] = 1
				if ok {
					b[k], _ = strconv.Atoi(count)
				}
				if b[k] > 0 {
					a[k]--
				}
			}
			for ; at < a[0]; at++ {
				out = append(out, lines[at]...)
				outLines++
			}
			if outLines != a[1] {
				return nil, fmt.Errorf("hunk %s starts at new line %d", row, outLines)
			}
		case row[0] == '+':
			out = append(out, noEnd(row[1:])...)
			outLines++
		default:
			if at >= len(lines) || !bytes.Equal(noEnd(row[1:]), lines[at]) {
				return nil, fmt.Errorf("row %q is not old line %d", row, at)
			}
			if row[0] == ' ' {
				out = append(out, lines[at]...)
				outLines++
			}
			at++
		}
	}
	for ; at < len(lines); at++ {
		out = append(out, lines[at]...)
	}
	return out, nil
}

func TestDiffAppliedGivesNewContent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old, edits := genEdits(t)
		want := Apply(old, edits)
		d := Unified("f", old, edits, Options{Context: rapid.IntRange(1, 4).Draw(t, "context")})
		if bytes.Equal(old, want) != (len(d.Text) == 0) {
			t.Fatalf("old %q new %q: diff %q", old, want, d.Text)
		}
		got, err := applyUnified(old, d.Text)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("old %q\nedits %v\nwant %q\ngot  %q, %v\n%s", old, edits, want, got, err, d.Text)
		}
		added, removed := 0, 0
		for i, row := range bytes.Split(d.Text, newline) {
			if i >= 2 && bytes.HasPrefix(row, []byte("+")) {
				added++
			}
			if i >= 2 && bytes.HasPrefix(row, []byte("-")) {
				removed++
			}
		}
		if added != d.Added || removed != d.Removed || d.Omitted != 0 {
			t.Fatalf("counts %d %d %d, text has %d %d", d.Added, d.Removed, d.Omitted, added, removed)
		}
	})
}

func TestPatchProgramAgrees(t *testing.T) {
	patch, err := exec.LookPath("patch")
	if err != nil {
		t.Skip("program patch is not installed")
	}
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		if n++; n > 60 {
			return
		}
		old, edits := genEdits(t)
		old = bytes.ReplaceAll(old, []byte{0}, []byte("z"))
		for i := range edits {
			edits[i].Text = bytes.ReplaceAll(edits[i].Text, []byte{0}, []byte("z"))
		}
		want := Apply(old, edits)
		if bytes.Equal(old, want) || len(want) == 0 || len(old) == 0 {
			return
		}
		file := filepath.Join(dir, "f")
		if err := os.WriteFile(file, old, 0o666); err != nil {
			t.Fatal(err)
		}
		d := Unified("f", old, edits, Options{})
		cmd := exec.Command(patch, "--binary", "--fuzz=0", "-s", file)
		cmd.Stdin = bytes.NewReader(d.Text)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("patch: %v %s\nold %q\n%s", err, out, old, d.Text)
		}
		if got, _ := os.ReadFile(file); !bytes.Equal(got, want) {
			t.Fatalf("patch gave %q, want %q\n%s", got, want, d.Text)
		}
	})
}

func TestUnified(t *testing.T) {
	ten := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
	long := strings.Repeat("x", 500) + "old" + strings.Repeat("é", 300) + "\n"
	at := func(s, sub string) int { return strings.Index(s, sub) }
	for _, c := range []struct {
		name  string
		old   string
		edits []Edit
		o     Options
		want  string
	}{
		{"one line", ten, []Edit{{at(ten, "5"), at(ten, "5") + 1, []byte("five")}}, Options{}, "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"},
		{"insert before all", ten, []Edit{{0, 0, []byte("0\n")}}, Options{Context: 1}, "@@ -1 +1,2 @@\n+0\n 1\n"},
		{"delete all", "a\nb\n", []Edit{{0, 4, nil}}, Options{}, "@@ -1,2 +0,0 @@\n-a\n-b\n"},
		{"into empty", "", []Edit{{0, 0, []byte("a")}}, Options{}, "@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n"},
		{"line end gone", "a\nb\n", []Edit{{3, 4, nil}}, Options{Context: 1}, "@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n"},
		{"only what differs", ten, []Edit{{0, len(ten), []byte(strings.Replace(ten, "7", "seven", 1))}}, Options{Context: 1}, "@@ -6,3 +6,3 @@\n 6\n-7\n+seven\n 8\n"},
		{"far apart", ten, []Edit{{0, 1, []byte("I")}, {at(ten, "9"), at(ten, "9") + 1, []byte("IX")}}, Options{Context: 1}, "@@ -1,2 +1,2 @@\n-1\n+I\n 2\n@@ -8,3 +8,3 @@\n 8\n-9\n+IX\n 10\n"},
		{"nothing", ten, []Edit{{0, 1, []byte("1")}}, Options{}, ""},
		{
			"long line", long,
			[]Edit{{500, 503, []byte("new")}},
			Options{MaxLine: 30},
			"@@ -1 +1 @@\n-…[490 bytes]xxxxxxxxxxoldéééééééé[584 bytes]…\n+…[490 bytes]xxxxxxxxxxnewéééééééé[584 bytes]…\n",
		},
		{"CR hidden", "a\r\nb\r\n", []Edit{{0, 1, []byte("c")}}, Options{Visible: true}, "@@ -1,2 +1,2 @@\n-a\n+c\n b\n"},
		{"CR is the change", "a\r\nb\r\n", []Edit{{1, 2, nil}}, Options{Visible: true, Context: 1}, "@@ -1,2 +1,2 @@\n-a␍\n+a\n b␍\n"},
		{"CR added to a file of LF", "a\nb\n", []Edit{{2, 2, []byte("x\r\n")}}, Options{Visible: true}, "@@ -1,2 +1,3 @@\n a\n+x␍\n b\n"},
		{"CR in a new file", "", []Edit{{0, 0, []byte("x\r\n")}}, Options{Visible: true}, "@@ -0,0 +1 @@\n+x␍\n"},
		{"LF added to a file of CRLF", "a\r\nb\r\n", []Edit{{3, 3, []byte("x\n")}}, Options{Visible: true}, "@@ -1,2 +1,3 @@\n a␍\n+x\n b␍\n"},
		{"a mark at the start of a line", "a\n", []Edit{{0, 0, []byte("\ufeff")}}, Options{Visible: true}, "@@ -1 +1 @@\n-a\n+\\u{feff}a\n"},
		{
			"two changes of a long line", long,
			[]Edit{{0, 0, []byte("A")}, {500, 503, []byte("new")}},
			Options{MaxLine: 30, Whole: true},
			"@@ -1 +1 @@\n-xxxxxxxxxx…[480 bytes]…xxxxxxxxxxoldééééé[590 bytes]…\n+Axxxxxxxxxx…[480 bytes]…xxxxxxxxxxnewééééé[590 bytes]…\n",
		},
		{
			"a long line that is added", "",
			[]Edit{{0, 0, []byte(strings.Repeat("x", 40) + "\n")}},
			Options{MaxLine: 30, Whole: true},
			"@@ -0,0 +1 @@\n+" + strings.Repeat("x", 40) + "\n",
		},
		{
			"nothing acts on a terminal", "a\n",
			[]Edit{{0, 1, []byte("\x1b[2K\u202ex\x7f\xff\u200d\u00ad")}},
			Options{Visible: true},
			"@@ -1 +1 @@\n-a\n+␛[2K\\u{202e}x␡\ufffd\u200d\\u{ad}\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.want != "" {
				c.want = "--- f\n+++ f\n" + c.want
			}
			got := Unified("f", []byte(c.old), c.edits, c.o)
			if string(got.Text) != c.want {
				t.Errorf("got\n%s\nwant\n%s", got.Text, c.want)
			}
		})
	}
}

// What a whole diff leaves out of two lines is the same in both.
func TestWholeLinesHideNoChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("aabé\r\t€")), 0, 400, -1)
		old := text.Draw(t, "old")
		now := old
		for range rapid.IntRange(0, 4).Draw(t, "changes") {
			at := rapid.IntRange(0, len(now)).Draw(t, "at")
			to := min(len(now), at+rapid.IntRange(0, 9).Draw(t, "n"))
			now = strings.ToValidUTF8(now[:at]+rapid.StringN(0, 9, -1).Draw(t, "text")+now[to:], "?")
		}
		hidden := func(mark byte, line, twin string) (list []string) {
			w := &writer{Options: Options{MaxLine: 12, Whole: true}}
			at := 0
			for _, p := range w.parts(mark, []byte(line), []byte(twin)) {
				list, at = append(list, line[at:p.from]), p.to
			}
			return append(list, line[at:])
		}
		was, is := hidden('-', old, now), hidden('+', now, old)
		if strings.Join(was, "") == "" || strings.Join(is, "") == "" {
			return // one of them is short, or they have nothing in common
		}
		if !slices.Equal(was, is) {
			t.Fatalf("%q\n%q\n%q\n%q", old, now, was, is)
		}
	})
}

func TestBounded(t *testing.T) {
	var old bytes.Buffer
	var edits []Edit
	for i := range 5000 {
		fmt.Fprintf(&old, "line %d\n\n\n\n\n\n\n\n", i)
	}
	for at := 0; ; {
		i := bytes.Index(old.Bytes()[at:], []byte("line"))
		if i < 0 {
			break
		}
		edits = append(edits, Edit{at + i, at + i + 4, []byte("LINE")})
		at += i + 4
	}
	d := Unified("f", old.Bytes(), edits, Options{MaxBytes: 4096, MaxLine: 100})
	if len(d.Text) > 4096+512 || d.Added != 5000 || d.Removed != 5000 {
		t.Errorf("%d bytes, +%d -%d", len(d.Text), d.Added, d.Removed)
	}
	shown := bytes.Count(d.Text, []byte("\n+LINE")) + bytes.Count(d.Text, []byte("\n-line"))
	if shown+d.Omitted != 10000 {
		t.Errorf("%d shown, %d omitted", shown, d.Omitted)
	}
}

func BenchmarkOneLineOf100MB(b *testing.B) {
	old := bytes.Repeat([]byte("a line of forty bytes, as code often has\n"), 100<<20/41)
	at := len(old) - 1000
	for b.Loop() {
		Unified("f", old, []Edit{{at, at + 3, []byte("xyz")}}, Options{})
	}
}
