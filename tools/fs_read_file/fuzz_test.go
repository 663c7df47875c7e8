package main

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

// wantLines is the oracle: the lines of a whole file in memory, by the simplest means.
func wantLines(data []byte) []string {
	text := string(data)
	switch {
	case strings.HasPrefix(text, "\xef\xbb\xbf"):
		text = text[3:]
	case strings.HasPrefix(text, "\xff\xfe"):
		text = decode16(data[2:], binary.LittleEndian)
	case strings.HasPrefix(text, "\xfe\xff"):
		text = decode16(data[2:], binary.BigEndian)
	}
	if text == "" {
		return nil
	}
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	for i, l := range lines {
		if rest, ok := strings.CutSuffix(l, "\n"); ok {
			l = strings.TrimSuffix(rest, "\r")
		}
		// A conversion to runes makes every bad byte U+FFFD.
		lines[i] = strings.ReplaceAll(string([]rune(l)), "\x00", "\uFFFD")
	}
	return lines
}

func decode16(b []byte, order binary.ByteOrder) string {
	var units []uint16
	for ; len(b) >= 2; b = b[2:] {
		units = append(units, order.Uint16(b))
	}
	text := string(utf16.Decode(units))
	if len(b) == 1 {
		text += "\uFFFD"
	}
	return text
}

// FuzzRead: reading a file in pieces, by consecutive ranges, by several ranges at once,
// by the tail, or by following what each page says about reading on, gives exactly the
// lines of the whole file with their numbers.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"", "\n", "a", "a\n", "a\n\nb", "one\r\ntwo\nthree\r", "\xef\xbb\xbfx\ny\n", "\xff\xfea\x00\n\x00b\x00",
		"\xfe\xff\x00a\x00\r\x00\n\xd8\x3d\xde\x00\xd8", "caf\xe9 \x80\x80\x80\x80\x80\x80 €€€€ \xf0\x9f\x98\x80\n\xe2\x82\n",
		strings.Repeat("0123456789\n", 20) + "\x00", "long " + strings.Repeat("é", 60) + "\r\nx",
	} {
		f.Add([]byte(seed), uint8(3), uint8(5))
	}
	f.Fuzz(func(t *testing.T, data []byte, step, room uint8) {
		defer func(n int) { scanBuffer = n }(scanBuffer)
		scanBuffer = 4 + int(room)%13
		n := 1 + int64(step)%7
		// readPage is tested on what is text; whether it is has its own test.
		file := &content{at: bytes.NewReader(data), size: int64(len(data)), encoding: encodingOf(data)}
		if file.name == "utf-32" || len(data) > 2048 {
			return // reading in pieces takes the square of the length
		}
		want := wantLines(data)
		all := limits{lines: 1 << 30, bytes: 1 << 30, lineBytes: 1 << 30}
		read := func(sel selection, lim limits) *page {
			p, err := readPage(t.Context(), file, sel, lim)
			if err != nil {
				t.Fatalf("%+v: %v", sel, err)
			}
			return p
		}
		check := func(what string, p *page, from int64, want []string) {
			t.Helper()
			if len(p.lines) != len(want) {
				t.Fatalf("%s: %d lines, want %d", what, len(p.lines), len(want))
			}
			for i, l := range p.lines {
				if l.text != want[i] || l.no != from+int64(i) || !utf8.ValidString(l.text) || l.cut != 0 {
					t.Fatalf("%s: %+v, want line %d %q", what, l, from+int64(i), want[i])
				}
			}
		}
		total := int64(len(want))

		whole := read(selection{spans: []span{{1, toEnd}}}, all)
		check("whole", whole, 1, want)
		if whole.total != total {
			t.Fatalf("total %d, want %d", whole.total, total)
		}
		var odd []span
		for from := int64(1); from <= total; from += n {
			to := min(from+n-1, total)
			check("range", read(selection{spans: []span{{from, from + n - 1}}}, all), from, want[from-1:to])
			if from/n%2 == 1 {
				odd = append(odd, span{from, from + n - 1})
			}
		}
		if len(odd) > 0 {
			p := read(selection{spans: slices.Clone(odd)}, all)
			for _, sp := range odd {
				k := min(sp.End, total) - sp.Start + 1
				check("ranges", &page{lines: p.lines[:k]}, sp.Start, want[sp.Start-1:sp.Start-1+k])
				p.lines = p.lines[k:]
			}
			if len(p.lines) > 0 {
				t.Fatalf("ranges: %d lines too many", len(p.lines))
			}
		}
		first := max(total-n, 0)
		check("tail", read(selection{tail: n}, all), first+1, want[first:])
		if p := read(selection{spans: []span{{total + 1, toEnd}}}, all); len(p.lines) != 0 || len(p.beyond) != 1 || p.total != total {
			t.Fatalf("beyond: %+v", p)
		}

		// Tight limits, following what is said.
		tight := limits{lines: int(n), bytes: 12, lineBytes: 1 + int(room)%11}
		var got []string
		rest := []span{{1, toEnd}}
		for len(rest) > 0 {
			p := read(selection{spans: rest}, tight)
			if len(p.lines) == 0 && total > 0 {
				t.Fatalf("no progress at %v", rest)
			}
			for _, l := range p.lines {
				text := l.text
				for l.cut > 0 {
					next := read(selection{spans: []span{{l.no, l.no}}, fromByte: l.total - l.cut}, tight)
					if len(next.lines) != 1 || next.lines[0].cut >= l.cut {
						t.Fatalf("no progress in line %+v: %+v", l, next)
					}
					l = next.lines[0]
					text += l.text
				}
				got = append(got, text)
			}
			rest = p.rest
		}
		if !slices.Equal(got, want) {
			t.Fatalf("in pieces %q, want %q", got, want)
		}
	})
}
