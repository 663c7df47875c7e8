package config

import (
	"encoding/json"
	"fmt"
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
	want := before + docBegin + reference() + docEnd + after
	if *update {
		if err := os.WriteFile(docFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(data) {
		t.Errorf("%s is not what the schema says; run: go test ./internal/config -run Reference -update", docFile)
	}
}

// reference returns the tables of all keys in Markdown; docs/config.md holds them.
func reference() string {
	const head = "| key | value | default | merging | |\n|---|---|---|---|---|\n"
	var b strings.Builder
	b.WriteString("### A tool: `[conversation.tools.NAME]`\n\n" + head)
	tools := schema().field("conversation").node.field("tools").node
	referenceRows(&b, "", tools.elem, map[*node]bool{})
	b.WriteString("\nThe table `[conversation.tools.'*']` has the defaults of all tools: `" +
		strings.Join(defaultsKeys, "`, `") + "`; of `access` only `sensitive_paths`.\n")
	b.WriteString("\n### Elsewhere\n\n" + head)
	for _, f := range schema().fields {
		if f.key != "conversation" {
			referenceRows(&b, "", table(f), map[*node]bool{})
		}
	}
	return b.String()
}

func referenceRows(b *strings.Builder, prefix string, n *node, inside map[*node]bool) {
	if inside[n] {
		return
	}
	inside[n] = true
	defer delete(inside, n)
	switch n.kind {
	case nodeUnion:
		for _, a := range n.alts {
			referenceRows(b, prefix, a, inside)
		}
	case nodeTable:
		for _, f := range n.fields {
			if f.node.kind == nodeNever {
				continue
			}
			key := strings.TrimPrefix(prefix+"."+f.key, ".")
			doc := f.doc
			if f.required {
				doc += " Required."
			}
			merging := f.node.merging()
			if strings.HasSuffix(prefix, "[]") || strings.HasPrefix(key, "command.") {
				merging = ""
			}
			if inside[f.node] || f.node.elem != nil && inside[f.node.elem] {
				fmt.Fprintf(b, "| `%s` | %s | | %s | %s |\n", key, f.node.plainly(), merging, doc)
				continue
			}
			fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", key, f.node.plainly(), f.def, merging, doc)
			referenceRows(b, key, f.node, inside)
		}
	case nodeMap:
		referenceRows(b, prefix+".NAME", n.elem, inside)
	case nodeRules:
		referenceRows(b, prefix+"[]", n.elem, inside)
	}
}

// plainly is describe for a table: words in code, items named.
func (n *node) plainly() string {
	switch n.kind {
	case nodeString:
		if len(n.enum) > 0 {
			return "`" + strings.Join(n.enum, "`, `") + "`"
		}
		return "string"
	case nodeBool:
		return "boolean"
	case nodeInt:
		return "integer"
	case nodeNumber:
		return "number"
	case nodeTable:
		return "table"
	case nodeMap:
		return "table by name"
	case nodeRules:
		return "list of tables"
	case nodeAdded:
		return "list of strings"
	case nodeList:
		return "list of: " + n.elem.plainly()
	case nodeUnion:
		parts := make([]string, len(n.alts))
		for i, a := range n.alts {
			parts[i] = a.plainly()
		}
		return strings.Join(parts, "; or ")
	}
	return "anything"
}

func (n *node) merging() string {
	switch n.kind {
	case nodeTable, nodeMap:
		return "key by key"
	case nodeRules:
		return "appended, or by strategy"
	case nodeAdded:
		return "only added to"
	case nodeFree:
		return "deeply"
	case nodeUnion:
		if !n.whole && n.alternative(Table) != nil {
			return "key by key"
		}
	}
	return "replaced"
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
