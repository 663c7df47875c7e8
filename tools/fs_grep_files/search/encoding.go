package search

import (
	"bytes"
	"encoding/binary"
	"io"
	"unicode/utf16"
	"unicode/utf8"
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

// utf16Reader yields UTF-16 as UTF-8. What is no valid UTF-16 becomes U+FFFD.
type utf16Reader struct {
	src   io.Reader
	order binary.ByteOrder
	buf   []byte
	r, w  int   // buf[r:w] is to be decoded
	err   error // of src, after that
}

func (u *utf16Reader) begin(src io.Reader, e Encoding, head []byte) {
	u.src, u.err = src, nil
	u.order = binary.LittleEndian
	if e == UTF16BE {
		u.order = binary.BigEndian
	}
	if u.buf == nil {
		u.buf = make([]byte, bufSize/4)
	}
	if len(u.buf) < len(head) {
		u.buf = make([]byte, len(head))
	}
	u.r, u.w = 0, copy(u.buf, head)
}

// Read implements [io.Reader]. It yields nothing if p is shorter than a rune
// can be.
func (u *utf16Reader) Read(p []byte) (n int, err error) {
	for {
		if n = u.decode(p); n > 0 || u.r == u.w && u.err != nil || len(p) < utf8.UTFMax {
			if n == 0 && u.r == u.w {
				err = u.err
			}
			return n, err
		}
		u.w = copy(u.buf, u.buf[u.r:u.w])
		u.r = 0
		var k int
		k, u.err = u.src.Read(u.buf[u.w:])
		u.w += k
		if k == 0 && u.err == nil {
			return 0, nil
		}
	}
}

// decode decodes whole runes as long as there is room for any.
func (u *utf16Reader) decode(p []byte) (n int) {
	for u.r < u.w && len(p)-n >= utf8.UTFMax {
		if u.w-u.r == 1 {
			if u.err == nil {
				break
			}
			u.r = u.w
			return n + utf8.EncodeRune(p[n:], utf8.RuneError)
		}
		r := rune(u.order.Uint16(u.buf[u.r:]))
		w := 2
		switch {
		case r < utf8.RuneSelf:
			p[n] = byte(r)
			n++
			u.r += w
			continue
		case 0xd800 <= r && r < 0xdc00:
			if u.w-u.r < 4 {
				if u.err == nil {
					return n
				}
				r = utf8.RuneError
				break
			}
			r = utf16.DecodeRune(r, rune(u.order.Uint16(u.buf[u.r+2:])))
			if r != utf8.RuneError {
				w = 4
			}
		}
		u.r += w
		n += utf8.EncodeRune(p[n:], r) // a lone low half is encoded as U+FFFD
	}
	return n
}
