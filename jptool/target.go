package jptool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/jptools/jptools/jptool/wspath"
)

// errOutside says that a path resolves outside the workspace and every approved mount.
var errOutside = errors.New("it resolves outside the workspace")

// Target is a checked path together with the means to act on it: every operation goes
// through a held directory and follows no symlink, so that what was checked is what is
// used, or the operation fails. Never open a path by string instead.
type Target struct {
	w     *Workspace
	rel   wspath.Rel
	place Place
	kind  Kind
	entry bool
}

// Kind returns what was there when the path was checked, if the check looked.
func (t *Target) Kind() Kind { return t.kind }

// Lexical returns the path as the caller named it, normalised.
func (t *Target) Lexical() string { return t.rel.String() }

// Place returns the canonical absolute path. It is for comparisons and digests. Never show it to a
// model: below a mount it names a place outside the workspace.
func (t *Target) Place() string {
	return t.w.rules.Abs(t.place)
}

// Path returns the canonical workspace-relative path, for messages and results: "."
// for the root; below a mount the mount's path goes before.
func (t *Target) Path() string { return t.w.rules.display(t.place) }

// Same reports whether both targets are the same place.
func (t *Target) Same(other *Target) bool {
	return t.place.Same(other.place)
}

// Within reports whether t is other or below it.
func (t *Target) Within(other *Target) bool {
	return other.place.Contains(t.place)
}

// External reports whether the target lies below an approved mount, outside the workspace.
func (t *Target) External() bool { return t.place.Outside }

// Base returns the held directory the target is reached through and its path below
// that directory, for operations that involve two paths.
func (t *Target) Base() (*wspath.Dir, string, error) {
	dir, path, err := t.w.base(t.place)
	if err != nil {
		return nil, "", t.Fail(err)
	}
	return dir, path, nil
}

// Granted returns every capability the policy gives at the target. A pinned entry has
// neither create nor delete.
func (t *Target) Granted() Caps { return t.Cursor().Caps() }

// GrantedInside returns what the policy grants on new entries of the directory at the
// target. If the directory itself is pinned, its entries are not.
func (t *Target) GrantedInside() Caps {
	c := t.Cursor()
	return c.r.capsOf(c.rule, nil, c.held)
}

// Pinned reports whether the entry has to stay where it is.
func (t *Target) Pinned() bool { return t.Cursor().Pinned() }

// Cursor returns the position of the target among the rules.
func (t *Target) Cursor() Cursor { return t.w.rules.At(t.place) }

// Require returns a *DeniedError unless all of need is granted at the target. The
// workspace root itself can be neither created nor deleted.
func (t *Target) Require(need Caps) error {
	if !t.Granted().Has(need) || need&(Create|Delete) != 0 && t.IsRoot() {
		return t.denied(need, false)
	}
	return nil
}

// IsRoot reports whether the target is the workspace root or the target of a mount:
// places that are never removed.
func (t *Target) IsRoot() bool {
	if !t.place.Outside {
		return t.place.Path == ""
	}
	m := t.w.rules.mountOf(t.place.Path)
	return m != nil && m.Target == t.place.Path
}

// HasRule reports whether there is a rule, pin or mount for exactly this path.
func (t *Target) HasRule() bool {
	c := t.Cursor()
	return c.n != nil && (c.n.rule >= 0 || c.n.pinned || c.n.mount >= 0)
}

// Parent returns the directory that holds the target, unchecked: ask it with Require
// or Granted. It must not be called on a root.
func (t *Target) Parent() *Target {
	return &Target{w: t.w, rel: t.rel.Parent(), place: Place{t.place.Outside, wspath.ParentOf(t.place.Path)}, entry: t.entry}
}

// Child returns the entry at a slash path below the target, unchecked.
func (t *Target) Child(name string) *Target {
	rel, err := wspath.Parse(wspath.JoinSlash(t.rel.Slash(), name))
	if err != nil {
		rel = t.rel // only the name for messages about the lexical path is affected
	}
	return &Target{w: t.w, rel: rel, place: t.place.Join(name), entry: true}
}

// Name returns the last component of the canonical path.
func (t *Target) Name() string {
	return t.place.Path[strings.LastIndexByte(t.place.Path, '/')+1:]
}

// Open opens the regular file for reading. It checks no capability: the caller did.
func (t *Target) Open() (*os.File, error) { return act(t, (*wspath.Dir).Open) }

// OpenDir opens the directory for listing.
func (t *Target) OpenDir() (*os.File, error) { return act(t, (*wspath.Dir).OpenDirFile) }

// Lstat describes the entry; a symlink is described itself.
func (t *Target) Lstat() (fs.FileInfo, error) { return act(t, (*wspath.Dir).Lstat) }

// ReadDir lists the directory, in no order.
func (t *Target) ReadDir() ([]fs.DirEntry, error) { return readDir(t, (*os.File).ReadDir) }

// Names lists the names in the directory, sorted.
func (t *Target) Names() ([]string, error) {
	names, err := readDir(t, (*os.File).Readdirnames)
	slices.Sort(names)
	return names, err
}

func readDir[T any](t *Target, read func(*os.File, int) ([]T, error)) ([]T, error) {
	d, err := t.OpenDir()
	if err != nil {
		return nil, err
	}
	defer d.Close()
	list, err := read(d, -1)
	return list, t.Fail(err)
}

// Readlink returns the text of the symlink.
func (t *Target) Readlink() (string, error) { return act(t, (*wspath.Dir).Readlink) }

// Remove removes the file or symlink. It checks no capability, as all these methods.
func (t *Target) Remove() error { return t.change((*wspath.Dir).Remove) }

// RemoveDir removes the empty directory.
func (t *Target) RemoveDir() error { return t.change((*wspath.Dir).RemoveDir) }

