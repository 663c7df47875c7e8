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
	s := strings.ToValidUTF8(string(text), "\ufffd")
	if min(len(text), len(s)) <= most {
		return s
	}
	head, tail := most/4, len(s)-(most-most/4)
	for !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n… %d bytes left out …\n%s", s[:head], tail-head, s[tail:])
}
