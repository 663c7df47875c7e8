package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/enforcement"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/grants"
	"github.com/jptools/jptools/host/internal/policy"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/host/internal/trust"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/sandbox"
	"github.com/jptools/jptools/sandbox/fit"
)

// fromFile are the flags that name a policy in place of a tool.
type fromFile struct {
	File string `name:"policy" placeholder:"FILE" help:"Take the policy from a JSON file (an access object, or a Context with one; - is standard input) instead of a tool."`
	Root string `placeholder:"DIR" help:"The workspace that the policy of FILE is for. Default: that of its Context, else the current one."`
}

type policyCmd struct {
	Tool string `arg:"" optional:"" help:"The tool."`
	fromFile
}

func (c *policyCmd) Run(a *app) error {
	f, err := a.asked(c.Tool, c.fromFile)
	if err != nil {
		return err
	}
	d := f.declared
	var profile *enforcement.Profile
	why := "nothing (" + f.off + ")" // there is no profile
	if f.tool != nil && f.off == "" {
		call, refused, err := f.preview()
		if err != nil {
			first, help, _ := strings.Cut(err.Error(), "\n")
			why = strings.TrimRight("not known ("+first+")\n"+help, "\n")
		} else {
			profile = enforcement.NewProfile(call, f.program, d.Access)
		}
		if refused != nil {
			a.Out.Warn(refused.Error()) // and this is what it would look like
		}
	}
	if a.Out.JSON {
		r := policyReport{Report: d.Report}
		if profile != nil {
			r.Effective, r.Sandbox = profile.Effective, profile.Report
		}
		return a.Out.Value(r)
	}
	if err := d.WriteText(a.Out); err != nil {
		return err
	}
	switch {
	case f.tool == nil:
		return nil
	case profile == nil:
		a.Out.Printf("\nenforced by the operating system: %s\n", show.Indented(why, "  "))
	default:
		a.Out.Printf("\nenforced by the operating system: %s\n", profile.Tier)
		profile.PrintRules(a.Out)
		a.Out.Printf("  all of it: jphost sandbox plan %s\n", show.Word(d.Tool))
	}
	return a.waiting(f.cfg)
}

// policyReport is what `jphost policy --json` prints.
type policyReport struct {
	policy.Report
	// Effective is the policy that the tool would receive. It is absent for a policy without a tool, with
	// sandbox.mode = "off", and if the call cannot be prepared.
	Effective *jptool.AccessPolicy `json:"effective,omitempty"`
	Sandbox   *enforcement.Report  `json:"sandbox,omitempty"`
}

// waiting says so if calls wait for settings to be accepted, whatever the policy allows.
func (a *app) waiting(cfg *config.Config) error {
	trusted, err := a.trusted(cfg)
	if err == nil && !trusted {
		a.Out.Note(waits)
	}
	return err
}

const waits = "settings of this workspace wait to be accepted, and the tools that they concern do not run until: jphost trust accept"

// trusted reports whether the user accepted everything that the repository's own settings widen.
func (a *app) trusted(cfg *config.Config) (bool, error) {
	widening, err := trust.Widening(a.Ctx, cfg, a.place.root)
	if err != nil {
		return false, err
	}
	trusted, _, err := a.place.trust(a).Check(a.Ctx, widening)
	return trusted, exit.With(exit.Host, err)
}

// asked is the policy that questions are about: that of a tool as it is enforced, or that of a file as it is written,
// which has only what is declared.
func (a *app) asked(tool string, from fromFile) (*effective, error) {
	switch {
	case from.File != "" && tool != "":
		return nil, exit.Errorf(exit.Usage, "both a tool and --policy were given\nleave one of them out")
	case from.File != "":
		return a.wirePolicy(from)
	case from.Root != "":
		return nil, exit.Errorf(exit.Usage, "--root goes with --policy\nfor a tool, name its workspace with -C DIR")
	case tool == "":
		return nil, exit.Errorf(exit.Usage, "there is neither a tool nor --policy FILE\nlist the tools with: jphost tools")
	}
	cfg, t, err := a.configured(tool)
	if err != nil {
		return nil, err
	}
	f, err := a.effective(cfg, t)
	if err != nil {
		return nil, err
	}
	for _, w := range f.declared.Remarks(cfg, t) {
		f.declared.Warnings = append(f.declared.Warnings, w)
		a.Out.Warn(w.String())
	}
	if f.missing != nil {
		why, _, _ := strings.Cut(f.missing.Error(), "\n")
		a.Out.Warn(fmt.Sprintf("%s cannot be started: %s: %s", show.Visible(t.Name), show.Visible(t.Command.Program), why))
	}
	return f, nil
}

