package mount

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/jptool/wspath"
)

// Spec is a parsed `[TOOL:]NAME=PATH[:MODE]`. Only ParseSpec makes one.
type Spec struct {
	tool  string // the one tool the mount is for, "" for all enabled local tools
	name  string // the link's place as typed, relative to the current directory
	path  string // the target as typed
	write bool   // :rw, else read-only
}

// String writes the spec with its mode spelled out; it parses back equal.
func (s Spec) String() string {
	tool, mode := s.tool, ":ro"
	if tool != "" {
		tool += ":"
	}
	if s.write {
		mode = ":rw"
	}
	return tool + s.name + "=" + s.path + mode
}

// toolName is RFD D43's grammar of tool names, which is what makes the prefix unambiguous.
var toolName = settings.Pattern(`^[a-z_][a-z0-9_]*$`)

// maxSpec bounds a spec: two paths and a name.
const maxSpec = 3 * 4096

// ParseSpec parses a mount as it was typed by RFD D43's rules: split at the first `=`, the
// left at its first `:`, and peel `:ro` or `:rw` from the end of the right. The error
// says what to write instead.
func ParseSpec(unsafeSpec string) (Spec, error) {
	left, right, ok := strings.Cut(unsafeSpec, "=")
	s := Spec{name: left, path: strings.TrimSuffix(right, ":ro")}
	if path, rw := strings.CutSuffix(right, ":rw"); rw {
		s.path, s.write = path, true
	}
	tool, name, scoped := strings.Cut(left, ":")
	wrongTool := scoped && !toolName().MatchString(tool)
	if scoped && !wrongTool {
		s.tool, s.name = tool, name
	}
	example := s.name
	unprintable := strings.ContainsFunc(s.name, func(r rune) bool { return !unicode.IsPrint(r) })
	if example == "" || unprintable {
		example = "fork"
	}
	const relative = "write NAME relative to the current directory, such as fork; the path to mount goes after the `=`"
	var what, instead string
	switch {
	case len(unsafeSpec) > maxSpec || !utf8.ValidString(unsafeSpec) || strings.IndexByte(unsafeSpec, 0) >= 0:
		what, instead = "it is too long or not plain text", "write it as NAME=PATH"
	case !ok:
		what, instead = "there is no `=`", "write it as NAME=PATH, TOOL:NAME=PATH or TOOL:NAME=PATH:rw"
	case wrongTool && (len(tool) == 1 && strings.HasPrefix(name, `\`) || strings.HasPrefix(name, "/")):
		what, instead = "NAME is absolute", relative // as C:\fork or http://…
	case wrongTool:
		what, instead = show.Visible(tool)+" is no tool name", "a tool name holds a-z, 0-9 and _, such as fs_read_file:fork=PATH"
	case s.path == "":
		what, instead = "PATH is empty", "name what to mount after the `=`, such as "+example+"=~/code/fork"
	case s.name == "":
		what, instead = "NAME is empty", "say where in the workspace it is to appear, such as fork=PATH"
	case unprintable:
		what, instead = "NAME holds characters that do not print", "choose a plain name, such as fork"
	case strings.HasPrefix(s.name, "/") || strings.HasPrefix(s.name, `\`):
		what, instead = "NAME is absolute", relative
	case s.name == "~" || strings.HasPrefix(s.name, "~/"):
		what = "NAME starts in the home directory"
		instead = "NAME is a place in the workspace, such as fork; the path to mount goes after the `=`"
	case s.write && s.tool == "":
		what, instead = "`:rw` needs a tool", "name the one tool that may write: fs_modify_file:"+unsafeSpec
	default:
		return s, nil
	}
	if len(unsafeSpec) > 200 {
		unsafeSpec = strings.ToValidUTF8(unsafeSpec[:200], "") + "…"
	}
	return Spec{}, fmt.Errorf("%s: %s\n%s", show.Visible(unsafeSpec), what, instead)
}

// ResolveName turns a NAME typed in the directory cwd into a path below the workspace root,
// both canonical and absolute with slashes (RFD D43, "NAME grammar"). It is lexical: `..` is
// collapsed, and the result is never the root, never below .jp, and never outside. From outside
// the workspace, which is then named by a flag, NAME is relative to the root.
func ResolveName(name, cwd, root string) (wspath.Rel, error) {
	fail := func(what, instead string) (wspath.Rel, error) {
		return wspath.Rel{}, fmt.Errorf("the mount name %s: %s\n%s", show.Visible(name), what, instead)
	}
	below, _ := wspath.WithinAbs(root, cwd) // "" outside
	// The join would hide what an absolute or drive-relative name is; an escape is for the join to judge.
	if _, err := wspath.Parse(name); err != nil && !errors.Is(err, wspath.ErrEscape) {
		return fail(err.Error(), "write a path relative to the current directory, such as fork")
	}
	rel, err := wspath.Parse(wspath.JoinSlash(below, name))
	switch {
	case err != nil:
		return fail(err.Error(), "choose a place below the workspace root")
	case rel.IsRoot():
		return fail("it is the workspace root itself", "choose a name below it, such as fork")
	}
	if err := notReserved(rel); err != nil {
		return fail(err.Error(), "choose another place, such as fork")
	}
	return rel, nil
}

// notReserved keeps mounts out of what configures the host, and out of git directories: git
// follows links there and runs what they lead to. Names compare without case, because
// some file systems do.
func notReserved(rel wspath.Rel) error {
	first, _, _ := strings.Cut(rel.Slash(), "/")
	if strings.EqualFold(first, ".jp") {
		return errors.New(".jp is managed by the host")
	}
	if strings.EqualFold(rel.Base(), ".jp.toml") {
		return errors.New(".jp.toml configures the host")
	}
	for name := range strings.SplitSeq(rel.Slash(), "/") {
		if strings.EqualFold(name, ".git") {
			return errors.New(".git is managed by git")
		}
	}
	return nil
}
