package consent

import (
	"encoding/json"
	"slices"
	"testing"
)

// A key in other letters is another key, which a reader that takes it for the same would let decide.
func TestKeysAreExact(t *testing.T) {
	var m Mount
	err := json.Unmarshal([]byte(`{"rule_path":"a","canonical_target":"/x","Canonical_Target":"/evil","approved_at":"2026-01-01T00:00:00Z"}`), &m)
	if err != nil || m.Target != "/x" || !slices.Equal(m.Unknown, []string{"Canonical_Target"}) {
		t.Errorf("%+v, %v", m, err)
	}
	var h Hold
	for text, ok := range map[string]bool{
		`{"path":"a","reason":"r","held_at":"2026-01-01T00:00:00Z"}`:            true,
		`{"path":"a","reason":"r","held_at":"2026-01-01T00:00:00Z","Path":"b"}`: false,
	} {
		if err := json.Unmarshal([]byte(text), &h); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}
