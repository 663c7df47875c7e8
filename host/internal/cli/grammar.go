package cli

import "github.com/alecthomas/kong"

const about = `Run tools for language models under typed, declared limits.

  jphost run fs_read_file path=README.md
  jphost explain fs_modify_file write src/main.go
  jphost tools`

// grammar is the whole command line.
type grammar struct {
	globals

	Run     runCmd     `cmd:"" group:"calls" help:"Run a tool."`
	Tools   toolsCmd   `cmd:"" group:"calls" help:"List the tools, or describe one."`
	Policy  policyCmd  `cmd:"" group:"access" help:"Show what a tool may do, and where that is written."`
	Explain explainCmd `cmd:"" group:"access" help:"Say whether something is allowed, and why."`

	Mount   mountCmd   `cmd:"" group:"access" help:"Let tools reach a directory outside of the workspace."`
	Unmount unmountCmd `cmd:"" group:"access" help:"Take mounts away again."`
	Mounts  mountsCmd  `cmd:"" group:"access" help:"List the mounts."`

	Sandbox sandboxCmd `cmd:"" group:"access" help:"Run any program under grants, or show what would be held."`

	Approvals approvalsCmd `cmd:"" group:"consent" help:"Approved targets of external paths."`
	Trust     trustCmd     `cmd:"" group:"consent" help:"Settings of the repository that widen access."`
	Session   sessionCmd   `cmd:"" group:"consent" help:"What you answered for the rest of this session."`

	Config     configCmd     `cmd:"" group:"setup" help:"Show, check and start configurations."`
	Completion completionCmd `cmd:"" group:"setup" help:"Print a completion script for a shell."`
	Doctor     doctorCmd     `cmd:"" group:"setup" help:"Show what this machine can enforce, and what to change."`
	Version    versionCmd    `cmd:"" group:"setup" help:"Print the version."`
}

// runGrammar is the part of grammar that `run` is read with.
type runGrammar struct {
	globals

	Run runCmd `cmd:"" group:"calls" help:"Run a tool."`
}

// commands is the grammar to read a command line with. That of `run` is small: what starts programs
// again and again shall not take a millisecond to learn of all other commands.
func commands(args []string) (g any, global *globals) {
	if len(args) > 0 && args[0] == "run" {
		g := &runGrammar{}
		return g, &g.globals
	}
	all := &grammar{}
	return all, &all.globals
}

// globals are flags of every command.
type globals struct {
	Workspace    string   `short:"C" placeholder:"DIR" help:"The workspace. Default: around the working directory the nearest with .jp, else the nearest with .git, else the outermost with .jp.toml, else the working directory."`
	Conversation string   `placeholder:"ID" help:"The conversation that mounts belong to. Default: JPHOST_CONVERSATION, else \"default\"."`
	Cfg          []string `sep:"none" placeholder:"KEY=VALUE" help:"A setting for this command: KEY=VALUE, KEY:=JSON, a file, or JSON. Can be repeated."`
	Format       string   `enum:"text,json" default:"text" help:"text or json."`
	JSON         bool     `name:"json" help:"The same as --format json."`
	NoInput      bool     `help:"Ask nothing, as if there were no terminal."`
}

// names is a flag with an optional value: the next word after TOOL if it is neither a flag nor
// an argument, or what follows `=`.
type names struct {
	All  bool
	List []string
}

// Decode implements kong.MapperValue; reorder has written a value with `=`.
func (n *names) Decode(ctx *kong.DecodeContext) error {
	if t := ctx.Scan.Peek(); t.Type == kong.FlagValueToken {
		ctx.Scan.Pop()
		n.List = append(n.List, t.String())
		return nil
	}
	n.All = true
	return nil
}

func (n names) given() bool { return n.All || len(n.List) > 0 }
