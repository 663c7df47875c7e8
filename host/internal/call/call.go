// Package call makes one call of a tool (docs/host.md, "run"). [Host.Run] is its way from the arguments to the report.
// Everything that needs a person goes through a [term.Prompter] and fails closed where there is none.
//
// The package prints nothing: the [Report] says what happened, also when the call failed.
package call

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/enforcement"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/policy"
	"github.com/jptools/jptools/host/internal/preset"
	"github.com/jptools/jptools/host/internal/record"
	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/host/internal/toolargs"
	"github.com/jptools/jptools/host/internal/trust"
	"github.com/jptools/jptools/host/internal/undo"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/sandbox"
	"github.com/jptools/jptools/sandbox/fit"
)

// Host is what calls are made with.
type Host struct {
	Config    *config.Config
	Workspace state.Workspace
	Root      string // canonical
	// Cwd is the canonical working directory, "" if it does not matter.
	Cwd          string
	Conversation string
	Environ      []string
	// Beside is the directory of the host's own program: that of the built-in tools.
	Beside string
	// TempBase is where private directories of calls are made.
	TempBase  string
	State     *state.Dir
	Approvals *consent.Store
	Trust     *consent.Trust
	Holds     *consent.Holds
	// Session knows which warnings were shown, Memory what was answered for its rest.
	Session  *state.Session
	Memory   *consent.Memory
	Prompter term.Prompter
	// OwnConfig is the name of the user's own configuration of this workspace in State; "" if nothing is to be written there.
	OwnConfig string
	// Helpers start the tools.
	Helpers *sandbox.Helpers
	// Undo keeps what the seven tools change; nil keeps nothing.
	Undo *undo.Store
	// Log gets a record of each call; nil is none.
	Log *record.Log
	// Explain finds out what the sandbox refuses.
	Explain bool
	Warn    func(string)
	// Live shows a person what a tool does while it runs, see [term.Output.Live]; nil shows nothing.
	Live func(tool string, quiet bool) *term.Live

	looked  sync.Once
	found   fit.Machine
	unknown error

	presetsMu sync.Mutex
	presets   map[string]*preset.Found // by tool, as far as they were needed
}

// Request asks for one call of a tool.
type Request struct {
	Tool *config.Tool
	// Arguments is one JSON object.
	Arguments []byte
	// Answers are given with the call, as text, by question.
	Answers map[string]string
	// Preview asks the tool what it would do; Dry starts nothing at all.
	Preview, Dry bool
	// AllowSensitive allows the tool to reach places of secrets, for this call.
	AllowSensitive bool
}

// call is a call on its way: what its steps share.
type call struct {
	*Host
	Request
	report     *Report
	parameters *toolargs.Schema
	args       map[string]any
	policy     *policy.Declared
	// allowed are questions of the tool that a person answered with yes together with the call, and previewToken is that
	// of the preview that they saw: the tool does what was shown, or asks again.
	allowed      []jptool.Question
	previewToken string
	// edited: a person changed the arguments.
	edited bool
	// given are the answers that the tool got, by question, for the log.
	given map[string]any
	// places are the places of secrets that a person allowed, and secrets says that none is withheld.
	places  map[string]jptool.Caps
	secrets bool
	// accepted is the digest of what widens access, as it was trusted; "" if there is no script in it.
	accepted string
	// declined is the reason that a person gave for a no to the tool's questions.
	declined string
}

