package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/jptools/jptools/host/internal/call"
	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/enforcement"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/grants"
	"github.com/jptools/jptools/host/internal/policy"
	"github.com/jptools/jptools/host/internal/record"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/host/internal/undo"
	"github.com/jptools/jptools/jptool/strictjson"
	"github.com/jptools/jptools/sandbox"
	"github.com/jptools/jptools/sandbox/fit"
)

type runCmd struct {
	Tool string   `arg:"" help:"The tool; see: jphost tools."`
	Args []string `arg:"" name:"argument" optional:"" help:"KEY=TEXT, KEY:=JSON, one JSON object, or - to read one from standard input."`

	Mount          []string `placeholder:"SPEC" help:"Mount first: [TOOL:]NAME=PATH[:ro|:rw]; see: jphost mount --help."`
	NoMount        names    `placeholder:"[NAME]" help:"Unmount NAME first, or everything."`
	Answer         []string `placeholder:"ID=VALUE" help:"Answer the tool's question ID."`
	AllowSensitive bool     `help:"Let the tool reach places of secrets in this call, without asking."`
	ExplainDenials bool     `help:"Say what the sandbox refused, and what would allow it. Slows the tool down."`
	Preview        bool     `help:"Let the tool say what it would do (action format_arguments). A program that does not know previews would run."`
	Verbose        bool     `help:"Say all about how the call was enforced, not only in a few words."`
	DryRun         bool     `help:"Start nothing; show the call, its policy and what would be asked."`
}

func (c *runCmd) Run(a *app) error {
	if err := enforcement.Explainable(c.ExplainDenials); err != nil {
		return err
	}
	// The helpers are not closed: nothing is left of a call that has returned, and idle helpers end with this process.
	if a.Helpers == nil {
		a.Helpers = sandbox.NewHelpers(sandbox.HelperOptions{Once: true})
	}
	report, err := c.call(a)
	if report == nil {
		report = &call.Report{
			Tool: c.Tool, Warnings: []string{}, Status: exit.Of(err), Sandbox: enforcement.Unused(""),
			Outcome: call.Outcome{Type: "failed", Code: exit.Of(err).String(), Message: fmt.Sprint(err)},
		}
		root, known := "", []string{config.UserGlobalPath(a.Environ), a.Home(), a.Getenv("XDG_DATA_HOME"), a.Workspace}
		if a.place != nil {
			root, known = a.place.root, append(known, a.place.dir.Base())
		}
		report.Outcome.Message = call.ForModel(report.Outcome.Message, root, known...)
	}
	if a.Out.JSON {
		return errors.Join(a.Out.Value(c.forScripts(report)), err)
	}
	c.print(a, report)
	if c.Verbose {
		a.Out.Note(enforcement.Summarize(report.Sandbox).String())
	}
	return err
}

// forScripts is the report as JSON has it: in a few words how the call was enforced, or all of it.
func (c *runCmd) forScripts(r *call.Report) any {
	if r.Plan != nil {
		for i, need := range r.Plan.Needs {
			r.Plan.Needs[i] = call.WithoutRemedy(need)
		}
	}
	type short struct {
		*call.Report
		Sandbox any `json:"sandbox"`
	}
	s := enforcement.Summarize(r.Sandbox)
	if !c.Verbose {
		return short{r, s}
	}
	return short{r, struct {
		Level string   `json:"level"`
		Notes []string `json:"notes"`
		*enforcement.Report
	}{s.Level, s.Notes, r.Sandbox}}
}

func (c *runCmd) call(a *app) (*call.Report, error) {
	answers, err := c.answers()
	if err != nil {
		return nil, err
	}
	p, err := a.open()
	if err != nil {
		return nil, err
	}
	if err := p.narrow(); err != nil {
		return nil, err
	}
	if c.DryRun && (len(c.Mount) > 0 || c.NoMount.set()) {
		return nil, exit.Errorf(exit.Usage, "--dry-run changes nothing, and mounting does\nleave --mount and --no-mount out")
	}
	cfg, tool, err := a.configured(c.Tool)
	if err != nil {
		return nil, err
	}
	args, err := arguments(c.Args, tool, a.Stdin)
	if err != nil {
		return nil, err
	}
	if len(c.Mount) > 0 || c.NoMount.set() {
		if err := a.mounts(c.Mount, c.NoMount); err != nil {
			return nil, err
		}
		if cfg, tool, err = a.configured(c.Tool); err != nil {
			return nil, err
		}
	}
	host, err := a.host(cfg)
	if err != nil {
		return nil, err
	}
	host.Explain = c.ExplainDenials
	report, err := host.Run(a.Ctx, call.Request{Tool: tool, Arguments: args, Answers: answers, Preview: c.Preview, Dry: c.DryRun, AllowSensitive: c.AllowSensitive})
	if err != nil && len(c.Mount) > 0 && (report.Starts == 0 || report.Outcome.Type == "refused") {
		const stays = "what --mount mounted stays, although the call was not made\nto take it away: jphost unmount NAME"
		report.Warnings = append(report.Warnings, call.WithoutRemedy(stays))
		a.Out.Warn(stays)
	}
	return report, err
}

