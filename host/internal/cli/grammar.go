package cli

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/preset"
)

// grammar is the whole command line, as kong reads it.
type grammar struct {
	globals

	Run   runCmd   `cmd:"" group:"Calls:" help:"Run a tool."`
	Tools toolsCmd `cmd:"" group:"Calls:" help:"List the tools, or describe one."`
	Undo  undoCmd  `cmd:"" group:"Calls:" help:"List what calls changed, and take changes back."`
	Log   logCmd   `cmd:"" group:"Calls:" help:"Show the calls that were made, and what became of them."`

	Policy  policyCmd    `cmd:"" group:"What a tool may do:" help:"Show what a tool may do, and where that is written."`
	Explain explainCmd   `cmd:"" group:"What a tool may do:" help:"Say whether something is allowed, and why."`
	Mount   mountCmd     `cmd:"" group:"What a tool may do:" help:"Let tools reach a directory outside of the workspace."`
	Unmount unmountCmd   `cmd:"" group:"What a tool may do:" help:"Remove mounts."`
	Mounts  mountsCmd    `cmd:"" group:"What a tool may do:" help:"List the mounts."`
	Sandbox sandboxGroup `cmd:"" group:"What a tool may do:" help:"Run any program under grants, or show what would be enforced."`

	Approvals approvalsGroup `cmd:"" group:"Consent:" help:"Approved targets of external paths."`
	Trust     trustGroup     `cmd:"" group:"Consent:" help:"Settings of the repository that widen access."`
	Session   sessionGroup   `cmd:"" group:"Consent:" help:"What you answered for the rest of this session."`

	Config     configGroup   `cmd:"" group:"Configuration:" help:"Show, check and start configurations."`
	Completion completionCmd `cmd:"" group:"Configuration:" help:"Print a completion script for a shell."`
	Doctor     doctorCmd     `cmd:"" group:"Configuration:" help:"Show what this machine can enforce, and what to change."`
	Version    versionCmd    `cmd:"" group:"Configuration:" help:"Print the version."`

	Describe helpCmd     `cmd:"" name:"help" hidden:"" help:"Print the help of a command."`
	Complete completeCmd `cmd:"" hidden:"" help:"Say what can follow the words of a command line; the completion scripts ask it."`
}

// globals are flags of every command, wherever they stand.
type globals struct {
	Workspace    string   `short:"C" placeholder:"DIR" group:"Flags of every command:" help:"The workspace. Default: around the working directory the nearest with .jp, else the nearest with .git, else the outermost with .jp.toml, else the working directory."`
	Conversation string   `placeholder:"ID" group:"Flags of every command:" help:"The conversation that mounts belong to. Default: JPHOST_CONVERSATION, else \"default\"."`
	Cfg          []string `placeholder:"KEY=VALUE" group:"Flags of every command:" help:"A setting for this command: KEY=VALUE, KEY:=JSON, a file, or JSON."`
	Format       string   `enum:"text,json" default:"text" placeholder:"text|json" group:"Flags of every command:" help:"Text for people, or JSON for scripts."`
	JSON         bool     `group:"Flags of every command:" help:"The same as --format json."`
	NoInput      bool     `group:"Flags of every command:" help:"Ask nothing; what would be asked is refused."`

	Help        helpFlag    `short:"h" group:"Flags of every command:" help:"Print this help."`
	ShowVersion versionFlag `name:"version" short:"V" group:"Flags of every command:" help:"Print the version."`
}

type sandboxGroup struct {
	Exec sandboxExecCmd `cmd:"" help:"Run any program under grants."`
	Plan sandboxPlanCmd `cmd:"" help:"Show what the operating system would enforce."`

	Learn   sandboxLearnCmd   `cmd:"" help:"Run a program until it is known which grants it needs."`
	Presets sandboxPresetsCmd `cmd:"" help:"Show the presets, and what they mean on this machine."`
}

type approvalsGroup struct {
	List    approvalsListCmd    `cmd:"" default:"" help:"List what is approved; the same as jphost approvals."`
	Approve approvalsApproveCmd `cmd:"" help:"Approve where an external path leads."`
	Revoke  approvalsRevokeCmd  `cmd:"" help:"Take approvals back."`
}

