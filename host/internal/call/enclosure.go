package call

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/enclose"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/launch"
	"github.com/jptools/jptools/host/internal/policy"
	"github.com/jptools/jptools/host/internal/private"
	"github.com/jptools/jptools/host/internal/sandbox/confine"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/sandbox/fit"
)

// Enclosure is what calls of a tool are held with.
func (h *Host) Enclosure(ctx context.Context, t *config.Tool) (enclose.Settings, error) {
	c := h.Config.Sandbox()
	s := enclose.Settings{
		Required: c.Mode == "required", Tier: h.tier(), TempBase: h.TempBase,
		Limits: fit.Limits{
			Memory: t.Limits.Memory, Processes: t.Limits.Processes, FileSize: t.Limits.FileSize,
			CPUSeconds: int64(math.Ceil(t.Limits.CPU.Seconds())),
		},
	}
	var err error
	if s.Paths, err = policy.SandboxPaths(c.Paths, config.Lookup(h.Environ, "HOME")); err != nil {
		return s, exit.With(exit.Usage, err)
	}
	s.Machine, err = h.machine(ctx)
	return s, err
}

// tier is the one that the configuration forces, if any.
func (h *Host) tier() fit.Tier {
	return fit.ForcedTier(h.Config.Sandbox().Tier)
}

// machine is what this computer can hold in the tier of the configuration; it is found out once.
func (h *Host) machine(ctx context.Context) (fit.Machine, error) {
	h.looked.Do(func() {
		h.found, h.unknown = enclose.Machine(ctx, h.tier(), h.State, func(name string) string { return config.Lookup(h.Environ, name) })
	})
	return h.found, exit.With(exit.Usage, h.unknown)
}

// start starts the tool once, held as far as it can be. The request is written for the
// effective policy, which is known only here.
func (k *call) start(ctx context.Context, cmd *command) (*launch.Result, error) {
	mode := k.Config.Sandbox().Mode
	if mode == "off" {
		return k.unheld(ctx, cmd, enclose.None(mode, `sandbox.mode = "off"`, `set sandbox.mode = "auto"`))
	}
	settings, err := k.Enclosure(ctx, k.Tool)
	if err != nil {
		return nil, err
	}
	settings.Arguments = Texts(k.args)
	if report := k.unavailable(settings, mode); report != nil {
		k.report.Sandbox = report
		if settings.Required {
			return nil, k.report.refuse(ReasonSandbox, fmt.Errorf(notRun, k.Tool.Name, &fit.RefusedError{Tier: fit.TierNone, Reasons: report.NotEnforced}))
		}
		k.warnOnce(ctx, fullPermissions(report.NotEnforced))
		return k.unheld(ctx, cmd, report)
	}
	for attempt := 0; ; attempt++ {
		res, err := k.enclosed(ctx, cmd, settings)
		switch {
		case confine.IsNamespaces(err) && settings.Machine.Namespaces:
			settings = settings.WithoutNamespaces(err)
		case confine.IsChanged(err) && attempt < 3:
		default:
			return res, err
		}
	}
}

// notRun is for a tool that the sandbox must hold and cannot.
const notRun = "%s was not run: %w\nset sandbox.mode = \"auto\" to run it with what can be held"

// unavailable is the report where there is no sandbox to prepare anything for; nil where there is.
func (k *call) unavailable(s enclose.Settings, mode string) *enclose.Report {
	if runtime.GOOS == "linux" {
		return nil
	}
	why, remedy := s.Machine.Lacks("landlock")
	return enclose.None(mode, why, remedy)
}

// rehearse reports what a start would be held with. The error is a *fit.RefusedError
// where it would be refused.
func (k *call) rehearse(ctx context.Context, spec launch.Spec) error {
	mode := k.Config.Sandbox().Mode
	if mode == "off" {
		return nil
	}
	settings, err := k.Enclosure(ctx, k.Tool)
	if err != nil {
		return err
	}
	if k.report.Sandbox = k.unavailable(settings, mode); k.report.Sandbox != nil {
		return nil
	}
	settings.Arguments, settings.Dry, settings.Keep = Texts(k.args), true, Keeps(k.Tool)
	held, err := enclose.Prepare(ctx, k.policy.declared, enclose.Program{Path: spec.Program, Argv: spec.Argv, Env: spec.Env}, settings)
	if held != nil {
		k.report.Sandbox = held.Report()
	}
	return err
}