// Run makes one call. The report is never nil; the error, an *exit.Error or one that
// [exit.Of] knows, says why the call did not succeed, and the report has the same.
func (h *Host) Run(ctx context.Context, c Request) (*Report, error) {
	start := time.Now()
	k := &call{Host: h, Request: c, report: &Report{Tool: c.Tool.Name, Warnings: []string{}}}
	err := k.report.reported(k.run(ctx))
	err = k.report.reported(k.deliver(ctx, err))
	k.report.DurationMS = time.Since(start).Milliseconds()
	if k.report.Sandbox == nil {
		k.report.Sandbox = enforcement.Unused(h.Config.Sandbox().Mode)
	}
	o := &k.report.Outcome
	if err != nil && o.Type == "" {
		*o = Outcome{Type: "failed", Message: err.Error()}
	}
	if err != nil && (ctx.Err() != nil || errors.Is(err, term.ErrInterrupted)) {
		err = &exit.Error{Code: exit.Interrupted, Err: err}
		*o = Outcome{Type: "failed", Reason: ReasonInterrupted, Message: cmp.Or(k.Tool.CancellationResponse, err.Error())}
	}
	// The built-in tools read no variables.
	if k.builtIn() || k.report.Starts == 0 || o.Reason != "" || o.Type != "error" && o.Type != "failed" {
		k.report.Withheld = nil // a variable that the tool did not get is not why
	}
	k.forModel()
	k.report.Status = exit.Of(err)
	k.log(start)
	return k.report, err
}

// run takes the steps of a call in their order. It sets the outcome if the tool came to one.
func (k *call) run(ctx context.Context) error {
	if err := k.runnable(); err != nil {
		return err
	}
	if err := k.check(); err != nil {
		return err
	}
	// A person trusts what the repository's settings widen for the tool.
	widening, err := trust.Widening(ctx, k.Config, k.Root)
	if err != nil {
		return err
	}
	widening = consent.Concerning(widening, k.Tool.Name)
	if k.Dry {
		return k.plan(ctx, widening)
	}
	if err := k.trusted(ctx, widening); err != nil {
		return err
	}
	if slices.ContainsFunc(widening, func(s consent.Setting) bool { return s.Runs != "" }) {
		k.accepted = consent.Digest(widening)
	}
	// The policy is compiled, and a person approves external paths that it needs.
	if err := k.compile(ctx, k.Prompter); err != nil {
		return err
	}
	if err := k.onHold(ctx); err != nil {
		return err
	}
	OwnDirectories(k.policy, k.State.Base(), k.Environ)
	if at := k.Tool.Origin("style"); !at.IsZero() {
		k.warnOnce(ctx, fmt.Sprintf("%s: style of %s is for hosts that show calls in a conversation, and does nothing here", at, show.Visible(k.Tool.Name)))
	}
	// A person allows places of secrets, and the call itself, possibly after a preview.
	if err := k.sensitive(ctx); err != nil {
		return err
	}
	if err := k.permitted(ctx); err != nil {
		return err
	}
	// The tool is started, its questions are answered, and it is started again, until it has a result.
	out, err := k.ask(ctx, k.Preview)
	if err != nil {
		return err
	}
	return k.settle(ctx, out)
}

// runnable refuses what can never run.
func (k *call) runnable() error {
	t := k.Tool
	switch {
	case t.Source.Kind != config.SourceLocal:
		return exit.Errorf(exit.Usage, "%s has source %q (%s), and only local tools can be run here\nthey are listed by: jphost tools", t.Name, t.Source.Kind, t.Origin("source"))
	case t.Run == "skip":
		return refuse(ReasonRunMode, "%s is never run: run = \"skip\" at %s\nset it to \"ask\" there, or for one call: %s", t.Name, t.Origin("run"), k.cfg("run", "=ask"))
	case !t.Enable.On:
		return refuse(ReasonRunMode, "%s is off: enable at %s\nset it to \"on\" there, or for one call: %s", t.Name, t.Origin("enable"), k.cfg("enable", "=on"))
	}
	return nil
}

// cfg is the flag that sets a key of the tool; value begins with the operator.
func (k *call) cfg(name, value string) string {
	return "--cfg " + show.Word(settings.JoinKey("conversation", "tools", k.Tool.Name)+"."+name+value)
}

// check checks the arguments of the request against the tool's parameters, and completes them.
func (k *call) check() (err error) {
	if k.parameters, err = toolargs.New(k.Tool.Parameters); err != nil {
		return exit.Errorf(exit.Usage, "%s: parameters of %s: %w", k.Tool.Origin("parameters"), k.Tool.Name, err)
	}
	if k.args, err = k.parameters.Validate(k.Arguments); err != nil {
		usage := k.parameters.Usage()
		k.report.Outcome = Outcome{Type: "failed", Code: string(jptool.CodeInvalidArguments), Message: "invalid arguments: " + err.Error() + "\n" + usage}
		return exit.Errorf(exit.Usage, "invalid arguments for %s:\n%w\n%s", k.Tool.Name, err, usage)
	}
	return nil
}

