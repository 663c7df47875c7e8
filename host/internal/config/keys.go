package config

import (
	"time"

	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/jptool"
)

// The structs of this file declare every configuration key, each once. What is not here is
// refused. Checking, merging, decoding, the JSON Schema and the table in docs/config.md all
// follow from the tags, which schema.go reads:
//
//	toml      the key; a field without it is no key
//	doc       one line for people, in Markdown, with ' for `
//	default   the value that counts when no layer sets the key, as in KEY=VALUE
//	unset     the same for docs only, where code decides what counts
//	enum      the only words that are accepted
//	as        the form of the value, where the Go type does not tell it (see formOf in forms.go)
//	check     a further check of the value (see checks)
//	merge     rules: layers add to the list by strategy; added: they only add to it
//	required  the table is refused without the key
//	all       the key may stand in the table '*' too
//	repo      what a repository may do with the key (see Repository); absent: as for its table

// document is one configuration file.
type document struct {
	Conversation conversation `toml:"conversation" doc:"What a conversation may use."`
	Sandbox      Sandbox      `toml:"sandbox" doc:"How tools are held by the operating system."`
	Inherit      bool         `toml:"inherit" unset:"true" repo:"judged" doc:"'false' stops the loading of further files. In a file of the repository it stops only further files of the repository."`
	Extends      refused      `toml:"extends" refusal:"is not supported" remedy:"write what the other file says here, or pass it with --cfg PATH"`
}

type conversation struct {
	Tools map[string]Tool `toml:"tools" doc:"The tools, by the name that the model calls them."`
	Undo  Undo            `toml:"undo" repo:"never" doc:"What is kept of files that the seven tools change, for 'jphost undo'. Only from the user's own configuration."`
}

// Undo says what is kept of files that tools change, and how long.
type Undo struct {
	Keep bool `toml:"keep" default:"true" doc:"Whether previous contents are kept at all."`
	// Budget is bytes.
	Budget int64 `toml:"budget" as:"size" default:"200MiB" doc:"Bytes for all contents kept in a workspace, or a size such as '\"1GiB\"'. The oldest go first. A file larger than a quarter of it is not kept."`
	Days   int64 `toml:"days" check:"days" default:"14" doc:"Days after which a change can no longer be taken back."`
}

// refused is the type of a key that people may expect, but that is refused with a reason.
type refused struct{}

// defaultsName is the key of the table with the defaults of all tools.
const defaultsName = "*"

