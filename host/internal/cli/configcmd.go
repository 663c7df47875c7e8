package cli

import (
	_ "embed"
	"errors"
	"os"
	"path"
	"path/filepath"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/jptool/wspath"
)

type configShowCmd struct {
	Key    string `arg:"" optional:"" help:"Only this key: every layer's setting of it, low to high."`
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

func (c *configShowCmd) Run(a *app) error {
	cfg, err := a.config()
	if err != nil {
		return err
	}
	switch {
	case c.Layers:
		return c.layers(a, cfg)
	case c.Key != "":
		return c.history(a, cfg)
	}
	return cfg.Render(a.out.w, a.out.json, c.Origin)
}

func (c *configShowCmd) layers(a *app, cfg *config.Config) error {
	var rows []layer
	for _, l := range cfg.Layers() {
		row := layer{l.Layer.String(), l.Source, l.State.String(), ""}
		if !l.Skipper.IsZero() {
			row.Skipper = l.Skipper.String()
		}
		rows = append(rows, row)
	}
	return list(a.out, rows, "", func(l layer) {
		note := ""
		if l.Skipper != "" {
			note = " (by " + l.Skipper + ")"
		}
		a.out.printf("%-15s %-8s %s%s\n", l.Layer, l.State, show.Visible(l.Source), note)
	})
}

func (c *configShowCmd) history(a *app, cfg *config.Config) error {
	found, err := cfg.History(c.Key)
	if p := (*config.Problem)(nil); errors.As(err, &p) {
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
		if err := c.known(a, cfg); err != nil {
			return err
		}
	}
	return list(a.out, rows, "no layer sets "+show.Visible(c.Key), func(s setting) {
		a.out.printf("%s = %s  # %s %s%s\n", s.Key, s.text, s.Layer, s.Origin, cond(s.Effective, "", ", replaced"))
	})
}

// known is an error if the key is that of a tool that does not exist.
func (c *configShowCmd) known(a *app, cfg *config.Config) error {
	parts, err := config.SplitKey(c.Key)
	if err != nil || len(parts) < 3 || parts[0] != "conversation" || parts[1] != "tools" || parts[2] == "*" {
		return err
	}
	_, err = a.tool(cfg, parts[2])
	return err
}

type configSchemaCmd struct{}

func (c *configSchemaCmd) Run(a *app) error {
	data, err := config.JSONSchema()
	if err != nil {
		return err
	}
	a.out.printf("%s\n", data)
	return nil
}

type configInitCmd struct{}

//go:embed first.toml
var firstConfig string

func (c *configInitCmd) Run(a *app) error {
	root, err := a.global.Workspace, error(nil)
	if root == "" {
		if root, err = workingDirectory(); err != nil {
			return err
		}
		if tooWide(root, a.home()) {
			return unchosen(root)
		}
	} else if root, err = a.placed("-C", root); err != nil {
		return err
	}
	name := filepath.Join(root, filepath.FromSlash(config.WorkspaceFile))
	// .jp must be made here, and not at the target of somebody else's link.
	if _, _, err := a.follow("the workspace's", filepath.Dir(name), []string{filepath.ToSlash(root)}); err != nil {
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
	return a.out.result(map[string]string{"written": name}, "wrote "+show.Visible(name))
}
