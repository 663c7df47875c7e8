package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/nearest"
)

// Repository says whether a file of a repository may set a key, whom nobody trusts to widen
// access: what `jphost trust` asks about.
type Repository string

// The values of Repository. What a key does not say, the key above it says for it; a key
// that nobody says anything of is Asked.
const (
	// Asked: a person is asked whenever a repository sets it.
	Asked Repository = "asked"
	// Judged: a person is asked if the value is more than what holds without it.
	Judged Repository = "judged"
	// Own: free for a tool that only the repository sets up, asked for any other.
	Own Repository = "own"
	// Free: it widens nothing.
	Free Repository = "free"
	// Never: a repository that sets it is refused.
	Never Repository = "never"
)

// RepositoryMay says what a repository may do with the key of these parts, as [settings.SplitKey]
// gives them. A key that is not known is Asked.
func RepositoryMay(parts ...string) Repository {
	n, may := schema(), Asked
	for _, part := range parts {
		t := n.alternative(settings.Table)
		if t == nil {
			return Asked
		}
		switch t.kind {
		case nodeRules, nodeFree:
			return may // what it holds, or how it merges
		case nodeMap:
			n = t.elem
		default:
			f := t.field(part)
			if f == nil {
				return Asked
			}
			may, n = cmp.Or(f.repo, may), f.node
		}
	}
	return may
}

// nodeKind is how a key is checked, merged, documented and decoded.
type nodeKind uint8

const (
	nodeString nodeKind = iota
	nodeBool
	nodeInt
	nodeNumber // integer or float
	nodeTable  // the keys in fields; merges key by key
	nodeMap    // any keys, each an elem; merges key by key
	nodeRules  // a MergeableVec of elem
	nodeAdded  // a list of strings that layers only add to
	nodeList   // a list of elem that a later layer replaces
	nodeFree   // any value JSON can hold; merges deeply
	nodeUnion  // the one of alts that takes the kind of the value
	nodeNever  // a key that people may expect, but that is refused with its reason
)

// node is one place in the schema.
type node struct {
	kind   nodeKind
	fields []field
	elem   *node
	alts   []*node
	enum   []string
	// whole says that a table is replaced by a later layer, not filled up.
	whole bool
	// check judges a value of the right kind.
	check checkFunc
	// normal brings a value of the right kind into the one form that merging knows.
	normal func(v *settings.Value)
	// keyCheck judges the keys of a map.
	keyCheck func(key string) (message, help string)
	// shared is, for the map of the tools, the schema of its table '*'.
	shared *node
	// annotated says that a map may be written {value, strategy}.
	annotated bool
	// name is what docs and the JSON Schema call the node; a named node may hold itself.
	name string
	// refusal and remedy of nodeNever.
	refusal, remedy string
}

// field is a key of a table.
type field struct {
	key      string
	node     *node
	required bool
	shared   string // not "": the key may stand in the table '*' too; "taking": rules that take away may
	repo     Repository
	initial  *settings.Value // what counts when nobody sets it, nil for the zero value
	def      string          // the same in words, for docs
	doc      string
}

func (n *node) field(key string) *field {
	for i := range n.fields {
		if n.fields[i].key == key {
			return &n.fields[i]
		}
	}
	return nil
}

// kinds is what each kind of node takes, and how it is called in messages.
var kinds = [...]struct {
	words, example string
	takes          []settings.Kind
}{
	nodeString: {"a string", `"…"`, []settings.Kind{settings.String}},
	nodeBool:   {"a boolean", "true", []settings.Kind{settings.Bool}},
	nodeInt:    {"an integer", "1", []settings.Kind{settings.Integer}},
	nodeNumber: {"a number", "1", []settings.Kind{settings.Integer, settings.Float}},
	nodeTable:  {"a table", "{ … }", []settings.Kind{settings.Table}},
	nodeMap:    {"a table", "{ … }", []settings.Kind{settings.Table}},
	nodeRules:  {"a list", "[ … ]", []settings.Kind{settings.List, settings.Table}}, // a table is the annotated form
	nodeAdded:  {"a list", "[ … ]", []settings.Kind{settings.List}},
	nodeList:   {"a list", "[ … ]", []settings.Kind{settings.List}},
	nodeFree:   {"any value", "[ … ]", nil}, // takes every kind
	nodeNever:  {"any value", "[ … ]", nil},
}