// Tool is one tool as merged over all layers, the defaults of '*' filled in.
type Tool struct {
	// Name is the one that the model uses.
	Name string

	Source Source `toml:"source" as:"source" repo:"judged" doc:"Where the tool comes from: 'builtin[.NAME]', 'local[.NAME]' or 'mcp.SERVER[.TOOL]'. Required once all layers are merged."`
	Enable Enable `toml:"enable" as:"enable" all:"yes" repo:"judged" unset:"{ state = \"on\", allow_toggle = \"any\" }" doc:"Whether the model is offered the tool. 'always' cannot be switched off, 'explicit' is off until named."`
	// Command is set for local tools only.
	Command     *Command `toml:"command" as:"command" doc:"What a local tool runs: words as a POSIX shell splits them, without any expansion, or a table. Replaced whole."`
	Summary     string   `toml:"summary" repo:"own" doc:"One sentence for the model."`
	Description string   `toml:"description" repo:"own" doc:"The longer text for the model."`
	Examples    string   `toml:"examples" repo:"own" doc:"Examples for the model."`
	// Parameters are in the order in which they are written.
	Parameters           []*Parameter        `toml:"parameters" repo:"judged" doc:"The arguments, by name. Any other is refused."`
	Run                  string              `toml:"run" enum:"ask unattended edit skip" default:"ask" all:"yes" repo:"judged" doc:"Whether a call is asked for, runs at once, may be edited first, or never runs."`
	Format               string              `toml:"format" enum:"ask unattended" unset:"'unattended' if 'run' is, else 'ask'" all:"yes" repo:"judged" doc:"Whether a preview is made before or after the question."`
	Unattended           []Unattended        `toml:"unattended" merge:"rules" doc:"Calls that need nobody although 'run' is 'ask'. What is answered with 'a' (always) is written here."`
	Result               string              `toml:"result" enum:"unattended ask edit skip" default:"unattended" all:"yes" repo:"judged" doc:"What happens to a result before the model gets it."`
	CancellationResponse string              `toml:"cancellation_response" all:"yes" repo:"own" doc:"What the model is told of a call that was cancelled."`
	Style                Style               `toml:"style" all:"yes" repo:"free" doc:"How calls are shown. jphost checks the table and does nothing with it: it is for hosts that show calls in a conversation."`
	Questions            map[string]Question `toml:"questions" doc:"The tool's questions, by id."`
	// Options is handed to the tool as it is.
	Options map[string]any `toml:"options" check:"options" repo:"judged" doc:"Behaviour that the user sets and the model cannot. Merged deeply; lists are replaced, or combined by '{ value, strategy }'."`
	// Access is nil when no layer says anything of it.
	Access *Access `toml:"access" all:"yes" repo:"judged" doc:"What the tool may do (local tools only). A type that is not written has its default; one that is written grants only what its rules say."`
	// Preset names recipes of package preset.
	Preset []string `toml:"preset" as:"presets" repo:"judged" doc:"What an ecosystem needs outside of the workspace ('jphost sandbox presets' shows it); with ':net' also its network. Replaced whole."`
	// Needs is what the tool uses at most; nil when it does not say.
	Needs  *jptool.Caps `toml:"needs" as:"needs" repo:"judged" doc:"The most that the tool ever uses."`
	Limits Limits       `toml:"limits" all:"yes" repo:"judged" doc:"What one call may use."`

	// Deny and SensitivePaths are those of '*' and of the tool, of all layers: no layer takes away what another added. The
	// built-in list of places of secrets is not here. Rules of '*' on paths are among Deny.
	Deny, SensitivePaths []Pattern
	// NetForAll are the rules of '*' on the network if the tool declares none of its own: those of its presets count then.
	NetForAll []NetRule

	tree, defaults *settings.Value
}

// Pattern is a pattern of paths, in the syntax of git's ignore files; "~/" begins one below the home directory.
type Pattern struct {
	Text string
	At   settings.Origin
}

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

// Enable says whether the model is offered a tool, and who may switch it.
type Enable struct {
	On          bool   `toml:"state" as:"switch" default:"on" doc:"Whether it is offered."`
	AllowToggle string `toml:"allow_toggle" enum:"any never if_named if_named_or_group" default:"any" doc:"Who may switch it."`
}

// Command is what a local tool runs. With Shell, Program is a script for `sh -c`, and
// Args are its arguments; nothing else here ever goes through a shell.
type Command struct {
	Program string   `toml:"program" required:"yes" check:"program" doc:"The program; with 'shell', the script."`
	Args    []string `toml:"args" doc:"Its arguments."`
	Shell   bool     `toml:"shell" default:"false" doc:"Hand 'program' to 'sh -c' as it is."`
	Origin  settings.Origin
}

// Parameter is one argument of a tool, or what its lists and objects hold.
type Parameter struct {
	// Name is "" for the items of a list.
	Name string
	// Types are JSON types, at least one.
	Types []string `toml:"type" as:"types" doc:"One JSON type, or a list of them. Required once all layers are merged."`
	// Default counts only with HasDefault: it may be any value.
	Default     any `toml:"default" doc:"What is passed when the argument is absent."`
	HasDefault  bool
	Required    bool   `toml:"required" default:"false" doc:"Whether it must be given."`
	Summary     string `toml:"summary" doc:"One sentence for the model."`
	Description string `toml:"description" doc:"The longer text for the model."`
	Examples    string `toml:"examples" doc:"Examples for the model."`
	// Enum lists the only values allowed; empty allows all.
	Enum       []any        `toml:"enum" check:"enum" doc:"The only values allowed."`
	Items      *Parameter   `toml:"items" doc:"What a list holds; the same keys again."`
	Properties []*Parameter `toml:"properties" doc:"What an object holds, by name; the same keys again."`
	Origin     settings.Origin
}

