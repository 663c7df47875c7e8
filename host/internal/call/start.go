package call

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/enforcement"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/policy"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/host/internal/toolargs"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/sandbox"
	"github.com/jptools/jptools/sandbox/fit"
)

// command starts the tool of a call, again in each round of questions: then the request has more answers. They are those
// given with the call, those of the configuration, those that hold for the session, and then a person's.
type command struct {
	*call
	request
	template *toolargs.Template
	prepared *sandbox.Prepared

	// ahead has, by question, who gave an answer that the tool got before it asked.
	ahead map[string]string
	// fixed has, by question, the token for which an answer was last sent that no person typed. If the tool
	// asks for the same token again, it does not accept that answer.
	fixed map[string]string
	used  map[string]bool
}

// command makes the command of a call, or of its preview, under its declared policy.
func (k *call) command(ctx context.Context, preview bool) (*command, error) {
	t := k.Tool
	template, err := toolargs.Compile(*t.Command)
	if err != nil {
		return nil, k.badCommand(err)
	}
	c := &command{call: k, template: template, request: k.request(preview), ahead: map[string]string{}, fixed: map[string]string{}, used: map[string]bool{}}
	k.given = c.tool.Answers
	o, err := k.Sandbox(ctx, t)
	if err != nil {
		return nil, err
	}
	o.Arguments = texts(k.args)
	if c.prepared, err = sandbox.PreparePolicy(ctx, k.policy.ForFit(), o); err != nil {
		return nil, exit.With(exit.Host, err)
	}
	k.report.Withheld = c.prepared.Withheld()
	return c, nil
}

func (k *call) badCommand(err error) error {
	return exit.Errorf(exit.Usage, "%s: command of %s: %w", k.Tool.Command.Origin, k.Tool.Name, err)
}

// next returns the next start of the command, with the request for the declared policy.
func (c *command) next(ctx context.Context) (*sandbox.Cmd, error) {
	argv, stdin, err := c.render()
	if err != nil {
		return nil, err
	}
	program, err := c.Program(c.Tool, argv[0])
	if err != nil {
		return nil, exit.Errorf(exit.Host, "%s: command of %s: %s: %w", c.Tool.Command.Origin, c.Tool.Name, show.Visible(argv[0]), err)
	}
	cmd := c.prepared.Command(ctx, program)
	cmd.Args, cmd.Stdin = argv, stdin
	return cmd, nil
}

// render writes the request into a command line and a standard input. A command with placeholders gets the request in
// them, and nothing on standard input: such commands were written for hosts that do so.
func (c *command) render() (argv []string, stdin io.Reader, err error) {
	request, err := c.json()
	if err != nil {
		return nil, nil, err
	}
	if argv, err = c.template.Render(request); err != nil {
		return nil, nil, c.badCommand(err)
	}
	if !strings.Contains(c.Tool.Command.Program+"\n"+strings.Join(c.Tool.Command.Args, "\n"), "{{") {
		stdin = bytes.NewReader(request)
	}
	return argv, stdin, nil
}

// Program is what the command line of a tool starts: the built-in tools lie beside the host.
func (h *Host) Program(t *config.Tool, name string) (string, error) {
	if t.BuiltIn() && h.Beside != "" && filepath.Base(name) == name {
		if p, err := sandbox.LookPath(filepath.Join(h.Beside, name), h.Root, ""); err == nil {
			return p, nil
		}
	}
	return sandbox.LookPath(name, h.Root, jptool.LookupEnv(h.Environ, "PATH"))
}

// Sandbox returns what calls of a tool are prepared with.
func (h *Host) Sandbox(ctx context.Context, t *config.Tool) (sandbox.Options, error) {
	c := h.Config.Sandbox()
	// What a tool of ours leaves when it is killed while it writes a file in place is kept.
	keep := t.BuiltIn() && t.Needs != nil && t.Needs.Has(jptool.Update)
	o := sandbox.Options{
		Checks: t.BuiltIn(),
		Off:    c.Mode == "off", Required: c.Mode == "required", Tier: fit.ForcedTier(c.Tier),
		Environ: h.Environ, TempDir: h.TempBase, Keep: keep, Helpers: h.Helpers,
		Limits: fit.Limits{
			Memory: t.Limits.Memory, Processes: t.Limits.Processes, FileSize: t.Limits.FileSize,
			CPUSeconds: int64(math.Ceil(t.Limits.CPU.Seconds())),
		},
	}
	var err error
	if o.Paths, err = policy.SandboxPaths(c.Paths, jptool.LookupEnv(h.Environ, "HOME")); err != nil {
		return o, exit.With(exit.Usage, err)
	}
	presets, err := h.findPresets(ctx, t)
	if err != nil {
		return o, err
	}
	o.Environ, o.System, o.Names = presets.Environ(), presets.System(), presets.Names()
	o.Paths = append(o.Paths, presets.Extras()...)
	m, err := h.machine(ctx)
	o.Machine = &m
	return o, err
}

