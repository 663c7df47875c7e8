package show

import (
	"fmt"
	"strings"
)

// Word writes a text as one word for a shell, in a command that a message suggests: pasted into a POSIX shell it is that
// text and nothing else. It consists of visible characters only. A line end at the end of the text is lost.
func Word(s string) string {
	plain := s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._/+@-:=,%", r))
	}) < 0
	switch {
	case plain:
		return s
	case escape(s, false) == s:
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	// The shell must print such a character, because it cannot be written down visibly.
	var b strings.Builder
	for _, c := range []byte(s) {
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte(" ._/+@-:=,", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, `\%03o`, c)
		}
	}
	return `"$(printf -- '` + b.String() + `')"`
}
