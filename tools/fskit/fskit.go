// Package fskit is what the fs tools share besides the policy library: digests of
// content, and suppression of paths that are not to be shown. Its subpackages walk,
// match ignore files, read the state of git, and replace content.
package fskit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/ignore"
	"github.com/jptools/jptools/jptool/nearest"
	"github.com/jptools/jptools/jptool/toolmain"
	"github.com/jptools/jptools/jptool/wspath"
)

// digestPrefix names the algorithm, so that another one can follow without a guess.
const digestPrefix = "sha256:"

// Digest reads r to its end and returns the digest of the bytes, "sha256:" and 64
// lower-case hexadecimal digits: the form in which fs_read_file reports what it read
// and in which the editing tools take `expected_digest`. It is of the bytes as they
// are, not of the text shown.
func Digest(r io.Reader) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return "", err
	}
	return DigestOf(h), nil
}

// DigestOf is [Digest] of what was written to a SHA-256.
func DigestOf(h hash.Hash) string { return digestPrefix + hex.EncodeToString(h.Sum(nil)) }

// DigestBytes is [Digest] of content in memory.
func DigestBytes(content []byte) string {
	h := sha256.New()
	h.Write(content)
	return DigestOf(h)
}

// CheckDigest compares the digest a caller expects with got, that of the content as it
// is now; want may lack the prefix and be in upper case. A difference is CodeStale, and
// a want that is no digest CodeInvalidArguments. path is for the message. The message
// does not contain the current digest: a caller must read the file to get it.
func CheckDigest(path, want, got string) error {
	digits := want
	if len(want) > len(digestPrefix) && strings.EqualFold(want[:len(digestPrefix)], digestPrefix) {
		digits = want[len(digestPrefix):]
	}
	if b, err := hex.DecodeString(digits); err != nil || len(b) != sha256.Size {
		return jptool.Errorf(jptool.CodeInvalidArguments,
			"expected_digest of %s must be %s and 64 hexadecimal digits, as fs_read_file reports it; got %q", jptool.Quote(path), digestPrefix, want)
	}
	if !strings.EqualFold(digestPrefix+digits, got) {
		return jptool.Errorf(jptool.CodeStale,
			"%s is not what was read: its content differs from expected_digest; read it again and decide anew", jptool.Quote(path))
	}
	return nil
}

// Paths returns the canonical workspace-relative paths of targets, for `data`: an
// empty list for none.
func Paths(targets []*jptool.Target) []string {
	list := make([]string, 0, len(targets))
	for _, t := range targets {
		list = append(list, t.Path())
	}
	return list
}

// Quoted lists names for a message, at most 20 of them, as [jptool.Quote] shows each.
func Quoted(names []string) string {
	shown := make([]string, 0, len(names))
	for i, s := range names {
		if i == 20 {
			shown = append(shown, fmt.Sprintf("… (%d in all)", len(names)))
			break
		}
		shown = append(shown, jptool.Quote(s))
	}
	return strings.Join(shown, ", ")
}

// Emptied says in a result which directories went because they were empty; "" if none did.
func Emptied(removed []string) string {
	switch len(removed) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(" Removed the empty parent directory %s.", jptool.Quote(removed[0]))
	}
	return fmt.Sprintf(" Removed the empty parent directories %s.", Quoted(removed))
}

// Bytes says a size: "1 byte", "12 bytes".
func Bytes(n int64) string {
	if n == 1 {
		return "1 byte"
	}
	return strconv.FormatInt(n, 10) + " bytes"
}

// maxNear is how many names of a directory are looked through for one that may have been meant.
const maxNear = 5000

// NotFound adds the path that was probably meant to err, which says that nothing is at t. It names only what
// the caller could list: the directory and the name must grant `read`, and g must not cover the name. Symlinks are
// never named, as in listings. Any other error is returned as it is.
func NotFound(g *ignore.Globs, t *jptool.Target, err error) error {
	if jptool.CodeOf(err) != jptool.CodeNotFound || errors.Is(err, wspath.ErrDangling) {
		return err
	}
	if near := Near(g, t); near != "" {
		return jptool.Errorf(jptool.CodeNotFound, "%w; did you mean %s?", err, jptool.Quote(near))
	}
	return err
}