type trustGroup struct {
	Show   trustShowCmd   `cmd:"" default:"" help:"Show what the repository's settings widen, and what was accepted; the same as jphost trust."`
	Accept trustAcceptCmd `cmd:"" help:"Accept these settings, and release calls that are held back."`
	Revoke trustRevokeCmd `cmd:"" help:"Forget what was accepted."`
}

type sessionGroup struct {
	List   sessionListCmd   `cmd:"" default:"" help:"List what you answered for the rest of this session; the same as jphost session."`
	Forget sessionForgetCmd `cmd:"" help:"Forget answers, so that you are asked again."`
}

type configGroup struct {
	Show   configShowCmd   `cmd:"" help:"Show what is in force."`
	Check  configCheckCmd  `cmd:"" help:"Check all layers and tools."`
	Schema configSchemaCmd `cmd:"" help:"Print a JSON Schema of the file, for editors."`
	Init   configInitCmd   `cmd:"" help:"Write a first .jp/config.toml."`
}

// line is a command line that was read.
type line struct {
	*globals
	// json: the line asks for JSON, as far as kong could read it.
	json bool
	// run is the command; nil if the line has none, or if its help is wanted.
	run any
	ctx *kong.Context
}

// What a flag asks for in place of the command that stands on the line.
var (
	errHelp    = errors.New("help was asked for")
	errVersion = errors.New("the version was asked for")
)

// helpFlag is --help. It counts although words of the command are missing.
type helpFlag bool

// BeforeReset ends the parse.
func (helpFlag) BeforeReset() error { return errHelp }

// IgnoreDefault makes `jphost trust --help` the help of the group, not that of its default command.
func (helpFlag) IgnoreDefault() {}

type versionFlag bool

// BeforeReset ends the parse.
func (versionFlag) BeforeReset() error { return errVersion }

// helpCmd is what people try first: `jphost help trust accept`. [read] puts the help of the named command in its place.
type helpCmd struct {
	Words []string `arg:"" optional:"" rest:""`
}

// read reads a command line, without the program. The error has its exit status; it is [errHelp] if the help
// of the command that the line names is wanted. There is a line in every case.
func read(args []string) (*line, error) {
	k, g := parser()
	args, tail := splitTail(args)
	ctx, err := k.Parse(args)
	if wrong := (*kong.ParseError)(nil); errors.As(err, &wrong) {
		ctx = wrong.Context
	}
	l := &line{globals: &g.globals, ctx: ctx}
	l.json = ctx.FlagValue(l.flag("--json")) == true || ctx.FlagValue(l.flag("--format")) == "json"
	node := l.node()
	switch {
	case errors.Is(err, errVersion):
		l.run = &g.Version
		return l, nil
	case errors.Is(err, errHelp), len(args) == 0:
		return l, errHelp
	case err != nil:
		return l, exit.Errorf(exit.Usage, "%w\nsee: %s --help", l.wrong(err), node.FullPath())
	}
	if len(tail) > 0 {
		words := node.Positional[len(node.Positional)-1].Target.Addr().Interface().(*[]string)
		*words = append(*words, tail...)
	}
	if node.Target.Addr().Interface() == &g.Describe {
		help, err := read(append([]string{"--help"}, g.Describe.Words...))
		help.json = l.json
		return help, err
	}
	l.run = node.Target.Addr().Interface()
	return l, nil
}

// command runs the command of the line, with what its method Run asks for.
func (l *line) command(a *app) error {
	if version, is := l.run.(*versionCmd); is { // --version can stand behind any command
		return version.Run(a)
	}
	for _, provider := range []any{a.open, a.config, a.memory, a.trustState} {
		if err := l.ctx.BindToProvider(provider); err != nil {
			return err
		}
	}
	return l.ctx.RunNode(l.node(), a)
}

