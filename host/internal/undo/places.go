package undo

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"slices"

	"github.com/jptools/jptools/jptool"
)

// Writes reports whether a program is one of the seven tools that change files.
func Writes(program string) bool {
	return slices.Contains([]string{"fs_create_file", "fs_modify_file", "fs_delete_file", "fs_move_file"}, program)
}

// Places finds what a call of one of the seven tools may change, as the tool itself finds it: under the policy of ws. A
// path that the policy refuses is left out, because the tool will refuse it too.
func (c *Call) Places(program string, args map[string]any, ws *jptool.Workspace) {
	entry := func(key string, anyOf jptool.Caps) *jptool.Target {
		path, _ := args[key].(string)
		t, err := ws.CheckEntry(path, anyOf)
		if err != nil || t.IsRoot() {
			return nil
		}
		return t
	}
	var made, removed *jptool.Target
	switch program {
	case "fs_create_file":
		made = entry("path", jptool.Create|jptool.Update)
		c.Changed = add(c.Changed, made)
	case "fs_delete_file":
		removed = entry("path", jptool.Delete)
		c.Changed = add(c.Changed, removed)
	case "fs_move_file":
		removed, made = entry("source", jptool.Delete), entry("target", jptool.Create|jptool.Update)
		if removed == nil || made == nil || removed.Same(made) {
			return
		}
		c.Changed, c.Move = []*jptool.Target{removed, made}, true
	case "fs_modify_file":
		seen := map[string]bool{}
		for _, path := range paths(args, nil) {
			t, err := ws.CheckContent(path, jptool.Read|jptool.Update)
			if err == nil && !t.IsRoot() && !seen[t.Place()] {
				seen[t.Place()] = true
				c.Changed = append(c.Changed, t)
			}
		}
	}
	if made != nil {
		c.Near = missing(made)
	}
	if removed != nil {
		for _, p := range slices.Backward(removable(removed)) {
			c.Near = add(c.Near, p)
		}
	}
}

func add(list []*jptool.Target, t *jptool.Target) []*jptool.Target {
	if t == nil || slices.ContainsFunc(list, t.Same) {
		return list
	}
	return append(list, t)
}

// removable are the directories above a place that go with it if they are empty then, innermost first.
func removable(t *jptool.Target) (list []*jptool.Target) {
	for p := t.Parent(); !p.IsRoot() && p.Granted().Has(jptool.Delete); p = p.Parent() {
		list = append(list, p)
	}
	return list
}

// missing are the directories above a place that are not there, outermost first.
func missing(t *jptool.Target) (list []*jptool.Target) {
	for p := t.Parent(); !p.IsRoot(); p = p.Parent() {
		if _, err := p.Lstat(); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		list = append(list, p)
	}
	slices.Reverse(list)
	return list
}

// paths are the files that the arguments of fs_modify_file name: each `path` and `paths`, also in lists that a model
// wrote as text.
func paths(v any, list []string) []string {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			list = paths(item, list)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			switch key {
			case "path", "paths":
				list = named(v[key], list)
			case "patterns":
				list = paths(v[key], list)
			}
		}
	case string:
		var inner any
		if json.Unmarshal([]byte(v), &inner) == nil {
			if _, text := inner.(string); !text {
				list = paths(inner, list)
			}
		}
	}
	return list
}

// named are the paths of an argument of one or many.
func named(v any, list []string) []string {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if s, ok := item.(string); ok {
				list = append(list, s)
			}
		}
	case string:
		var inner []string
		if json.Unmarshal([]byte(v), &inner) == nil {
			return append(list, inner...)
		}
		list = append(list, v)
	}
	return list
}
