package cli

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/call"
	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/enforcement"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/grants"
	"github.com/jptools/jptools/host/internal/policy"
	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/toolargs"
	"github.com/jptools/jptools/jptool/nearest"
	"github.com/jptools/jptools/jptool/version"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/sandbox"
	"github.com/jptools/jptools/sandbox/machine"
)

type configShowCmd struct {
	Key    string `arg:"" optional:"" help:"Only this key: every layer's setting of it, low to high."`
	All    bool   `help:"Also what is as by default."`
	Origin bool   `help:"Say where each value was written."`
	Layers bool   `help:"List the layers instead."`
}

// setting is what one layer says about a key.
type setting struct {
	Key       string `json:"key"`
	Value     any    `json:"value"`
	Layer     string `json:"layer"`
	Origin    string `json:"origin"`
	Effective bool   `json:"effective"`
	text      string // the value as TOML
}

type layer struct {
	Layer   string `json:"layer"`
	Source  string `json:"source"`
	State   string `json:"state"`
	Skipper string `json:"skipped_by,omitempty"`
}

func (c *configShowCmd) Run(a *app, cfg *config.Config) error {
	switch {
	case c.Key != "" && !c.Layers:
		return c.history(a, cfg)
	case !c.Layers:
		if !c.All && !cfg.Written() {
			a.Out.Note("nothing differs from the defaults; they are shown by: jphost config show --all")
		}
		data, err := cfg.Render(config.Rendering{JSON: a.Out.JSON, Origins: c.Origin, All: c.All})
		a.Out.Text(string(data))
		return err
	}
	var rows []layer
	for _, l := range cfg.Layers() {
		row := layer{l.Layer.String(), l.Source, l.State.String(), ""}
		if !l.Skipper.IsZero() {
			row.Skipper = l.Skipper.String()
		}
		rows = append(rows, row)
	}
	return list(a.Out, rows, "", func(l layer) {
		a.Out.Printf("%-15s %-8s %s%s\n", l.Layer, l.State, show.Visible(l.Source), cond(l.Skipper == "", "", " (by "+l.Skipper+")"))
	})
}

func (c *configShowCmd) history(a *app, cfg *config.Config) error {
	found, err := cfg.History(c.Key)
	if p := (*settings.Problem)(nil); errors.As(err, &p) {
		return exit.Errorf(exit.Usage, "%s: %s\n%s", show.Visible(p.Origin.Key), p.Message, p.Help)
	}
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	var rows []setting
	for _, s := range found {
		rows = append(rows, setting{s.Key, s.Value.Any(), s.Origin.Layer.String(), s.Origin.String(), s.Effective, s.Value.String()})
	}
	if len(rows) == 0 {
		// The key may be that of a tool that does not exist.
		parts, err := settings.SplitKey(c.Key)
		if err == nil && len(parts) > 2 && parts[0] == "conversation" && parts[1] == "tools" && parts[2] != "*" {
			_, err = a.tool(cfg, parts[2])
		}
		if err != nil {
			return err
		}
	}
	return list(a.Out, rows, "no layer sets "+show.Visible(c.Key), func(s setting) {
		at := s.Origin
		if !strings.HasPrefix(at, s.Layer+":") {
			at = s.Layer + " " + at
		}
		a.Out.Printf("%s = %s  # %s%s\n", s.Key, s.text, at, cond(s.Effective, "", ", replaced"))
	})
}

type configSchemaCmd struct{}

func (c *configSchemaCmd) Run(a *app) error {
	data, err := config.JSONSchema()
	if err != nil {
		return err
	}
	a.Out.Printf("%s\n", data)
	return nil
}

type configInitCmd struct{}

//go:embed first.toml
var firstConfig string