// splitTail takes the last words of a long line away. Kong copies all words after -- for each of them, which takes
// seconds for 20,000. It needs to see only the first of these words: a line with so many has a list that takes all
// others as they are, or kong refuses it for the first ones.
func splitTail(args []string) (head, tail []string) {
	const enough = 8
	if i := slices.Index(args, "--"); i >= 0 && len(args) > i+enough {
		return args[:i+enough], args[i+enough:]
	}
	return args, nil
}

// parser makes kong's parser of command lines.
func parser() (*kong.Kong, *grammar) {
	g := &grammar{}
	noMount, lists := &noMountMapper{}, listMapper{}
	k := kong.Must(g,
		kong.Name("jphost"),
		kong.Vars{"presets": strings.Join(preset.Names(), ", ")},
		kong.Description("Run tools for language models under typed, declared limits."),
		kong.NoDefaultHelp(),
		kong.Help(writeHelp),
		kong.ConfigureHelp(kong.HelpOptions{
			Compact: true, FlagsLast: true, NoExpandSubcommands: true, NoAppSummary: true, WrapUpperBound: 100,
		}),
		kong.KindMapper(reflect.String, kong.MapperFunc(exactText)),
		kong.TypeMapper(reflect.TypeFor[[]string](), lists),
		kong.TypeMapper(reflect.TypeFor[names](), noMount),
	)
	noMount.tool = k.Model.Children[0].Positional[0]
	lists.find(k.Model.Node)
	return k, g
}

// exactText reads a text byte for byte. Kong's own mapper goes through JSON, which changes what is not UTF-8: a flag
// would grant or withhold another path than the one that was written. For -C=DIR the text is DIR.
func exactText(ctx *kong.DecodeContext, target reflect.Value) error {
	word, err := ctx.Scan.PopValue("string")
	if err != nil {
		return err
	}
	text := word.String()
	if word.Type == kong.ShortFlagTailToken {
		text = strings.TrimPrefix(text, "=")
	}
	target.SetString(text)
	return nil
}

// listMapper reads a list of texts: one for a flag, which can be repeated, else all words up to the next flag. After
// that flag the list goes on, while kong's own mapper would take it for complete.
//
// The tag rest:"" makes every word from the first on part of the list, even if it looks like a flag; rest:"WORD" does
// so after WORD, if that is one of the first two words. Kong's passthrough copies all words for each of them.
type listMapper map[*kong.Value]*kong.Node // the commands of the arguments

// find finds the arguments of a command and of those below it, and has their help say which flags are lists.
func (m listMapper) find(n *kong.Node) {
	for _, f := range n.Flags {
		if f.IsSlice() {
			f.Tag.Sep = -1 // kong would show it as a list with commas
			f.Help += " Can be repeated."
		}
	}
	for _, p := range n.Positional {
		m[p] = n
	}
	for _, child := range n.Children {
		m.find(child)
	}
}

// Decode implements kong.Mapper.
func (m listMapper) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	list := target.Addr().Interface().(*[]string)
	node := m[ctx.Value]
	if node == nil { // a flag
		word, err := ctx.Scan.PopValue("string")
		if err == nil {
			*list = append(*list, word.String())
		}
		return err
	}
	after := ctx.Value.Tag.Get("rest")
	rest := ctx.Value.Tag.Has("rest") && after == ""
	for next := ctx.Scan.Peek(); next.IsValue() || rest && !next.IsEOL(); next = ctx.Scan.Peek() {
		word := ctx.Scan.Pop().String()
		*list = append(*list, word)
		rest = rest || after != "" && word == after && len(*list) <= 2
	}
	node.Positional = append(node.Positional, ctx.Value)
	ctx.Value.Position = len(node.Positional) - 1 // kong looks for missing words after this position
	return nil
}

// node is the last command of the line, or the program.
func (l *line) node() *kong.Node {
	if n := l.ctx.Selected(); n != nil {
		return n
	}
	return l.ctx.Model.Node
}

// flag is the flag of the commands of this line that is written so, or nil.
func (l *line) flag(written string) *kong.Flag {
	for _, f := range l.ctx.Flags() {
		if written == "--"+f.Name || f.Short != 0 && strings.HasPrefix(written, "-"+string(f.Short)) {
			return f
		}
	}
	return nil
}

