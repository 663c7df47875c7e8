package config

import (
	"cmp"
	"reflect"
	"time"

	"github.com/jptools/jptools/jptool"
)

// form is a value that can be written in several ways, or whose Go type does not tell how.
type form struct {
	// node is what the value may be.
	node func(tagReader) *node
	// decode reads it; nil if the Go type tells how.
	decode func(*Value) any
}

// formOf is the form that the tag `as` names; "" names one that the Go type tells all of.
func formOf(as string) form {
	switch as {
	case "":
		return form{}
	case "source":
		return form{
			func(tagReader) *node { return text(checkSource) },
			func(v *Value) any { s, _ := parseSource(v.text()); return s },
		}
	case "switch":
		return form{
			func(tagReader) *node { return union(&node{kind: nodeBool}, enum("on", "off")) },
			func(v *Value) any { return v.text() == "on" },
		}
	case "enable":
		return form{node: func(r tagReader) *node {
			words := enum("on", "off", "always", "explicit")
			n := union(&node{kind: nodeBool}, words, r.table(reflect.TypeFor[Enable]()))
			n.normal = normalEnable
			return n
		}}
	case "command":
		return form{commandNode, func(v *Value) any { return v.Command() }}
	case "types":
		return form{func(tagReader) *node {
			types := enum("string", "number", "integer", "boolean", "array", "object", "null")
			return union(types, &node{kind: nodeList, elem: types, check: checkTypes})
		}, func(v *Value) any { return v.Strings() }}
	case "target":
		return form{func(tagReader) *node {
			return union(enum("user", "assistant"), &node{kind: nodeMap, elem: &node{kind: nodeFree}})
		}, func(v *Value) any {
			if v.Kind == Table {
				return "assistant"
			}
			return v.text()
		}}
	case "lines":
		return form{func(tagReader) *node { return union(enum("off", "full"), whole("lines")) }, nil}
	case "needs":
		return form{func(r tagReader) *node { return r.table(reflect.TypeFor[needs]()) }, decodeNeeds}
	case "duration":
		return form{func(tagReader) *node { return union(number(checkSeconds), text(checkDuration)) }, decodeDuration}
	case "seconds":
		return form{func(tagReader) *node { return number(checkSeconds) }, decodeDuration}
	case "size":
		return form{func(tagReader) *node { return union(whole("bytes"), text(checkSize)) }, decodeSize}
	}
	panic("config: no form is called " + as)
}

func text(check checkFunc) *node { return &node{kind: nodeString, check: check} }

func number(check checkFunc) *node { return &node{kind: nodeNumber, check: check} }

// whole is a positive number of something.
func whole(what string) *node { return &node{kind: nodeInt, check: positive(what)} }

func union(alts ...*node) *node { return &node{kind: nodeUnion, alts: alts} }

func enum(words ...string) *node { return &node{kind: nodeString, enum: words} }

func commandNode(r tagReader) *node {
	n := union(text(checkCommandLine), r.table(reflect.TypeFor[Command]()))
	n.whole = true
	return n
}

func decodeNeeds(v *Value) any {
	list := v.Get("fs")
	if list == nil {
		return (*jptool.Caps)(nil)
	}
	return new(list.Caps())
}

func decodeDuration(v *Value) any {
	if v.Kind == String {
		t, _ := time.ParseDuration(v.text())
		return t
	}
	// Rounded up, because 0 means that there is no limit.
	return max(1, time.Duration(v.number()*float64(time.Second)))
}

func decodeSize(v *Value) any {
	if v.Kind == String {
		n, _ := ParseSize(v.text())
		return n
	}
	return v.scalar
}

// normalEnable writes the short forms of enable as the table that they stand for. `on`
// and `off` leave allow_toggle to lower layers.
func normalEnable(v *Value) {
	onOff := map[any]string{true: "on", false: "off"}
	if v.Kind == Table {
		if s := v.fields["state"]; s != nil && s.Kind == Bool {
			s.Kind, s.scalar = String, onOff[s.scalar]
		}
		return
	}
	keys := []string{"state", "allow_toggle"}
	words := []string{cmp.Or(v.text(), onOff[v.scalar])}
	switch words[0] {
	case "always":
		words = []string{"on", "never"}
	case "explicit":
		words = []string{"off", "if_named"}
	}
	*v = *newTable(v.Origin)
	for i, word := range words {
		o := v.Origin
		o.Key = joinKey(o.Key, keys[i])
		v.set(keys[i], &Value{Kind: String, Origin: o, scalar: word})
	}
}
