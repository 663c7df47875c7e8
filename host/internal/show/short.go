package show

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Short returns a value on one line of about most bytes. It replaces the middle of a longer value by its length and the
// digest of the whole value.
func Short(line string, most int) string {
	if len(line) <= most {
		return Line(line)
	}
	head, tail := most*3/4, len(line)-most/4
	for head > 0 && !utf8.RuneStart(line[head]) {
		head--
	}
	for tail < len(line) && !utf8.RuneStart(line[tail]) {
		tail++
	}
	return fmt.Sprintf("%s … %d more bytes, in all sha256:%.6x … %s", Line(line[:head]), tail-head, sha256.Sum256([]byte(line)), Line(line[tail:]))
}

// maxName is how many cells of a name stand in the line that is answered.
const maxName = 120

// Name returns a value of somebody else in a form for the line that is answered: visible, quoted if it could be read as
// words of that line, and not so long that its beginning leaves the screen.
func Name(s string) string {
	shown := Visible(s)
	if shown == s && strings.ContainsAny(s, " ?[]()") {
		shown = `"` + escape(s, true) + `"`
	}
	cells := []rune(shown)
	if len(cells) <= maxName {
		return shown
	}
	head, tail := maxName/2, len(cells)-maxName/2
	for tail < len(cells) && unicode.Is(unicode.M, cells[tail]) {
		tail++
	}
	return fmt.Sprintf("%s…(%d characters)…%s", string(cells[:head]), tail-head, string(cells[tail:]))
}
