package search

import (
	"bytes"
	"io"

	"golang.org/x/text/encoding/unicode"
)

// Encoding is what a text is written in, as far as its byte order mark tells.
type Encoding int

const (
	// UTF8 is also what a text without a mark is taken for.
	UTF8 Encoding = iota
	// UTF8BOM is UTF-8 behind a byte order mark, which is not part of line 1.
	UTF8BOM
	// UTF16LE is UTF-16 with the low byte first.
	UTF16LE
	// UTF16BE is UTF-16 with the high byte first.
	UTF16BE
)

// String returns the usual name of the encoding.
func (e Encoding) String() string {
	switch e {
	case UTF8BOM:
		return "UTF-8 with BOM"
	case UTF16LE:
		return "UTF-16LE"
	case UTF16BE:
		return "UTF-16BE"
	}
	return "UTF-8"
}

func (e Encoding) isUTF16() bool { return e == UTF16LE || e == UTF16BE }

// detect returns the encoding of a text by how it begins, and the length of the
// byte order mark.
func detect(head []byte) (e Encoding, bom int) {
	switch {
	case bytes.HasPrefix(head, []byte{0xef, 0xbb, 0xbf}):
		return UTF8BOM, 3
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}):
		return UTF16LE, 2
	case bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return UTF16BE, 2
	}
	return UTF8, 0
}

// fromUTF16 yields the UTF-16 of head and then src as UTF-8. What is no valid UTF-16 becomes U+FFFD.
func fromUTF16(e Encoding, head []byte, src io.Reader) io.Reader {
	order := unicode.LittleEndian
	if e == UTF16BE {
		order = unicode.BigEndian
	}
	return unicode.UTF16(order, unicode.IgnoreBOM).NewDecoder().Reader(io.MultiReader(bytes.NewReader(head), src))
}
