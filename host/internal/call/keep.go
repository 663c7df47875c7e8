package call

import (
	"context"
	"encoding/json"

	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/host/internal/undo"
	"github.com/jptools/jptools/jptool"
)

// keeping keeps what one start of a tool changes, for jphost undo. That nothing can be kept never stops a call.
type keeping struct {
	*call
	ws      *jptool.Workspace
	pending *undo.Pending
}

// begin keeps what the tool may change, under the policy that it is sent.
func (k *keeping) begin(ctx context.Context, c jptool.Context) {
	k.drop()
	t := k.Tool
	ours := t.Command.Origin.Layer == settings.LayerDefault && undo.Writes(t.Command.Program)
	if k.Undo == nil || !ours || c.Action != jptool.Run || k.args["dry_run"] == true {
		return
	}
	var err error
	if k.ws, err = c.Open(); err != nil {
		return // the tool will refuse it too
	}
	change := undo.Call{Conversation: k.Conversation, Tool: t.Name}
	change.Places(t.Command.Program, k.args, k.ws)
	if len(change.Changed) == 0 {
		return
	}
	k.pending, err = k.Undo.Begin(change)
	k.tell(ctx, err)
}

// finish keeps the record of what was changed, however the tool ended.
func (k *keeping) finish(ctx context.Context, res *result) {
	if k.pending != nil {
		id, err := k.pending.Finish(told(res))
		k.report.Change = id
		k.tell(ctx, err)
	}
	k.drop()
}

func (k *keeping) drop() {
	k.pending.Drop()
	k.pending = nil
	if k.ws != nil {
		k.ws.Close()
		k.ws = nil
	}
}

func (k *keeping) tell(ctx context.Context, err error) {
	if err != nil {
		k.warnOnce(ctx, k.Tool.Name+" cannot be undone: "+err.Error())
	}
}

// told is what the tool says of the content of the files that it changed.
func told(res *result) undo.Told {
	if res == nil {
		return nil
	}
	type file struct {
		Path      string `json:"path"`
		OldDigest string `json:"old_digest"`
		Digest    string `json:"digest"`
	}
	var outcome struct {
		Type string `json:"type"`
		Data struct {
			file
			Files []file `json:"files"`
		} `json:"data"`
	}
	if err := json.Unmarshal(res.stdout, &outcome); err != nil || outcome.Type != "success" {
		return nil
	}
	all := undo.Told{}
	for _, f := range append(outcome.Data.Files, outcome.Data.file) {
		if f.Path != "" {
			all[f.Path] = undo.Digests{Before: f.OldDigest, After: f.Digest}
		}
	}
	return all
}
