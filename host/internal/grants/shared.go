package grants

import (
	"path/filepath"
	"strings"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/jptool/wspath"
)

// shared are the patterns that the configuration withholds from every tool, for the workspace around root. A
// configuration that cannot be read is an error, since nobody knows what it withholds.
func (p *Process) shared(root string) (deny, places []config.Pattern, err error) {
	housed := p.housed()
	ws, err := state.OpenWorkspace(FindRoot(root, housed.Home()))
	if err != nil {
		return nil, nil, exit.With(exit.Usage, err)
	}
	at := filepath.FromSlash(ws.Root())
	o := config.Options{
		Root: at, Cwd: root, GivenRoot: at, UserGlobal: config.UserGlobalPath(housed.Environ), Environ: p.Environ,
	}
	if own := state.OS(housed.Getenv); hasBase(own) {
		dir, err := own.Workspace(ws)
		if err != nil {
			return nil, nil, exit.With(exit.Host, err)
		}
		o.UserWorkspace = dir.File(config.UserFile)
	}
	if deny, places, err = config.LoadShared(o); err != nil {
		return nil, nil, exit.With(exit.Usage, err)
	}
	if _, same := wspath.WithinAbs(filepath.ToSlash(root), ws.Root()); same {
		return deny, places, nil
	}
	for i := range deny {
		deny[i].Text = below(ws.Root(), deny[i].Text)
	}
	for i := range places {
		if !strings.HasPrefix(places[i].Text, "/") { // an absolute path (RFD 075)
			places[i].Text = below(ws.Root(), places[i].Text)
		}
	}
	return deny, places, nil
}

// hasBase reports whether this user has a place for state.
func hasBase(s state.System) bool {
	_, err := s.Base()
	return err == nil
}

// below is a pattern of the configuration for a policy whose root lies below the workspace: one on a path of the
// workspace becomes one on an absolute path.
func below(workspace, pattern string) string {
	anchored := strings.HasPrefix(pattern, "/") || strings.Contains(strings.TrimSuffix(pattern, "/"), "/")
	for _, elsewhere := range []string{"//", "~/", "**/", "!"} {
		anchored = anchored && !strings.HasPrefix(pattern, elsewhere)
	}
	if !anchored {
		return pattern
	}
	return "/" + escapeDir(workspace) + "/" + strings.TrimPrefix(pattern, "/")
}
