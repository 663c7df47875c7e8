package call

import (
	"context"

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
	if k.Undo == nil || !k.builtIn() || !undo.Writes(t.Command.Program) || c.Action != jptool.Run || k.args["dry_run"] == true {
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
	all := changesOf(readOutput(res.stdout, res.stderr, res.ended))
	told := undo.Told{}
	for _, f := range append(all.Files, all.changedFile) {
		if f.Path != "" {
			told[f.Path] = undo.Digests{Before: f.OldDigest, After: f.Digest}
		}
	}
	return told
}
