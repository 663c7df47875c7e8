package call

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/enforcement"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/policy"
	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/sandbox"
	"github.com/jptools/jptools/sandbox/fit"
)

// Sandbox returns what calls of a tool are prepared with.
func (h *Host) Sandbox(ctx context.Context, t *config.Tool) (sandbox.Options, error) {
	c := h.Config.Sandbox()
	o := sandbox.Options{
		Off: c.Mode == "off", Required: c.Mode == "required", Tier: h.tier(),
		Environ: h.Environ, TempDir: h.TempBase, Keep: keeps(t), Helpers: h.Helpers,
		Limits: fit.Limits{
			Memory: t.Limits.Memory, Processes: t.Limits.Processes, FileSize: t.Limits.FileSize,
			CPUSeconds: int64(math.Ceil(t.Limits.CPU.Seconds())),
		},
	}
	var err error
	if o.Paths, err = policy.SandboxPaths(c.Paths, jptool.LookupEnv(h.Environ, "HOME")); err != nil {
		return o, exit.With(exit.Usage, err)
	}
	m, err := h.machine(ctx)
	o.Machine = &m
	return o, err
}

// tier returns the tier that the configuration forces, "" for none.
func (h *Host) tier() fit.Tier { return fit.ForcedTier(h.Config.Sandbox().Tier) }

// machine returns what this computer can enforce in the tier of the configuration. It is found out once.
func (h *Host) machine(ctx context.Context) (fit.Machine, error) {
	h.looked.Do(func() {
		h.found, h.unknown = sandbox.Probe(ctx, h.tier(), h.State, func(name string) string { return jptool.LookupEnv(h.Environ, name) })
	})
	return h.found, exit.With(exit.Usage, h.unknown)
}

// keeps reports whether the tool is one of ours that writes: what it leaves when it is killed while it writes a file
// in place is kept.
func keeps(t *config.Tool) bool {
	at := t.Origin("command")
	return at.Layer == settings.LayerDefault && t.Needs != nil && t.Needs.Has(jptool.Update)
}

// prepared returns the policy of the call, ready to start programs under it.
func (k *call) prepared(ctx context.Context) (*sandbox.Prepared, error) {
	o, err := k.Sandbox(ctx, k.Tool)
	if err != nil {
		return nil, err
	}
	o.Arguments = Texts(k.args)
	p, err := sandbox.PreparePolicy(ctx, k.policy.ForFit(), o)
	return p, exit.With(exit.Host, err)
}

// explainDenials is the flag that asks what was refused.
const explainDenials = "--explain-denials: "

// start starts the tool once, enforced as far as it can be, and waits for its end. The result is nil if nothing was
// started.
func (k *call) start(ctx context.Context, cmd *command) (*result, error) {
	if err := k.prepare(cmd); err != nil {
		return nil, err
	}
	res, c, err := within(ctx, limits(k.Tool.Limits), func(ctx context.Context) *sandbox.Cmd {
		c := cmd.start(ctx)
		c.Explain = k.Explain
		c.BeforeStart = func(a *sandbox.Attempt) error {
			k.tellEnforced(ctx, a)
			// The request carries the effective policy, which is known only now.
			cmd.effective(k, a.Access)
			if err := k.fill(cmd); err != nil {
				return err
			}
			c.Args = cmd.argv
			if cmd.withRequest {
				c.Stdin = bytes.NewReader(cmd.stdin)
			}
			return nil
		}
		return c
	})
	if refused := (*fit.RefusedError)(nil); errors.As(err, &refused) {
		k.report.Sandbox = &enforcement.Report{Report: c.Report()}
		return nil, refuse(ReasonSandbox, fmt.Errorf("%s was not run: %w\nset sandbox.mode = \"auto\" to run it with what can be enforced", k.Tool.Name, refused))
	}
	if res == nil {
		return nil, err
	}
	k.tellKept(c.State.Kept)
	if seen := c.Refused(); seen != nil {
		x := enforcement.Explanation{Declared: k.policy, Attempt: c.Attempt, Home: jptool.LookupEnv(c.Env, "HOME")}
		k.report.Denials, k.report.Sandbox.Observed = x.Explain(seen)
	}
	if len(c.State.Changes) > 0 {
		k.report.Sandbox.Changed = c.State.Changes
		return res, k.changed(ctx, c, err)
	}
	if text := enforcement.Touched(c.State.Touched); text != "" {
		k.warn(text)
	}
	if lost := (*sandbox.LostError)(nil); errors.As(err, &lost) {
		return res, exit.With(exit.Refused, lost)
	}
	return res, err
}

// rehearse reports what a start would be enforced with. The error is a *fit.RefusedError if it would be refused.
func (k *call) rehearse(ctx context.Context, cmd *command) error {
	if k.Config.Sandbox().Mode == "off" {
		return nil
	}
	a, err := cmd.start(ctx).Preview()
	if a != nil {
		k.report.Sandbox = &enforcement.Report{Report: a.Report()}
	}
	return err
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
		k.warn(explainDenials + why)
	}
}

// tellKept tells a person where the old content is of files that the tool could not finish.
func (k *call) tellKept(paths []string) {
	for _, p := range paths {
		k.warn(fmt.Sprintf("%s was killed while it wrote a file in place, which may hold a mix of old and new content now\nits old content is %s\ncompare the two, put it back if need be, and remove it then", k.Tool.Name, show.Visible(p)))
	}
}

// changed fails the call because of what it left, or did while it ran, and holds further writing calls. err is what
// became of the call otherwise. Names are those of rules: a model reads all of this.
func (k *call) changed(ctx context.Context, c *sandbox.Cmd, err error) error {
	var b strings.Builder
	if lost := (*sandbox.LostError)(nil); errors.As(err, &lost) {
		fmt.Fprintf(&b, "%s: %s\nthis is not as its rules want it:", k.Tool.Name, lost)
	} else {
		fmt.Fprintf(&b, "%s ran, and this is not as its rules want it:", k.Tool.Name)
	}
	var holds []consent.Hold
	for _, change := range c.State.Changes {
		name, _ := c.Attempt.Name(change.Path)
		b.WriteString("\n  " + show.Line(fit.Change{Path: name, What: change.What}.String()))
		hold := consent.Hold{Path: name, Reason: change.What, Tool: k.Tool.Name, Was: c.Attempt.Was(change)}
		if _, inside := wspath.WithinAbs(k.Workspace.Root(), change.Path); !inside {
			hold.At = change.Path
		}
		holds = append(holds, hold)
	}
	b.WriteString("\nnothing was put back; writing calls in this workspace are held until a person has looked: jphost trust accept")
	return errors.Join(refuse(ReasonChanged, errors.New(b.String())), exit.With(exit.Host, k.Holds.Add(context.WithoutCancel(ctx), holds...)))
}

// effective writes the request for another policy than the declared one.
func (c *command) effective(k *call, access *jptool.AccessPolicy) {
	c.context.Access = access
	k.report.Policy.Effective, _ = digest(access)
}

// maxTexts and maxText bound what is looked at of the arguments: a path is no longer.
const maxTexts, maxText = 4096, 4096

// Texts returns the texts among arguments that could be paths, also those in lists and in a text that holds a list, as
// models write it.
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
