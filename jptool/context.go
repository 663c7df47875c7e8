package jptool

// Action says what the host wants of a call.
type Action string

// The two actions. FormatArguments asks for a preview: the tool changes nothing
// and obeys the policy all the same.
const (
	Run             Action = "run"
	FormatArguments Action = "format_arguments"
)

// Context is what the host tells a tool about the call (docs/wire.md).
type Context struct {
	// Root is the absolute path of the workspace; it need not be canonical.
	Root   string `json:"root" required:""`
	Action Action `json:"action" required:"" enum:"run,format_arguments"`
	// Access is the policy to obey; nil means unrestricted inside the workspace.
	Access         *AccessPolicy `json:"access"`
	WorkspaceID    string        `json:"workspace_id,omitempty"`
	ConversationID string        `json:"conversation_id,omitempty"`

	// Ignored are the unknown keys of the object that was decoded, as `context.key`.
	Ignored []string `json:"-"`
}

// Call is the tool half of a request. Arguments and Options stay undecoded until
// the tool that knows their shape asks for them.
type Call struct {
	Name      string `json:"name"`
	Arguments Object `json:"arguments"`
	Answers   Object `json:"answers"`
	Options   Object `json:"options"`

	// Ignored are the unknown keys of the object that was decoded, as `tool.key`.
	Ignored []string `json:"-"`
}

// Request is one decoded request.
type Request struct {
	Context Context
	Tool    Call

	// Ignored are the unknown keys beside `context` and `tool`.
	Ignored []string
}