// configured loads the configuration with the tool of that name.
func (a *app) configured(name string) (*config.Config, *config.Tool, error) {
	cfg, err := a.config()
	if err != nil {
		return nil, nil, err
	}
	tool, err := a.tool(cfg, name)
	return cfg, tool, err
}

// host makes the calls. The workspace is open, since it has a configuration.
func (a *app) host(cfg *config.Config) (*call.Host, error) {
	p := a.place
	id, err := state.SessionID(a.Getenv)
	if err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	session, err := p.dir.Session(id)
	if err != nil {
		return nil, exit.With(exit.Host, err)
	}
	var store *undo.Store
	if cfg.Undo().Keep {
		if store, err = undo.Open(p.dir, undoLimits(cfg)); err != nil {
			return nil, exit.With(exit.Host, err)
		}
	}
	log, err := record.Open(p.dir)
	if err != nil {
		return nil, exit.With(exit.Host, err)
	}
	beside := ""
	if self, err := os.Executable(); err == nil {
		beside = filepath.Dir(self)
	}
	return &call.Host{
		Config: cfg, Workspace: p.workspace, Root: p.root, Cwd: p.cwd, Conversation: p.conversation, Environ: a.Environ, Beside: beside,
		TempBase: a.TempBase(), State: p.dir, Approvals: p.approvals(a), Trust: p.trust(a), Holds: consent.OpenHolds(p.dir), Session: session, Memory: consent.OpenMemory(p.dir, id),
		Prompter: a.ask(), OwnConfig: config.UserFile, Helpers: a.Helpers, Warn: a.Out.Warn, Live: a.Out.Live, Undo: store, Log: log,
	}, nil
}

func (c *runCmd) answers() (map[string]string, error) {
	answers := map[string]string{}
	for _, s := range c.Answer {
		id, value, ok := strings.Cut(s, "=")
		if !ok || id == "" {
			return nil, exit.Errorf(exit.Usage, "--answer %s is not ID=VALUE\nwrite it like: --answer apply_changes=true", show.Visible(s))
		}
		if _, twice := answers[id]; twice {
			return nil, exit.Errorf(exit.Usage, "--answer %s was given twice\nleave one of them out", show.Visible(id))
		}
		answers[id] = value
	}
	return answers, nil
}

// print prints the report for a person. The caller prints the error of the call.
func (c *runCmd) print(a *app, r *call.Report) {
	switch {
	case r.Outcome.Content != nil && r.Outcome.Plain && r.OutShown && a.Out.StdoutTerminal(): // it is on the screen
	case r.Outcome.Content != nil && r.DiffShown && a.Out.StdoutTerminal():
		a.Out.Text(call.WithoutDiffs(*r.Outcome.Content))
	case r.Outcome.Content != nil:
		a.Out.Text(*r.Outcome.Content)
	case r.Plan != nil:
		c.printPlan(a, r)
	case r.Outcome.Before() != "":
		a.Out.Quote("", r.Outcome.Before())
	}
	failed := r.Outcome.Type == "error" && r.Outcome.Plain
	if !failed { // else the error message has both
		if !r.OutShown {
			a.Out.Quote("the call printed, before it was ended:", r.Output)
		}
		if !r.ErrShown {
			a.Out.Quote("standard error of "+show.Visible(r.Tool)+":", r.Stderr)
		}
	}
	switch held := r.Sandbox; {
	case held == nil || held.Tier == fit.TierNone:
	case held.Observed != nil:
		enforcement.PrintDenials(a.Out, r.Denials, held.Observed, failed)
	case failed && !c.ExplainDenials:
		a.Out.Note(enforcement.DenialHint)
	}
	if failed {
		a.Out.After = withheldNote(r)
	}
}