// Near returns the path that was probably meant by t, where nothing is, or "". See [NotFound] for what it names.
func Near(g *ignore.Globs, t *jptool.Target) string {
	for !t.IsRoot() {
		dir := t.Parent()
		names, err := nearNames(g, dir)
		if errors.Is(err, fs.ErrNotExist) {
			t = dir // the directory is missing itself: what is it called?
			continue
		}
		if near := nearest.Name(t.Name(), names); near != "" {
			return dir.Child(near).Path()
		}
		break
	}
	return ""
}

// nearNames lists what may be named of a directory. An error says that it cannot be listed, for any reason but the policy.
func nearNames(g *ignore.Globs, dir *jptool.Target) ([]string, error) {
	if !dir.Granted().Has(jptool.Read) {
		return nil, nil
	}
	d, err := dir.OpenDir()
	if err != nil {
		return nil, err
	}
	defer d.Close()
	list, _ := d.ReadDir(maxNear)
	var names []string
	for _, e := range list {
		child := dir.Child(e.Name())
		if (e.IsDir() || e.Type().IsRegular()) && child.Granted().Has(jptool.Read) && !suppressed(g, child) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// The bounds of a regex that a caller gives. A few bytes, `(a{1000}b?){1000}`, ask for as
// many copies; package regexp takes 140 bytes for each instruction and has a bound only far
// above.
const (
	maxRegexBytes = 64 << 10
	maxRegexSize  = 200_000 // instructions
)

// RegexSize estimates the number of instructions that package regexp makes of a regex in the
// syntax of flags, without making them. It returns an error for one that is larger than may
// be compiled, and none for one that cannot be parsed: compiling it tells why.
func RegexSize(source string, flags syntax.Flags) (int, error) {
	if len(source) > maxRegexBytes {
		return 0, fmt.Errorf("the regex is longer than %d KiB", maxRegexBytes>>10)
	}
	tree, err := syntax.Parse(source, flags)
	if err != nil {
		return 0, nil
	}
	size := instructions(tree)
	if size > maxRegexSize {
		return size, errors.New("the regex is too large, or repeats too much too often ({n,m})")
	}
	return size, nil
}

// instructions needs no bound of its own: the parser has one for depth, and one for size
// that fits in an int.
func instructions(re *syntax.Regexp) int {
	n := 0
	for _, sub := range re.Sub {
		n += instructions(sub)
	}
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpConcat:
		return n
	case syntax.OpAlternate:
		return n + len(re.Sub)
	case syntax.OpCapture:
		return n + 2
	case syntax.OpRepeat:
		return (n + 1) * max(re.Min, re.Max, 1)
	}
	return n + 1
}

// RegexError says of a regex that RE2 refuses what it has not got and what to write instead, where the caller
// seems to have another engine's syntax in mind. Any other error is returned as it is.
func RegexError(err error) error {
	var se *syntax.Error
	if !errors.As(err, &se) {
		return err
	}
	begins := func(list ...string) bool {
		return slices.ContainsFunc(list, func(p string) bool { return strings.HasPrefix(se.Expr, p) })
	}
	const instead = "; leave the condition out and match the text around too: whole lines are shown, and a second search can narrow them"
	switch {
	case begins("(?<=", "(?<!"):
		return errors.New("RE2 has no lookbehind, `" + se.Expr[:4] + "`" + instead)
	case begins("(?=", "(?!"):
		return errors.New("RE2 has no lookahead, `" + se.Expr[:3] + "`" + instead)
	case begins(`\k`, "(?P=") || len(se.Expr) == 2 && se.Expr[0] == '\\' && se.Expr[1] >= '1' && se.Expr[1] <= '9':
		return errors.New("RE2 has no back-references, `" + se.Expr + "`; match anything in that place, such as `.*`")
	case begins("(?>") || se.Code == syntax.ErrInvalidRepeatOp && strings.HasSuffix(se.Expr, "+"):
		return errors.New("RE2 has no atomic groups and no possessive repetition, `" + se.Expr + "`; write `(?:…)`, and `*` or `+` alone: it never takes long")
	}
	return err
}

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
	return "/" + ignore.Escape(t.Path()), true
}

// plainPattern returns the path that a pattern without wildcards names.
func plainPattern(p string) (name string, plain bool) {
	if strings.ContainsAny(p, "*?[]{}\\\r\n\x00") || strings.HasPrefix(p, "!") {
		return "", false
	}
	name = strings.Trim(strings.TrimRight(p, " "), "/")
	return name, name != ""
}

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
	list, err := source.ReadDir()
	if err != nil {
		return false, err
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
