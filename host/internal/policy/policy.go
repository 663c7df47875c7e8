package policy

import (
	"context"
	"fmt"
	"sync"

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
	// Approve runs the approval lifecycle of one external path; [consent.Store.Resolve]
	// is meant. It is asked once per path and target. Nil approves nothing.
	Approve func(context.Context, consent.Request) (consent.Result, error)
	// Home is the user's home directory, StateDir the directory of all state of the host;
	// both absolute, "" when there is none. StateDir need not exist yet.
	Home, StateDir string
	// ConfigFile is the user's own configuration file, absolute, "" for none. Its directory is the
	// host's own, also where it does not exist yet.
	ConfigFile string
	// Programs are the host's own programs, absolute: jphost and the tools beside it.
	Programs []string
	// Reach are what is granted outside of the workspace besides the rules (sandbox.paths, flags) and
	// lets something be written.
	Reach []Reach
	// OSSandbox says that this machine can hold a tool at all, also when it is switched
	// off. Without it a tool that declares nothing gets no policy (RFD 075), but see [Declared.Guarded].
	OSSandbox bool
	// RefuseLinks makes it an error for a rule of [Given] to grant, through a symlink of the workspace, what
	// would not hold at the link's target without that rule.
	RefuseLinks bool
}

// Reach is a place outside of the workspace, canonical and absolute, and what is granted there.
type Reach struct {
	Abs  string
	Caps jptool.Caps
}

// Declared is the compiled policy of one tool. It is not changed once made, and safe for
// concurrent use.
type Declared struct {
	// Tool is the tool's name; "" when the policy came from the wire.
	Tool string
	// Root is the canonical path of the workspace.
	Root string
	// Access is what is put on the wire. It is nil, which means unrestricted inside the
	// workspace, only where no sandbox can be had and nothing is declared.
	Access *jptool.AccessPolicy
	// Rules are all rules of Access in its order, fs, net, env, then commands by name.
	Rules []Rule
	// Needs is the most that the tool says it uses, when it says so; Access holds it.
	Needs *jptool.Caps
	// Warnings are for people, Dropped the external rules that grant nothing now.
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
	// listAt is where the list of fs rules stands, needsOrigin where needs.fs does.
	listAt, needsOrigin string

	// guards are the places that are protected, guardLinks the links of the workspace that lead to them.
	guards     []guard
	guardLinks []jptool.Place
	// beyond and beyondLinks are what is protected outside of all that rules name.
	beyond      []Place
	beyondLinks []string
	// without is what would hold if a sandbox could be had, where Access is nil.
	without *Declared

	mu     sync.Mutex
	ws     *jptool.Workspace
	closed bool
}

// Rule is one rule of a policy and where it comes from.
type Rule struct {
	// Type is fs, net, env or command; Index counts within the type.
	Type  string `json:"type"`
	Index int    `json:"index"`
	// Name is what the rule is about in its effective form: the canonical path ("." for
	// the workspace), host, name of a variable or program.
	Name string `json:"name"`
	// Written is the path as it was written where that is another one than Name.
	Written string `json:"written,omitempty"`
	// Text is the effective rule as an inline table of TOML.
	Text string `json:"text"`
	// Origin is the place `file:line:column`, or BuiltIn, SelfProtection or Wire.
	Origin string `json:"origin"`
	// Layer is the layer that wrote it, "" for rules that nobody wrote. Key is the full key.
	Layer string `json:"layer,omitempty"`
	Key   string `json:"key,omitempty"`
	// Note says what became of it on the way, such as that it was narrowed.
	Note string `json:"note,omitempty"`
	// Dir says that the path was written with a slash at its end.
	Dir bool `json:"dir,omitempty"`
	// Caps is what an fs rule grants; Stated what it granted before needs and
	// self-protection took from it.
	Caps   jptool.Caps `json:"-"`
	Stated jptool.Caps `json:"-"`
}

// Origins of rules that nobody wrote.
const (
	// BuiltIn: the default of a type that is not declared.
	BuiltIn = "built-in default"
	// SelfProtection: what the host made of rules on its own files and on what makes git run programs.
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

// Guarded is the policy by which a call is prepared and looked at afterwards: d itself, but where nothing is
// declared and no sandbox can be had, the defaults, whose self-protection holds there too (by comparing).
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

// Close releases what explaining holds open; explaining fails afterwards. It must not
// run while an explanation is being made.
func (d *Declared) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if d.ws == nil {
		return nil
	}
	ws := d.ws
	d.ws = nil
	return ws.Close()
}
