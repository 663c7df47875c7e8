package main

import (
	"testing"
	"unicode/utf8"
)

func TestWindow(t *testing.T) {
	for _, tt := range []struct {
		line              string
		start, end, limit int
		want              string
		left, right       bool
	}{
		{"0123456789", 4, 6, 10, "0123456789", false, false},
		{"0123456789", 4, 6, 0, "0123456789", false, false},
		{"0123456789", 4, 6, 4, "3456", true, true},
		{"0123456789", 0, 1, 4, "0123", false, true},
		{"0123456789", 9, 10, 4, "6789", true, false},
		{"0123456789", 2, 9, 4, "2345", true, true},
		{"0123456789", 10, 10, 3, "789", true, false},
		{"0123456789", -1, 99, 3, "012", false, true},
		{"ééééé", 4, 6, 5, "éé", true, true},
		{"ééééé", 0, 2, 3, "é", false, true},
		{"\U0001f600\U0001f600", 4, 8, 6, "\U0001f600", true, false},
		{"\x80\x80\x80\x80\x80\x80", 2, 3, 3, "\x80\x80\x80", true, true},
		{"\U0001f600", 0, 4, 2, "", false, true},
	} {
		left, right := window([]byte(tt.line), tt.start, tt.end, tt.limit)
		if cut := tt.line[left:right]; cut != tt.want || left > 0 != tt.left || right < len(tt.line) != tt.right {
			t.Errorf("window(%q, %d, %d, %d) = %q, %v, %v", tt.line, tt.start, tt.end, tt.limit, cut, left, right)
		}
	}
}

func FuzzWindow(f *testing.F) {
	f.Add("0123é456", 3, 5, 4)
	f.Fuzz(func(t *testing.T, line string, start, end, limit int) {
		left, right := window([]byte(line), start, end, limit)
		cut := []byte(line[left:right])
		if limit > 0 && len(cut) > limit {
			t.Fatalf("%q, %v, %v", cut, left, right)
		}
		between := start <= 0 || start >= len(line) || utf8.RuneStart(line[start])
		if between && utf8.ValidString(line) && !utf8.Valid(cut) {
			t.Fatalf("%q cuts a rune", cut)
		}
	})
}