// machine returns what this computer can enforce in the tier of the configuration. It is found out once.
func (h *Host) machine(ctx context.Context) (fit.Machine, error) {
	h.looked.Do(func() {
		tier := fit.ForcedTier(h.Config.Sandbox().Tier)
		h.found, h.unknown = sandbox.Probe(ctx, tier, h.State, func(name string) string { return jptool.LookupEnv(h.Environ, name) })
	})
	return h.found, exit.With(exit.Usage, h.unknown)
}

// start starts the tool once, enforced as far as it can be, waits for its end, and reads what it printed.
func (c *command) start(ctx context.Context) (output, error) {
	res, err := c.enforced(ctx)
	if res != nil { // else nothing was started
		c.report.Starts++
		c.report.Exit = &res.ended
		c.report.Stderr = bothEnds(res.stderr, 2*endsBytes)
		c.report.OutShown, c.report.ErrShown = res.outShown, res.errShown
		c.mentioned(ctx, string(res.stderr))
	}
	if err == nil {
		return readOutput(res.stdout, res.stderr, res.ended), nil
	}
	if res != nil {
		c.report.Output = bothEnds(res.stdout, 2*endsBytes)
	}
	code := exit.Host
	if stop := (*stopError)(nil); errors.As(err, &stop) {
		code = exit.Refused
	}
	if no := (*refusal)(nil); !errors.As(err, &no) {
		err = fmt.Errorf("%s: %w", c.Tool.Name, err)
	}
	return output{}, exit.With(code, err)
}

// live is what a person sees of the next start. What may not be handed on, and a preview that a question will show, is
// not shown before.
func (c *command) live() *term.Live {
	if c.Live == nil {
		return nil
	}
	return c.Live(c.Tool.Name, c.holdsBack() || c.context.Action != jptool.Run && !c.Preview)
}

// enforced starts the tool and reports how it was confined. The result is nil if nothing was started.
func (c *command) enforced(ctx context.Context) (*result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	presets, err := c.findPresets(ctx, c.Tool)
	if err != nil {
		return nil, err
	}
	if err := presets.Make(); err != nil {
		c.warn(err.Error())
	}
	cmd, err := c.next(ctx)
	if err != nil {
		return nil, err
	}
	cmd.Explain = c.Explain
	k := &keeping{call: c.call}
	cmd.BeforeStart = func(a *sandbox.Attempt) error {
		if err := c.stillTrusted(ctx); err != nil {
			return err
		}
		c.tellEnforced(ctx, a)
		// The request carries the effective policy, which is known only now.
		c.context.Access = a.Access
		c.report.Policy.Effective = digest(a.Access)
		k.begin(ctx, c.context)
		cmd.Args, cmd.Stdin, err = c.render()
		return err
	}
	res, err := within(ctx, cancel, c.Tool.Limits, cmd, c.live())
	k.finish(ctx, res)
	if refused := (*fit.RefusedError)(nil); errors.As(err, &refused) {
		c.report.Sandbox = &enforcement.Report{Report: cmd.Report()}
		if refused.Always {
			return nil, refuse(ReasonSandbox, "%s was not run: %w", c.Tool.Name, refused)
		}
		return nil, refuse(ReasonSandbox, "%s was not run: %w\nset sandbox.mode = \"auto\" to run it with what can be enforced", c.Tool.Name, refused)
	}
	if res == nil {
		return nil, err
	}
	for _, p := range cmd.State.Kept {
		c.warn(fmt.Sprintf("%s was killed while it wrote a file in place, which may hold a mix of old and new content now; its old content is %s\ncompare the two, put it back if need be, and remove it then", c.Tool.Name, show.Visible(p)))
	}
	if seen := cmd.Refused(); seen != nil {
		x := enforcement.Explanation{Declared: c.policy, Attempt: cmd.Attempt, Home: jptool.LookupEnv(cmd.Env, "HOME")}
		c.report.Denials, c.report.Sandbox.Observed = x.Explain(seen)
	}
	if len(cmd.State.Changes) > 0 {
		c.report.Sandbox.Changed = cmd.State.Changes
		return res, c.changed(ctx, cmd, err)
	}
	if text := enforcement.Touched(cmd.State.Touched); text != "" {
		c.warn(text)
	}
	if lost := (*sandbox.LostError)(nil); errors.As(err, &lost) {
		return res, exit.With(exit.Refused, lost)
	}
	return res, err
}