// maxTexts and maxText bound what is looked at of the arguments: a path is no longer.
const maxTexts, maxText = 4096, 4096

// Texts are the texts among arguments that could be paths, also those in lists and in a text that holds a
// list, as models write it.
func Texts(args map[string]any) (list []string) {
	var add func(v any)
	add = func(v any) {
		switch v := v.(type) {
		case string:
			if len(v) <= maxText && len(list) < maxTexts {
				list = append(list, v)
			}
			var inner []string
			if strings.HasPrefix(strings.TrimSpace(v), "[") && json.Unmarshal([]byte(v), &inner) == nil {
				for _, text := range inner {
					if len(text) <= maxText && len(list) < maxTexts {
						list = append(list, text)
					}
				}
			}
		case []any:
			for _, one := range v {
				add(one)
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

// unheld starts the tool without the operating system's help.
func (k *call) unheld(ctx context.Context, cmd *command, report *enclose.Report) (*launch.Result, error) {
	k.report.Sandbox = report
	if k.Observer != nil {
		k.warn("--explain-denials: nothing is held by the operating system, so it refuses nothing because of a rule")
	}
	spec, err := k.spec(cmd)
	if err != nil {
		return nil, err
	}
	undo := k.makeMissing(ctx, report)
	if !Keeps(k.Tool) {
		res, err := k.Launcher.Run(ctx, spec)
		return res, errors.Join(err, undo())
	}
	shelf := private.ShelfIn(k.TempBase)
	name := shelf.NameToKeep()
	temp, err := shelf.Make(name)
	if err != nil {
		return nil, errors.Join(exit.With(exit.Host, enclose.NoPrivate(err)), undo())
	}
	spec.Env = enclose.WithTemp(spec.Env, shelf.Path(name))
	res, err := k.Launcher.Run(ctx, spec)
	k.tellKept(temp.Keep())
	return res, errors.Join(err, exit.With(exit.Host, temp.Remove()), undo())
}

// makeMissing makes the directories that the call needs, until what it returns is called.
func (k *call) makeMissing(ctx context.Context, report *enclose.Report) (undo func() error) {
	if k.policy.access == nil {
		return func() error { return nil }
	}
	made, err := enclose.Directories(ctx, k.policy.declared, Texts(k.args), false)
	if err != nil {
		k.warn("directories that are missing are not made: " + err.Error())
		return func() error { return nil }
	}
	report.Made = enclose.Wire(k.policy.declared, made.Made)
	return func() error { return exit.With(exit.Host, made.Undo()) }
}

// Keeps reports whether the tool is one of ours that writes: what it leaves when it is killed while it
// writes a file in place is kept.
func Keeps(t *config.Tool) bool {
	at := t.Origin("command")
	return at.Layer == config.LayerDefault && t.Needs != nil && t.Needs.Has(jptool.Update)
}

// tellKept tells a person where the old content is of files that the tool could not finish.
func (k *call) tellKept(paths []string) {
	for _, p := range paths {
		k.warn(fmt.Sprintf("%s was killed while it wrote a file in place, which may hold a mix of old and new content now\nits old content is %s\ncompare the two, put it back if need be, and remove it then", k.Tool.Name, show.Visible(p)))
	}
}

// fullPermissions is the warning where nothing is held (RFD 075, "Unsupported platforms and
// fallback").
func fullPermissions(not []fit.NotEnforced) string {
	return fmt.Sprintf("tools run with your full user permissions: nothing is held by the operating system (%s)\n%s\nuse run = \"ask\" for tools that you do not trust",
		not[0].Why, not[0].Remedy)
}

// enclosed makes one attempt.
func (k *call) enclosed(ctx context.Context, cmd *command, s enclose.Settings) (*launch.Result, error) {
	s.Keep = Keeps(k.Tool)
	spec, err := k.spec(cmd)
	if err != nil {
		return nil, err
	}
	held, err := enclose.Prepare(ctx, k.policy.declared, enclose.Program{Path: spec.Program, Argv: spec.Argv, Env: spec.Env}, s)
	if refused := (*fit.RefusedError)(nil); errors.As(err, &refused) {
		k.report.Sandbox = held.Report()
		return nil, k.report.refuse(ReasonSandbox, fmt.Errorf(notRun, k.Tool.Name, err))
	}
	if err != nil {
		return nil, exit.With(exit.Host, err)
	}
	k.report.Sandbox = held.Report()
	if held.Fitted.Plan.Tier == fit.TierNone {
		k.warnOnce(ctx, fullPermissions(held.NotEnforced))
	} else {
		k.warnOnce(ctx, held.Warnings("jphost sandbox plan "+k.Tool.Name)...)
	}
	res, err := k.startHeld(ctx, cmd, held, spec.Program)
	changes, end := held.End(context.WithoutCancel(ctx))
	k.tellKept(held.Kept())
	if len(changes) > 0 {
		k.report.Sandbox.Changed = changes
		return res, k.changed(ctx, held, changes, err)
	}
	if text := held.Touched(); text != "" {
		k.warn(text)
	}
	return res, errors.Join(err, exit.With(exit.Host, end))
}

// startHeld starts the tool with the effective policy in its request, and the program that the plan was made for.
func (k *call) startHeld(ctx context.Context, cmd *command, held *enclose.Call, program string) (*launch.Result, error) {
	cmd.effective(k, held.Access)
	spec, err := k.specOf(cmd, program)
	if err != nil {
		return nil, err
	}
	observed := k.Observer != nil
	if why := held.CanObserve(); observed && why != "" {
		k.warn("--explain-denials: " + why)
		observed = false
	}
	if observed {
		if err := held.Observe(k.Observer); err != nil {
			return nil, exit.With(exit.Host, err)
		}
		spec.ExtraFiles = append(spec.ExtraFiles, k.Observer.File())
	}
	spec.Plan, spec.Kind = held.Encoded(), string(held.Fitted.Plan.Tier)
	spec.Env = held.Env()
	guarded := held.Guard(ctx)
	res, err := k.Launcher.Run(guarded, spec)
	if observed && res != nil {
		var gone error
		if k.report.Denials, k.report.Sandbox.Observed, gone = held.Refused(k.Observer, k.policy.declared, enclose.Advice{}); gone != nil {
			k.warn(gone.Error())
		}
	}
	if err == nil {
		return res, nil
	}
	if lost := (*enclose.LostError)(nil); errors.As(context.Cause(guarded), &lost) {
		return res, exit.With(exit.Refused, lost)
	}
	if stop := (*launch.StopError)(nil); errors.As(err, &stop) && stop.Reason == launch.Exposed {
		return res, exit.With(exit.Refused, held.Lost(stop.Path))
	}
	return res, err
}

// warnOnce tells each warning the first time that it comes up in a session.
func (k *call) warnOnce(ctx context.Context, list ...string) {
	for _, text := range list {
		if k.first(ctx, "sandbox-"+scope(text)) {
			k.warn(text)
		}
	}
}

// changed fails the call because of what it left, or did while it ran, and holds further writing calls.
// err is what became of the call otherwise. Names are those of rules: a model reads all of this.
func (k *call) changed(ctx context.Context, held *enclose.Call, changes []fit.Change, err error) error {
	var b strings.Builder
	if lost := (*enclose.LostError)(nil); errors.As(err, &lost) {
		fmt.Fprintf(&b, "%s: %s\nthis is not as its rules want it:", k.Tool.Name, lost)
	} else {
		fmt.Fprintf(&b, "%s ran, and this is not as its rules want it:", k.Tool.Name)
	}
	var holds []consent.Hold
	for _, c := range changes {
		b.WriteString("\n  " + held.Say(c))
		name, _ := held.Name(c.Path)
		hold := consent.Hold{Path: name, Reason: c.What, Tool: k.Tool.Name, Was: held.Was(c)}
		if _, inside := wspath.WithinAbs(k.Workspace.Root(), c.Path); !inside {
			hold.At = c.Path
		}
		holds = append(holds, hold)
	}
	b.WriteString("\nnothing was put back; writing calls in this workspace are held until a person has looked: jphost trust accept")
	return errors.Join(k.report.refuse(ReasonChanged, errors.New(b.String())), exit.With(exit.Host, k.Holds.Add(context.WithoutCancel(ctx), holds...)))
}

// effective writes the request for another policy than the declared one.
func (c *command) effective(k *call, access *jptool.AccessPolicy) {
	c.context.Access = access
	c.req.context = c.context.JSON()
	k.report.Policy.Effective, _ = digest(access)
}
