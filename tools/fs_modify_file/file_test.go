package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A large file gets the same content, counts, digests and errors as if it were held whole.
func TestPartIsAsGoodAsTheWhole(t *testing.T) {
	defer func(a, b, c, d int64) { partFrom, partMost, partAround, scanChunk = a, b, c, d }(partFrom, partMost, partAround, scanChunk)
	r := newRig(t)
	r.answers["broad_change"] = true
	word := rapid.SampledFrom([]string{"a", "b", "ab", "\n", "\n", "\r\n", "x", "\xff", "é", "\ufeff", "\r", "0123456789\n", "0123456789\n", "the quick brown fox\n"})
	inPart, ok := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOfN(word, 0, 120).Draw(rt, "text"), "")
		valid := word.Filter(func(s string) bool { return s != "\xff" })
		var patterns []object
		for range rapid.IntRange(1, 2).Draw(rt, "patterns") {
			patterns = append(patterns, object{
				"old": strings.Join(rapid.SliceOfN(valid, 1, 2).Draw(rt, "old"), ""),
				"new": strings.Join(rapid.SliceOfN(valid, 0, 3).Draw(rt, "new"), ""),
			})
		}
		args := object{"patterns": patterns, "replace_all": rapid.IntRange(0, 3).Draw(rt, "all") > 0}
		try := func(from int64) (answer, string) {
			r.write("f", text)
			partFrom, partMost, scanChunk = from, 64, 16
			partAround = rapid.SampledFrom([]int64{4, 20, 64 << 10}).Draw(rt, "around")
			a := r.call(args)
			got, err := os.ReadFile(filepath.Join(r.root, "f"))
			if err != nil {
				rt.Fatal(err)
			}
			return a, string(got)
		}
		want, wantText := try(1 << 30)
		got, gotText := try(0)
		if gotText != wantText || string(got.Data) != string(want.Data) || got.Type != want.Type || got.Message != want.Message {
			rt.Fatalf("%q with %q\nwhole %q %s %s\npart  %q %s %s", text, patterns, wantText, want.Data, want.Message, gotText, got.Data, got.Message)
		}
		if want.Type == "success" && len(want.Data) > 0 {
			ok++
		}
		inPart++
	})
	if ok*20 < inPart && !testing.Short() {
		t.Errorf("only %d of %d cases changed something", ok, inPart)
	}
}

// In a real large file: the right place, and the same lines around as ever.
func TestLargeFile(t *testing.T) {
	r := newRig(t)
	var b strings.Builder
	for i := range 400_000 {
		fmt.Fprintf(&b, "this is line %d\r\n", i)
	}
	text := b.String()
	r.write("f", text)
	a := r.replace("this is line 300000\nthis", "new\nlines\nthis")
	r.wantOK(a, "@@ -299998,7 +299998,8 @@\n this is line 299997\n this is line 299998\n this is line 299999\n-this is line 300000\n+new\n+lines\n this is line 300001\n")
	r.wantFile("f", strings.Replace(text, "this is line 300000\r\n", "new\r\nlines\r\n", 1))
	r.wantError(r.call(object{"patterns": pairs("line 39999", "x"), "replace_all": false}), "ambiguous_match", "lines 40000, 399992, 399993, 399994, 399995")
}

// A file with a second name is written in place, large or not.
func TestLargeFileInPlace(t *testing.T) {
	r := newRig(t)
	text := strings.Repeat("some line of text\n", 600_000) + "needle\n"
	r.write("f", text)
	if err := os.Link(filepath.Join(r.root, "f"), filepath.Join(r.root, "g")); err != nil {
		t.Skip(err)
	}
	r.wantOK(r.replace("needle", "thread\nneedle"), "written in place")
	r.wantFile("g", strings.Replace(text, "needle", "thread\nneedle", 1))
}