// tellEnforced notes what a start is enforced with, and warns of what is not.
func (k *call) tellEnforced(ctx context.Context, a *sandbox.Attempt) {
	k.report.Sandbox = &enforcement.Report{Report: a.Report()}
	switch {
	case a.Plan.Tier != fit.TierNone:
		k.warnOnce(ctx, enforcement.Warnings(k.report.Sandbox.Report, "jphost sandbox plan "+k.Tool.Name)...)
	case k.report.Sandbox.Mode != "off":
		// RFD 075, "Unsupported platforms and fallback".
		not := a.NotEnforced[0]
		k.warnOnce(ctx, fmt.Sprintf("tools run with your full user permissions: nothing is held by the operating system (%s)\n%s\nuse run = \"ask\" for tools that you do not trust",
			not.Why, not.Remedy))
	}
	if a.NotMade != nil {
		k.warn("directories that are missing are not made: " + a.NotMade.Error())
	}
	if why := a.Explainable(); why != "" && k.Explain {
		k.warn("--explain-denials: " + why)
	}
}

// changed fails the call because of what it left, or did while it ran, and holds further writing calls. err is what
// became of the call otherwise. Names are those of rules: a model reads all of this.
func (k *call) changed(ctx context.Context, c *sandbox.Cmd, err error) error {
	text := k.Tool.Name + " ran, but left changes that its rules do not allow:"
	if lost := (*sandbox.LostError)(nil); errors.As(err, &lost) {
		text = fmt.Sprintf("%s: %s\nit left changes that its rules do not allow:", k.Tool.Name, lost)
	}
	holds := HoldsOn(k.Workspace.Root(), k.Tool.Name, c)
	for _, hold := range holds {
		text += "\n  " + show.Line(fit.Change{Path: hold.Path, What: hold.Reason}.String())
	}
	const next = "\nnothing was put back; no call in this workspace may write until a person has looked: jphost trust accept"
	return errors.Join(refuse(ReasonChanged, "%s", text+next), exit.With(exit.Host, k.Holds.Add(context.WithoutCancel(ctx), holds...)))
}

// HoldsOn are the holds of the workspace at root on what a call of a tool left.
func HoldsOn(root, tool string, c *sandbox.Cmd) (holds []consent.Hold) {
	for _, change := range c.State.Changes {
		hold := consent.Hold{Reason: change.What, Tool: tool, Was: c.Attempt.Was(change)}
		if name, inside := wspath.WithinAbs(root, change.Path); inside {
			hold.Path = cmp.Or(name, ".")
		} else {
			hold.Path, _ = c.Attempt.Name(change.Path)
			hold.At = change.Path
		}
		holds = append(holds, hold)
	}
	return holds
}

// maxTexts and maxText bound what is looked at of the arguments: a path is no longer.
const maxTexts, maxText = 4096, 4096

// texts returns the texts among arguments that could be paths, also those in lists and in a text that holds a list, as
// models write it.
func texts(args map[string]any) (list []string) {
	var add func(v any)
	add = func(v any) {
		switch v := v.(type) {
		case string:
			if len(v) <= maxText && len(list) < maxTexts {
				list = append(list, v)
			}
			var inner []any
			if json.Unmarshal([]byte(v), &inner) == nil {
				add(inner)
			}
		case []any:
			for _, item := range v {
				add(item)
			}
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				add(v[name])
			}
		}
	}
	add(args)
	return list
}

