package call

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/jptool"
)

// request is what a tool is told.
type request struct {
	context jptool.Context
	tool    toolRequest
}

// request is that of the call under its declared policy, without answers.
func (k *call) request(preview bool) request {
	t := k.Tool
	r := request{
		context: jptool.Context{
			Root: k.Root, Action: jptool.Run, Access: k.policy.Access,
			WorkspaceID: k.Workspace.ID(), ConversationID: k.Conversation,
		},
		tool: toolRequest{
			Name: cmp.Or(t.Source.Name, t.Name), Arguments: k.args, Answers: map[string]any{}, Options: t.Options,
		},
	}
	if preview {
		r.context.Action = jptool.FormatArguments
	}
	if t.Options == nil {
		r.tool.Options = map[string]any{} // the wire has an object here
	}
	if k.builtIn() {
		if w, err := k.written(); err == nil {
			r.tool.Written = w.List()
		}
	}
	return r
}

// json is the request as it goes to the tool. The error is that of options which JSON cannot express.
func (r *request) json() ([]byte, error) {
	tool, err := json.Marshal(r.tool)
	if err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	return fmt.Appendf(nil, "{\"context\":%s,\"tool\":%s}\n", r.context.JSON(), tool), nil
}

// toolRequest is the half of a request that is for the tool (docs/wire.md).
type toolRequest struct {
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments"`
	Answers   map[string]any `json:"answers"`
	Options   map[string]any `json:"options"`
	// Written is for the built-in tools: what this conversation wrote.
	Written map[string]string `json:"written,omitempty"`
}
