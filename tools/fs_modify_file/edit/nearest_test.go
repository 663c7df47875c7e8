package edit

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func nearest(t *testing.T, p Pattern, content string) Hint {
	t.Helper()
	c, err := Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	return Nearest(c, NewView([]byte(content)))
}

const source = `package main

func main() {
	x := compute(1)
	if x > 0 {
		fmt.Println("positive", x)
	}
}

func other() {
	y := compute(2)
}
`

func TestNearestPlaces(t *testing.T) {
	for _, c := range []struct {
		name, old string
		why       string
		line, end int
		want, got string // of the first difference
	}{
		{"spaces for tabs", "    x := compute(1)\n    if x > 0 {", "only white space differs", 4, 5, "····x := compute(1)", "→x := compute(1)"},
		{"joined lines", "func other() { y := compute(2) }", "only white space differs", 10, 12, "func other() { y := compute(2) }", "func other() {"},
		{"case", "X := COMPUTE(2)", "", 11, 11, "X := COMPUTE(2)", "→y := compute(2)"},
		{"only case", "Y := Compute(2)", "only upper and lower case differ", 11, 11, "Y := Compute(2)", "→y := compute(2)"},
		{"quotes", "fmt.Println(“positive”, x)", "only the kind of quotes, dashes or spaces differs", 6, 6, "fmt.Println(“positive”, x)", "→→fmt.Println(\"positive\", x)"},
		{"no-break space", "if x >\u00a00 {", "only white space differs", 5, 5, `if x >\u{a0}0 {`, "→if x > 0 {"},
		{"one word differs", "\tif x > 0 {\n\t\tfmt.Println(\"negative\", x)\n\t}", "", 5, 7, "→→fmt.Println(\"negative\", x)", "→→fmt.Println(\"positive\", x)"},
		{"a line is missing", "\tx := compute(1)\n\t\tfmt.Println(\"positive\", x)\n\t}\n}", "", 4, 8, "", "→if x > 0 {"},
		{"first line is a part", "compute(1)\n\tif x > 1 {", "", 4, 5, "→if x > 1 {", "→if x > 0 {"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := nearest(t, Pattern{Old: c.old, New: "zzzz"}, source)
			if c.name == "case" && len(h.Places) == 0 {
				return // two differences in eight characters: nothing is close
			}
			if len(h.Places) == 0 {
				t.Fatalf("no place: %+v", h)
			}
			p := h.Places[0]
			if p.Why != c.why || p.Line != c.line || p.EndLine != c.end || len(p.Differences) == 0 {
				t.Fatalf("got %+v", p)
			}
			d := p.Differences[0]
			if c.want != "" && d.Want[0] != c.want || d.Got[0] != c.got {
				t.Errorf("difference %+v", d)
			}
			if !strings.Contains(source, p.Text) {
				t.Errorf("the text to copy is not in the file: %q", p.Text)
			}
		})
	}
}

func TestNearestNotes(t *testing.T) {
	for _, c := range []struct {
		p    Pattern
		note string
	}{
		{Pattern{Old: "x := calc(1)", New: "x := compute(1)"}, "already applied? The text of `new` is there, at line 4"},
		{Pattern{Old: "main() {\\n\\tx", New: "y"}, "two characters"},
		{Pattern{Old: "  3: func main() {\n  4: \tx := compute(1)", New: "y"}, "line numbers, which are not part of the file; without them it is there, at line 3"},
		{Pattern{Old: `compute\(\d\)`, New: "y"}, "set `regex` to true"},
		{Pattern{Old: `compute(1)`, New: "y", Regex: true}, "set `regex` to false"},
	} {
		h := nearest(t, c.p, source)
		if !strings.Contains(strings.Join(h.Notes, "\n"), c.note) {
			t.Errorf("%q: %q", c.p.Old, h.Notes)
		}
	}
	if h := nearest(t, Pattern{Old: "nothing like it at all", New: "y"}, source); len(h.Notes)+len(h.Places) != 0 {
		t.Errorf("got %+v", h)
	}
}

// Several places that are alike are all named; far weaker ones are not.
func TestNearestNamesAllEquallyClose(t *testing.T) {
	h := nearest(t, Pattern{Old: "value := get(\"delta\")", New: "y"}, "value := get(\"alpha\")\nother\nvalue := get(\"gamma\")\nvalue = 3\n")
	if len(h.Places) != 2 || h.Places[0].Line+h.Places[1].Line != 4 {
		t.Errorf("got %+v", h.Places)
	}
}

func TestNearestIsBoundedInTime(t *testing.T) {
	var b strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&b, "\tline%d := compute(%d) // comment comment comment\n", i, i)
	}
	old := strings.Repeat("\tline := compute() // comment comment commend\n", 60)
	start := time.Now()
	h := nearest(t, Pattern{Old: old, New: "y"}, b.String())
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("took %v", d)
	}
	for _, p := range h.Places {
		if len(p.Text) > placeBytes || len(p.Differences) > diffsMost {
			t.Errorf("a place is not bounded: %d bytes, %d differences", len(p.Text), len(p.Differences))
		}
	}
}
