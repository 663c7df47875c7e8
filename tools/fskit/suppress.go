package fskit

import (
	"context"
	"errors"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/toolmain"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/tools/fskit/ignore"
)

// Suppress compiles the option `suppress`: gitignore patterns, anchored at the
// workspace root, of paths whose content and names a tool does not show. A pattern that
// cannot be used fails the whole call with CodeInvalidArguments and is named; an absent
// or empty list suppresses nothing (the result may be nil, which all methods take).
//
// A pattern without wildcards that names a symlink also covers what the link leads to,
// under its real path; a plain name is looked up at the root only. A negated pattern is
// not followed.
//
// What it does not stop: it keeps noise and secrets out of a conversation, it is not
// access control. A tool that may write a suppressed file still writes it, a hard link
// has a name of its own, and a link met on the way to another one is judged by neither
// of its names. What must not be read belongs into the access rules.
func Suppress(ws *jptool.Workspace, patterns toolmain.Strings) (*ignore.Globs, error) {
	if len(patterns.Items) == 0 {
		return nil, nil
	}
	var list []string
	for _, p := range patterns.Items {
		list = append(list, p)
		if real, ok := followPattern(ws, p); ok {
			list = append(list, real)
		}
	}
	globs, err := ignore.ParseGlobs(list)
	if err != nil {
		return nil, jptool.Errorf(jptool.CodeInvalidArguments, "option `suppress`: %w", err)
	}
	return globs, nil
}

// followPattern returns a pattern for what the path that p names leads to, when p is a
// plain path and leads elsewhere by a symlink.
func followPattern(ws *jptool.Workspace, p string) (string, bool) {
	name, plain := plainPattern(p)
	if !plain {
		return "", false
	}
	t, err := ws.CheckContent(name, 0)
	if err != nil || t.Path() == "." || t.Path() == name {
		return "", false
	}
	return "/" + globEscapes.Replace(t.Path()), true
}

// plainPattern returns the path that a pattern without wildcards names.
func plainPattern(p string) (name string, plain bool) {
	if strings.ContainsAny(p, "*?[]{}\\\r\n\x00") || strings.HasPrefix(p, "!") {
		return "", false
	}
	name = strings.Trim(strings.TrimRight(p, " "), "/")
	return name, name != ""
}

// globEscapes makes a pattern of a path that matches nothing else. A line break, which a
// pattern cannot hold, becomes a wildcard for one byte.
var globEscapes = strings.NewReplacer("\n", "?", "\r", "?", `\`, `\\`, "*", `\*`, "?", `\?`,
	"[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`, " ", `\ `)

// suppressed reports whether g covers the target, by its canonical path or by the
// caller's spelling of it.
func suppressed(g *ignore.Globs, t *jptool.Target) bool {
	return matches(g, t.Path()) || matches(g, t.Lexical())
}

// CheckContent is [jptool.Workspace.CheckContent] with a check of suppression: after
// the form of the path and the policy, before the file system is asked. So a caller who may
// not see a path does not learn whether it exists.
func CheckContent(ws *jptool.Workspace, g *ignore.Globs, unsafePath string, need jptool.Caps) (*jptool.Target, error) {
	t, err := ws.CheckContent(unsafePath, need)
	switch {
	case err == nil && suppressed(g, t):
		return nil, errSuppressed(t.Lexical())
	case err == nil:
		return t, nil
	}
	var denied *jptool.DeniedError
	if errors.As(err, &denied) {
		return nil, err
	}
	// What could not be resolved has no canonical path, but it has its spelling.
	if rel, parseErr := wspath.Parse(unsafePath); parseErr == nil && matches(g, rel.Slash()) {
		return nil, errSuppressed(rel.String())
	}
	return nil, err
}

// CheckUnsuppressed is Suppress for tools that act on entries: it returns an error with CodeSuppressed for the first
// target that a pattern covers, and fails on patterns that cannot be used.
func CheckUnsuppressed(ws *jptool.Workspace, patterns toolmain.Strings, targets ...*jptool.Target) (*ignore.Globs, error) {
	globs, err := Suppress(ws, patterns)
	if err != nil {
		return nil, err
	}
	for _, t := range targets {
		if suppressed(globs, t) {
			return nil, errSuppressed(t.Lexical())
		}
	}
	return globs, nil
}

// CheckTreeUnsuppressed is CheckUnsuppressed for all that moves with the entry source when it becomes
// target: under another name no pattern would cover it any more, or one would that did not. It fails with
// CodeSuppressed if there is anything of the kind in the directory source; the message does not say what. It
// needs `read` on everything in it: what cannot be looked through may hold anything. An entry is also
// refused if a pattern leads through it by a symlink, which would then lead nowhere. When ctx ends
// it fails with CodeDeadline.
func CheckTreeUnsuppressed(ctx context.Context, ws *jptool.Workspace, patterns toolmain.Strings, source, target *jptool.Target, dir bool) error {
	if err := CheckLinkUnsuppressed(ws, patterns, source); err != nil || !dir {
		return err
	}
	globs, err := Suppress(ws, patterns)
	if err != nil || globs == nil {
		return err
	}
	held, err := treeHolds(ctx, globs, source, target)
	if err == nil && held {
		err = jptool.Errorf(jptool.CodeSuppressed,
			"directory %s cannot be moved, because a path in it is suppressed, here or at the target: this tool is configured to leave it alone. Move the files that you need one by one, or ask the user.", jptool.Quote(source.Lexical()))
	}
	return err
}

// CheckLinkUnsuppressed refuses to take away an entry that a pattern leads through by a symlink, with
// CodeSuppressed.
func CheckLinkUnsuppressed(ws *jptool.Workspace, patterns toolmain.Strings, t *jptool.Target) error {
	for _, p := range patterns.Items {
		name, plain := plainPattern(p)
		if !plain || !strings.HasPrefix(name, t.Path()+"/") {
			continue
		}
		if _, leads := followPattern(ws, p); leads {
			return errSuppressed(t.Lexical())
		}
	}
	return nil
}

// treeHolds reports whether a pattern covers something below the directory source, as it is or as it would be
// below target.
func treeHolds(ctx context.Context, globs *ignore.Globs, source, target *jptool.Target) (bool, error) {
	if ctx.Err() != nil {
		return false, jptool.Errorf(jptool.CodeDeadline, "the time limit was reached while %s was looked through for suppressed paths; nothing was moved", jptool.Quote(source.Path()))
	}
	if err := source.Require(jptool.Read); err != nil {
		return false, err
	}
	d, err := source.OpenDir()
	if err != nil {
		return false, err
	}
	list, err := d.ReadDir(-1)
	d.Close() // no more than one is open, however deep they lie
	if err != nil {
		return false, source.Fail(err)
	}
	for _, e := range list {
		from, to := source.Child(e.Name()), target.Child(e.Name())
		if matches(globs, from.Path()) || matches(globs, to.Path()) {
			return true, nil
		}
		if e.IsDir() {
			if held, err := treeHolds(ctx, globs, from, to); held || err != nil {
				return held, err
			}
		}
	}
	return false, nil
}

func matches(g *ignore.Globs, path string) bool { return path != "." && g.Match(path) }

// errSuppressed has the caller's spelling only, so that it does not reveal where a link leads.
func errSuppressed(path string) error {
	return jptool.Errorf(jptool.CodeSuppressed,
		"path %s is suppressed: this tool is configured not to show it. Ask the user to provide it if it is needed.", jptool.Quote(path))
}
