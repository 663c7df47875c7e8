package config

import (
	"reflect"
	"regexp"
	"strings"
	"sync"

	"github.com/jptools/jptools/jptool"
)

// tables are the nodes of all structs of keys.go, made at the first use and never changed.
var tables = sync.OnceValue(func() tagReader {
	r := tagReader{}
	tools := r.table(reflect.TypeFor[conversation]()).field("tools").node
	tools.keyCheck = checkToolName
	tools.shared = sharedKeys(tools.elem)
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
			required: sf.Tag.Get("required") != "", shared: sf.Tag.Get("all") != "",
			repo: Repository(sf.Tag.Get("repo")),
		}
		def, counts := sf.Tag.Lookup("default")
		if counts {
			v, err := fromText(f.node, def, Origin{})
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

var codeInDoc = regexp.MustCompile(`(^|[ (])'([^']*)'`)

// markdown writes 'code' as `code`: a tag cannot hold the latter.
func markdown(doc string) string { return codeInDoc.ReplaceAllString(doc, "$1`$2`") }

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
		return r.list(t.Elem(), tag, check)
	}
	if t == reflect.TypeFor[refused]() {
		return &node{kind: nodeNever, refusal: tag.Get("refusal"), remedy: tag.Get("remedy")}
	}
	return r.table(t)
}

// list is the node of a slice. Its enum and, for one that is only added to, its check are
// those of the items.
func (r tagReader) list(elem reflect.Type, tag reflect.StructTag, check checkFunc) *node {
	item := r.node(elem, reflect.StructTag(`enum:"`+tag.Get("enum")+`"`))
	switch {
	case tag.Get("merge") == "rules":
		return &node{kind: nodeRules, elem: item}
	case tag.Get("merge") == "added":
		item.check = check
		return &node{kind: nodeAdded, elem: item}
	case elem.Kind() == reflect.Pointer: // by name, in the order in which they are written
		return &node{kind: nodeMap, elem: item}
	}
	return &node{kind: nodeList, elem: item, check: check}
}

// sharedKeys is the schema of the table '*', made from that of a tool. It has no rules: a
// grant there would reach tools that nobody thought of.
func sharedKeys(tool *node) *node {
	never := func(refusal, remedy string) *node {
		return &node{kind: nodeNever, refusal: refusal, remedy: remedy}
	}
	kept := &node{kind: nodeTable}
	for _, f := range tool.fields {
		if !f.shared {
			f.node = never("belongs to one tool, not to the defaults", "write it below conversation.tools.NAME")
		} else if f.key == "access" {
			access := &node{kind: nodeTable}
			for _, part := range f.node.fields {
				if !part.shared {
					part.node = never("cannot be given for all tools at once",
						"write it below conversation.tools.NAME of each tool that needs it")
				}
				access.fields = append(access.fields, part)
			}
			f.node = access
		}
		kept.fields = append(kept.fields, f)
	}
	return kept
}
