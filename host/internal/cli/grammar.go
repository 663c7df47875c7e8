package cli

import (
	"errors"
	"strings"

	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/jptool/cmdline"
	"github.com/jptools/jptools/jptool/nearest"
)

// command is a command, or a group of them.
type command struct {
	name, help string
	// section is the heading of the program's help that the command is under; of a command of a group nothing.
	section string
	// make begins one command line of it; nil of a group.
	make func() runner
	// examples are what the help of a group shows, a line each; those of a command are in its own help.
	examples []string
	// subs are the commands of a group. If first, the first of them is meant where none is named.
	subs  []*command
	first bool
}

// runner is one command line of a command. It may have more to say in its help, by Help() string.
type runner interface {
	// form says which flags and words there are, and where they go.
	form(f *cmdline.Form)
	// Run does what the command line says, once it was read.
	Run(a *app) error
}

// bare is for commands without flags and words of their own.
type bare struct{}

func (bare) form(*cmdline.Form) {}

// program is all of the command line.
var program = &command{name: "jphost", help: "Run tools for language models under typed, declared limits.", examples: []string{
	"jphost run fs_read_file path=README.md",
	"jphost explain fs_modify_file write src/main.go",
	"jphost tools",
}, subs: []*command{
	{name: "run", section: "Calls", help: "Run a tool.", make: func() runner { return &runCmd{} }},
	{name: "tools", section: "Calls", help: "List the tools, or describe one.", make: func() runner { return &toolsCmd{} }},
	{name: "policy", section: "What a tool may do", help: "Show what a tool may do, and where that is written.", make: func() runner { return &policyCmd{} }},
	{name: "explain", section: "What a tool may do", help: "Say whether something is allowed, and why.", make: func() runner { return &explainCmd{} }},
	{name: "mount", section: "What a tool may do", help: "Let tools reach a directory outside of the workspace.", make: func() runner { return &mountCmd{} }},
	{name: "unmount", section: "What a tool may do", help: "Take mounts away again.", make: func() runner { return &unmountCmd{} }},
	{name: "mounts", section: "What a tool may do", help: "List the mounts.", make: func() runner { return &mountsCmd{} }},
	{name: "sandbox", section: "What a tool may do", help: "Run any program under grants, or show what would be held.", examples: []string{
		"jphost sandbox exec -- python3 -m unittest",
		"jphost sandbox exec --ro . --rw build/ -- make",
		"jphost sandbox plan fs_modify_file",
	}, subs: []*command{
		{name: "exec", help: "Run any program under the grants that are given.", make: func() runner { return &sandboxExecCmd{} }},
		{name: "plan", help: "Show what the operating system would hold.", make: func() runner { return &sandboxPlanCmd{} }},
	}},
	{name: "approvals", section: "Consent", help: "Approved targets of external paths.", first: true, examples: []string{
		"jphost approvals",
		"jphost approvals approve fork",
		"jphost approvals revoke fork",
	}, subs: []*command{
		{name: "list", help: "List what is approved.", make: func() runner { return &approvalsListCmd{} }},
		{name: "approve", help: "Approve where an external path leads.", make: func() runner { return &approvalsApproveCmd{} }},
		{name: "revoke", help: "Take approvals back.", make: func() runner { return &approvalsRevokeCmd{} }},
	}},
	{name: "trust", section: "Consent", help: "Settings of the repository that widen access.", first: true, examples: []string{
		"jphost trust",
		"jphost trust accept",
		"jphost trust revoke",
	}, subs: []*command{
		{name: "show", help: "Show what the repository's settings widen, and what was accepted.", make: func() runner { return &trustShowCmd{} }},
		{name: "accept", help: "Accept them, and release calls that are held back.", make: func() runner { return &trustAcceptCmd{} }},
		{name: "revoke", help: "Forget what was accepted.", make: func() runner { return &trustRevokeCmd{} }},
	}},
	{name: "session", section: "Consent", help: "What you answered for the rest of this session.", first: true, examples: []string{
		"jphost session",
		"jphost session forget fs_modify_file",
	}, subs: []*command{
		{name: "list", help: "List what you answered for the rest of this session.", make: func() runner { return &sessionListCmd{} }},
		{name: "forget", help: "Forget it, so that you are asked again.", make: func() runner { return &sessionForgetCmd{} }},
	}},
	{name: "config", section: "Configuration", help: "Show, check and start configurations.", examples: []string{
		"jphost config show --origin",
		"jphost config check",
		"jphost config init",
	}, subs: []*command{
		{name: "show", help: "Show what is in force.", make: func() runner { return &configShowCmd{} }},
		{name: "check", help: "Check all layers and tools.", make: func() runner { return &configCheckCmd{} }},
		{name: "schema", help: "Print a JSON Schema of the file, for editors.", make: func() runner { return &configSchemaCmd{} }},
		{name: "init", help: "Write a first .jp/config.toml.", make: func() runner { return &configInitCmd{} }},
	}},
	{name: "completion", section: "Configuration", help: "Print a completion script for a shell.", make: func() runner { return &completionCmd{} }},
	{name: "doctor", section: "Configuration", help: "Show what this machine can enforce, and what to change.", make: func() runner { return &doctorCmd{} }},
	{name: "version", section: "Configuration", help: "Print the version.", make: func() runner { return &versionCmd{} }},
}}

