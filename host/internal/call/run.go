package call

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/enforcement"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/policy"
	"github.com/jptools/jptools/host/internal/schema"
	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/host/internal/term"
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
	// Helpers start the tools.
	Helpers *sandbox.Helpers
	// Explain finds out what the sandbox refuses.
	Explain bool
	Warn    func(string)

	looked  sync.Once
	found   fit.Machine
	unknown error
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
	report *Report
	args   map[string]any
	policy *policy.Declared
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
	if err != nil && k.report.Outcome.Type == "" {
		k.report.Outcome = Outcome{Type: "failed", Message: err.Error()}
	}
	if err != nil && (ctx.Err() != nil || errors.Is(err, term.ErrInterrupted)) {
		err = &exit.Error{Code: exit.Interrupted, Err: err}
		k.report.Outcome = Outcome{Type: "failed", Reason: ReasonInterrupted, Message: k.Tool.CancellationResponse}
		if k.report.Outcome.Message == "" {
			k.report.Outcome.Message = err.Error()
		}
	}
	if !k.report.toolFailed() {
		k.report.Withheld = nil
	}
	k.forModel()
	k.report.Status = exit.Of(err)
	return k.report, err
}

// forModel takes out of the report's messages what a model is not told: a model gets the report, a person err.
func (k *call) forModel() {
	known := []string{k.State.Base(), jptool.LookupEnv(k.Environ, "HOME")}
	for _, l := range k.Config.Layers() {
		known = append(known, l.File)
	}
	if k.policy != nil && k.policy.Access != nil {
		for _, r := range k.policy.Access.FS {
			if r.ApprovedTarget != nil {
				known = append(known, *r.ApprovedTarget)
			}
		}
	}
	// Longer ones first: one may lie in the other.
	slices.SortFunc(known, func(a, b string) int { return len(b) - len(a) })
	switch o := &k.report.Outcome; o.Type {
	case "refused", "failed":
		o.Message = ForModel(o.Message, k.Root, known...)
	}
	for i, w := range k.report.Warnings {
		k.report.Warnings[i] = ForModel(w, k.Root, known...)
	}
}

func (k *call) warn(text string) {
	if slices.Contains(k.report.Warnings, text) {
		return
	}
	k.report.Warnings = append(k.report.Warnings, text)
	k.Warn(text)
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

func (k *call) run(ctx context.Context) error {
	err := k.runnable()
	if err != nil {
		return err
	}
	if k.args, err = k.arguments(); err != nil {
		return err
	}
	if k.Dry {
		return k.plan(ctx)
	}
	if err := k.trusted(ctx); err != nil {
		return err
	}
	if k.policy, err = k.compile(ctx, k.Prompter); err != nil {
		return err
	}
	if err := k.onHold(ctx); err != nil {
		return err
	}
	OwnDirectories(k.policy, k.State.Base(), k.Environ)
	k.unused(ctx)
	if err := k.sensitive(ctx); err != nil {
		return err
	}
	given, err := k.permitted(ctx)
	if err != nil {
		return err
	}
	out, err := k.loop(ctx, k.action(), given)
	if err != nil {
		return err
	}
	return k.settle(ctx, out)
}

// OwnDirectories makes the directories of the user's own configuration and of the state (base) where a program under the
// policy could reach them. They are protected, but a file in the place of a missing directory above them would end
// every later call. That it fails is no matter: what cannot be made here, because something else is there or nobody may
// write, a program cannot make either.
func OwnDirectories(d *policy.Declared, base string, environ []string) {
	for _, dir := range []string{base, filepath.Dir(config.UserGlobalPath(environ))} {
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

// action is what the tool is asked for.
func (k *call) action() jptool.Action {
	if k.Preview {
		return jptool.FormatArguments
	}
	return jptool.Run
}

// runnable refuses what can never run.
func (k *call) runnable() error {
	t := k.Tool
	at := t.Origin("source")
	switch {
	case t.Source.Kind != config.SourceLocal:
		return exit.Errorf(exit.Usage, "%s has source %q (%s), and only local tools can be run here\nthey are listed by: jphost tools", t.Name, t.Source.Kind, at)
	case t.Run == "skip":
		return refuse(ReasonRunMode, fmt.Errorf("%s is never run: run = \"skip\" at %s\nset it to \"ask\" there, or for one call: %s", t.Name, t.Origin("run"), k.cfg("run", "=ask")))
	case !t.Enable.On:
		return refuse(ReasonRunMode, fmt.Errorf("%s is off: enable at %s\nset it to \"on\" there, or for one call: %s", t.Name, t.Origin("enable"), k.cfg("enable", "=on")))
	}
	return nil
}

// cfg is the flag that sets a key of the tool; value begins with the operator.
func (k *call) cfg(name, value string) string {
	return "--cfg " + show.Word(settings.JoinKey("conversation", "tools", k.Tool.Name)+"."+name+value)
}

// arguments are those of the request as the tool's parameters want them.
func (k *call) arguments() (map[string]any, error) {
	s, err := schema.New(k.Tool.Parameters)
	if err != nil {
		return nil, exit.Errorf(exit.Usage, "%s: parameters of %s: %w", k.Tool.Origin("parameters"), k.Tool.Name, err)
	}
	args, err := s.Validate(k.Arguments)
	if err != nil {
		k.report.Outcome = Outcome{Type: "failed", Code: string(jptool.CodeInvalidArguments), Message: "invalid arguments: " + err.Error() + "\n" + s.Usage()}
		return nil, exit.Errorf(exit.Usage, "invalid arguments for %s:\n%w\n%s", k.Tool.Name, err, s.Usage())
	}
	return args, nil
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
	return slices.ContainsFunc(k.policy.Rules, func(r policy.Rule) bool { return r.Type == "fs" && r.Caps&jptool.Write != 0 }) ||
		slices.ContainsFunc(k.Config.Sandbox().Paths, func(p config.SandboxPath) bool { return p.Write != nil && *p.Write })
}

// SettleHolds releases the holds in a workspace on what somebody has put right.
func SettleHolds(ctx context.Context, h *consent.Holds, root string) error {
	return h.Settle(ctx, func(hold consent.Hold) string {
		return fit.State(cmp.Or(hold.At, filepath.ToSlash(filepath.Join(root, hold.Path))))
	})
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
		return refuse(ReasonHeld, err)
	}
	return nil
}

// unused says, once per session, that settings of how calls are shown do nothing here.
func (k *call) unused(ctx context.Context) {
	if at := k.Tool.Origin("style"); !at.IsZero() {
		k.warnOnce(ctx, fmt.Sprintf("%s: style of %s is for hosts that show calls in a conversation, and does nothing here", at, show.Visible(k.Tool.Name)))
	}
}

// Program is what the command line of a tool starts: the built-in tools lie beside the host.
func (h *Host) Program(t *config.Tool, name string) (string, error) {
	if t.Command.Origin.Layer == settings.LayerDefault && h.Beside != "" && filepath.Base(name) == name {
		if p, err := sandbox.LookPath(filepath.Join(h.Beside, name), h.Root, ""); err == nil {
			return p, nil
		}
	}
	return sandbox.LookPath(name, h.Root, jptool.LookupEnv(h.Environ, "PATH"))
}
