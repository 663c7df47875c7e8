package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/jptools/jptools/host/internal/settings"
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
	const head = "| key | value | default | merging | from a repository | |\n|---|---|---|---|---|---|\n"
	var b strings.Builder
	b.WriteString("### A tool: `[conversation.tools.NAME]`\n\n" + head)
	tools := schema().field("conversation").node.field("tools").node
	referenceRows(&b, "", tools.elem, Asked, map[*node]bool{})
	var shared []string
	for _, f := range tools.elem.fields {
		if f.shared != "" {
			shared = append(shared, f.key)
		}
	}
	b.WriteString("\nThe table `[conversation.tools.'*']` has the defaults of all tools: `" +
		strings.Join(slices.Sorted(slices.Values(shared)), "`, `") + "`; of `access` `deny` and `sensitive_paths`, and rules that only take away.\n")
	b.WriteString("\n### Elsewhere\n\n" + head)
	for _, f := range schema().fields {
		if f.key == "conversation" {
			others := slices.DeleteFunc(slices.Clone(f.node.fields), func(f field) bool { return f.key == "tools" })
			f.node = &node{kind: nodeTable, fields: others}
		}
		referenceRows(&b, "", &node{kind: nodeTable, fields: []field{f}}, Asked, map[*node]bool{})
	}
	return b.String()
}

// repositoryWords say what becomes of a key in a file of a repository.
var repositoryWords = map[Repository]string{
	Asked: "asked for", Judged: "asked for if it widens", Own: "asked for, except for its own tools", Free: "free", Never: "refused",
}

func referenceRows(b *strings.Builder, prefix string, n *node, may Repository, inside map[*node]bool) {
	if inside[n] {
		return
	}
	inside[n] = true
	defer delete(inside, n)
	switch n.kind {
	case nodeUnion:
		for _, a := range n.alts {
			referenceRows(b, prefix, a, may, inside)
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
			may := cmp.Or(f.repo, may)
			if inside[f.node] || f.node.elem != nil && inside[f.node.elem] {
				fmt.Fprintf(b, "| `%s` | %s | | %s | %s | %s |\n", key, f.node.plainly(), merging, repositoryWords[may], doc)
				continue
			}
			fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s | %s |\n", key, f.node.plainly(), f.def, merging, repositoryWords[may], doc)
			referenceRows(b, key, f.node, may, inside)
		}
	case nodeMap:
		referenceRows(b, prefix+".NAME", n.elem, may, inside)
	case nodeRules:
		referenceRows(b, prefix+"[]", n.elem, may, inside)
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
		if !n.whole && n.alternative(settings.Table) != nil {
			return "key by key"
		}
	}
	return "replaced"
}

// What a repository may do with a key is what the key says, else what the one above it says;
// what nobody says anything of is asked for.
func TestRepositoryMay(t *testing.T) {
	for key, want := range map[string]Repository{
		"conversation.tools.x.command": Asked, "conversation.tools.x.command.args": Asked,
		"conversation.tools.x.questions.q.answer": Asked, "sandbox.tier": Asked,
		"nonsense": Asked, "conversation.tools.x.nonsense": Asked, "": Asked, "sandbox.mode.deeper": Asked,
		"conversation.tools.x.run": Judged, "conversation.tools.'*'.run": Judged, "inherit": Judged,
		"conversation.tools.x.access.fs.read": Judged, "conversation.tools.x.options.a.b.c": Judged,
		"conversation.tools.x.parameters.a.items.properties.b.type": Judged,
		"conversation.tools.x.questions.q.target":                   Judged, "conversation.tools.x.style.hidden": Judged,
		"conversation.tools.x.summary": Own, "conversation.tools.x.cancellation_response": Own,
		"conversation.tools.x.style.inline_results": Free, "conversation.tools.x.style.error": Free,
		"conversation.tools.x.access.sensitive_paths": Free,
		"conversation.tools.x.access.deny":            Free,
		"sandbox.paths":                               Never, "sandbox.paths.read": Never,
	} {
		parts, err := settings.SplitKey(key)
		if err != nil {
			t.Fatal(err)
		}
		if got := RepositoryMay(parts...); got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
}

// Every default can be read, and what the tags say of a key is known.
func TestTagsAreRead(t *testing.T) {
	c := load(t, nil)
	x := mustTool(t, c, "x")
	if x.Run != "ask" || x.Format != "ask" || x.Result != "unattended" || x.Enable != (Enable{true, "any"}) || c.Sandbox().Mode != "auto" || c.Sandbox().Tier != "auto" {
		t.Errorf("%+v %+v", x, c.Sandbox())
	}
	seen := map[reflect.Type]bool{}
	var walk func(typ reflect.Type)
	walk = func(typ reflect.Type) {
		if keys := ruleKeys[typ]; keys != nil {
			typ = keys
		}
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			walk(typ.Elem())
		case reflect.Struct:
			if seen[typ] {
				return
			}
			seen[typ] = true
			for sf := range typ.Fields() {
				key := sf.Tag.Get("toml")
				if key == "" && !sf.Anonymous {
					continue
				}
				if _, known := repositoryWords[Repository(sf.Tag.Get("repo"))]; !known && sf.Tag.Get("repo") != "" {
					t.Errorf("%s: repo:%q", key, sf.Tag.Get("repo"))
				}
				if def, ok := sf.Tag.Lookup("default"); ok {
					n := tagReader{}.node(sf.Type, sf.Tag)
					v, err := fromText(n, def, settings.Origin{})
					c := &checker{}
					if err == nil {
						c.value(n, v)
						err = c.Err()
					}
					if err != nil {
						t.Errorf("%s: default:%q: %v", key, def, err)
					}
				}
				walk(sf.Type)
			}
		}
	}
	walk(reflect.TypeFor[document]())
	if len(seen) < 15 {
		t.Fatalf("walked only %d structs", len(seen))
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
				t.Errorf("%s has no doc", settings.Origin{Key: key}.Child(f.key).Key)
			}
			walk(settings.Origin{Key: key}.Child(f.key).Key, f.node)
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
		tree, err := settings.ParseTOML([]byte(text), settings.LayerWorkspace, "f")
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		var v any
		if err := json.Unmarshal([]byte(tree.JSON()), &v); err != nil {
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
		"[conversation.tools.'*'.access]\ndeny = [\"**/.env*\", \"secrets/\", \"~/.netrc\"]\nfs = [{ path = \"a\" }]\nenv = [{ name = \"AWS_*\" }]",
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
		"conversation.tools.'*'.access.commands.git = {}",
		"conversation.tools.x.parameters.p.items.frob = 1",
		"sandbox.paths = [{ read = true }]",
		"extends = []",
	} {
		if check(bad) == nil {
			t.Errorf("accepted: %s", bad)
		}
	}
}
