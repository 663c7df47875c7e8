package policy

import (
	"context"
	"fmt"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/netrule"
)

// Request is what a policy is compiled from.
type Request struct {
	Workspace state.Workspace
	Config    *config.Config
	// Tool is a local tool of Config.
	Tool *config.Tool
	// Approve runs the approval lifecycle of one external path, as [consent.Store.Resolve] does. Compile calls it
	// once per path and target. Nil approves nothing.
	Approve func(context.Context, consent.Request) (consent.Result, error)
	// Home is the user's home directory, StateDir the directory of all state of the host;
	// both absolute, "" when there is none. StateDir need not exist yet.
	Home, StateDir string
	// ConfigFile is the user's own configuration file, absolute, "" for none. Its directory belongs to the
	// host even if it does not exist yet.
	ConfigFile string
	// Programs are the host's own programs, absolute: jphost and the tools beside it.
	Programs []string
	// Reach are the writable places outside the workspace that are granted besides the rules, by sandbox.paths or
	// flags.
	Reach []Reach
	// OSSandbox says that this machine can sandbox a tool, even if the sandbox is switched off. Without it, a tool
	// that declares nothing gets no policy (RFD 075), but see [Declared.Guarded].
	OSSandbox bool
	// RefuseLinks makes it an error if a rule of [Given] grants, through a symlink of the workspace, something
	// that is not granted at the link's target without that rule.
	RefuseLinks bool
}

// Reach is a canonical absolute path outside the workspace, and what is granted there.
type Reach struct {
	Abs  string
	Caps jptool.Caps
}

// Declared is the compiled policy of one tool. It is immutable and safe for concurrent use.
type Declared struct {
	// Tool is the tool's name; "" when the policy came from the wire.
	Tool string
	// Root is the canonical path of the workspace.
	Root string
	// Access is the policy on the wire. It is nil, which means unrestricted inside the workspace, only if nothing is
	// declared and the machine has no sandbox.
	Access *jptool.AccessPolicy
	// Rules are all rules of Access in its order, fs, net, env, then commands by name.
	Rules []Rule
	// Needs are all capabilities that the tool says it uses, nil if it does not say. Access grants no other.
	Needs *jptool.Caps
	// Warnings are for people. Dropped are the rules that grant nothing, or less, until a target is approved.
	Warnings []Warning
	Dropped  []Dropped
	// Sensitive are the places of RFD 075 that the tool may reach: the caller asks about
	// them once per session.
	Sensitive []Sensitive

	// rules are the fs rules at their places, and sources where each comes from.
	rules   *jptool.Rules
	sources []source
	others  []Rule // of net, env and commands
	net     *netrule.Policy
	env     *jptool.EnvPolicy
	// commands is compiled as net and env are.
	commands *jptool.CommandPolicy
	// listOrigin is where the list of fs rules is written, needsOrigin where needs.fs is.
	listOrigin, needsOrigin string

	// guards are the places that are protected, guardLinks the links of the workspace that lead to them.
	guards     []guard
	guardLinks []jptool.Place
	// beyond and beyondLinks are protected too, in places that no rule can name.
	beyond      []Place
	beyondLinks []string
	// without is, if Access is nil, the policy that a machine with a sandbox would have.
	without *Declared
}

// Rule is one rule of a policy and where it comes from.
type Rule struct {
	// Type is fs, net, env or command; Index counts within the type.
	Type  string `json:"type"`
	Index int    `json:"index"`
	// Name is the subject of the effective rule: the canonical path ("." for the workspace), the host, or the name of
	// the variable or program.
	Name string `json:"name"`
	// Written is the path as it was written, "" if that is Name.
	Written string `json:"written,omitempty"`
	// Text is the effective rule as an inline table of TOML.
	Text string `json:"text"`
	// Origin is the place `file:line:column`, or BuiltIn, SelfProtection or Wire.
	Origin string `json:"origin"`
	// Layer is the configuration layer that wrote it, "" for rules that nobody wrote. Key is the full key.
	Layer string `json:"layer,omitempty"`
	Key   string `json:"key,omitempty"`
	// Note says what compiling changed, such as that the rule was narrowed.
	Note string `json:"note,omitempty"`
	// Dir says that the path was written with a slash at its end.
	Dir bool `json:"dir,omitempty"`
	// Caps is what an fs rule grants; Stated is what it says, before it was narrowed.
	Caps   jptool.Caps `json:"-"`
	Stated jptool.Caps `json:"-"`
}

// Origins of rules that nobody wrote.
const (
	// BuiltIn: the default of a type that is not declared.
	BuiltIn = "built-in default"
	// SelfProtection: the host added it for its own files, or for what makes git run programs.
	SelfProtection = "self-protection"
	// Wire: the policy was read by FromWire.
	Wire = "the given policy"
)

// Dropped is an external rule that would grant something and grants nothing now (RFD D43).
type Dropped struct {
	// Path is the rule's path, Origin where it was written.
	Path   string `json:"path"`
	Origin string `json:"origin"`
	// Reason says why, for people; Command is what approves it, "" when nothing can yet.
	Reason  string `json:"reason"`
	Command string `json:"command,omitempty"`
}

// Sensitive is a place of secrets that a rule lets the tool reach (RFD 075, "Sensitive
// path protection").
type Sensitive struct {
	// Path is as the tool names it; Pattern the entry of the list that it matched.
	Path    string `json:"path"`
	Pattern string `json:"pattern"`
	// Rule is the path of the rule that grants it, Origin where that was written.
	Rule         string   `json:"rule"`
	Origin       string   `json:"origin"`
	Capabilities []string `json:"capabilities"`
}

// Warning is something a person should know and that stops nothing.
type Warning struct {
	// Origin is the place it is about; Message and Help are one line each.
	Origin  string `json:"origin,omitempty"`
	Message string `json:"message"`
	Help    string `json:"help,omitempty"`
}

// String is the warning for a terminal, the help on a line of its own.
func (w Warning) String() string {
	s := show.Text(w.Message)
	if w.Origin != "" {
		s = show.Text(w.Origin) + ": " + s
	}
	if w.Help != "" {
		s += "\n  " + show.Text(w.Help)
	}
	return s
}

// Guarded returns the policy by which a call is prepared and checked afterwards. That is d itself, unless nothing
// is declared and the machine has no sandbox: then it is the default policy, because its protected files are still
// compared after the call.
func (d *Declared) Guarded() *Declared {
	if d.without != nil {
		return d.without
	}
	return d
}

// Open opens the workspace with this policy, as a tool does. The caller closes it.
func (d *Declared) Open() (*jptool.Workspace, error) {
	c := jptool.Context{Root: d.Root, Action: jptool.Run, Access: d.Access}
	ws, err := c.Open()
	if err != nil {
		return nil, fmt.Errorf("the policy cannot be opened: %w", err)
	}
	return ws, nil
}
