package mount

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/pelletier/go-toml/v2"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/jptool"
)

// DeltaFile is the config layer of a conversation, in its state directory.
const DeltaFile = "config.toml"

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
			list = struct {
				Strategy string `toml:"strategy"`
				Value    []row  `toml:"value,inline"`
			}{"replace", rows}
		}
		tools[name] = map[string]any{"access": map[string]any{"fs": list}}
	}
	return toml.Marshal(map[string]any{"conversation": map[string]any{"tools": tools}})
}

// parseDelta reads what TOML wrote, as the layer that it is; file is for messages. Anything else in it is an
// error: a delta that is understood in part could lack a restriction.
func parseDelta(data []byte, file string) (d Delta, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w\nrepair the file, or remove it with everything the conversation was granted", err)
		}
	}()
	const help = "for what else is to be configured there are other files: see docs/config.md"
	d.Tools = map[string]ToolDelta{}
	root, err := config.ParseLayer(data, settings.LayerConversation, file)
	if err != nil || len(root.Keys) == 0 {
		return d, err
	}
	only := func(v *settings.Value, key string) *settings.Value {
		if v != nil && len(v.Keys) == 1 {
			return v.Get(key)
		}
		return nil
	}
	tools := only(only(root, "conversation"), "tools")
	if tools == nil {
		return d, settings.Fail(root.Origin, "holds more than rules of mounts", help)
	}
	for name, tool := range tools.Fields {
		list := only(only(tool, "access"), "fs")
		if list == nil || list.Merge != nil && (list.Merge.Strategy != "replace" || len(list.Merge.Notes) != 1) {
			return d, settings.Fail(tool.Origin, "holds more than rules of mounts", help)
		}
		t := ToolDelta{Replace: list.Merge != nil}
		for _, r := range list.Items {
			if text, _ := r.Get("path").Any().(string); text == "" {
				return d, settings.Fail(r.Origin, "path is missing", help)
			}
			t.FS = append(t.FS, config.ParseFsRule(r))
		}
		d.Tools[name] = t
	}
	return d, nil
}

// LoadDelta reads the layer of the conversation whose state directory is dir. One that does
// not parse is an error.
func LoadDelta(dir *state.Dir) (Delta, error) {
	data, err := dir.Read(DeltaFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Delta{}, err
	}
	return parseDelta(data, dir.File(DeltaFile))
}

// Persist stores deltas in the layer of the conversation whose state directory is dir, on top of
// what is stored there, in one locked and durable step. A layer that does not parse is an
// error and stays as it is: read as empty it would lose restrictions.
func Persist(dir *state.Dir) func(context.Context, Delta) error {
	return func(ctx context.Context, later Delta) error {
		return dir.Update(ctx, DeltaFile, func(old []byte) ([]byte, error) {
			d, err := parseDelta(old, dir.File(DeltaFile))
			if err != nil {
				return nil, err
			}
			d.Add(later)
			return d.TOML()
		})
	}
}

// Preserved is the rule that keeps what a tool without rules could do in the workspace before a mount
// declared its access.fs (RFD D43, "Default-deny preservation"). Execute is our addition: our
// default for an undeclared type grants it, and scripts and built programs must keep working.
func Preserved() jptool.FsRule {
	return jptool.FsRule{Path: ".", Read: new(true), Write: new(true), Execute: new(true)}
}

// Preserves reports whether a rule of the conversation does what Preserved does.
func Preserves(r jptool.FsRule) bool {
	keep := Preserved()
	return !r.External && (r.Path == "." || r.Path == "") && r.Caps() == keep.Caps()
}
