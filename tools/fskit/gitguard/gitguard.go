// Package gitguard asks package gitstate what git knows of a file, through the grants of
// a Workspace: every read of the repository is checked like any other, and what may
// not be read makes the answer unknown, which asks.
//
// A repository is looked for from the file up to the workspace root, or below a mount up
// to the mount's target. Above that nothing is read: when a `.git` stands there the
// answer is unknown. No repository at all is clean. Git itself is never run. Where a
// sandbox hides the directories above the workspace, a repository there is not seen.
package gitguard

import (
	"context"
	"io/fs"
	"strings"
	"time"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/tools/fskit/gitstate"
)

// maxTime bounds the looks at repositories of one call: files can be as large as one likes (a
// sparse one takes no room), and what is not known in time is asked about. Tests shorten it.
var maxTime = 20 * time.Second

// Bound returns the context for the looks of one call at repositories: it ends after 20 seconds, and
// before that when half of the time is over that the call has left. So there is always time to go on with
// what was asked about. The caller must call cancel.
func Bound(ctx context.Context) (_ context.Context, cancel context.CancelFunc) {
	limit := maxTime
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(end)/2)
	}
	return context.WithTimeout(ctx, limit)
}

// State reports whether the file or symlink at t holds what git could not give back,
// and why in a few words for a question: "modified since the last commit". What is not known when
// ctx, which comes from [Bound], ends is unknown, which is dirty.
func State(ctx context.Context, ws *jptool.Workspace, t *jptool.Target) (dirty bool, reason string) {
	g, path, opt, unknown := open(ws, t)
	if unknown != "" {
		return true, "unknown to git: " + unknown
	}
	v := gitstate.Status(ctx, g, path, opt)
	switch { // what could be said of a mounted file lies above
	case t.IsRoot() && opt.Enclosed:
		v = gitstate.Verdict{Reason: "the repository lies above what is mounted"}
	case t.IsRoot():
		v = gitstate.Verdict{State: gitstate.Clean}
	}
	switch v.State {
	case gitstate.Clean:
		return false, ""
	case gitstate.Modified:
		return true, "modified since it was last added or committed"
	case gitstate.Staged:
		return true, "staged and not committed"
	case gitstate.Untracked:
		return true, "not tracked by git"
	}
	return true, "its state in git is unknown: " + v.Reason
}

// Count counts the entries below the directory at t that git could not give back, up
// to limit. What is not known when ctx, which comes from [Bound], ends is unknown.
func Count(ctx context.Context, ws *jptool.Workspace, t *jptool.Target, limit int) gitstate.Count {
	g, path, opt, unknown := open(ws, t)
	if unknown != "" {
		return gitstate.Count{Unknown: true, Reason: unknown}
	}
	return gitstate.CountDirty(ctx, g, path, limit, opt)
}

// open returns the file system that t lies in, t's path there, and what to know of the
// directories above it.
func open(ws *jptool.Workspace, t *jptool.Target) (g *grants, path string, opt gitstate.Options, unknown string) {
	root := t
	for !root.IsRoot() {
		path = wspath.JoinSlash(root.Name(), path)
		root = root.Parent()
	}
	enclosed, err := t.EntryAbove(".git")
	if err != nil {
		return nil, "", opt, "the directories above the workspace cannot be looked at"
	}
	opt.Enclosed = enclosed
	if !t.External() {
		opt.Root = ws.Root()
	}
	return &grants{root: root}, path, opt, ""
}

// grants is the [gitstate.FS] below a root, as far as the policy lets it be read. Looking
// at an entry needs no grant, as nowhere in the kernel; its content, names and link text need read.
type grants struct {
	root *jptool.Target
	// dir is the directory of the last path: paths come in groups.
	dir  *jptool.Target
	path string // of dir
}

func (g *grants) target(rel string) *jptool.Target {
	if rel == "" {
		return g.root
	}
	parent := wspath.ParentOf(rel)
	below, within := wspath.Within(g.path, parent)
	if !within || g.dir == nil {
		below, g.dir = parent, g.root
	}
	for below != "" {
		var name string
		name, below, _ = strings.Cut(below, "/")
		g.dir = g.dir.Child(name)
	}
	g.path = parent
	return g.dir.Child(rel[strings.LastIndexByte(rel, '/')+1:])
}

// readable returns the target if it may be read.
func (g *grants) readable(rel string) (*jptool.Target, error) {
	t := g.target(rel)
	if !t.Granted().Has(jptool.Read) {
		return nil, fs.ErrPermission
	}
	return t, nil
}

func (g *grants) Open(rel string) (gitstate.File, error) {
	t, err := g.readable(rel)
	if err != nil {
		return nil, err
	}
	f, err := t.Open()
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (g *grants) Lstat(rel string) (fs.FileInfo, error) { return g.target(rel).Lstat() }

func (g *grants) ReadDir(rel string) ([]fs.DirEntry, error) {
	t, err := g.readable(rel)
	if err != nil {
		return nil, err
	}
	return t.ReadDir()
}

func (g *grants) Readlink(rel string) (string, error) {
	t, err := g.readable(rel)
	if err != nil {
		return "", err
	}
	return t.Readlink()
}