// withheldNote is a line about the variables that a failed tool did not get: it names those that the tool mentions, else
// only how many there are.
func withheldNote(r *call.Report) string {
	spoken := strings.FieldsFunc(r.Outcome.Message+" "+r.Stderr, func(c rune) bool {
		return c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c)
	})
	var named []string
	for _, name := range r.Withheld {
		if slices.Contains(spoken, name) {
			named = append(named, show.Visible(name))
		}
	}
	switch n := len(r.Withheld); {
	case len(named) > 0:
		return "the tool did not get " + strings.Join(named, ", ") + "; access.env of the tool grants variables"
	case n > 0:
		return fmt.Sprintf("withheld from the tool: %d variable%s of the environment (--json names them)", n, cond(n > 1, "s", ""))
	}
	return ""
}

func (c *runCmd) printPlan(a *app, r *call.Report) {
	p := r.Plan
	a.Out.Printf("tool         %s (run = %q)\n", show.Visible(r.Tool), p.Run)
	a.Out.Printf("arguments    %s\n", show.Value(p.Arguments))
	a.Out.Printf("program      %s\n", show.Visible(p.Program))
	for _, arg := range p.Argv[1:] {
		a.Out.Printf("             %s\n", show.Visible(arg))
	}
	if p.Stdin {
		a.Out.Printf("             the request goes over standard input\n")
	}
	a.Out.Printf("environment  %s\n", show.Line(strings.Join(p.Environment, " ")))
	a.Out.Printf("policy       %s\n", r.Policy.Digest)
	a.Out.Printf("             see: jphost policy %s\n", show.Word(r.Tool))
	a.Out.Printf("enforced by  %s\n             see: jphost sandbox plan %s\n", r.Sandbox.Tier, show.Word(r.Tool))
	for _, n := range p.Needs {
		a.Out.Printf("needs        %s\n", show.Indented(strings.TrimRight(n, "\n"), "             "))
	}
}

// arguments makes the JSON object of a call from the words of the command line: KEY=TEXT and KEY:=JSON, or one JSON
// object, or `-`. A key that occurs several times is a list. The tool's parameters decide later which texts are numbers.
func arguments(words []string, tool *config.Tool, stdin io.Reader) ([]byte, error) {
	values := map[string][]any{}
	for _, word := range words {
		if object, ok, err := whole(word, stdin); err != nil {
			return nil, err
		} else if ok {
			if len(words) > 1 {
				return nil, exit.Errorf(exit.Usage, "%s and other arguments do not go together\ngive one JSON object, or only KEY=VALUE", show.Visible(word))
			}
			return object, nil
		}
		key, value, ok := strings.Cut(word, "=")
		if !ok || key == "" || key == ":" {
			return nil, exit.Errorf(exit.Usage, "the argument %s is not KEY=VALUE\n%s", show.Visible(word), example(tool, word))
		}
		if !utf8.ValidString(word) {
			return nil, exit.Errorf(exit.Usage, "the argument %s is not valid UTF-8\nJSON has no other text, so no tool can be given it", show.Visible(word))
		}
		var given any = value
		if name, isJSON := strings.CutSuffix(key, ":"); isJSON {
			if !json.Valid([]byte(value)) {
				return nil, exit.Errorf(exit.Usage, "the value of %s is not JSON: %w\nit is %s\nwrite %s=TEXT for a text",
					show.Visible(name), strictjson.Check([]byte(value)), show.Short(value, 160), show.Visible(name))
			}
			key, given = name, json.RawMessage(value)
		}
		values[key] = append(values[key], given)
	}
	object := map[string]any{}
	for key, list := range values {
		object[key] = list
		if len(list) == 1 {
			object[key] = list[0]
		}
	}
	return json.Marshal(object)
}

// whole reads a word that stands for the whole object; ok is false for any other word.
func whole(word string, stdin io.Reader) (object json.RawMessage, ok bool, err error) {
	if word != "-" {
		return json.RawMessage(word), strings.HasPrefix(word, "{"), nil
	}
	if term.IsTerminal(stdin) {
		return nil, false, exit.Errorf(exit.Usage, "- reads the arguments from standard input, which is a terminal\npipe one JSON object into the command")
	}
	data, err := grants.ReadAll(stdin)
	if err != nil {
		return nil, false, exit.Errorf(exit.Usage, "reading the arguments from standard input: %w", err)
	}
	return data, true, nil
}

// example shows what the word was probably meant to be.
func example(tool *config.Tool, word string) string {
	for _, p := range tool.Parameters {
		if p.Required && slices.Contains(p.Types, "string") {
			return fmt.Sprintf("did you mean %s?", show.Word(p.Name+"="+word))
		}
	}
	return "see: jphost tools " + show.Word(tool.Name)
}

