package cli

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/preset"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/undo"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// The scripts ask `jphost complete` when the key is pressed.
var (
	//go:embed completion/jphost.bash
	bash string
	//go:embed completion/jphost.zsh
	zsh string
	//go:embed completion/jphost.fish
	fish string
)

func (c *completionCmd) Run(a *app) error {
	a.Out.Printf("%s", map[string]string{"bash": bash, "zsh": zsh, "fish": fish}[c.Shell])
	return nil
}

// completeCmd prints what can stand in the place of the last of the words: a line that says which kind of words
// follow, and a line for each, with a help behind a tab. For a flag with `=` they are only its value.
//
//	words      only these
//	keys       these, and the person goes on in the same word
//	files      whatever files there are
//	program N  whatever the shell completes for the command line that begins with word N, from 0 for jphost
type completeCmd struct {
	Words []string `arg:"" optional:"" rest:""`
}

func (c *completeCmd) Run(a *app) error {
	kind, list := a.complete(c.Words)
	a.Out.Printf("%s\n", kind)
	for _, w := range list {
		if name, _, _ := strings.Cut(w, "\t"); show.Word(name) == name { // nothing that a shell would make something of
			a.Out.Printf("%s\n", show.Text(w))
		}
	}
	return nil
}

// complete says what can stand in the place of the last of words.
func (a *app) complete(raw []string) (kind string, list []string) {
	words, starts := commandWords(raw)
	before, cur := words[:len(words)-1], words[len(words)-1]
	k, g := parser()
	ctx, _ := kong.Trace(k, before) // it ends where the line cannot be read, which is no error here
	if ctx.Reset() == nil {
		_, _ = ctx.Apply()
	}
	a.global, a.Workspace = &g.globals, g.Workspace
	a.global.NoInput = true
	l := &line{globals: &g.globals, ctx: ctx}
	node := l.node()
	if last := ctx.Path[len(ctx.Path)-1]; last.Command != nil && last.Parent == last.Command {
		node = node.Parent // nobody named the default command of this group
	}

	program := 0
	if n := len(g.Sandbox.Exec.Command) + len(g.Sandbox.Learn.Command); n > 0 {
		program = len(before) - n
	} else if strings.HasPrefix(node.Path(), "sandbox ") {
		program = slices.Index(before, "--") + 1
	}
	if program > 0 {
		return fmt.Sprintf("program %d", starts[program]), nil
	}
	written, _, valued := strings.Cut(cur, "=")
	flag := l.flag(written)
	if rest := ctx.Path[len(ctx.Path)-1].Remainder(); ctx.Error != nil && len(rest) == 1 {
		flag, valued = l.flag(rest[0]), true // it is without its value
	}
	switch {
	case flag != nil && valued && flag.Name == "preset":
		return "words", presetsAfter(cur[strings.LastIndexByte(cur, '=')+1:])
	case flag != nil && valued && flag.Enum != "":
		for _, value := range flag.EnumSlice() {
			list = append(list, value+"\t"+flag.Help)
		}
		return "words", list
	case flag != nil && valued && node.Path() == "log" && flag.Name == "tool":
		return "words", a.toolNames()
	case flag != nil && valued && flag.Name == "limit":
		return "keys", []string{"time=", "memory=", "processes=", "cpu_seconds=", "file_size="}
	case flag != nil && valued:
		return "files", nil
	case strings.HasPrefix(cur, "-") || node.Leaf() && len(node.Positional) == 0:
		for _, f := range ctx.Flags() {
			if !f.Hidden {
				list = append(list, "--"+f.Name+"\t"+f.Help)
			}
		}
		return "words", list
	case node.Path() == "sandbox exec", node.Path() == "sandbox learn":
		return fmt.Sprintf("program %d", starts[len(before)]), nil
	case node.Leaf():
		return a.completeWord(g, node, cur)
	}
	for _, c := range node.Children {
		if !c.Hidden {
			list = append(list, c.Name+"\t"+c.Help)
		}
	}
	return "words", list
}

// presetsAfter are the words that can stand for a list of presets whose last name is not complete.
func presetsAfter(written string) (list []string) {
	before := written[:strings.LastIndexByte(written, ',')+1]
	for _, p := range preset.All() {
		if !slices.Contains(strings.Split(strings.ReplaceAll(before, preset.NetSuffix, ""), ","), p.Name) {
			list = append(list, before+p.Name+"\t"+p.Summary, before+p.Name+preset.NetSuffix+"\t"+p.Reaches())
		}
	}
	return list
}

