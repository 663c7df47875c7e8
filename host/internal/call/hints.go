package call

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/jptools/jptools/host/internal/policy"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/term"
)

// mountedForOthers warns when a path that leads out of the workspace is mounted, but for other tools only.
func (k *call) mountedForOthers() {
	if k.holdsBack() {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(k.args)) {
		text, ok := k.args[name].(string)
		if !ok {
			continue
		}
		at := path.Clean(filepath.ToSlash(text))
		var tools []string
		mount := ""
		for _, t := range k.Config.Tools() {
			if t.Access == nil || t.Name == k.Tool.Name {
				continue
			}
			for _, r := range t.Access.FS {
				if r.External && r.Caps() != 0 && (at == r.Path || strings.HasPrefix(at, r.Path+"/")) {
					tools, mount = append(tools, show.Visible(t.Name)), r.Path
					break
				}
			}
		}
		if len(tools) > 0 {
			k.warn(fmt.Sprintf("%s is mounted for %s, not for %s\nmount it for this tool: jphost mount %s=PATH", show.Visible(mount), strings.Join(tools, ", "), show.Visible(k.Tool.Name), show.Word(k.Tool.Name+":"+mount)))
			return
		}
	}
}

// elsewhere warns when a path of the call exists relative to the working directory but not relative to the root
// of the workspace. It names only what the tool may read.
func (k *call) elsewhere(ctx context.Context) {
	below, err := filepath.Rel(k.Root, k.Cwd)
	if k.Cwd == "" || err != nil || below == "." || !filepath.IsLocal(below) || k.holdsBack() {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(k.args)) {
		text, ok := k.args[name].(string)
		if !ok || !filepath.IsLocal(text) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(k.Root, text)); err == nil {
			continue
		}
		meant := filepath.Join(below, text)
		if _, err := os.Lstat(filepath.Join(k.Root, meant)); err != nil {
			continue
		}
		d, err := k.Compile(ctx, k.Tool, term.None{})
		if err != nil {
			return
		}
		if e, err := d.ExplainFS("read", filepath.ToSlash(meant)); err == nil && e.Allowed {
			k.warn(fmt.Sprintf("paths are relative to the root of the workspace, not to the working directory\ndid you mean %s?", show.Word(name+"="+filepath.ToSlash(meant))))
			return
		}
	}
}

// mentioned warns, once per session and place, when the tool named a place of
// secrets inside the workspace on standard error. RFD 075 asks for it for tools
// without declared access, whose default includes such files. It is a hint, and misses
// what a tool does silently.
func (k *call) mentioned(ctx context.Context, stderr string) {
	if k.Tool.Access != nil && k.Tool.Access.FS != nil || stderr == "" {
		return
	}
	patterns := policy.SensitiveNames()
	for _, written := range k.Tool.SensitivePaths {
		if !strings.HasPrefix(written, "~") && !filepath.IsAbs(written) {
			patterns = append(patterns, filepath.ToSlash(written))
		}
	}
	seen := map[string]bool{}
	for word := range strings.FieldsFuncSeq(stderr, func(r rune) bool { return r <= ' ' || strings.ContainsRune("\"'`,:;()[]{}<>=|", r) }) {
		name := filepath.ToSlash(word)
		if rest, ok := strings.CutPrefix(name, filepath.ToSlash(k.Root)+"/"); ok {
			name = rest
		}
		name = path.Clean(name)
		sensitive := slices.ContainsFunc(patterns, func(p string) bool { return doublestar.MatchUnvalidated(p, name) })
		if seen[name] || path.IsAbs(name) || strings.HasPrefix(name, "../") || !sensitive {
			continue
		}
		seen[name] = true
		if k.holdsBack() { // the name is the tool's own word
			k.warn(show.Visible(k.Tool.Name) + " spoke of a place of secrets that it may reach")
			return
		}
		k.warnOnce(ctx, fmt.Sprintf("%s spoke of %s, a place of secrets that it may reach\nto withhold it: %s", show.Visible(k.Tool.Name), show.Visible(name), k.withholding(name)))
	}
}