type sandboxExecCmd struct {
	Command []string `arg:"" rest:"" help:"The program and its arguments."`
	grants.Exec
	dashed bool // -- came before the program
}

// AfterApply looks whether -- came before the program.
func (c *sandboxExecCmd) AfterApply(ctx *kong.Context) error {
	c.dashed = dashed(ctx, len(c.Command))
	return nil
}

func (c *sandboxExecCmd) Run(a *app) error {
	return c.Start(a.Process, c.Command, c.swallowed)
}

// swallowed is a flag of this command among the arguments of the program, which nobody marked as the program's by a
// -- before it; "" if there is none.
func (c *sandboxExecCmd) swallowed() string {
	if c.dashed {
		return ""
	}
	l, _ := read([]string{"sandbox", "exec", "--help"}) // a line that knows the flags
	for _, word := range c.Command[1:] {
		name, _, _ := strings.Cut(word, "=")
		if f := l.flag(name); f != nil && name == "--"+f.Name && !f.Hidden && f.Name != "help" {
			return name
		}
	}
	return ""
}

type sandboxLearnCmd struct {
	Command []string `arg:"" rest:"" help:"The program and its arguments."`
	grants.Learn
}

func (c *sandboxLearnCmd) Run(a *app) error { return c.Start(a.Process, c.Command, a.ask) }

type sandboxPlanCmd struct {
	Tool    string   `arg:"" optional:"" help:"The tool; after -- or with flags that grant, the program."`
	Command []string `arg:"" optional:"" help:"The arguments of the program."`
	grants.Flags
	program bool // -- came before the first word, so Tool is a program
}

// AfterApply looks whether -- came before the first word.
func (c *sandboxPlanCmd) AfterApply(ctx *kong.Context) error {
	c.program = c.Tool != "" && dashed(ctx, len(c.Command)+1)
	return nil
}

func (c *sandboxPlanCmd) Run(a *app) error {
	d, cmd, err := c.prepare(a)
	if err != nil {
		return err
	}
	at, err := cmd.Preview()
	if refused := (*fit.RefusedError)(nil); errors.As(err, &refused) {
		a.Out.Warn(err.Error()) // and this is what it looks like
	} else if err != nil {
		return exit.With(exit.Usage, err)
	}
	for _, w := range d.Warnings {
		a.Out.Warn(w.String())
	}
	profile := enforcement.NewProfile(at, cmd.Path, d.Access)
	if a.Out.JSON {
		return a.Out.Value(profile)
	}
	profile.Print(a.Out)
	return nil
}

// prepare prepares what would be started: a tool as in `run`, or a program as in `sandbox exec`.
func (c *sandboxPlanCmd) prepare(a *app) (*policy.Declared, *sandbox.Cmd, error) {
	if c.Tool != "" && !c.Stated() && !c.program {
		return c.tool(a)
	}
	argv := c.Command
	if c.Tool != "" {
		argv = append([]string{c.Tool}, argv...)
	}
	if len(argv) == 0 {
		argv = []string{"sh"}
	}
	return c.Plan(a.Process, argv)
}

// tool prepares what `run` would start.
func (c *sandboxPlanCmd) tool(a *app) (*policy.Declared, *sandbox.Cmd, error) {
	cfg, err := a.config()
	if err != nil {
		return nil, nil, err
	}
	t, err := a.tool(cfg, c.Tool)
	if err != nil {
		return nil, nil, exit.Errorf(exit.Usage, "%w\na program is written after --: jphost sandbox plan -- %s", err, show.Word(c.Tool))
	}
	if t.Source.Kind != config.SourceLocal {
		return nil, nil, exit.Errorf(exit.Usage, "%s has source %q, and only local tools are started here\nthey are listed by: jphost tools", show.Visible(t.Name), t.Source.Kind)
	}
	f, err := a.effective(cfg, t)
	if err != nil {
		return nil, nil, err
	}
	if f.missing != nil {
		return nil, nil, exit.Errorf(exit.Usage, "%s: command of %s: %w", t.Command.Origin, show.Visible(t.Name), f.missing)
	}
	o := &f.options
	o.Required = o.Required || c.Required
	// This shows what the sandbox would do, whatever the configuration says.
	o.Off = false
	if tier := fit.ForcedTier(c.Tier); tier != "" && tier != o.Tier {
		m, err := sandbox.Probe(a.Ctx, tier, nil, a.Getenv)
		if err != nil {
			return nil, nil, exit.With(exit.Usage, err)
		}
		o.Tier, o.Machine = tier, &m
	}
	cmd, err := f.command()
	return f.declared, cmd, exit.With(exit.Usage, err)
}
