package call

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/policy"
	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/host/internal/trust"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox/fit"
)

// Compile makes the policy of a tool, asking p about external paths that are not approved.
func (h *Host) Compile(ctx context.Context, t *config.Tool, p term.Prompter) (*policy.Declared, error) {
	m, err := h.machine(ctx)
	if err != nil {
		return nil, err
	}
	paths, err := policy.SandboxPaths(h.Config.Sandbox().Paths, jptool.LookupEnv(h.Environ, "HOME"))
	if err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	d, err := policy.Compile(ctx, policy.Request{
		Workspace: h.Workspace, Config: h.Config, Tool: t,
		Approve: func(ctx context.Context, r consent.Request) (consent.Result, error) {
			return h.approve(ctx, t, p, r)
		},
		Home: jptool.LookupEnv(h.Environ, "HOME"), StateDir: h.State.Base(), ConfigFile: config.UserGlobalPath(h.Environ),
		Programs: OwnPrograms(), Reach: policy.ReachOf(paths),
		OSSandbox: m.Landlock > 0,
	})
	if errs := settings.Errors(nil); errors.As(err, &errs) {
		return nil, exit.With(exit.Usage, err)
	}
	return d, err
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

func (k *call) compile(ctx context.Context, p term.Prompter) (*policy.Declared, error) {
	d, err := k.Compile(ctx, k.Tool, p)
	if errors.Is(err, term.ErrCancelled) {
		return nil, k.notRun(ReasonDeclined, err)
	} else if err != nil {
		return nil, err
	}
	for _, w := range d.Warnings {
		k.warn(w.String())
	}
	sum, wire := digest(d.Access)
	k.report.Policy = &Policy{Digest: sum}
	if k.Dry {
		k.report.Policy.Access = wire
	}
	return d, nil
}

// trusted checks what the repository's own configuration widens for this tool.
func (k *call) trusted(ctx context.Context) error {
	widening, err := trust.Widening(ctx, k.Config, k.Root)
	if err != nil {
		return err
	}
	err = k.Trust.Require(ctx, k.Prompter, consent.Concerning(widening, k.Tool.Name))
	switch {
	case err == nil:
		return nil
	case errors.Is(err, consent.ErrNotTrusted), errors.Is(err, term.ErrCancelled):
		if errors.Is(err, consent.ErrNotTrusted) && slices.ContainsFunc(k.Config.Layers(), func(l config.LayerInfo) bool { return l.Layer == settings.LayerArgument }) {
			err = fmt.Errorf("%w\nand give it the same --cfg as here, since what that restricts decides what widens", err)
		}
		return refuse(ReasonUntrusted, err)
	}
	return exit.With(exit.Host, err)
}

// plan says what the call would do; nothing is asked, stored or started.
func (k *call) plan(ctx context.Context) error {
	p := &Plan{Run: k.Tool.Run}
	widening, err := trust.Widening(ctx, k.Config, k.Root)
	if err != nil {
		return err
	}
	trusted, diff, err := k.Trust.Check(ctx, consent.Concerning(widening, k.Tool.Name))
	if err != nil {
		return err
	}
	if !trusted {
		p.Needs = append(p.Needs, "trust in settings of this workspace (jphost trust accept):\n"+diff.String())
	}
	if k.policy, err = k.compile(ctx, term.None{}); err != nil {
		return err
	}
	if err := k.onHold(ctx); err != nil {
		p.Needs = append(p.Needs, err.Error())
	}
	if list := k.places(); len(list) > 0 && !k.AllowSensitive && !k.unattendedByUser() {
		p.Needs = append(p.Needs, "consent, once per session (or --allow-sensitive): "+k.secrets(list))
	}
	if mode := k.Tool.Run; mode != "unattended" {
		p.Needs = append(p.Needs, fmt.Sprintf("a person: run = %q", mode))
	}
	cmd, err := k.command(ctx, k.action())
	if err != nil {
		return err
	}
	if err := k.prepare(cmd); err != nil {
		return err
	}
	p.Arguments, p.Program, p.Argv, p.Stdin = k.args, cmd.program, cmd.argv, cmd.withRequest
	for _, kv := range cmd.start(ctx).Env {
		name, _, _ := strings.Cut(kv, "=")
		p.Environment = append(p.Environment, name)
	}
	slices.Sort(p.Environment)
	var refused *fit.RefusedError
	if err := k.rehearse(ctx, cmd); errors.As(err, &refused) {
		p.Needs = append(p.Needs, refused.Error())
	} else if err != nil {
		return err
	}
	k.report.Plan, k.report.Outcome = p, Outcome{Type: "planned"}
	return nil
}

// OwnPrograms are the files of jphost and of the tools that come with it, where they are known. A program
// that could replace them would choose what the host does.
func OwnPrograms() []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	beside, err := filepath.Glob(filepath.Join(filepath.Dir(self), "fs_*"))
	if err != nil { // a directory whose name looks like a pattern
		beside = nil
	}
	return append([]string{self}, beside...)
}
