package grants

import (
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/policy"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/ignore"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/sandbox"
)

// denied are the patterns of --deny. A path on a command line is relative to the working directory, or to that of -C, and
// one with a slash at its beginning is absolute; a name without a slash is meant at any depth, as in .gitignore.
func (g *Flags) denied(p *Process, m *merged) (list []config.Pattern, err error) {
	base := p.Workspace
	if base == "" {
		base = m.cwd
	}
	if base, err = filepath.Abs(base); err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	base = filepath.ToSlash(base)
	if to, err := wspath.CanonicalizeAbs(base, nil); err == nil {
		base = to.Abs
	}
	for _, text := range g.Deny {
		pattern := filepath.ToSlash(text)
		at := text
		if !filepath.IsAbs(at) {
			at = filepath.Join(base, text)
		}
		if _, err := os.Lstat(at); err == nil && ignore.Escape(pattern) != pattern {
			pattern = ignore.Escape(pattern) // a name, however it looks
		}
		switch {
		case strings.HasPrefix(pattern, "/"):
			pattern = "/" + clean(pattern)
		case strings.HasPrefix(pattern, "~/"), strings.HasPrefix(pattern, "!"): // as in a configuration
		case strings.HasPrefix(pattern, "**/"), !strings.Contains(strings.TrimSuffix(pattern, "/"), "/"):
		default:
			slash := strings.HasSuffix(pattern, "/")
			at := path.Join(escapeDir(base), pattern)
			if below, inside := wspath.WithinAbs(escapeDir(filepath.ToSlash(m.root)), at); inside && below != "" {
				at = below
			} else {
				at = "/" + strings.TrimPrefix(at, "/")
			}
			if pattern = "/" + at; slash {
				pattern += "/"
			}
		}
		check := pattern
		if rest, ok := strings.CutPrefix(check, "~/"); ok {
			check = "//home/" + rest
		}
		if err := jptool.CheckGlob(check); err != nil {
			return nil, exit.Errorf(exit.Usage, "--deny %s: %w\nwrite a path, or a pattern as in .gitignore: --deny .env --deny 'keys/*.pem'", show.Visible(text), err)
		}
		list = append(list, config.Pattern{Text: pattern})
	}
	return list, nil
}

// clean is an absolute pattern without "." and ".." elements and further slashes.
func clean(pattern string) string {
	cleaned := path.Clean(pattern)
	if strings.HasSuffix(pattern, "/") && cleaned != "/" {
		cleaned += "/"
	}
	return cleaned
}

// escapeDir is a directory in a pattern.
func escapeDir(abs string) string { return "/" + ignore.Escape(strings.TrimPrefix(abs, "/")) }

// unmatched is an error for the first pattern of --deny that covers nothing which is there: a slip would withhold nothing,
// and nobody would notice.
func (g *Flags) unmatched(ctx context.Context, m *merged, at *sandbox.Attempt) error {
	for i, p := range m.deny {
		if m.covers(ctx, p.Text, at) {
			continue
		}
		return exit.Errorf(exit.Usage, "--deny %s: it covers nothing that is there, so that it would withhold nothing\ncheck the name; one without a slash is meant at any depth, any other path from the working directory on", show.Visible(g.Deny[i]))
	}
	return nil
}

func (m *merged) covers(ctx context.Context, text string, at *sandbox.Attempt) bool {
	written := func(pattern string) bool {
		return slices.ContainsFunc(m.declared.Deny, func(p policy.Pattern) bool {
			return p.Pattern == pattern && (p.Pattern == text || p.Written == text)
		})
	}
	for _, w := range at.Withheld {
		if w.By == "deny" && written(w.Pattern) {
			return true
		}
	}
	// It may cover only what lies in something that another one covers.
	var patterns []string
	for _, p := range m.declared.Deny {
		if written(p.Pattern) {
			patterns = append(patterns, p.Pattern)
		}
	}
	site := jptool.Site{Root: filepath.ToSlash(m.declared.Root)}
	rules := jptool.NewRules(site)
	if err := rules.Withhold(patterns, nil); err != nil {
		return true // it was refused before
	}
	tops := []string{m.declared.Root}
	for _, e := range m.extra {
		tops = append(tops, filepath.FromSlash(e.Path))
	}
	found := false
	for _, top := range tops {
		_ = filepath.WalkDir(top, func(name string, _ fs.DirEntry, err error) error {
			if found = found || rules.At(site.PlaceOf(filepath.ToSlash(name))).Withheld().Pattern != ""; found || ctx.Err() != nil {
				return fs.SkipAll
			}
			return nil // what cannot be read is passed over
		})
	}
	return found
}
