package jptool

import (
	"bytes"
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

// The content is written by hand; encoding/json is what it must agree with.
func TestContentIsWrittenAsEncodingJSONWould(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		pieces := rapid.SliceOf(rapid.SampledFrom([]string{
			"a", "\"", "\\", "\n", "\t", "\r", "\b", "\f", "\x00", "\x1f", "\x7f", "é", "\u2027", "\u2028", "\u2029", "\u202a", "\ufffd", "\xff", "\xe2\x80", "<", "&", "🙂",
		})).Draw(rt, "pieces")
		var content string
		for _, p := range pieces {
			content += p
		}
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(struct {
			Type    string `json:"type"`
			Content string `json:"content"`
			Data    any    `json:"data,omitempty"`
		}{"success", content, map[string]int{"x": 1}}); err != nil {
			rt.Fatal(err)
		}
		got, err := Outcome{Content: content, Data: map[string]int{"x": 1}}.Line()
		if err != nil || string(got)+"\n" != want.String() {
			rt.Fatalf("content %q: got %s (%v), want %s", content, got, err, want.String())
		}
	})
}
