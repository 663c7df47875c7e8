package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// encoding is how the bytes of a text are to be read. Only a byte order mark decides
// it: guessing an old 8-bit encoding from the bytes is wrong too often, and then an
// edit corrupts the file.
type encoding struct {
	name string // as in the result: utf-8, utf-16le, utf-16be
	bom  int    // bytes of the byte order mark
	wide binary.ByteOrder
}

func encodingOf(head []byte) encoding {
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		return encoding{name: "utf-8", bom: 3}
	case bytes.HasPrefix(head, []byte("\xff\xfe\x00\x00")), bytes.HasPrefix(head, []byte("\x00\x00\xfe\xff")):
		return encoding{name: "utf-32"}
	case bytes.HasPrefix(head, []byte("\xff\xfe")):
		return encoding{name: "utf-16le", bom: 2, wide: binary.LittleEndian}
	case bytes.HasPrefix(head, []byte("\xfe\xff")):
		return encoding{name: "utf-16be", bom: 2, wide: binary.BigEndian}
	}
	return encoding{name: "utf-8"}
}

// badByte stands in decoded text for what UTF-16 does not allow. No UTF-8 has it, so
// that it is shown and counted like a bad byte of any other file.
const badByte = 0xff

// utf16Reader decodes UTF-16 to UTF-8.
type utf16Reader struct {
	in    *bufio.Reader
	order binary.ByteOrder
}

func newUTF16Reader(r io.Reader, order binary.ByteOrder) *utf16Reader {
	return &utf16Reader{in: bufio.NewReaderSize(r, 64<<10), order: order}
}

// Read fills p, which must have room for one character.
func (d *utf16Reader) Read(p []byte) (int, error) {
	n := 0
	for n+utf8.UTFMax <= len(p) {
		unit, err := d.in.Peek(2)
		if len(unit) < 2 {
			if len(unit) == 1 && errors.Is(err, io.EOF) {
				p[n] = badByte
				n++
				d.in.Discard(1)
			}
			if n > 0 {
				return n, nil
			}
			return 0, err
		}
		u := d.order.Uint16(unit)
		if !utf16.IsSurrogate(rune(u)) {
			n += utf8.EncodeRune(p[n:], rune(u))
			d.in.Discard(2)
			continue
		}
		if pair, _ := d.in.Peek(4); len(pair) == 4 {
			if r := utf16.DecodeRune(rune(u), rune(d.order.Uint16(pair[2:]))); r != utf8.RuneError {
				n += utf8.EncodeRune(p[n:], r)
				d.in.Discard(4)
				continue
			}
		}
		p[n] = badByte
		n++
		d.in.Discard(2)
	}
	return n, nil
}