// plan says what the call would do; nothing is asked, stored or started.
func (k *call) plan(ctx context.Context, widening []consent.Setting) error {
	p := &Plan{Run: k.Tool.Run}
	trusted, diff, err := k.Trust.Check(ctx, widening)
	if err != nil {
		return err
	}
	if !trusted {
		p.Needs = append(p.Needs, "trust in settings of this workspace (jphost trust accept):\n"+diff.String())
	}
	if err := k.compile(ctx, term.None{}); err != nil {
		return err
	}
	if err := k.onHold(ctx); err != nil {
		p.Needs = append(p.Needs, err.Error())
	}
	places, err := k.secretPlaces()
	if err != nil {
		return err
	}
	for _, s := range places {
		if !k.AllowSensitive && !(s.Named && k.unattendedByUser()) {
			p.Needs = append(p.Needs, "consent, once per session: "+k.reaches(s)+"\nor for this call: --allow-sensitive")
		}
	}
	if mode := k.Tool.Run; mode != "unattended" {
		p.Needs = append(p.Needs, fmt.Sprintf("a person: run = %q", mode))
	}
	cmd, err := k.command(ctx, k.Preview)
	if err != nil {
		return err
	}
	c, err := cmd.next(ctx)
	if err != nil {
		return err
	}
	p.Arguments, p.Program, p.Argv, p.Stdin = k.args, c.Path, c.Args, c.Stdin != nil
	for _, kv := range c.Env {
		name, _, _ := strings.Cut(kv, "=")
		p.Environment = append(p.Environment, name)
	}
	slices.Sort(p.Environment)
	if k.Config.Sandbox().Mode != "off" {
		a, err := c.Preview()
		if a != nil {
			k.report.Sandbox = &enforcement.Report{Report: a.Report()}
		}
		if refused := (*fit.RefusedError)(nil); errors.As(err, &refused) {
			p.Needs = append(p.Needs, refused.Error())
		} else if err != nil {
			return err
		}
	}
	k.report.Plan, k.report.Outcome = p, Outcome{Type: "planned"}
	return nil
}

// trusted lets a person accept what the repository's own configuration widens for this tool.
func (k *call) trusted(ctx context.Context, widening []consent.Setting) error {
	err := k.Trust.Require(ctx, k.Prompter, widening)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, consent.ErrNotTrusted) && slices.ContainsFunc(k.Config.Layers(), func(l config.LayerInfo) bool { return l.Layer == settings.LayerArgument }):
		return refuse(ReasonUntrusted, "%w\nand give it the same --cfg as here, since what that restricts decides what widens", err)
	case errors.Is(err, consent.ErrNotTrusted), errors.Is(err, term.ErrCancelled):
		return refuse(ReasonUntrusted, "%w", err)
	}
	return exit.With(exit.Host, err)
}

// stillTrusted refuses a start if a script of the command is another one than when it was trusted: a person may have taken
// their time over a question. What changes after the start is not seen.
func (k *call) stillTrusted(ctx context.Context) error {
	if k.accepted == "" {
		return nil
	}
	now, err := trust.Widening(ctx, k.Config, k.Root)
	if err != nil {
		return err
	}
	if consent.Digest(consent.Concerning(now, k.Tool.Name)) != k.accepted {
		return k.notRun(ReasonUntrusted, errors.New("a script that its command runs was changed after it was accepted\nlook at it with: jphost trust show"))
	}
	return nil
}

// compile makes the policy of the call, asking p about external paths that are not approved.
func (k *call) compile(ctx context.Context, p term.Prompter) (err error) {
	k.policy, err = k.compiled(ctx, k.Tool, p, k.secrets, k.places)
	if errors.Is(err, term.ErrCancelled) {
		return k.notRun(ReasonDeclined, err)
	} else if err != nil {
		return err
	}
	for _, w := range k.policy.Warnings {
		help := w.Help
		w.Help = ""
		k.warn(strings.TrimSuffix(w.String()+"\n"+help, "\n"))
	}
	k.report.Policy = &Policy{Digest: digest(k.policy.Access)}
	if k.Dry {
		k.report.Policy.Access = k.policy.Access.JSON()
	}
	return nil
}

