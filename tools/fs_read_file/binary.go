package main

import (
	"bytes"
	"unicode/utf8"
)

// headSize is how much of a file decides whether it is text, in bytes; git and
// ripgrep look as far.
const headSize = 8192

// magics are the starts of common binary formats. net/http's detection knows fewer of
// those that occur in a workspace, and costs more at start-up than all the rest here.
var magics = [...]struct {
	at   int
	sig  string
	kind string
}{
	{0, "\x7fELF", "ELF executable or library"},
	{0, "MZ", "Windows executable"},
	{0, "\xcf\xfa\xed\xfe", "Mach-O executable"},
	{0, "\xca\xfe\xba\xbe", "Java class or Mach-O universal binary"},
	{0, "\x00asm", "WebAssembly module"},
	{0, "!<arch>\n", "ar archive (static library or package)"},
	{0, "\x89PNG\r\n\x1a\n", "PNG image"},
	{0, "\xff\xd8\xff", "JPEG image"},
	{0, "GIF8", "GIF image"},
	{8, "WEBP", "WebP image"},
	{0, "BM", "BMP image"},
	{0, "II*\x00", "TIFF image"},
	{0, "MM\x00*", "TIFF image"},
	{0, "\x00\x00\x01\x00", "icon"},
	{0, "%PDF-", "PDF document"},
	{0, "PK\x03\x04", "ZIP archive (also docx, xlsx, jar)"},
	{0, "\x1f\x8b", "gzip archive"},
	{0, "BZh", "bzip2 archive"},
	{0, "\xfd7zXZ\x00", "xz archive"},
	{0, "\x28\xb5\x2f\xfd", "zstd archive"},
	{0, "7z\xbc\xaf\x27\x1c", "7z archive"},
	{257, "ustar", "tar archive"},
	{0, "SQLite format 3\x00", "SQLite database"},
	{0, "PAR1", "Parquet file"},
	{0, "DIRC", "git index"},
	{0, "PACK", "git pack"},
	{0, "OggS", "Ogg audio or video"},
	{0, "ID3", "MP3 audio"},
	{8, "WAVE", "WAVE audio"},
	{4, "ftyp", "MP4 video"},
	{0, "wOFF", "web font"},
	{0, "wOF2", "web font"},
	{0, "\x00\x01\x00\x00", "TrueType font"},
	{0, "OTTO", "OpenType font"},
}

// binaryKind names the kind of a binary file by its first bytes, and returns "" for
// text. Binary is what holds a NUL byte there, what looks like a known format and is
// not plain text as well, and what is mostly not text. A text in an old 8-bit encoding
// is text with bad bytes.
func binaryKind(head []byte, enc encoding) string {
	switch {
	case enc.name == "utf-32":
		return "UTF-32 text"
	case enc.wide != nil:
		for i := enc.bom; i+1 < len(head); i += 2 {
			if head[i] == 0 && head[i+1] == 0 {
				return unknownKind
			}
		}
		return ""
	}
	kind := magicOf(head)
	nul := bytes.IndexByte(head, 0) >= 0
	control, bad := oddBytes(head)
	switch {
	case nul && kind == "", control > 0 && (control+bad)*10 > len(head)*3:
		if kind != "" {
			return kind
		}
		return unknownKind
	case nul || control+bad > 0:
		return kind
	}
	return ""
}

const unknownKind = "unknown kind"

func magicOf(head []byte) string {
	for _, m := range magics {
		if len(head) >= m.at && bytes.HasPrefix(head[m.at:], []byte(m.sig)) {
			return m.kind
		}
	}
	return ""
}

// oddBytes counts the control characters that no text has, and the bytes that are not
// UTF-8; a character cut by the end of head is fine.
func oddBytes(head []byte) (control, bad int) {
	for i := 0; i < len(head); {
		r, n := utf8.DecodeRune(head[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			if len(head) == headSize && !utf8.FullRune(head[i:]) {
				return control, bad
			}
			bad++
		case r < 0x20 && (r < '\a' || r > '\r') && r != 0x1b:
			control++
		}
		i += n
	}
	return control, bad
}