// commandWords joins what bash takes apart at `=`. starts says where each word begins on the line, on which jphost is
// word 0.
func commandWords(raw []string) (words []string, starts []int) {
	for i := 0; i < len(raw); i++ {
		if raw[i] == "=" && len(words) > 0 {
			i++
			words[len(words)-1] += strings.Join(raw[i-1:min(i+1, len(raw))], "")
			continue
		}
		words, starts = append(words, raw[i]), append(starts, i+1)
	}
	if len(words) == 0 {
		return []string{""}, []int{1}
	}
	return words, starts
}

// questions are what `explain TOOL` can be asked.
var questions = []string{"read", "create", "update", "delete", "execute", "write", "net", "env", "command", "-"}

// completeWord is complete for an argument of a command.
func (a *app) completeWord(g *grammar, node *kong.Node, cur string) (kind string, list []string) {
	asked := len(g.Explain.Question)
	if g.Explain.File != "" {
		asked++ // the tool is not named
	}
	tool := cmp.Or(g.Run.Tool, g.Tools.Tool, g.Policy.Tool, g.Sandbox.Plan.Tool, g.Session.Forget.Tool)
	switch path := node.Path(); {
	case path == "unmount", strings.HasPrefix(path, "approvals "):
		mounts, _ := a.external()
		for _, m := range mounts {
			list = append(list, m.Path)
		}
	case path == "run" && tool != "":
		return a.completeArgument(tool, cur)
	case path == "config show":
		if cfg, err := a.config(); err == nil {
			for _, s := range cfg.Effective() {
				if !strings.Contains(s.Key, "[") { // a rule, which is shown with its list
					list = append(list, s.Key)
				}
			}
		}
	case path == "explain" && asked == 1:
		list = questions
	case path == "explain" && asked == 0, node.Positional[0].Name == "tool" && tool == "":
		list = a.toolNames()
	case path == "undo":
		list = a.changes()
	case path == "sandbox presets":
		list = presetsAfter("")
	case node.Positional[0].Enum != "":
		list = node.Positional[0].EnumSlice()
	default:
		return "files", nil
	}
	return "words", list
}

// completeArgument is complete for an argument of a tool, or for its value if that can only be one of a few.
func (a *app) completeArgument(tool, cur string) (kind string, list []string) {
	name, _, valued := strings.Cut(cur, "=")
	cfg, err := a.config()
	if err != nil {
		return "files", nil
	}
	t, ok := cfg.Tool(tool)
	switch {
	case !ok && valued:
		return "files", nil
	case !ok:
		return "keys", nil
	}
	for _, p := range t.Parameters {
		switch {
		case !valued:
			list = append(list, p.Name+"=\t"+p.Summary)
		case p.Name != name:
		case slices.Equal(p.Types, []string{"boolean"}):
			return "words", []string{"true", "false"}
		case len(p.Enum) > 0:
			for _, v := range p.Enum {
				if text, is := v.(string); is {
					list = append(list, text)
				}
			}
			return "words", list
		}
	}
	if valued {
		return "files", nil
	}
	return "keys", list
}

// toolNames are the tools that can be run.
func (a *app) toolNames() (list []string) {
	cfg, err := a.config()
	if err != nil {
		return nil
	}
	for _, t := range cfg.Tools() {
		if t.Enable.On && t.Source.Kind == config.SourceLocal {
			list = append(list, t.Name+"\t"+t.Summary)
		}
	}
	return list
}

// changes are those that can be taken back, the newest first.
func (a *app) changes() (list []string) {
	u, err := a.undoing(&undoCmd{})
	if err != nil {
		return nil
	}
	records, _ := u.store.List()
	undone := undo.Undone(records)
	for _, r := range slices.Backward(records) {
		if undone[r.ID] != 0 || len(list) == listed {
			continue
		}
		text := fmt.Sprintf("%d\t%s", r.ID, r.Tool)
		for i := range r.Items {
			if r.What(i) != "" {
				text += " " + show.Visible(r.Items[i].Name)
			}
		}
		list = append(list, text)
	}
	return list
}