// stopError says that the host ended the tool before it was done, and on its second line what to do.
type stopError struct {
	text string
	// flood: the tool prints more than is kept, so that there is no point in letting it finish.
	flood bool
}

func (e *stopError) Error() string { return e.text }

func stopped(flood bool, format string, args ...any) error {
	return &stopError{fmt.Sprintf(format, args...), flood}
}

// result is what a tool did, or had done when it was ended. All its processes are gone.
type result struct {
	stdout, stderr []byte
	ended          Ended
	// A person has seen the streams already.
	outShown, errShown bool
}

const (
	// mostStderr is the number of bytes on standard error after which a tool is ended.
	mostStderr = 4 << 20
	// grace is the time between SIGTERM and SIGKILL when the tool is ended.
	grace = 250 * time.Millisecond
)

// collector keeps what one stream brings, up to a limit. What comes after that is dropped, so that the pipe does not
// hold up the end of the tool.
type collector struct {
	limit int
	kept  []byte
	flood func()
	shown func([]byte) // gets what is kept
}

// Write never fails.
func (c *collector) Write(b []byte) (int, error) {
	take := min(len(b), c.limit-len(c.kept))
	c.kept = append(c.kept, b[:take]...)
	c.shown(b[:take])
	if take < len(b) {
		c.flood()
	}
	return len(b), nil
}

// within runs c within limits, and returns what it printed. cancel ends the context of c with a cause. The error is a
// *stopError if the host ended it, else that of Start or Wait; the result is nil if nothing was started. live shows
// what the tool prints.
func within(
	ctx context.Context, cancel context.CancelCauseFunc, l config.Limits, c *sandbox.Cmd, live *term.Live,
) (*result, error) {
	most := int(min(cmp.Or(l.Output, config.DefaultOutput), 1<<31-1))
	limit := cmp.Or(l.Time, config.DefaultTime)
	out := &collector{limit: most, shown: live.Stdout, flood: func() {
		cancel(stopped(true, "the tool printed more than %d bytes on standard output and was ended\nlet it print less, or raise limits.output of the tool", most))
	}}
	errOut := &collector{limit: mostStderr, shown: live.Stderr, flood: func() {
		cancel(stopped(true, "the tool printed more than %d bytes on standard error and was ended\nlet it print less, or send what nobody reads to /dev/null", mostStderr))
	}}
	c.Stdout, c.Stderr, c.WaitDelay = out, errOut, grace
	c.Cancel = func() error {
		if stop := (*stopError)(nil); errors.As(context.Cause(ctx), &stop) && stop.flood {
			return c.Kill()
		}
		return c.Signal(syscall.SIGTERM)
	}
	if err := c.Start(); err != nil {
		return nil, cmp.Or(stopOf(ctx), err)
	}
	defer time.AfterFunc(limit, func() {
		cancel(stopped(false, "the tool was not done within %s and was ended\nraise limits.time of the tool if it needs longer", limit))
	}).Stop()
	live.Begin()
	started := time.Now()
	err := c.Wait()
	res := &result{
		stdout: out.kept, stderr: errOut.kept,
		ended: Ended{Code: c.State.Code, Signal: c.State.SignalName(), Leftover: c.State.Leftover},
	}
	res.outShown, res.errShown = live.End()
	if key, did := res.ended.Limit(c.Attempt.Plan.Limits, time.Since(started)); key != "" {
		res.ended.limit = fmt.Sprintf(": it %s (limits.%s)", did, key)
	}
	switch lost, control, crowd := (*sandbox.LostError)(nil), (*sandbox.ControlError)(nil), (*sandbox.LimitError)(nil); {
	case errors.As(err, &control), errors.As(err, &lost):
		return res, err
	case ctx.Err() != nil:
		return res, stopOf(ctx)
	case errors.As(err, &crowd):
		return res, stopped(false, "the tool had more than %d processes and was ended\nlet it do less at a time, or raise the limit of processes of the tool", crowd.Processes)
	}
	return res, c.Left // how the tool ended is part of its result
}

// stopOf returns why a context has ended; nil if it has not.
func stopOf(ctx context.Context) error {
	if stop := (*stopError)(nil); ctx.Err() == nil || errors.As(context.Cause(ctx), &stop) {
		return context.Cause(ctx)
	}
	return errors.New("the call was cancelled and the tool ended")
}
