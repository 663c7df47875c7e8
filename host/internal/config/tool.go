package config

import (
	"slices"
	"time"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/nearest"
)

// SourceKind says who runs a tool.
type SourceKind string

// The kinds of source.
const (
	SourceBuiltin SourceKind = "builtin"
	SourceLocal   SourceKind = "local"
	SourceMCP     SourceKind = "mcp"
)

// Source is where a tool comes from: builtin[.name], local[.name] or
// mcp.server[.name]. Name is "" where the tool's own name counts.
type Source struct {
	Kind   SourceKind
	Server string
	Name   string
}

// Tool is one tool as merged over all layers, the defaults of '*' filled in.
type Tool struct {
	// Name is the one that the model uses.
	Name                           string
	Source                         Source
	Enable                         Enable
	Command                        *Command // set for local tools only
	Summary, Description, Examples string
	Parameters                     []*Parameter
	// Run is ask, unattended, edit or skip; Format is ask or unattended; Result is
	// unattended, ask, edit or skip.
	Run, Format, Result  string
	CancellationResponse string
	Style                Style
	Questions            map[string]Question
	// Options is handed to the tool as it is.
	Options map[string]any
	// Access is nil when no layer says anything of it.
	Access *Access
	// SensitivePaths are those of '*' and of the tool; the built-in list is not here.
	SensitivePaths []string
	// Needs is what the tool uses at most; nil when it does not say.
	Needs  *jptool.Caps
	Limits Limits

	tree, defaults *Value
}

// Origin says where a key of the tool was set, such as "run" or "access.fs"; for a key
// that only the defaults set, where they do. It is zero for a key that nobody set.
func (t *Tool) Origin(key string) Origin {
	parts, err := SplitKey(key)
	if err != nil {
		return Origin{}
	}
	for _, from := range []*Value{t.tree, t.defaults} {
		if v := from.At(parts...); v != nil && from != nil {
			return v.Origin
		}
	}
	return Origin{}
}

// Overridden is what a higher layer sets of a key for all tools ('*'), and what the tool sets otherwise: that
// is what holds, however high the other stands. Both are nil where there is no such thing.
func (t *Tool) Overridden(key string) (all, own *Value) {
	all, own = t.defaults.Get(key), t.tree.Get(key)
	if all == nil || own == nil || all.Origin.Layer <= own.Origin.Layer || all.Equal(own) {
		return nil, nil
	}
	return all, own
}

// Enable says whether the model is offered a tool, and who may switch it: any, never,
// if_named or if_named_or_group.
type Enable struct {
	On          bool
	AllowToggle string
}

// Command is what a local tool runs. With Shell, Program is a script for `sh -c`, and
// Args are its arguments; nothing else here ever goes through a shell.
type Command struct {
	Program string
	Args    []string
	Shell   bool
	Origin  Origin
}

// Parameter is one argument of a tool, or what its lists and objects hold.
type Parameter struct {
	// Name is "" for the items of a list.
	Name string
	// Types are JSON types, at least one.
	Types []string
	// Default counts only with HasDefault: it may be any value.
	Default                        any
	HasDefault                     bool
	Required                       bool
	Summary, Description, Examples string
	// Enum lists the only values allowed; empty allows all.
	Enum       []any
	Items      *Parameter
	Properties []*Parameter
	Origin     Origin
}

// Question is what is known of a question before the tool asks it.
type Question struct {
	// Target is user or assistant.
	Target string
	// Assistant overrides settings of the assistant that answers.
	Assistant map[string]any
	// Answer counts only with HasAnswer.
	Answer    any
	HasAnswer bool
	Origin    Origin
}

// Style is how calls are shown.
type Style struct {
	Hidden bool
	// InlineResults is a number of lines; 0 is none and Full is all.
	InlineResults   int
	ResultsFileLink string
	// Parameters is json, function_call or off; or ParametersCommand is set.
	Parameters           string
	ParametersCommand    *Command
	ErrorInlineResults   int
	ErrorResultsFileLink string
}

// Full stands for all lines of a result.
const Full = -1

