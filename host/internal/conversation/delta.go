// Package conversation is what one conversation adds to the configuration: the rules of the mounts that were made in
// it, as a layer of its own in its state directory.
package conversation

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/jptools/jptools/jptool"
)

// Delta is what a conversation adds to the configuration, in a layer of its own: rules of mounts that were
// added, so that changes of other layers still reach the conversation. Only a --no-mount
// of a rule of another layer stores, as RFD D43 documents, a list that replaces all others. It
// never holds a target: approvals are no conversation state.
type Delta struct {
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
func (d Delta) Empty() bool { return len(d.Tools) == 0 }

// Add stores later, the delta of a later mount or removal, on top of d. A mount of a path that d
// added already takes the earlier rule's place, so that repeated mounts do not pile up.
func (d *Delta) Add(later Delta) {
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

// row is a rule in config form: field by field the same types, so that one converts into the other.
type row struct {
	Path           string  `toml:"path"`
	External       bool    `toml:"external,omitempty"`
	ApprovedTarget *string `toml:"-"`
	Read           *bool   `toml:"read,omitempty"`
	Write          *bool   `toml:"write,omitempty"`
	Create         *bool   `toml:"create,omitempty"`
	Update         *bool   `toml:"update,omitempty"`
	Delete         *bool   `toml:"delete,omitempty"`
	Execute        *bool   `toml:"execute,omitempty"`
	Origin         string  `toml:"-"`
}

type merged struct {
	Strategy string `toml:"strategy"`
	Value    []row  `toml:"value,inline"`
}

// TOML renders the delta as a config layer.
func (d Delta) TOML() ([]byte, error) {
	tools := map[string]any{}
	for name, t := range d.Tools { // the encoder sorts the keys
		rows := []row{}
		for _, r := range t.FS {
			rows = append(rows, row(stored(r)))
		}
		var list any = rows
		if t.Replace {
			list = merged{"replace", rows}
		}
		tools[name] = map[string]any{"access": map[string]any{"fs": list}}
	}
	return toml.Marshal(map[string]any{"conversation": map[string]any{"tools": tools}})
}

// Parse reads what TOML wrote. Anything else in it is an error: a delta that is
// understood in part could lack a restriction.
func Parse(data []byte) (Delta, error) {
	d := Delta{Tools: map[string]ToolDelta{}}
	var doc struct {
		Conversation struct {
			Tools map[string]struct {
				Access struct {
					FS any `toml:"fs"`
				} `toml:"access"`
			} `toml:"tools"`
		} `toml:"conversation"`
	}
	if err := strict(data, &doc); err != nil {
		return d, err
	}
	for name, t := range doc.Conversation.Tools {
		delta, err := parseRules(t.Access.FS)
		if err != nil {
			return d, fmt.Errorf("conversation.tools.%s.access.fs: %w", name, err)
		}
		d.Tools[name] = delta
	}
	return d, nil
}

// parseRules reads a list of rules, or the table of one that replaces others.
func parseRules(v any) (ToolDelta, error) {
	list, isList := v.([]any)
	if isList {
		v = map[string]any{"strategy": "append", "value": list}
	}
	if _, ok := v.(map[string]any); !ok {
		return ToolDelta{}, errors.New("a list is expected")
	}
	data, err := toml.Marshal(v)
	if err != nil {
		return ToolDelta{}, err
	}
	var m merged
	if err := strict(data, &m); err != nil {
		return ToolDelta{}, err
	}
	if !isList && (m.Strategy != "replace" || m.Value == nil) {
		return ToolDelta{}, errors.New("only the strategy replace, with a value, is written here")
	}
	d := ToolDelta{Replace: !isList}
	for i, r := range m.Value {
		if r.Path == "" {
			return d, fmt.Errorf("[%d]: path is missing", i)
		}
		d.FS = append(d.FS, jptool.FsRule(r))
	}
	return d, nil
}

// strict reads TOML in which unknown keys are errors.
func strict(data []byte, into any) error {
	err := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(into)
	var unknown *toml.StrictMissingError
	if errors.As(err, &unknown) {
		return fmt.Errorf("%s: unknown key", strings.Join(unknown.Errors[0].Key(), "."))
	}
	return err
}

// Preserved is the rule that keeps what a tool without rules could do in the workspace before a mount
// declared its access.fs (RFD D43, "Default-deny preservation"). Execute is our addition: our
// default for an undeclared type grants it, and scripts and built programs must keep working.
func Preserved() jptool.FsRule {
	yes := true
	return jptool.FsRule{Path: ".", Read: &yes, Write: &yes, Execute: &yes}
}

// Preserves reports whether a rule of the conversation does what Preserved does.
func Preserves(r jptool.FsRule) bool {
	keep := Preserved()
	return !r.External && (r.Path == "." || r.Path == "") && r.Caps() == keep.Caps()
}
