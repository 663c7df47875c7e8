package e2e

import (
	"encoding/json"
	"slices"
	"testing"
)

// schemaProperties lists the arguments in a tool's schema.
func schemaProperties(t *testing.T, raw []byte) []string {
	t.Helper()
	var s struct{ Properties map[string]any }
	if err := json.Unmarshal(raw, &s); err != nil || len(s.Properties) == 0 {
		t.Fatalf("schema %s: %v", raw, err)
	}
	var names []string
	for name := range s.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