// Question is what is known of a question before the tool asks it.
type Question struct {
	// Target is user or assistant.
	Target string `toml:"target" as:"target" default:"user" repo:"judged" doc:"Who answers. A table overrides settings of the assistant."`
	// Assistant overrides settings of the assistant that answers.
	Assistant map[string]any
	// Answer counts only with HasAnswer.
	Answer    any `toml:"answer" doc:"A fixed answer; nobody is asked."`
	HasAnswer bool
	Origin    settings.Origin
}

// Unattended names calls that are made without asking. One of Path and Arguments is set.
type Unattended struct {
	// Path is in lexical normal form, "" for the root. Directory: it was written with a slash at its end.
	Path      string `toml:"path" doc:"Calls of the built-in tool that change only this path, or if it ends in a slash what is below it; relative to the workspace."`
	Directory bool
	Arguments string   `toml:"arguments" doc:"Calls with exactly these arguments, one JSON object in a string."`
	YesTo     []string `toml:"yes_to" doc:"The ids of the tool's yes-or-no questions that are answered with yes; ID.uncommitted also if uncommitted work is lost. If the call would ask another one, a person is asked."`
	HasPath   bool
	At        settings.Origin
}

// Style is how hosts that show calls in a conversation show them. Nothing here does: its keys
// are checked and merged, but never decoded.
type Style struct {
	Hidden          bool       `toml:"hidden" default:"false" repo:"judged" doc:"Show nothing of a call."`
	InlineResults   int        `toml:"inline_results" as:"lines" default:"10" doc:"How many lines of a result are shown."`
	ResultsFileLink string     `toml:"results_file_link" enum:"full osc8 off" default:"full" doc:"How the file with the whole result is named."`
	Parameters      Command    `toml:"parameters" as:"command" default:"json" repo:"judged" doc:"How arguments are shown: 'json', 'function_call', 'off', or a command."`
	Error           ErrorStyle `toml:"error" doc:"The same for errors."`
}

// ErrorStyle is how errors are shown; what is not set is as for other results.
type ErrorStyle struct {
	InlineResults   int    `toml:"inline_results" as:"lines" doc:"As above."`
	ResultsFileLink string `toml:"results_file_link" enum:"full osc8 off" doc:"As above."`
}

// DefaultTime is how long a call may take, and DefaultOutput how many bytes its tool may print on standard
// output, where a configuration says nothing.
const (
	DefaultTime   = 120 * time.Second
	DefaultOutput = 64 << 20
)

// Limits are what one call may use; zero where nobody set one.
type Limits struct {
	Time time.Duration `toml:"time" as:"duration" unset:"120" doc:"Seconds, or a duration such as '\"2m\"', until the call is ended."`
	// Output, Memory and FileSize are bytes.
	Output    int64         `toml:"output" as:"size" unset:"64MiB" doc:"Bytes of output, or a size such as '\"1MiB\"'."`
	Memory    int64         `toml:"memory" as:"size" doc:"Bytes of memory."`
	Processes int64         `toml:"processes" check:"processes" doc:"Processes and threads at a time."`
	CPU       time.Duration `toml:"cpu_seconds" as:"seconds" doc:"Seconds of processor time."`
	FileSize  int64         `toml:"file_size" as:"size" doc:"Bytes of any one file written."`
}

// needs is the table of Tool.Needs.
type needs struct {
	FS []string `toml:"fs" enum:"read write create update delete execute" doc:"Capabilities; what 'access' grants beyond them is not handed on."`
}

// Access is what a tool may do, as people declared it: no path is resolved yet. Each
// list is nil where the type is not declared, which leaves it its default; a list that
// is declared but has no rules grants nothing.
type Access struct {
	FS       []FsRule               `toml:"fs" merge:"rules" all:"taking" doc:"Rules on paths; the one with the most components wins, of equals the last."`
	Net      []NetRule              `toml:"net" merge:"rules" all:"taking" doc:"Rules on network targets."`
	Env      []EnvRule              `toml:"env" merge:"rules" all:"taking" doc:"Rules on environment variables."`
	Commands map[string]CommandRule `toml:"commands" doc:"The programs that may be started, by name; an empty table allows none."`
	// Deny and SensitivePaths are here for their keys only; see those of Tool.
	Deny           []string `toml:"deny" merge:"added" check:"pattern" all:"yes" repo:"free" doc:"Patterns of paths that are withheld whatever the rules grant, as in '.gitignore' or below '~/'; only ever added to."`
	SensitivePaths []string `toml:"sensitive_paths" merge:"added" check:"pattern" all:"yes" repo:"free" doc:"Further places of secrets, as 'deny': withheld unless a rule names them or a person allows them; only ever added to."`
	Origin         settings.Origin
}