func (c *configInitCmd) Run(a *app) error {
	root, err := a.Workspace, error(nil)
	if root == "" {
		if root, err = grants.WorkingDirectory(); err != nil {
			return err
		}
		if grants.TooWide(root, a.Home()) {
			return unchosen(root)
		}
	} else if root, err = a.Placed("-C", root); err != nil {
		return err
	}
	name := filepath.Join(root, filepath.FromSlash(config.WorkspaceFile))
	// .jp must be made here, and not at the target of somebody else's link.
	if _, _, err := a.Follow("the workspace's", filepath.Dir(name), []string{filepath.ToSlash(root)}); err != nil {
		return err
	}
	// From here on no link is followed, not even one that appears meanwhile.
	d, err := wspath.OpenDir(filepath.ToSlash(root))
	if err != nil {
		return exit.Errorf(exit.Host, "%s cannot be used: %w\nname another workspace with -C", show.Visible(root), err)
	}
	defer d.Close()
	dir := path.Dir(config.WorkspaceFile)
	err = d.Mkdir(dir, 0o777)
	if at, look := d.Lstat(dir); err != nil && (look != nil || !at.IsDir()) {
		remedy := "name another workspace with -C"
		if look == nil {
			remedy = "move away what is in its place, or " + remedy
		}
		return exit.Errorf(exit.Host, "%s cannot be made: %w\n%s", show.Visible(filepath.Dir(name)), err, remedy)
	}
	f, err := d.OpenFile(config.WorkspaceFile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	switch {
	case errors.Is(err, os.ErrExist):
		return exit.Errorf(exit.Usage, "%s is there already\nlook at it with: jphost config show --origin", show.Visible(name))
	case err != nil:
		return exit.Errorf(exit.Host, "%s cannot be made: %w", show.Visible(name), err)
	}
	_, err = f.WriteString(firstConfig)
	if err = errors.Join(err, f.Close()); err != nil {
		// The next command would take half a file for the user's.
		return exit.With(exit.Host, errors.Join(err, d.Remove(config.WorkspaceFile)))
	}
	schema := filepath.Join(filepath.Dir(name), "config.schema.json")
	if cwd, err := grants.WorkingDirectory(); err == nil && cwd == root {
		schema = filepath.Join(dir, "config.schema.json")
	}
	if err := a.Out.Result(map[string]string{"written": name}, "wrote "+show.Visible(name)); err != nil || a.Out.JSON {
		return err
	}
	a.Out.Note("your editor checks and completes it after: jphost config schema > " + show.Word(filepath.ToSlash(schema)))
	return nil
}

type configCheckCmd struct{}

// checked is what `jphost config check --json` prints if the configuration is in order.
type checked struct {
	OK     bool `json:"ok"`
	Layers int  `json:"layers"`
	Tools  int  `json:"tools"`
	// Trusted is false while settings of the repository wait to be accepted. Until then the tools they concern do not run.
	Trusted  bool             `json:"trusted"`
	Warnings []policy.Warning `json:"warnings"`
	// User and Workspace are the places of the user's own files: for all workspaces, and for this one.
	User      string `json:"user"`
	Workspace string `json:"workspace"`
}

func (c *configCheckCmd) Run(a *app) error {
	report, err := c.check(a)
	if err != nil {
		if a.Out.JSON && exit.Of(err) == exit.Usage {
			f := failedBy(err)
			return errors.Join(err, a.Out.Value(struct {
				OK bool `json:"ok"`
				failed
			}{false, f}))
		}
		return err
	}
	for _, w := range report.Warnings {
		a.Out.Warn(w.String())
	}
	if a.Out.JSON {
		return a.Out.Value(report)
	}
	a.Out.Printf("the configuration is in order: %d layer%s, %d tools\n", report.Layers, cond(report.Layers == 1, "", "s"), report.Tools)
	a.Out.Printf("your own is read from %s,\n  and for this workspace from %s\n", show.Visible(cmp.Or(report.User, "nowhere, as HOME is not set")), show.Visible(report.Workspace))
	if !report.Trusted {
		a.Out.Note(waits)
	}
	return nil
}

// check compiles everything. The error lists all problems.
func (c *configCheckCmd) check(a *app) (*checked, error) {
	cfg, err := a.config()
	if err != nil {
		return nil, err
	}
	h, err := a.host(cfg)
	if err != nil {
		return nil, err
	}
	report := &checked{
		OK: true, Tools: len(cfg.Tools()), Warnings: []policy.Warning{},
		User: config.UserGlobalPath(a.Environ), Workspace: a.place.dir.File(config.UserFile),
	}
	warn := func(list ...policy.Warning) {
		for _, w := range list {
			if !slices.Contains(report.Warnings, w) {
				report.Warnings = append(report.Warnings, w)
			}
		}
	}
	var all settings.Errors
	wrong := func(at settings.Origin, err error) {
		message, help, _ := strings.Cut(err.Error(), "\n")
		all = append(all, &settings.Problem{Origin: at, Message: message, Help: help})
	}
	for _, t := range cfg.Tools() {
		if a.Ctx.Err() != nil {
			return nil, exit.Errorf(exit.Interrupted, "interrupted")
		}
		if _, err := toolargs.New(t.Parameters); err != nil {
			wrong(t.Origin("parameters"), err)
		}
		if t.Source.Kind != config.SourceLocal {
			continue
		}
		if command, err := toolargs.Compile(*t.Command); err != nil {
			wrong(t.Command.Origin, err)
		} else {
			warn(checkCommand(h, t, command)...)
		}
		f, err := a.effective(cfg, t)
		if list := settings.Errors(nil); errors.As(err, &list) {
			all = append(all, list...)
			continue
		} else if err != nil {
			wrong(t.Origin("access"), err)
			continue
		}
		warn(f.declared.Warnings...)
		warn(f.declared.Remarks(cfg, t)...)
		less, err := f.narrowed(report.Warnings)
		if err != nil {
			wrong(t.Origin("access"), err)
		}
		warn(less...)
	}
	if len(all) > 0 {
		return nil, exit.With(exit.Usage, all)
	}
	for _, l := range cfg.Layers() {
		if l.State == config.Loaded {
			report.Layers++
		}
	}
	report.Trusted, err = a.trusted(cfg)
	return report, err
}

// checkCommand warns of a command that compiles but cannot do what it looks like: it names an argument that the tool
// does not declare, a program that does not exist, or words that only a shell would understand. It skips built-in tools.
func checkCommand(h *call.Host, t *config.Tool, compiled *toolargs.Template) []policy.Warning {
	if t.BuiltIn() {
		return nil
	}
	var list []policy.Warning
	remark := func(message, help string) {
		list = append(list, policy.Warning{Origin: t.Command.Origin.String(), Message: "the command of " + t.Name + " " + message, Help: help})
	}
	var known []string
	for _, p := range t.Parameters {
		known = append(known, p.Name)
	}
	for _, name := range compiled.Arguments() {
		if slices.Contains(known, name) {
			continue
		}
		help := fmt.Sprintf("declare it: [conversation.tools.%s.parameters.%s]", t.Name, name)
		if near := nearest.Word(name, known); near != "" {
			help = fmt.Sprintf("did you mean {{tool.arguments.%s}}? otherwise %s", near, help)
		}
		remark(fmt.Sprintf("has {{tool.arguments.%s}}, which is no parameter of it, so no call can give it a value", name), help)
	}
	if t.Command.Shell {
		return list
	}
	if !strings.Contains(t.Command.Program, "{{") {
		if _, err := h.Program(t, t.Command.Program); err != nil {
			message, help, _ := strings.Cut(err.Error(), "\n")
			help, _, _ = strings.Cut(help, ". PATH is ")
			if errors.Is(err, fs.ErrPermission) {
				message, help = "it may not be executed", "make it executable with chmod +x, or name its interpreter"
			}
			remark(fmt.Sprintf("cannot be started: %s: %s", show.Visible(t.Command.Program), message), help)
		}
	}
	for _, word := range append([]string{t.Command.Program}, t.Command.Args...) {
		if shellSyntax(word) {
			remark(fmt.Sprintf("hands %q to the program as it is: no shell reads it", word), `if a shell is meant, write { program = "…", shell = true }`)
			break
		}
	}
	return list
}

// shellSyntax reports whether a word means something to a shell only: an operator, a redirection, a substitution. A word
// with blanks is probably a script for an interpreter.
func shellSyntax(word string) bool {
	switch word {
	case "|", "||", "&", "&&", ";", ">", ">>", "<", "<<", "2>", "2>&1", "&>":
		return true
	}
	if strings.ContainsAny(word, " \t\n") {
		return false
	}
	return strings.HasPrefix(word, "$") && len(word) > 1 || strings.Contains(word, "$(") || strings.HasPrefix(word, "~/")
}

type doctorCmd struct{}

func (c *doctorCmd) Run(a *app) error {
	limit, err := machine.ParseLimit(a.Getenv(machine.LimitVariable))
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	info := machine.Look()
	m := info.Machine
	var tried *machine.Attempt
	if m.Namespaces {
		attempt := sandbox.Try(a.Ctx)
		tried, m = &attempt, info.Settle(attempt)
		if err := a.Ctx.Err(); err != nil {
			return err
		}
	}
	d := enforcement.Diagnose(limit.Apply(m), machine.Describe(a.Getenv), tried, sandbox.TreeControl())
	d.Simulated = limit.Simulated()
	if a.Out.JSON {
		err = a.Out.Value(d)
	} else {
		d.Print(a.Out)
	}
	return errors.Join(err, denied(!d.OK))
}

type versionCmd struct{}

func (c *versionCmd) Run(a *app) error {
	b := version.Read()
	if a.Out.JSON {
		return a.Out.Value(map[string]string{
			"version": b.Version, "revision": b.Revision, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
		})
	}
	a.Out.Printf("%s", b.Line("jphost"))
	return nil
}
