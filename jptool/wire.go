// Package jptool is what a host and the tools it runs share: the wire types (Context,
// AccessPolicy, Outcome, Question), and the evaluation of an access policy.
//
// A tool opens the Context it was given and asks for each path:
//
//	ws, err := ctx.Open()
//	target, err := ws.CheckRead("src/lib.rs")
//	file, err := target.Open()
//
// The checks are the cooperative layer of RFD 076. They decide on canonical paths, so that
// no symlink dodges a rule, and return a [Target] that acts on what was checked and
// nothing else. They do not stop a program that does not ask; that is the sandbox's part.
//
// docs/wire.md is the contract in words, with the numbered steps of evaluation.
package jptool

import (
	"cmp"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool/netrule"
)

// Caps is a set of filesystem capabilities (RFD 076, "Capabilities").
type Caps uint8

// The five atomic capabilities. `write` is only an alias in the wire form.
const (
	Read Caps = 1 << iota
	Create
	Update
	Delete
	Execute
)

// Write is what the alias `write` stands for.
const Write = Create | Update | Delete

// AllCaps is every capability.
const AllCaps = Read | Write | Execute

var capNames = []string{"read", "create", "update", "delete", "execute"}

// String lists the names in wire order, joined by ", ", or "nothing" for the empty set.
func (c Caps) String() string {
	return cmp.Or(strings.Join(c.Names(), ", "), "nothing")
}

// Only is String for a sentence about what little is granted: "only read", or "nothing".
func (c Caps) Only() string {
	if c == 0 {
		return "nothing"
	}
	return "only " + c.String()
}

// Names lists the wire names of the capabilities in c, in wire order.
func (c Caps) Names() []string {
	var names []string
	for i, n := range capNames {
		if c&(1<<i) != 0 {
			names = append(names, n)
		}
	}
	return names
}

// Has reports whether c includes every capability of need.
func (c Caps) Has(need Caps) bool { return c&need == need }

// ParseCapability returns the capability with this wire name; `write` is accepted
// as its alias. The second result is false for any other name.
func ParseCapability(name string) (Caps, bool) {
	if name == "write" {
		return Write, true
	}
	if i := slices.Index(capNames, name); i >= 0 {
		return 1 << i, true
	}
	return 0, false
}

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
}

// Call is the tool half of a request. Arguments and Options stay undecoded until
// the tool that knows their shape asks for them.
type Call struct {
	Name      string `json:"name"`
	Arguments Object `json:"arguments"`
	Answers   Object `json:"answers"`
	Options   Object `json:"options"`
	// Written has, by canonical workspace-relative path, the digest of what earlier calls of the same conversation wrote
	// there. Such content is not counted as somebody's uncommitted work.
	Written Object `json:"written"`
}

// Request is one decoded request.
type Request struct {
	Context Context
	Tool    Call

	// Ignored are the unknown keys, as `key`, `context.key` or `tool.key`.
	Ignored []string
}

// AccessPolicy is the finished policy of one call as it crosses the wire (RFD 076,
// "Runtime types"; RFD 075 adds commands). A nil *AccessPolicy means unrestricted
// inside the workspace. An empty list of a type means unrestricted for that type; a policy
// that grants nothing needs a rule that denies everything.
type AccessPolicy struct {
	FS       []FsRule               `json:"fs"`
	Net      []NetRule              `json:"net"`
	Env      []EnvRule              `json:"env"`
	Commands map[string]CommandRule `json:"commands"`
	// Deny are patterns of paths that nothing is granted on, whatever the rules say; docs/wire.md has the syntax, that
	// of git's ignore files.
	Deny []string `json:"deny,omitempty"`
	// Secrets are patterns of places of secrets: nothing is granted on what they cover either, but for what a rule on
	// the place itself, or on something in it, grants.
	Secrets []string `json:"secrets,omitempty"`
	// Pinned entries keep their place: creating, removing, renaming or replacing
	// them is refused. Workspace-relative, as the model writes them.
	Pinned []string `json:"pinned,omitempty"`
	// Staged files are unnamed files the launcher opened for rules that grant
	// create without update.
	Staged []StagedFile `json:"staged,omitempty"`
}

// FsRule grants capabilities on a path and everything below it. The winning rule
// of a path is the one with the most components; its capabilities apply in full.
type FsRule struct {
	// Path is workspace-relative, "" for the root; the wire names it lexical_path.
	Path string `json:"lexical_path" alias:"path" required:""`
	// External says that the path may resolve outside the workspace, to
	// ApprovedTarget only (RFD D43).
	External       bool    `json:"external"`
	ApprovedTarget *string `json:"approved_target"`
	Read           *bool   `json:"read"`
	Write          *bool   `json:"write"`
	Create         *bool   `json:"create"`
	Update         *bool   `json:"update"`
	Delete         *bool   `json:"delete"`
	Execute        *bool   `json:"execute"`

	// Origin says where a person wrote the rule (file and line). It is for
	// messages of the host and never crosses the wire.
	Origin string `json:"-"`
}

// Caps returns the capabilities of the rule with the `write` alias expanded:
// write is the default of create, update and delete; all else defaults to false.
func (r *FsRule) Caps() Caps {
	var c Caps
	if r.Write != nil && *r.Write {
		c = Write
	}
	for i, v := range []*bool{r.Read, r.Create, r.Update, r.Delete, r.Execute} {
		if v != nil && *v {
			c |= 1 << i
		} else if v != nil {
			c &^= 1 << i
		}
	}
	return c
}

// NetRule allows or denies requests to one host (RFD 076, "Network rules").
type NetRule = netrule.Rule

// EnvRule allows or withholds environment variables by exact name, or by prefix
// with a trailing `*` (RFD 076, "Environment variable rules").
type EnvRule struct {
	Name string `json:"name" required:""`
	Read bool   `json:"read"`

	// Origin is where a person wrote the rule; it never crosses the wire.
	Origin string `json:"-"`
}

// CommandRule restricts how one program may be started (RFD 075).
type CommandRule struct {
	// Args lists the argument prefixes that are allowed; nil allows any.
	// A last `**` stands for any further arguments, or none; without it a list matches exactly.
	Args [][]string `json:"args"`
	// Envs names the variables, of those the tool may read, that the program gets.
	Envs []string `json:"envs"`
}

// StagedFile is an open, empty, unnamed file that the launcher hands to the tool for creating a file
// below Path, where only create is granted and the kernel would refuse to write.
type StagedFile struct {
	Path string `json:"path" required:""`
	FD   int    `json:"fd" required:"" min:"3"`
}