func (a *app) wirePolicy(from fromFile) (*effective, error) {
	access, root, err := grants.ReadPolicy(from.File, a.Stdin)
	if err != nil {
		return nil, err
	}
	if root = cmp.Or(from.Root, root); root == "" {
		p, err := a.open()
		if err != nil {
			return nil, err
		}
		root = p.root
	}
	ws, err := state.OpenWorkspace(root)
	if err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	d, err := policy.FromWire(access, ws.Root())
	return &effective{declared: d}, exit.With(exit.Usage, grants.OfFile(from.File, err))
}

// effective is a tool as the operating system would confine it in a call. It takes the steps of `run` up to the start;
// it asks nothing and makes nothing. The policy of a file has no tool, and nothing but what is declared.
type effective struct {
	ctx      context.Context
	cfg      *config.Config
	tool     *config.Tool
	declared *policy.Declared
	options  sandbox.Options
	// program is what is started.
	program string
	// missing says why the program of the tool cannot be started. This one then stands in for it, because the
	// rules do not depend on it.
	missing error
	// off says why the operating system enforces nothing, "" if it does.
	off string
}

// effective compiles a tool.
func (a *app) effective(cfg *config.Config, t *config.Tool) (*effective, error) {
	if t.Source.Kind != config.SourceLocal {
		return nil, exit.Errorf(exit.Usage, "%s has source %q (%s), and only local tools have a policy here", t.Name, t.Source.Kind, t.Origin("source"))
	}
	h, err := a.host(cfg)
	if err != nil {
		return nil, err
	}
	f := &effective{ctx: a.Ctx, cfg: cfg, tool: t}
	if cfg.Sandbox().Mode == "off" {
		f.off = `sandbox.mode is "off"`
	} else if runtime.GOOS != "linux" {
		f.off = "there is no sandbox for this system"
	}
	if f.options, err = h.Sandbox(a.Ctx, t); err != nil {
		return nil, err
	}
	program := t.Command.Program
	if t.Command.Shell {
		program = "sh"
	}
	if f.program, f.missing = h.Program(t, program); f.missing != nil {
		if f.program, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	f.program = filepath.ToSlash(f.program)
	f.declared, err = h.Compile(a.Ctx, t, term.None{})
	return f, err
}

// command is the start of the tool under its policy.
func (f *effective) command() (*sandbox.Cmd, error) {
	p, err := sandbox.PreparePolicy(f.ctx, f.declared.ForFit(), f.options)
	if err != nil {
		return nil, err
	}
	cmd := p.Command(f.ctx, f.tool.Command.Program, f.tool.Command.Args...)
	cmd.Path, cmd.Err = f.program, nil
	return cmd, nil
}

// preview prepares a call with these texts among its arguments. If refused is not nil, the call would not be made, and
// the attempt is what would have been enforced.
func (f *effective) preview(texts ...string) (c *sandbox.Attempt, refused *fit.RefusedError, err error) {
	f.options.Arguments = texts
	cmd, err := f.command()
	if err != nil {
		return nil, nil, err
	}
	if c, err = cmd.Preview(); errors.As(err, &refused) {
		err = nil
	}
	return c, refused, err
}

// fitted is what remains of the policy for a call with these texts among its arguments, and the means that enforces it.
func (f *effective) fitted(texts ...string) (*policy.Held, fit.Tier, error) {
	if f.declared.Unrestricted() {
		return &policy.Held{}, fit.TierNone, nil
	}
	c, refused, err := f.preview(texts...)
	switch {
	case f.off != "" && err != nil:
		return &policy.Held{}, fit.TierNone, nil // a call makes no directories either
	case f.off != "":
		return &policy.Held{Made: c.MadeNames()}, fit.TierNone, nil
	case err != nil:
		return nil, fit.TierNone, exit.With(exit.Host, err)
	}
	h := &policy.Held{Access: c.Access, Made: c.MadeNames(), Hidden: c.Plan.Hidden}
	h.Less = func(rule int) (why, remedy string) {
		for _, n := range c.Narrowed {
			if n.Index == rule {
				return fmt.Sprintf("it became %s, because %s", n.Became, n.Why), n.Remedy
			}
		}
		return "", ""
	}
	if refused != nil {
		first := refused.Reasons[0]
		why := "sandbox.mode is \"required\", and "
		if refused.Always {
			why = ""
		}
		h.Refused = fmt.Sprintf("no call is made: "+why+"%s cannot be enforced (%s)", strings.TrimPrefix(first.Rule+": "+first.What, ": "), first.Why)
		h.Remedy = first.Remedy
	}
	return h, c.Plan.Tier, nil
}

// builtin reports whether the tool is one of the seven.
func (f *effective) builtin() bool { return f.tool.BuiltIn() }

// narrowed warns of declared rules that grant less than they say. It leaves out what is in known already, and a
// missing directory where the seven tools may create: their calls name what they create, and so it is made.
func (f *effective) narrowed(known []policy.Warning) (list []policy.Warning, err error) {
	if f.off != "" || f.declared.Unrestricted() {
		return nil, nil
	}
	c, _, err := f.preview()
	if err != nil {
		return nil, err
	}
	rules := f.declared.Access.FS
	for _, n := range c.Narrowed {
		creates := n.Index >= 0 && n.Index < len(rules) && rules[n.Index].Caps().Has(jptool.Create)
		warned := slices.ContainsFunc(known, func(w policy.Warning) bool { return w.Origin == n.Origin })
		if n.Index < 0 || n.Missing && (warned || creates && f.builtin()) {
			continue
		}
		list = append(list, policy.Warning{
			Origin:  n.Origin,
			Message: fmt.Sprintf("the rule %s of %s became %s, because %s", n.Rule, f.tool.Name, n.Became, n.Why),
			Help:    n.Remedy,
		})
	}
	return list, nil
}

// explain answers a question about a path, for a call with that path among its arguments.
func (f *effective) explain(capability, name string) (policy.Explanation, error) {
	if f.tool == nil {
		return f.declared.ExplainFS(capability, name)
	}
	var also jptool.Caps
	if f.builtin() && path.Base(filepath.ToSlash(f.tool.Command.Program)) == "fs_modify_file" && capability == "update" {
		also = jptool.Read // it shows a diff
	}
	h, _, err := f.fitted(name)
	if err != nil {
		return policy.Explanation{}, err
	}
	e, err := f.declared.ExplainHeld(h, capability, name, also)
	if err != nil || !e.Allowed {
		return e, err
	}
	for _, dir := range slices.Backward(h.Made) { // the innermost says enough
		if _, in := wspath.Within(dir, e.Canonical); in {
			e.Notes = append(e.Notes, fmt.Sprintf("%q is missing; it is made for a call with this path, and removed again if it is still empty then", dir))
			break
		}
	}
	return e, nil
}

type explainCmd struct {
	Question []string `arg:"" optional:"" rest:"command" help:"[TOOL] QUESTION, as above."`
	fromFile
}

func (c *explainCmd) Run(a *app) error {
	words := c.Question
	tool := ""
	if c.File == "" {
		if len(words) == 0 {
			return exit.Errorf(exit.Usage, "there is no tool\nsee: jphost explain --help")
		}
		tool, words = words[0], words[1:]
	}
	if len(words) > 1 && words[0] == "command" && words[1] == "--" { // as before the program of `sandbox exec`
		words = slices.Delete(slices.Clone(words), 1, 2)
	}
	f, err := a.asked(tool, c.fromFile)
	if err != nil {
		return err
	}
	if len(words) == 1 && words[0] == "-" {
		if c.File == "-" {
			return exit.Errorf(exit.Usage, "standard input cannot hold both the policy and the questions\nput the policy into a file")
		}
		return c.batch(a, f)
	}
	e, err := a.explain(f, words)
	if err != nil {
		return err
	}
	err = a.Out.Result(e, e.String())
	if err == nil && !a.Out.JSON && c.File == "" {
		err = a.waiting(f.cfg)
	}
	return errors.Join(err, denied(!e.Allowed))
}

// below makes an absolute path of a question relative to the workspace, if it lies there.
func (a *app) below(path string) string {
	if filepath.IsAbs(path) && a.place != nil {
		for _, root := range []string{a.place.root, a.place.spelled} {
			if name, err := filepath.Rel(root, filepath.Clean(path)); err == nil && filepath.IsLocal(name) {
				return filepath.ToSlash(name)
			}
		}
	}
	return path
}

// denied is the exit status for "something is not allowed", without a message: the answer was printed.
func denied(is bool) error {
	if !is {
		return nil
	}
	return &exit.Error{Code: exit.Refused}
}

// explain answers one question.
func (a *app) explain(f *effective, words []string) (e policy.Explanation, err error) {
	const ask = "ask CAPABILITY PATH, net URL, env NAME, or command PROGRAM ARGUMENT…"
	switch {
	case len(words) == 0:
		return e, exit.Errorf(exit.Usage, "there is no question\n%s, such as: jphost explain fs_read_file read README.md", ask)
	case len(words) == 1, len(words) > 2 && words[0] != "command":
		return e, exit.Errorf(exit.Usage, "this is no question: %s\n%s", show.Line(strings.Join(words, " ")), ask)
	}
	switch kind := words[0]; kind {
	case "command":
		e, err = f.declared.ExplainCommand(words[1:])
	case "net":
		e, err = f.declared.ExplainNet(words[1])
	case "env":
		e, err = f.declared.ExplainEnv(words[1])
	default:
		e, err = f.explain(kind, a.below(words[1]))
	}
	return e, exit.With(exit.Usage, err)
}

// unanswered is the answer to a line of standard input that is no question.
type unanswered struct {
	Question string `json:"question"`
	Error    string `json:"error"`
}

// maxQuestion bounds a line of standard input, in bytes; a path is much shorter.
const maxQuestion = 1 << 20

// commandLine splits a question about a command: at blanks, or as a list in JSON. It refuses quotes, because people who
// write quotes mean the words of a shell, and would get other words.
func commandLine(line string) ([]string, error) {
	rest := strings.TrimSpace(strings.TrimPrefix(line, "command"))
	if strings.HasPrefix(rest, "[") {
		var words []string
		if err := json.Unmarshal([]byte(rest), &words); err != nil {
			return nil, exit.Errorf(exit.Usage, "%s is no list of words in JSON: %w", show.Visible(rest), err)
		}
		return append([]string{"command"}, words...), nil
	}
	if strings.ContainsAny(rest, "'\"\\") {
		return nil, exit.Errorf(exit.Usage, "%s has a quote or a backslash, and words end at blanks here whatever is quoted\nwrite the words in JSON: command [\"git\", \"commit\", \"-m\", \"two words\"]", show.Visible(line))
	}
	return strings.Fields(line), nil
}

// batch answers one question per line, and skips empty lines. After the first word of a question everything is the path
// (or URL, or name), so that it may hold spaces.
func (c *explainCmd) batch(a *app, f *effective) error {
	in := bufio.NewScanner(a.Stdin)
	in.Buffer(nil, maxQuestion)
	var bad, no bool
	for in.Scan() {
		line := in.Text()
		if line == "" {
			continue
		}
		words := strings.SplitN(line, " ", 2)
		var e policy.Explanation
		var err error
		if words[0] == "command" {
			words, err = commandLine(line)
		}
		if err == nil {
			e, err = a.explain(f, words)
		}
		var answer any = e
		text := e.String()
		if err != nil {
			answer, text = unanswered{line, err.Error()}, show.Text(err.Error())
		}
		if err := errors.Join(a.Out.Result(answer, text+"\n"), a.Out.Flush()); err != nil {
			return err
		}
		bad, no = bad || err != nil, no || !e.Allowed
	}
	switch err := in.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return exit.Errorf(exit.Usage, "a question is longer than %d KiB; it and all after it are not answered\nwrite one question a line", maxQuestion>>10)
	case err != nil:
		return exit.Errorf(exit.Host, "reading the questions from standard input: %w", err)
	case bad:
		return exit.Errorf(exit.Usage, "some lines are not questions")
	}
	return denied(no)
}