// dashed reports whether -- stands before the word from which n words and the rest of the line are left.
func dashed(ctx *kong.Context, n int) bool { return ctx.Args[len(ctx.Args)-n-1] == "--" }

// names is a flag with an optional value.
type names struct {
	All  bool
	List []string
}

func (n names) set() bool { return n.All || len(n.List) > 0 }

// noMountMapper reads --no-mount [NAME]. NAME is what follows `=`, or the next word if TOOL was there before and the
// word is neither a flag nor an argument of TOOL.
type noMountMapper struct{ tool *kong.Positional }

// Decode implements kong.Mapper.
func (m *noMountMapper) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	n := target.Addr().Interface().(*names)
	next := ctx.Scan.Peek()
	word := next.String()
	isArgument := word == "" || strings.ContainsAny(word[:1], "-{") || strings.Contains(word, "=")
	isName := m.tool.Active && next.IsValue() && !isArgument
	if next.Type == kong.FlagValueToken || isName {
		n.List = append(n.List, ctx.Scan.Pop().String())
	} else {
		n.All = true
	}
	return nil
}

// helpTexts has a text for each command, below a line with the name of the command.
//
//go:embed help.txt
var helpTexts string

// detail is the text of a command's help page.
func detail(n *kong.Node) string {
	_, text, _ := strings.Cut(helpTexts, "\n== "+n.FullPath()+" ==\n")
	text, _, _ = strings.Cut(text, "\n== ")
	return strings.TrimSpace(text)
}

// writeHelp writes the help of the last command of a line; kong lays it out. That of a group shows the first example
// of each of its commands.
func writeHelp(o kong.HelpOptions, ctx *kong.Context) error {
	node := ctx.Selected()
	if node == nil {
		node = ctx.Model.Node
	}
	node.Positional = slices.Compact(node.Positional) // see listMapper
	node.Detail = detail(node)
	usage := "Usage: " + node.FullPath()
	words := ""
	for _, p := range node.Positional {
		words += " " + p.Summary()
	}
	switch {
	case node.DefaultCmd != nil:
		usage += " [<command>] [flags]"
	case !node.Leaf():
		usage += " <command> [flags]"
	case len(node.Positional) > 0 && node.Positional[0].Tag.Has("rest") && node.Positional[0].Required: // flags after it are the program's
		usage += " [flags] [--]" + words
	default:
		usage += words + " [flags]"
	}
	if _, is := node.Target.Addr().Interface().(*sandboxExecCmd); is { // it reads no configuration
		for _, f := range ctx.Model.Flags {
			f.Hidden = f.Hidden || f.Name == "cfg" || f.Name == "conversation"
		}
	}
	node.Children = slices.DeleteFunc(node.Children, func(c *kong.Node) bool { return c.Hidden })
	for _, c := range node.Children {
		if c.Group == nil { // else it is listed under the heading of its parent
			c.Group = &kong.Group{Key: "Commands:", Title: "Commands:"}
		}
		if _, example, ok := strings.Cut(detail(c), "\n    jphost "); ok && node.Parent != nil {
			example, _, _ = strings.Cut(example, "\n")
			node.Detail = cmp.Or(node.Detail, "Examples:\n") + "\n    jphost " + example
		}
	}
	if _, err := fmt.Fprintln(ctx.Stdout, usage); err != nil {
		return err
	}
	if node.Parent == nil {
		return kong.DefaultHelpPrinter(o, ctx)
	}
	// The flags of every command are described once.
	var names []string
	for _, f := range ctx.Model.Flags {
		if !f.Hidden {
			names = append(names, "--"+f.Name)
		}
		f.Hidden = true
	}
	if err := kong.DefaultHelpPrinter(o, ctx); err != nil {
		return err
	}
	_, err := fmt.Fprintf(ctx.Stdout, "\nFlags of every command (see jphost --help):\n  %s\n", strings.Join(names, " "))
	return err
}
