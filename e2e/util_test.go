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

// withOptions adds options to a request.
func withOptions(t testing.TB, req string, options map[string]any) string {
	t.Helper()
	var all map[string]map[string]any
	if err := json.Unmarshal([]byte(req), &all); err != nil {
		t.Fatal(err)
	}
	all["tool"]["options"] = options
	raw, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