// globals are flags of every command.
type globals struct {
	Workspace    string
	Conversation string
	Cfg          []string
	Format       string
	JSON         bool
	NoInput      bool
}

func (g *globals) form(f *cmdline.Form) {
	f.Text(&g.Workspace, "workspace", "DIR", "The workspace. Default: around the working directory the nearest with .jp, else the nearest with .git, else the outermost with .jp.toml, else the working directory.").Short = "C"
	f.Text(&g.Conversation, "conversation", "ID", `The conversation that mounts belong to. Default: JPHOST_CONVERSATION, else "default".`)
	f.List(&g.Cfg, "cfg", "KEY=VALUE", "A setting for this command: KEY=VALUE, KEY:=JSON, a file, or JSON. Can be repeated.")
	f.OneOf(&g.Format, "format", "Text for people, or JSON for scripts.", "text", "json")
	f.Switch(&g.JSON, "json", "The same as --format json.")
	f.Switch(&g.NoInput, "no-input", "Ask nothing; what would be asked is refused.")
}

// line is a command line that was read.
type line struct {
	globals
	// path are the commands that were named, from the program on, and to run the last of them.
	path []*command
	run  runner
	// help was asked for before a command was named: it is that command's. version was, as a flag.
	help, version bool
}

// errNothing: nobody said what to do.
var errNothing = errors.New("nothing is to be done")

// read reads a command line. The error has its exit status; it is [cmdline.ErrHelp] or [errNothing] where only
// help is wanted, of the last command of the line.
func read(args []string) (*line, error) {
	l := &line{path: []*command{program}}
	if len(args) == 0 {
		return l, errNothing
	}
	for {
		at := l.path[len(l.path)-1]
		if at.make != nil {
			l.run = at.make()
			if l.help {
				return l, cmdline.ErrHelp
			}
			return l, l.wrong(formOf(l.run, &l.globals).Parse(args))
		}
		words := args
		if len(args) == 0 || strings.HasPrefix(args[0], "-") {
			var err error
			if words, err = l.before(args); err != nil {
				return l, l.wrong(err)
			}
		}
		if l.version {
			l.version, words = false, append([]string{"version"}, words...)
		}
		switch {
		case at == program && len(words) > 0 && words[0] == "help": // what people try first
			l.help, args = true, words[1:]
			continue
		case len(words) == 0 && l.help:
			return l, cmdline.ErrHelp
		case len(words) == 0 && at.first:
			words = []string{at.subs[0].name}
		case len(words) == 0 && at != program:
			return l, l.wrong(errors.New("<command> is missing: " + strings.Join(at.names(), ", ")))
		case len(words) == 0:
			return l, l.wrong(errors.New("<command> is missing"))
		}
		next := at.sub(words[0])
		if next == nil {
			return l, l.wrong(at.unknown(l.name(), words[0]))
		}
		l.path, args = append(l.path, next), words[1:]
	}
}

// before reads the flags before the name of a command, and returns what begins with that.
func (l *line) before(args []string) (words []string, err error) {
	f := formOf(nil, &l.globals)
	f.Switch(&l.help, "help", "").Short = "h"
	if len(l.path) == 1 {
		f.Switch(&l.version, "version", "").Short = "V"
	}
	f.Rest(&words, "command", "").Optional = true
	f.Others = func(words []string) bool { return len(words) > 0 }
	err = f.Parse(args)
	return words, err
}

// formOf is what can follow a command, or a group of them: nil.
func formOf(r runner, g *globals) *cmdline.Form {
	f := &cmdline.Form{}
	g.form(f)
	if r != nil {
		r.form(f)
	}
	return f
}

// name is what was named, as it is written.
func (l *line) name() string {
	var names []string
	for _, c := range l.path {
		names = append(names, c.name)
	}
	return strings.Join(names, " ")
}

func (l *line) wrong(err error) error {
	if err == nil || errors.Is(err, cmdline.ErrHelp) {
		return err
	}
	return exit.Errorf(exit.Usage, "%w\nsee: %s --help", err, l.name())
}

func (c *command) sub(name string) *command {
	for _, s := range c.subs {
		if s.name == name {
			return s
		}
	}
	return nil
}

func (c *command) names() []string {
	var names []string
	for _, s := range c.subs {
		names = append(names, s.name)
	}
	return names
}

func (c *command) unknown(path, word string) error {
	_, path, _ = strings.Cut(path, " ")
	text := "there is no command " + strings.TrimPrefix(path+" "+cmdline.Shown(word), " ")
	if near := nearest.Word(word, c.names()); near != "" {
		text += ", did you mean " + near + "?"
	}
	return errors.New(text)
}

// names is a flag with an optional value: the next word after TOOL if it is neither a flag nor
// an argument, or what follows `=`.
type names struct {
	All  bool
	List []string
}

func (n names) given() bool { return n.All || len(n.List) > 0 }

// isName reports whether next, after these words, is the value of --no-mount, not an argument.
func isName(words []string, next string) bool {
	return len(words) > 0 && next != "" && !strings.HasPrefix(next, "-") && !strings.HasPrefix(next, "{") && !strings.Contains(next, "=")
}