// takes reports whether the node accepts values of a kind.
func (n *node) takes(k settings.Kind) bool {
	alt := n.alternative(k)
	return alt != nil && (alt.kind == nodeFree || slices.Contains(kinds[alt.kind].takes, k))
}

// alternative is the member of a union that takes a kind, or n itself if it is none.
func (n *node) alternative(k settings.Kind) *node {
	if n.kind != nodeUnion {
		return n
	}
	for _, a := range n.alts {
		if a.takes(k) {
			return a
		}
	}
	return nil
}

// describe names what a node takes, for messages.
func (n *node) describe() string {
	var parts []string
	switch {
	case len(n.enum) > 0:
		for _, word := range n.enum {
			parts = append(parts, settings.Quote(word))
		}
		return "one of " + strings.Join(parts, ", ")
	case n.kind != nodeUnion:
		return kinds[n.kind].words
	}
	for _, a := range n.alts {
		parts = append(parts, a.describe())
	}
	return strings.Join(parts, ", or ")
}

// example is a value to write, for remedies.
func (n *node) example() string {
	switch {
	case len(n.enum) > 0:
		return settings.Quote(n.enum[0])
	case n.kind == nodeUnion:
		return n.alts[0].example()
	}
	return kinds[n.kind].example
}

// unknownKey is the remedy for a key that is not in known.
func unknownKey(key string, known []string) string {
	if near := nearest.Word(key, known); near != "" {
		return fmt.Sprintf("did you mean %s?", settings.QuoteKey(near))
	}
	return "known keys here: " + strings.Join(known, ", ")
}

// required is the key that a table must have, "" when there is none.
func (n *node) required() string {
	for _, f := range n.fields {
		if f.required {
			return f.key
		}
	}
	return ""
}

// keys are the keys that a table may have, sorted.
func (n *node) keys() []string {
	var keys []string
	for _, f := range n.fields {
		if f.node.kind != nodeNever {
			keys = append(keys, f.key)
		}
	}
	slices.Sort(keys)
	return keys
}

// tables are the nodes of all structs of keys.go, made at the first use and never changed.
var tables = sync.OnceValue(func() tagReader {
	r := tagReader{}
	tools := r.table(reflect.TypeFor[conversation]()).field("tools").node
	tools.keyCheck = checkToolName
	tools.shared = sharedKeys(tools.elem, "belongs to one tool, not to the defaults", "write it below conversation.tools.NAME")
	tools.elem.field("access").node.field("commands").node.annotated = true
	r.table(reflect.TypeFor[document]())
	return r
})

// schema is the tree of all keys.
func schema() *node { return tables()[reflect.TypeFor[document]()] }

// ruleKeys are the structs that declare the keys of the library's rules.
var ruleKeys = map[reflect.Type]reflect.Type{
	reflect.TypeFor[jptool.FsRule]():      reflect.TypeFor[fsRuleKeys](),
	reflect.TypeFor[jptool.NetRule]():     reflect.TypeFor[netRuleKeys](),
	reflect.TypeFor[jptool.EnvRule]():     reflect.TypeFor[envRuleKeys](),
	reflect.TypeFor[jptool.CommandRule](): reflect.TypeFor[commandRuleKeys](),
}

// tagReader makes nodes of Go types; a type that holds itself has one node.
type tagReader map[reflect.Type]*node