// Compile makes the policy of a tool, asking p about external paths that are not approved.
func (h *Host) Compile(ctx context.Context, t *config.Tool, p term.Prompter) (*policy.Declared, error) {
	return h.compiled(ctx, t, p, false, nil)
}

// compiled is Compile with places of secrets that are not withheld: all of them, or those in places.
func (h *Host) compiled(ctx context.Context, t *config.Tool, p term.Prompter, secrets bool, places map[string]jptool.Caps) (*policy.Declared, error) {
	m, err := h.machine(ctx)
	if err != nil {
		return nil, err
	}
	home := jptool.LookupEnv(h.Environ, "HOME")
	paths, err := policy.SandboxPaths(h.Config.Sandbox().Paths, home)
	if err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	presets, err := h.findPresets(ctx, t)
	if err != nil {
		return nil, err
	}
	paths = append(paths, presets.Extras()...)
	d, err := policy.Compile(ctx, policy.Request{
		Workspace: h.Workspace, Config: h.Config, Tool: t,
		Approve: func(ctx context.Context, r consent.Request) (consent.Result, error) {
			return h.approve(ctx, t, p, r)
		},
		Home: home, StateDir: h.State.Base(), ConfigFile: config.UserGlobalPath(h.Environ),
		Programs: OwnPrograms(), Reach: policy.ReachOf(paths), PresetEnv: presets.Env(), PresetNet: presets.Net(),
		OSSandbox: m.Landlock > 0, AllowSecrets: secrets, Allowed: places,
	})
	if errs := settings.Errors(nil); errors.As(err, &errs) {
		return nil, exit.With(exit.Usage, err)
	}
	if err == nil {
		for _, text := range presets.Warnings() {
			d.Warnings = append(d.Warnings, policy.NewWarning(t.Origin("preset").String(), text))
		}
	}
	return d, err
}

// findPresets looks for the places of the presets of a tool, once.
func (h *Host) findPresets(ctx context.Context, t *config.Tool) (*preset.Found, error) {
	h.presetsMu.Lock()
	defer h.presetsMu.Unlock()
	if f := h.presets[t.Name]; f != nil {
		return f, nil
	}
	choices, err := preset.Parse(t.Preset)
	if err != nil {
		return nil, exit.Errorf(exit.Usage, "%s: preset of %s: %w", t.Origin("preset"), t.Name, err)
	}
	r := preset.Request{Workspace: filepath.ToSlash(h.Root), Environ: h.Environ, TempDir: h.TempBase}
	if len(choices) > 0 {
		m, err := h.machine(ctx)
		if err != nil {
			return nil, err
		}
		paths, err := policy.SandboxPaths(h.Config.Sandbox().Paths, jptool.LookupEnv(h.Environ, "HOME"))
		if err != nil {
			return nil, exit.With(exit.Usage, err)
		}
		for _, reach := range policy.ReachOf(paths) {
			r.Writable = append(r.Writable, reach.Abs)
		}
		r.Machine, r.Own = &m, []string{filepath.ToSlash(h.State.Base()), filepath.ToSlash(filepath.Dir(config.UserGlobalPath(h.Environ)))}
	}
	f, err := preset.Find(ctx, choices, r)
	if err != nil {
		return nil, exit.With(exit.Host, err)
	}
	if h.presets == nil {
		h.presets = map[string]*preset.Found{}
	}
	h.presets[t.Name] = f
	return f, nil
}