// FsRule is a rule on a path. Its Path is relative and in lexical normal form, "" for
// the root; absolute paths below the workspace were made relative.
type FsRule struct {
	jptool.FsRule
	// Dir says that the path was written with a slash at its end.
	Dir bool
	At  settings.Origin
}

// NetRule is a rule on a network target; it compiles.
type NetRule struct {
	jptool.NetRule
	At settings.Origin
}

// EnvRule is a rule on environment variables; it compiles.
type EnvRule struct {
	jptool.EnvRule
	At settings.Origin
}

// CommandRule is a rule on one program; it compiles.
type CommandRule struct {
	jptool.CommandRule
	At settings.Origin
}

// The structs of the library's rules with their keys: field by field the same types, so that
// one converts into the other.
type (
	fsRuleKeys struct {
		Path           string `toml:"path" required:"yes" doc:"Relative to the workspace; '.' is all of it."`
		External       bool   `toml:"external" doc:"The path is a link that leads outside; its target must be approved."`
		ApprovedTarget *string
		Read           *bool `toml:"read" doc:"Read files, list directories."`
		Write          *bool `toml:"write" doc:"Sets 'create', 'update' and 'delete', unless they are set."`
		Create         *bool `toml:"create" doc:"Make files and directories."`
		Update         *bool `toml:"update" doc:"Change files."`
		Delete         *bool `toml:"delete" doc:"Remove files and directories."`
		Execute        *bool `toml:"execute" doc:"Run files."`
		Origin         string
	}
	netRuleKeys struct {
		Host       string  `toml:"host" required:"yes" doc:"A host name or address, or '*'."`
		Scheme     *string `toml:"scheme" doc:"Any if absent."`
		Port       *uint16 `toml:"port" check:"port" doc:"The scheme's default if absent."`
		PathPrefix *string `toml:"path_prefix" doc:"Any path if absent."`
		Allow      bool    `toml:"allow" doc:"Whether requests are allowed."`
		Origin     string
	}
	envRuleKeys struct {
		Name   string `toml:"name" required:"yes" doc:"The exact name, or a prefix with '*' at its end."`
		Read   bool   `toml:"read" doc:"Whether the tool gets it."`
		Origin string
	}
	commandRuleKeys struct {
		Args [][]string `toml:"args" doc:"Lists of leading arguments; a last '**' stands for any rest. Any arguments if absent."`
		Envs []string   `toml:"envs" doc:"Of the variables that the tool gets, those that the program gets."`
	}
)

// Sandbox is how tools are held by the operating system.
type Sandbox struct {
	Mode  string        `toml:"mode" enum:"auto required off" default:"auto" repo:"judged" doc:"'auto' warns of what cannot be enforced, 'required' refuses, 'off' does without."`
	Tier  string        `toml:"tier" enum:"auto landlock namespace" default:"auto" doc:"Forces a way of enforcing."`
	Paths []SandboxPath `toml:"paths" merge:"rules" repo:"never" doc:"More paths that programs need to run: to read and execute, where none of the three is written. Only from the user's own configuration."`
}

// SandboxPath is one more path that programs need. It is absolute, or starts with ~/. A
// capability that is not written is nil; where none is, read and execute are meant.
type SandboxPath struct {
	Path    string `toml:"path" required:"yes" check:"sandbox_path" doc:"Absolute, or below '~/'."`
	Read    *bool  `toml:"read" doc:"Read below it."`
	Write   *bool  `toml:"write" doc:"Write below it."`
	Execute *bool  `toml:"execute" doc:"Run programs below it."`
	Origin  settings.Origin
}
