package config

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

const (
	docFile  = "../../../docs/config.md"
	docBegin = "<!-- begin: generated from the schema by go test ./internal/config -update -->\n\n"
	docEnd   = "<!-- end -->"
)

// docs/config.md holds the tables that the schema gives.
func TestReferenceIsCurrent(t *testing.T) {
	data, err := os.ReadFile(docFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(string(data), docBegin)
	_, after, ok2 := strings.Cut(rest, docEnd)
	if !ok1 || !ok2 {
		t.Fatalf("%s has lost its marks", docFile)
	}
	want := before + docBegin + Reference() + docEnd + after
	if *update {
		if err := os.WriteFile(docFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(data) {
		t.Errorf("%s is not what the schema says; run: go test ./internal/config -run Reference -update", docFile)
	}
}

// Each key has a line for people.
func TestKeysAreDocumented(t *testing.T) {
	seen := map[*node]bool{}
	var walk func(key string, n *node)
	walk = func(key string, n *node) {
		if n == nil || seen[n] {
			return
		}
		seen[n] = true
		walk(key, n.elem)
		for _, a := range n.alts {
			walk(key, a)
		}
		for _, f := range n.fields {
			if f.doc == "" && f.node.kind != nodeNever {
				t.Errorf("%s has no doc", joinKey(key, f.key))
			}
			walk(joinKey(key, f.key), f.node)
		}
	}
	walk("", schema())
	if len(seen) < 50 {
		t.Fatalf("walked only %d nodes", len(seen))
	}
}

// The JSON Schema takes what Load takes, and refuses what only shows in its shape.
func TestJSONSchema(t *testing.T) {
	data, err := JSONSchema()
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	check := func(text string) error {
		tree, err := parseTOML([]byte(text), LayerWorkspace, "f")
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		var v any
		if err := json.Unmarshal([]byte(identity(tree)), &v); err != nil {
			t.Fatal(err)
		}
		return resolved.Validate(v)
	}
	for _, good := range []string{
		"", base, typed, origins,
		"[conversation.tools.x.access.fs]\nstrategy = \"replace\"\ndedup = \"inherit\"\nvalue = [{ path = \"a\" }]",
		"conversation.tools.x.access.commands = { strategy = \"replace\", value = { git = {} } }",
		"conversation.tools.x.parameters.p = { type = [\"array\"], items = { type = \"object\", properties.q.type = \"string\" } }",
		"[conversation.tools.'*']\nrun = \"ask\"\naccess.sensitive_paths = [\"a\"]",
		"conversation.tools.x = { enable = { state = false }, command = { program = \"a\" }, limits.time = \"2m\" }",
	} {
		if err := check(good); err != nil {
			t.Errorf("refused: %v\n%s", err, good)
		}
	}
	for _, bad := range []string{
		"x = 1",
		"conversation.tools.x.rum = \"ask\"",
		"conversation.tools.x.run = \"aks\"",
		"conversation.tools.x.access.fs = [{ read = true }]",
		"conversation.tools.x.access.fs = [{ path = \"a\", reed = true }]",
		"conversation.tools.x.command = { args = [] }",
		"conversation.tools.'*'.source = \"local\"",
		"conversation.tools.'*'.access.fs = []",
		"conversation.tools.x.parameters.p.items.frob = 1",
		"sandbox.paths = [{ read = true }]",
		"extends = []",
	} {
		if check(bad) == nil {
			t.Errorf("accepted: %s", bad)
		}
	}
}