// approve runs the approval lifecycle. Who declines is not asked again in this session.
func (h *Host) approve(ctx context.Context, t *config.Tool, p term.Prompter, r consent.Request) (consent.Result, error) {
	where := consent.Remembered{Tool: t.Name, On: OnApproval, Question: r.RulePath, Scope: scope(r.RulePath, r.Target)}
	if was, err := h.Approvals.Lookup(ctx, r.Binding); err == nil && was.Verdict != consent.Approved {
		if _, declined := h.Memory.Recall(where); declined {
			return consent.Result{Reason: fmt.Sprintf("the target of %s was declined for this session\nto be asked again: jphost session forget %s", show.Visible(r.RulePath), show.Word(t.Name))}, nil
		}
	}
	res, err := h.Approvals.Resolve(ctx, p, r)
	if res.Declined {
		_ = h.Memory.Remember(ctx, where) // else it is asked again
	}
	return res, err
}

// onHold refuses writing calls while changes wait for a person to look at them.
func (k *call) onHold(ctx context.Context) error {
	if !k.writes(ctx) {
		return nil
	}
	if err := SettleHolds(ctx, k.Holds, k.Root); err != nil {
		return exit.With(exit.Host, err)
	}
	if err := k.Holds.Check(); err != nil {
		return refuse(ReasonHeld, "%w", err)
	}
	return nil
}

// writes reports whether the call could change anything: what its definition says that it needs, and, where
// the operating system enforces them, the rules.
func (k *call) writes(ctx context.Context) bool {
	if n := k.Tool.Needs; n != nil && *n&jptool.Write == 0 {
		return false
	}
	m, err := k.machine(ctx)
	if err != nil || m.Landlock == 0 || k.Config.Sandbox().Mode == "off" || k.policy.Access == nil {
		return true
	}
	if f, err := k.findPresets(ctx, k.Tool); err != nil || f.Writes() {
		return true
	}
	return slices.ContainsFunc(k.policy.Rules, func(r policy.Rule) bool { return r.Type == "fs" && r.Caps&jptool.Write != 0 }) ||
		slices.ContainsFunc(k.Config.Sandbox().Paths, func(p config.SandboxPath) bool { return p.Write != nil && *p.Write })
}

// SettleHolds releases the holds in a workspace on what somebody has put right.
func SettleHolds(ctx context.Context, h *consent.Holds, root string) error {
	return h.Settle(ctx, func(hold consent.Hold) string {
		return fit.State(cmp.Or(hold.At, filepath.ToSlash(filepath.Join(root, hold.Path))))
	})
}

// OwnDirectories makes the directories of the user's own configuration and of the state (base) where a program under the
// policy could reach them. They are protected, but a file in the place of a missing directory above them would end
// every later call. That it fails is no matter: what cannot be made here, because something else is there or nobody may
// write, a program cannot make either.
func OwnDirectories(d *policy.Declared, base string, environ []string) {
	for _, dir := range []string{base, filepath.Join(base, state.Private), filepath.Dir(config.UserGlobalPath(environ))} {
		to, err := wspath.CanonicalizeAbs(dir, nil)
		if err != nil || !filepath.IsAbs(dir) {
			continue
		}
		_, reached := d.WirePath(to.Abs)
		// What a flag or sandbox.paths reaches outside of the workspace is a protected place of the policy.
		if reached || slices.ContainsFunc(d.Places(), func(p policy.Place) bool { return p.Unnamed && p.Abs == to.Abs }) {
			_ = os.MkdirAll(dir, 0o700)
		}
	}
}

// OwnPrograms are the files of jphost and of the tools that come with it, where they are known. A program
// that could replace them would choose what the host does.
func OwnPrograms() []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	// An error means that the name of the directory looks like a pattern.
	beside, _ := filepath.Glob(filepath.Join(filepath.Dir(self), "fs_*"))
	return append([]string{self}, beside...)
}

// warn says what a person should know. Lines after the first that are not indented say what to do, and are for the person
// only ([WithoutRemedy]).
func (k *call) warn(text string) {
	if !slices.Contains(k.report.Warnings, text) {
		k.report.Warnings = append(k.report.Warnings, text)
		k.Warn(text)
	}
}

// warnOnce gives each warning the first time that it comes up in a session. Where that cannot be remembered it comes up
// again.
func (k *call) warnOnce(ctx context.Context, list ...string) {
	for _, text := range list {
		if first, _ := k.Session.Once(ctx, "warning-"+scope(text)); first {
			k.warn(text)
		}
	}
}
