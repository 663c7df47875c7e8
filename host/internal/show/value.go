package show

import (
	"encoding/json"
	"fmt"
	"strings"
)

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
