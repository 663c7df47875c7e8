package show

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// JSON returns the same JSON with \uXXXX for every character that a terminal would act on or not show, except for line
// ends and tabs. What is not UTF-8 becomes U+FFFD.
func JSON(data []byte) []byte {
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		switch {
		case shows(r) && !(r == utf8.RuneError && size == 1), r == '\n', r == '\t':
			out = append(out, data[i:i+size]...)
		case r < 0x10000:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		}
		i += size
	}
	return out
}

// Value returns a value of an argument or a setting as JSON on one line, in visible characters.
func Value(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return Visible(fmt.Sprint(v)) // TOML has numbers and times that JSON has not
	}
	return Line(strings.TrimSuffix(b.String(), "\n"))
}
