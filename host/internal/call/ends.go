package call

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// bothEnds returns text as it is, or its beginning and its end with a note on what was left
// out when it is longer than most bytes. The end is the longer part: that is where
// programs say what went wrong. The result is valid UTF-8, with U+FFFD for what is not.
func bothEnds(text []byte, most int) string {
	if len(text) <= most {
		return strings.ToValidUTF8(string(text), "\ufffd")
	}
	head, tail := most/4, len(text)-(most-most/4)
	// Cut between characters: back from the head's end, forward from the tail's start. A
	// character has at most three bytes after its first.
	for i := 0; i < utf8.UTFMax-1 && head > 0 && !utf8.RuneStart(text[head]); i++ {
		head--
	}
	for i := 0; i < utf8.UTFMax-1 && tail < len(text) && !utf8.RuneStart(text[tail]); i++ {
		tail++
	}
	note := fmt.Sprintf("\n… %d bytes left out …\n", tail-head)
	return strings.ToValidUTF8(string(text[:head]), "\ufffd") + note + strings.ToValidUTF8(string(text[tail:]), "\ufffd")
}