// Limits are what one call may use; zero where nobody set one.
type Limits struct {
	Time, CPU                time.Duration
	Output, Memory, FileSize int64 // bytes
	Processes                int64
}

// Access is what a tool may do, as people declared it: no path is resolved yet. Each
// list is nil where the type is not declared, which leaves it its default; a list that
// is declared but has no rules grants nothing.
type Access struct {
	FS       []FsRule
	Net      []NetRule
	Env      []EnvRule
	Commands map[string]CommandRule
	Origin   Origin
}

// FsRule is a rule on a path. Its Path is relative and in lexical normal form, "" for
// the root; absolute paths below the workspace were made relative.
type FsRule struct {
	jptool.FsRule
	// Dir says that the path was written with a slash at its end.
	Dir bool
	At  Origin
}

// NetRule is a rule on network targets; it compiles.
type NetRule struct {
	jptool.NetRule
	At Origin
}

// EnvRule is a rule on environment variables; it compiles.
type EnvRule struct {
	jptool.EnvRule
	At Origin
}

// CommandRule is a rule on one program; it compiles.
type CommandRule struct {
	jptool.CommandRule
	At Origin
}

// Policy returns the declared policy in the form of the library, each rule with its
// Origin. A list that was declared without rules becomes a rule that denies all,
// because an empty list means unrestricted there. Of types that are not declared
// nothing is said: their defaults are the policy compiler's. A nil Access gives nil.
func (a *Access) Policy() *jptool.AccessPolicy {
	if a == nil {
		return nil
	}
	p := &jptool.AccessPolicy{}
	for _, r := range a.FS {
		p.FS = append(p.FS, r.FsRule)
	}
	for _, r := range a.Net {
		p.Net = append(p.Net, r.NetRule)
	}
	for _, r := range a.Env {
		p.Env = append(p.Env, r.EnvRule)
	}
	where := a.Origin.String()
	if a.FS != nil && len(a.FS) == 0 {
		p.FS = []jptool.FsRule{{Path: "", Origin: where}}
	}
	if a.Net != nil && len(a.Net) == 0 {
		p.Net = []jptool.NetRule{{Host: "*", Origin: where}}
	}
	if a.Env != nil && len(a.Env) == 0 {
		p.Env = []jptool.EnvRule{{Name: "*", Origin: where}}
	}
	if a.Commands != nil {
		p.Commands = make(map[string]jptool.CommandRule, len(a.Commands))
		for name, r := range a.Commands {
			p.Commands[name] = r.CommandRule
		}
	}
	return p
}

// Sandbox is how tools are held by the operating system.
type Sandbox struct {
	// Mode is auto, required or off; Tier is auto, landlock or namespace.
	Mode, Tier string
	Paths      []SandboxPath
}

// SandboxPath is one more path that programs need. It is absolute, or starts with ~/. A
// capability that is not written is nil; where none is, read and execute are meant.
type SandboxPath struct {
	Path                 string
	Read, Write, Execute *bool
	Origin               Origin
}

// Config is the merged configuration. It is immutable and safe for concurrent use.
type Config struct {
	tools   []*Tool
	sandbox Sandbox
	merged  *Value
	layers  []LayerInfo
}

// Tools lists all tools by name, those too that are off.
func (c *Config) Tools() []*Tool { return slices.Clone(c.tools) }

// Tool finds a tool by the name that the model uses.
func (c *Config) Tool(name string) (*Tool, bool) {
	i, ok := slices.BinarySearchFunc(c.tools, name, func(t *Tool, name string) int {
		switch {
		case t.Name < name:
			return -1
		case t.Name > name:
			return 1
		}
		return 0
	})
	if !ok {
		return nil, false
	}
	return c.tools[i], true
}

// Nearest is the name of the tool that was probably meant, or "".
func (c *Config) Nearest(name string) string {
	names := make([]string, len(c.tools))
	for i, t := range c.tools {
		names[i] = t.Name
	}
	return nearest.Word(name, names)
}

// Sandbox returns the settings of the sandbox.
func (c *Config) Sandbox() Sandbox {
	s := c.sandbox
	s.Paths = slices.Clone(s.Paths)
	return s
}
