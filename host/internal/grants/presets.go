package grants

import (
	"path/filepath"

	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/policy"
	"github.com/jptools/jptools/host/internal/preset"
	"github.com/jptools/jptools/jptool"
)

// presets adds what the presets of the flags grant. Places outside of the workspace add to it; what the workspace itself
// grants is as it is without them.
func (g *Flags) presets(p *Process, m *merged, access *jptool.AccessPolicy) error {
	choices, err := preset.Parse(g.Preset)
	if err != nil {
		return exit.Errorf(exit.Usage, "--preset: %w", err)
	}
	r := preset.Request{Workspace: filepath.ToSlash(m.root), Environ: p.Environ}
	if len(choices) > 0 {
		r.Own, r.TempDir = p.Own(), p.TempBase()
		for _, reach := range policy.ReachOf(m.extra) {
			r.Writable = append(r.Writable, reach.Abs)
		}
	}
	if m.presets, err = preset.Find(p.Ctx, choices, r); err != nil || len(choices) == 0 {
		return exit.With(exit.Host, err)
	}
	m.extra = append(m.extra, m.presets.Extras()...)
	m.names = append(m.names, m.presets.Names()...)
	access.Env = append(access.Env, m.presets.Env()...)
	access.Net = append(access.Net, m.presets.Net()...)
	return nil
}