// Mkdir makes the directory; its parent exists.
func (t *Target) Mkdir(perm fs.FileMode) error {
	return t.change(func(dir *wspath.Dir, path string) error { return dir.Mkdir(path, perm) })
}

// Symlink makes a symlink of this text.
func (t *Target) Symlink(text string) error {
	return t.change(func(dir *wspath.Dir, path string) error { return dir.Symlink(text, path) })
}

// change is act for an operation without a result.
func (t *Target) change(do func(dir *wspath.Dir, path string) error) error {
	_, err := act(t, func(dir *wspath.Dir, path string) (struct{}, error) { return struct{}{}, do(dir, path) })
	return err
}

// act does an operation on the target.
func act[T any](t *Target, do func(dir *wspath.Dir, path string) (T, error)) (T, error) {
	dir, path, err := t.Base()
	if err != nil {
		return *new(T), err
	}
	result, err := do(dir, path)
	return result, t.Fail(err)
}

// EntryAbove reports whether any directory above the workspace root, or below a mount above the
// mount's target, has an entry called name, which must be one component. It looks only at its
// existence, which is not secret: no rule applies to those directories. An error says that the
// existence of an entry could not be determined.
func (t *Target) EntryAbove(name string) (bool, error) {
	top := t.w.root
	if t.place.Outside {
		m := t.w.rules.mountOf(t.place.Path)
		if m == nil {
			return false, t.Fail(errOutside)
		}
		top = m.Target
	}
	for dir := filepath.FromSlash(top); dir != filepath.Dir(dir); {
		dir = filepath.Dir(dir)
		_, err := os.Lstat(filepath.Join(dir, name))
		switch {
		case err == nil:
			return true, nil
		case !errors.Is(err, fs.ErrNotExist):
			return false, t.Fail(err)
		}
	}
	return false, nil
}

// Fail wraps the error of an operation on the target: the message names it by its
// workspace-relative path, and CodeOf finds the code.
func (t *Target) Fail(err error) error {
	if err == nil {
		return nil
	}
	var pe *PathError
	if errors.As(err, &pe) {
		return err
	}
	return &PathError{Path: t.Path(), Err: wspath.Bare(err)}
}

// StagedFile returns the descriptor of the unnamed file that the launcher opened for
// creating files at the target, and whether there is one.
func (t *Target) StagedFile() (fd int, ok bool) {
	best := -1
	for _, s := range t.w.policy.staged {
		if s.place.Contains(t.place) && len(s.place.Path) > best {
			best, fd, ok = len(s.place.Path), s.fd, true
		}
	}
	return fd, ok
}

// PathError says why a path cannot be used, naming it workspace-relative.
type PathError struct {
	Path string // as the model may see it
	Err  error
}

// pathErrors are the causes of a PathError with their codes, and what follows the path in the message; the first
// that fits counts.
var pathErrors = []struct {
	cause error
	code  Code
	text  string
}{
	{wspath.ErrAbsolute, CodeAbsolutePath, " is absolute; give a path relative to the workspace"},
	{wspath.ErrEscape, CodePathEscape, " leaves the workspace by its `..` components"},
	{wspath.ErrInvalid, CodeInvalidArguments, ""},
	{errOutside, CodePathEscape, " resolves outside the workspace, to a place that is not an approved mount"},
	{wspath.ErrDangling, CodeNotFound, ": a symlink on the way leads to a missing target"},
	{wspath.ErrChanged, CodeBusy, " was changed by somebody else while it was being used; try again"},
	{fs.ErrNotExist, CodeNotFound, " does not exist"},
	{fs.ErrExist, CodeAlreadyExists, " already exists"},
	{syscall.EISDIR, CodeWrongType, " is a directory, not a file"},
	{syscall.ENOTDIR, CodeWrongType, ": it or something on the way is not a directory"},
	{wspath.ErrNotRegular, CodeWrongType, " is neither a regular file nor a directory" +
		" (a FIFO, socket or device is never opened)"},
}

// Error returns the reason in one sentence.
func (e *PathError) Error() string {
	for _, known := range pathErrors {
		if known.text != "" && errors.Is(e.Err, known.cause) {
			return "path " + Quote(e.Path) + known.text
		}
	}
	return fmt.Sprintf("path %s: %v", Quote(e.Path), e.Err)
}

// Unwrap returns the cause.
func (e *PathError) Unwrap() error { return e.Err }

// ErrorCode returns the code of the wire.
func (e *PathError) ErrorCode() Code {
	for _, known := range pathErrors {
		if errors.Is(e.Err, known.cause) {
			return known.code
		}
	}
	return CodeIO
}

// Temporary reports whether the same call may succeed later.
func (e *PathError) Temporary() bool {
	return errors.Is(e.Err, wspath.ErrChanged) || errors.Is(e.Err, syscall.ENOSPC) || errors.Is(e.Err, syscall.EIO)
}

// Quote returns a name for a sentence: unchanged if it is one word that a terminal shows as it is, else as a
// Go string. So no name looks like two names, like a part of the sentence, or like another name. All tools and
// errors show names in this form.
func Quote(name string) string {
	if name == "" || strings.ContainsAny(name, " \"'`") {
		return strconv.Quote(name)
	}
	return Visible(name)
}

// Visible returns a name for a line of its own, or for the beginning of one: unchanged, or as a Go string if it
// looks like one or contains anything that a terminal does not show as it is.
func Visible(name string) string {
	if strings.HasPrefix(name, `"`) {
		return strconv.Quote(name)
	}
	for _, r := range name {
		if !strconv.IsPrint(r) || r == '\uFFFD' {
			return strconv.Quote(name)
		}
	}
	return name
}
