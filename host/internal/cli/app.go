package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/grants"
	"github.com/jptools/jptools/host/internal/mount"
	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/jptool/wspath"
)

// app is what commands work with. It opens the workspace and the terminal when a command first needs them.
type app struct {
	*grants.Process
	global *globals

	place    *place
	prompter term.Prompter
}

// place is where a command works: a workspace, its private state, a conversation.
type place struct {
	workspace state.Workspace
	// root and cwd are canonical; spelled is the workspace as the user wrote it.
	root, cwd, spelled string
	dir                *state.Dir
	conversation       string
	talk               *state.Dir // of the conversation
	// wide: the workspace is home or the root of the file system, and nobody named or marked it.
	wide bool
}

// open finds the workspace.
func (a *app) open() (*place, error) {
	if a.place != nil {
		return a.place, nil
	}
	cwd, err := grants.WorkingDirectory()
	if err != nil {
		return nil, err
	}
	spelled, at, wide := a.Workspace, "", false
	if spelled == "" {
		home := a.Home()
		at = grants.FindRoot(cwd, home)
		spelled, wide = at, grants.TooWide(at, home)
	} else {
		if at, err = a.Placed("-C", spelled); err != nil {
			return nil, err
		}
		if spelled, err = filepath.Abs(spelled); err != nil {
			return nil, exit.With(exit.Usage, err)
		}
	}
	ws, err := state.OpenWorkspace(at)
	if err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	if err := grants.Unmoved(at, ws.Root()); err != nil {
		return nil, err
	}
	p := &place{workspace: ws, root: filepath.FromSlash(ws.Root()), cwd: cwd, spelled: spelled, wide: wide}
	if p.conversation, err = state.ConversationID(a.global.Conversation, a.Getenv); err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	if p.dir, err = state.OS(a.Getenv).Workspace(ws); err != nil {
		return nil, exit.With(exit.Host, err)
	}
	if p.talk, err = p.dir.Conversation(p.conversation); err != nil {
		return nil, exit.With(exit.Host, err)
	}
	a.place = p
	return p, nil
}

// narrow refuses a workspace that nobody chose and that is too wide.
func (p *place) narrow() error {
	if !p.wide {
		return nil
	}
	return unchosen(p.root)
}

func unchosen(root string) error {
	return exit.Errorf(exit.Usage, "the workspace would be all of %s, because nothing marks another one here\nchange into a project, or name the workspace: jphost -C %s …", show.Visible(root), show.Word(root))
}

func (p *place) approvals(a *app) *consent.Store { return consent.OpenStore(p.dir, a.Out.Warn) }

func (p *place) trust(a *app) *consent.Trust { return consent.OpenTrust(p.dir, a.Out.Warn) }

// config loads and merges all layers.
func (a *app) config() (*config.Config, error) {
	p, err := a.open()
	if err != nil {
		return nil, err
	}
	// Reading a file of the repository may take long, and an interrupt must not wait for it.
	var cfg *config.Config
	done := make(chan error, 1)
	layers := a.layers(p)
	go func() {
		var err error
		cfg, err = config.Load(layers)
		done <- err
	}()
	select {
	case err := <-done:
		return cfg, exit.With(exit.Usage, a.leftBy(p, err))
	case <-a.Ctx.Done():
		return nil, exit.Errorf(exit.Interrupted, "interrupted while the configuration was read")
	}
}

// leftBy adds to a configuration error which call left the broken file behind, and what to do about it.
func (a *app) leftBy(p *place, err error) error {
	list := settings.Errors(nil)
	if !errors.As(err, &list) {
		return err
	}
	holds, _ := consent.OpenHolds(p.dir).List()
	for _, h := range holds {
		if at, inside := wspath.WithinAbs(filepath.ToSlash(p.root), filepath.ToSlash(list[0].Origin.File)); inside && at == h.Path {
			return fmt.Errorf("%w\na call of %s left %s so (%s), and nothing runs with it\nlook at the file, and put it back or remove it; jphost trust show lists what waits to be looked at",
				err, show.Visible(h.Tool), show.Visible(h.Path), show.Visible(h.Reason))
		}
	}
	return err
}

// layers says where the layers of the configuration are read from.
func (a *app) layers(p *place) config.Options {
	return config.Options{
		Root: p.root, Cwd: p.cwd, GivenRoot: p.spelled,
		UserGlobal: config.UserGlobalPath(a.Environ), UserWorkspace: p.dir.File(config.UserFile),
		Conversation: p.talk.File(mount.DeltaFile), Environ: a.Environ, Args: a.global.Cfg,
	}
}

// tool finds a tool by its name.
func (a *app) tool(cfg *config.Config, name string) (*config.Tool, error) {
	t, ok := cfg.Tool(name)
	if ok {
		return t, nil
	}
	help := "list them with: jphost tools"
	if near := cfg.Nearest(name); near != "" {
		help = "did you mean " + near + "? " + help
	}
	return nil, exit.Errorf(exit.Usage, "there is no tool %s\n%s", show.Visible(name), help)
}

// ask is the terminal to ask on, or a prompter that refuses to ask.
func (a *app) ask() term.Prompter {
	if a.prompter != nil {
		return a.prompter
	}
	a.prompter = term.None{Why: term.ErrNoInput}
	if a.global.NoInput {
		return a.prompter
	}
	stdin, _ := a.Stdin.(*os.File)
	stderr, _ := a.Out.Stderr.(*os.File)
	t, err := term.Open(stdin, stderr, term.Options{Getenv: a.Getenv, PrivateDir: func() (string, error) {
		p, err := a.open()
		if err != nil {
			return "", err
		}
		return p.dir.Path(), p.dir.Ensure()
	}})
	switch {
	case err == nil:
		a.prompter = t
	case errors.Is(err, term.ErrNoTerminal):
		a.prompter = term.None{Why: err}
	default:
		a.prompter = term.None{}
		a.Out.Warn(fmt.Sprintf("the terminal cannot be used: %v", err))
	}
	return a.prompter
}
