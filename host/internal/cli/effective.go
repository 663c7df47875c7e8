package cli

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/call"
	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/enclose"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/launch"
	"github.com/jptools/jptools/host/internal/policy"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/sandbox/fit"
)

// effective answers for a tool as a call of it would be held: by the same steps as `run`, up to the
// start. Nothing is asked and nothing is made.
type effective struct {
	app      *app
	tool     *config.Tool
	declared *policy.Declared
	host     *call.Host
	settings enclose.Settings
	program  enclose.Program
	// missing says why the program of the tool cannot be started: then another one stands in for it, as the
	// rules do not depend on it.
	missing error
	// off says why nothing is enforced by the operating system, "" where something is.
	off string
	// base is what holds for a call whose arguments name nothing.
	base *enclose.Call
}

// effective compiles a tool. The caller closes the declared policy.
func (a *app) effective(cfg *config.Config, t *config.Tool) (*effective, error) {
	d, err := a.compiled(cfg, t)
	if err != nil {
		return nil, err
	}
	f := &effective{app: a, tool: t, declared: d}
	if err := f.look(cfg); err != nil {
		d.Close()
		return nil, err
	}
	return f, nil
}

func (f *effective) look(cfg *config.Config) error {
	a := f.app
	p, err := a.open()
	if err != nil {
		return err
	}
	if f.host, err = a.host(p, cfg, nil); err != nil {
		return err
	}
	if cfg.Sandbox().Mode == "off" {
		f.off = `sandbox.mode is "off"`
	} else if runtime.GOOS != "linux" {
		f.off = "there is no sandbox for this system"
	}
	if f.settings, err = f.host.Enclosure(a.ctx, f.tool); err != nil {
		return err
	}
	f.settings.Dry, f.settings.Keep = true, call.Keeps(f.tool)
	f.program.Argv = append([]string{f.tool.Command.Program}, f.tool.Command.Args...)
	f.program.Path, f.missing = f.host.Program(f.tool, f.tool.Command.Program)
	if f.missing != nil {
		if f.program.Path, err = os.Executable(); err != nil {
			return exit.With(exit.Host, err)
		}
	}
	f.program.Path = filepath.ToSlash(f.program.Path)
	var env *jptool.EnvPolicy
	if access := f.declared.Access; access != nil {
		if env, err = jptool.CompileEnv(access.Env); err != nil {
			return exit.With(exit.Usage, err)
		}
	}
	f.program.Env, _ = launch.Environment(a.environ, env)
	return nil
}

// call is how a call with these texts among its arguments would be held; nil where nothing is enforced by the
// operating system. A *fit.RefusedError comes with a call.
func (f *effective) call(texts ...string) (*enclose.Call, error) {
	if f.off != "" {
		return nil, nil
	}
	if len(texts) == 0 && f.base != nil {
		return f.base, nil
	}
	s := f.settings
	s.Arguments = texts
	call, err := enclose.Prepare(f.app.ctx, f.declared, f.program, s)
	if len(texts) == 0 && err == nil {
		f.base = call
	}
	return call, err
}

// held is what holds of the policy for a call with these texts among its arguments.
func (f *effective) held(texts ...string) (*policy.Held, error) {
	if f.declared.Access == nil {
		return &policy.Held{}, nil
	}
	if f.off != "" {
		made, err := enclose.Directories(f.app.ctx, f.declared, texts, true)
		if err != nil {
			return &policy.Held{}, nil // a call makes none either
		}
		return &policy.Held{Made: enclose.Wire(f.declared, made.Made)}, nil
	}
	call, err := f.call(texts...)
	refused := (*fit.RefusedError)(nil)
	if err != nil && !(errors.As(err, &refused) && call != nil) {
		return nil, exit.With(exit.Host, err)
	}
	h := &policy.Held{Access: call.Access, Made: enclose.Wire(f.declared, call.Made), Less: less(call), Hidden: call.Plan.Hidden}
	if refused != nil {
		first := refused.Reasons[0]
		h.Refused = fmt.Sprintf("no call is made: sandbox.mode is \"required\", and %s cannot be enforced (%s)", strings.TrimPrefix(first.Rule+": "+first.What, ": "), first.Why)
		h.Remedy = first.Remedy
	}
	return h, nil
}

// less says why rules grant less than they say.
func less(call *enclose.Call) func(int) (string, string) {
	return func(rule int) (string, string) {
		for i := range call.Narrowed {
			if n := &call.Narrowed[i]; n.Index == rule {
				return fmt.Sprintf("it became %s, because %s", n.Became, n.Why), n.Remedy
			}
		}
		return "", ""
	}
}

// narrowed warns of rules that somebody wrote and that grant less than they say. A directory that is
// missing is none of them for the seven tools: their calls name what they create, and so it is made. Nor is
// what was said already: a rule on a path that is there by another name only.
func (f *effective) narrowed(said []policy.Warning) (list []policy.Warning, err error) {
	if f.off != "" || f.declared.Access == nil {
		return nil, nil
	}
	call, err := f.call()
	if refused := (*fit.RefusedError)(nil); err != nil && !(errors.As(err, &refused) && call != nil) {
		return nil, err
	}
	for i := range call.Narrowed {
		n := &call.Narrowed[i]
		if n.Index < 0 || n.Missing && f.tool.Command.Origin.Layer == config.LayerDefault && f.grants(n.Index, jptool.Create) {
			continue
		}
		if n.Missing && slices.ContainsFunc(said, func(w policy.Warning) bool { return w.Origin == n.Origin }) {
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

func (f *effective) grants(rule int, caps jptool.Caps) bool {
	return rule < len(f.declared.Access.FS) && f.declared.Access.FS[rule].Caps().Has(caps)
}

// explain answers a question about a path for a call with that path among its arguments.
func (f *effective) explain(capability, name string) (policy.Explanation, error) {
	q := policy.Question{Capability: capability, Path: name}
	if f.edits() && capability == "update" {
		q.Also = jptool.Read
	}
	h, err := f.held(name)
	if err != nil {
		return policy.Explanation{}, err
	}
	e, err := f.declared.ExplainHeld(h, q)
	if err != nil {
		return e, err
	}
	if e.Allowed {
		for _, dir := range slices.Backward(h.Made) { // the innermost says enough
			if _, in := wspath.Within(dir, e.Canonical); in {
				e.Notes = append(e.Notes, fmt.Sprintf("%q is missing; it is made for a call with this path, and removed again if it is still empty then", dir))
				break
			}
		}
	}
	return e, nil
}

// edits reports whether the tool reads what it changes: fs_modify_file needs both, as it shows a diff.
func (f *effective) edits() bool {
	c := f.tool.Command
	return c.Origin.Layer == config.LayerDefault && path.Base(filepath.ToSlash(c.Program)) == "fs_modify_file"
}

// notStarted is said where a tool has a policy and no program.
func (f *effective) notStarted() string {
	if f.missing == nil {
		return ""
	}
	why, _, _ := strings.Cut(f.missing.Error(), "\n")
	return fmt.Sprintf("%s cannot be started: %s: %s", show.Visible(f.tool.Name), show.Visible(f.tool.Command.Program), why)
}
