package mount

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/jptools/jptools/jptool"
	"github.com/pelletier/go-toml/v2"
)

// ConversationDelta is what mounts store in a conversation's config layer: rules that were
// added, so that changes of other layers still reach the conversation. Only a --no-mount
// of a rule of another layer stores, as RFD D43 documents, a list that replaces all others. It
// never holds a target: approvals are no conversation state.
type ConversationDelta struct {
	Tools map[string]ToolDelta
}

// ToolDelta is the delta of one tool's access.fs.
type ToolDelta struct {
	// Replace says that FS replaces the rules of the layers below, else it is appended.
	Replace bool
	FS      []jptool.FsRule
	// Instead says that this takes the place of what is stored for the tool, not that it is
	// added; with no rules nothing stays stored. It is not stored itself.
	Instead bool
}

// Empty reports whether there is nothing to store.
func (d ConversationDelta) Empty() bool { return len(d.Tools) == 0 }

// Add stores later, the delta of a later mount or removal, on top of d. A mount of a path that d
// added already takes the earlier rule's place, so that repeated mounts do not pile up.
func (d *ConversationDelta) Add(later ConversationDelta) {
	if d.Tools == nil {
		d.Tools = map[string]ToolDelta{}
	}
	for name, l := range later.Tools {
		own := d.Tools[name]
		instead := l.Replace || l.Instead
		if instead {
			own = ToolDelta{Replace: l.Replace}
		}
		if instead && len(l.FS) == 0 {
			delete(d.Tools, name)
			continue
		}
		for _, r := range l.FS {
			if !instead {
				own.FS = slices.DeleteFunc(slices.Clone(own.FS), func(o jptool.FsRule) bool { return o.Path == r.Path })
			}
			own.FS = append(own.FS, stored(r))
		}
		d.Tools[name] = own
	}
}

// stored is a rule without what belongs to this machine.
func stored(r jptool.FsRule) jptool.FsRule {
	r.ApprovedTarget, r.Origin = nil, ""
	if r.Path == "" {
		r.Path = "."
	}
	return r
}

// row is a rule in config form.
type row struct {
	Path     string `toml:"path"`
	External bool   `toml:"external,omitempty"`
	Read     *bool  `toml:"read,omitempty"`
	Write    *bool  `toml:"write,omitempty"`
	Create   *bool  `toml:"create,omitempty"`
	Update   *bool  `toml:"update,omitempty"`
	Delete   *bool  `toml:"delete,omitempty"`
	Execute  *bool  `toml:"execute,omitempty"`
}

type merged struct {
	Strategy string `toml:"strategy"`
	Value    []row  `toml:"value,inline"`
}

// TOML renders the delta as a config layer.
func (d ConversationDelta) TOML() ([]byte, error) {
	tools := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(d.Tools)) {
		t := d.Tools[name]
		rows := []row{}
		for _, r := range t.FS {
			r = stored(r)
			rows = append(rows, row{r.Path, r.External, r.Read, r.Write, r.Create, r.Update, r.Delete, r.Execute})
		}
		var list any = rows
		if t.Replace {
			list = merged{"replace", rows}
		}
		tools[name] = map[string]any{"access": map[string]any{"fs": list}}
	}
	return toml.Marshal(map[string]any{"conversation": map[string]any{"tools": tools}})
}

// ParseDelta reads what TOML wrote. Anything else in it is an error: a delta that is
// understood in part could lack a restriction.
func ParseDelta(data []byte) (ConversationDelta, error) {
	d := ConversationDelta{Tools: map[string]ToolDelta{}}
	var doc map[string]any
	if err := toml.Unmarshal(data, &doc); err != nil {
		return d, err
	}
	conversation, err := only(doc, "conversation")
	if err != nil {
		return d, err
	}
	tools, err := only(conversation, "tools")
	if err != nil {
		return d, err
	}
	for name, t := range tools {
		delta, err := parseTool(t)
		if err != nil {
			return d, fmt.Errorf("conversation.tools.%s: %w", name, err)
		}
		d.Tools[name] = delta
	}
	return d, nil
}

func parseTool(t any) (ToolDelta, error) {
	table, _ := t.(map[string]any)
	access, err := only(table, "access")
	if err != nil {
		return ToolDelta{}, err
	}
	var d ToolDelta
	list := access["fs"]
	if m, ok := list.(map[string]any); ok {
		if m["strategy"] != "replace" || len(m) != 2 {
			return d, errors.New("access.fs: only the strategy replace is written here")
		}
		d.Replace, list = true, m["value"]
	}
	rules, ok := list.([]any)
	if !ok || len(access) != 1 {
		return d, errors.New("access: a list fs and nothing else is expected")
	}
	for i, r := range rules {
		rule, err := parseRule(r)
		if err != nil {
			return d, fmt.Errorf("access.fs[%d]: %w", i, err)
		}
		d.FS = append(d.FS, rule)
	}
	return d, nil
}

func parseRule(v any) (jptool.FsRule, error) {
	var r jptool.FsRule
	table, _ := v.(map[string]any)
	if _, ok := table["path"].(string); !ok {
		return r, errors.New("path is missing")
	}
	for key, v := range table {
		if key == "path" {
			r.Path = v.(string)
			continue
		}
		b, ok := v.(bool)
		if !ok {
			return r, fmt.Errorf("%s: true or false is expected", key)
		}
		switch key {
		case "external":
			r.External = b
		case "read":
			r.Read = &b
		case "write":
			r.Write = &b
		case "create":
			r.Create = &b
		case "update":
			r.Update = &b
		case "delete":
			r.Delete = &b
		case "execute":
			r.Execute = &b
		default:
			return r, fmt.Errorf("%s: unknown key", key)
		}
	}
	return r, nil
}

// only returns the table at key, which must be the only key.
func only(table map[string]any, key string) (map[string]any, error) {
	for k := range table {
		if k != key {
			return nil, fmt.Errorf("%s: unknown key", k)
		}
	}
	if len(table) == 0 {
		return nil, nil
	}
	sub, ok := table[key].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s: a table is expected", key)
	}
	return sub, nil
}