// table is the node of a struct whose fields are keys.
func (r tagReader) table(t reflect.Type) *node {
	if n := r[t]; n != nil {
		return n
	}
	n := &node{kind: nodeTable}
	r[t] = n
	if t == reflect.TypeFor[Parameter]() {
		n.name = "parameter"
	}
	for sf := range t.Fields() {
		if keys := ruleKeys[sf.Type]; keys != nil {
			r[t] = r.table(keys)
			return r[t]
		}
		key := sf.Tag.Get("toml")
		if key == "" {
			continue
		}
		f := field{
			key: key, node: r.node(sf.Type, sf.Tag), doc: markdown(sf.Tag.Get("doc")),
			required: sf.Tag.Get("required") != "", shared: sf.Tag.Get("all"),
			repo: Repository(sf.Tag.Get("repo")),
		}
		def, counts := sf.Tag.Lookup("default")
		if counts {
			v, err := fromText(f.node, def, settings.Origin{})
			if err != nil {
				panic("config: the default of " + key + ": " + err.Error())
			}
			f.initial = v
		}
		if def += sf.Tag.Get("unset"); strings.Contains(def, "'") {
			f.def = markdown(def)
		} else if def != "" {
			f.def = "`" + def + "`"
		}
		n.fields = append(n.fields, f)
	}
	return n
}

var codeInDoc = settings.Pattern(`(^|[ (])'([^']*)'`)

// markdown writes 'code' as `code`: a tag cannot hold the latter.
func markdown(doc string) string { return codeInDoc().ReplaceAllString(doc, "$1`$2`") }

// node is what a field takes.
func (r tagReader) node(t reflect.Type, tag reflect.StructTag) *node {
	if as := tag.Get("as"); as != "" {
		return formOf(as).node(r)
	}
	check, known := checks[tag.Get("check")]
	if !known && tag.Get("check") != "" {
		panic("config: no check is called " + tag.Get("check"))
	}
	switch t.Kind() {
	case reflect.Pointer:
		return r.node(t.Elem(), tag)
	case reflect.String:
		return &node{kind: nodeString, enum: strings.Fields(tag.Get("enum")), check: check}
	case reflect.Bool:
		return &node{kind: nodeBool}
	case reflect.Int64, reflect.Uint16:
		return &node{kind: nodeInt, check: check}
	case reflect.Interface:
		return &node{kind: nodeFree}
	case reflect.Map:
		if t.Elem().Kind() == reflect.Interface {
			return &node{kind: nodeFree, check: check}
		}
		return &node{kind: nodeMap, elem: r.node(t.Elem(), "")}
	case reflect.Slice:
		return listNode(r.node(t.Elem(), reflect.StructTag(`enum:"`+tag.Get("enum")+`"`)), t.Elem(), tag.Get("merge"), check)
	}
	if t == reflect.TypeFor[refused]() {
		return &node{kind: nodeNever, refusal: tag.Get("refusal"), remedy: tag.Get("remedy")}
	}
	return r.table(t)
}

// listNode is the node of a slice of items. The check of one that is only added to is that of the items.
func listNode(item *node, elem reflect.Type, merge string, check checkFunc) *node {
	switch {
	case merge == "rules":
		return &node{kind: nodeRules, elem: item}
	case merge == "added":
		item.check = check
		return &node{kind: nodeAdded, elem: item}
	case elem.Kind() == reflect.Pointer: // by name, in the order in which they are written
		return &node{kind: nodeMap, elem: item}
	}
	return &node{kind: nodeList, elem: item, check: check}
}

// sharedKeys is the schema of the table '*', made from that of a tool; other keys are refused. Its rules only take away: a
// grant there would reach tools that nobody thought of.
func sharedKeys(tool *node, refusal, remedy string) *node {
	kept := &node{kind: nodeTable}
	for _, f := range tool.fields {
		if f.shared == "" {
			f.node = &node{kind: nodeNever, refusal: refusal, remedy: remedy}
		} else if f.shared == "taking" {
			rule := *f.node.elem
			rule.check = checkTakesAway
			f.node = &node{kind: nodeRules, elem: &rule}
		} else if f.key == "access" {
			f.node = sharedKeys(f.node, "cannot be given for all tools at once",
				"write it below conversation.tools.NAME of each tool that needs it")
		}
		kept.fields = append(kept.fields, f)
	}
	return kept
}
