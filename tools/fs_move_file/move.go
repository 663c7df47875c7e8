package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/toolmain"
	"github.com/jptools/jptools/tools/fskit"
	"github.com/jptools/jptools/tools/fskit/gitguard"
	"github.com/jptools/jptools/tools/fskit/safewrite"
)

// arguments are what a model gives.
type arguments struct {
	Source         string `json:"source" required:"" help:"File, symlink or directory to move, relative to the workspace; of a symlink the link itself." example:"src/old.rs"`
	Target         string `json:"target" required:"" help:"Its new path, not the directory to put it in. Missing directories on the way are made; a directory cannot be moved onto anything that exists." example:"src/new.rs"`
	ExpectedDigest string `json:"expected_digest" help:"Digest of the source file as it was read; the call is refused when the file is another."`
}

// options are what a person configures.
type options struct {
	Suppress toolmain.Strings `json:"suppress" help:"Gitignore patterns, anchored at the workspace, of paths that this tool leaves alone; a directory that holds one cannot be moved." example:"[\".git/\"]"`
	Deadline int              `json:"deadline" min:"0" default:"60" help:"Seconds after which the call gives up, with nothing changed; 0 is no limit."`
}

var tool = toolmain.Tool[arguments, options]{
	Name:    "fs_move_file",
	Summary: "move or rename a file, symlink or directory",
	Description: `An existing file or symlink at the target is replaced after asking (question overwrite_file); a source with
changes that git does not have, ignored files included, is moved after asking (question move_dirty_source).
Moving a directory moves everything in it, so the access rules on everything in it count. The directory the source was in is
removed when it is empty then and may be deleted.`,
	Example: `--source src/old.rs --target src/new.rs`,
	Run:     run,
}

// result is the data of a success.
type result struct {
	Source         string   `json:"source"`
	Target         string   `json:"target"`
	Kind           string   `json:"kind"`   // file, symlink or directory
	Method         string   `json:"method"` // rename or copy
	Overwritten    bool     `json:"overwritten"`
	ParentsMade    []string `json:"parents_made"`
	RemovedParents []string `json:"removed_parents"`
}

// move is one call.
type move struct {
	*toolmain.Call
	source, target *jptool.Target
	from           fs.FileInfo
	onto           fs.FileInfo // nil when nothing is at the target
	kind           string
	// Locked against the other tools where they may be read; else nil.
	heldSource, heldTarget *safewrite.File
	looked                 []string // by seen
}

// run goes through these steps, and changes something in the last one only:
//
//	paths · delete on the source · create or update on the target · the target's name · same path · suppress · what is at
//	the source · into itself · what is at the target and what is needed for it · rules in and below
//	both ([jptool.Workspace.CheckMove]) · suppress of what is in a directory · parents · expected_digest ·
//	(preview ends here) · is it what the preview showed? · questions overwrite_file, move_dirty_source · move
func run(ctx context.Context, c *toolmain.Call, a *arguments, o *options) (jptool.Outcome, error) {
	m, err := locate(c, a)
	if err != nil {
		return jptool.Outcome{}, err
	}
	globs, err := fskit.CheckUnsuppressed(c.Workspace, o.Suppress, m.source, m.target)
	if err != nil {
		return jptool.Outcome{}, err
	}
	if err := m.lookAtSource(); err != nil {
		return jptool.Outcome{}, fskit.NotFound(globs, m.source, err)
	}
	if err := m.lookAtTarget(); err != nil {
		return jptool.Outcome{}, err
	}
	if err := c.Workspace.CheckMove(m.source, m.target, m.from.IsDir()); err != nil {
		return jptool.Outcome{}, err
	}
	if err := fskit.CheckTreeUnsuppressed(ctx, c.Workspace, o.Suppress, m.source, m.target, m.from.IsDir()); err != nil {
		return jptool.Outcome{}, err
	}
	missing, err := safewrite.MissingParents(m.target)
	if err != nil {
		return jptool.Outcome{}, err
	}
	defer m.release()
	if err := m.hold(ctx, a.ExpectedDigest); err != nil {
		return jptool.Outcome{}, err
	}
	err = c.Confirm(
		func() (toolmain.Preview, error) { return m.preview(ctx, missing) },
		func() ([]toolmain.Question, error) { return m.questions(ctx) })
	if err != nil {
		return jptool.Outcome{}, err
	}
	return m.do(ctx)
}

func locate(c *toolmain.Call, a *arguments) (*move, error) {
	source, err := c.Workspace.CheckDelete(a.Source)
	if err != nil {
		return nil, err
	}
	target, err := c.Workspace.CheckEntry(a.Target, jptool.Create|jptool.Update)
	if err != nil {
		return nil, err
	}
	if err := safewrite.CheckName(target, a.Target); err != nil {
		return nil, err
	}
	if source.Same(target) {
		return nil, jptool.Errorf(jptool.CodeInvalidArguments, "source and target are the same path, %s; there is nothing to move", jptool.Quote(source.Path()))
	}
	return &move{Call: c, source: source, target: target}, nil
}

func (m *move) lookAtSource() (err error) {
	path := jptool.Quote(m.source.Path())
	m.from, err = m.source.Lstat()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return jptool.Errorf(jptool.CodeNotFound, "the source %s does not exist", path)
	case err != nil:
		return err
	case m.from.IsDir():
		m.kind = "directory"
	case m.from.Mode()&fs.ModeSymlink != 0:
		m.kind = "symlink"
	case m.from.Mode().IsRegular():
		m.kind = "file"
	default:
		return jptool.Errorf(jptool.CodeWrongType, "the source %s is not a regular file, symlink or directory (it is a FIFO, socket or device) and is left alone", path)
	}
	if m.from.IsDir() && m.target.Within(m.source) {
		return jptool.Errorf(jptool.CodeInvalidArguments, "the directory %s cannot be moved to %s, a subdirectory of itself", path, jptool.Quote(m.target.Path()))
	}
	return nil
}

func (m *move) lookAtTarget() error {
	path := jptool.Quote(m.target.Path())
	onto, err := m.target.Lstat()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m.target.Require(jptool.Create)
	case err != nil:
		return err
	}
	need := jptool.Update
	if onto.Mode()&fs.ModeSymlink != 0 {
		// The link is replaced, not what it leads to: that takes making and removing it.
		need |= jptool.Create | jptool.Delete
	}
	if err := m.target.Require(need); err != nil {
		return err
	}
	switch {
	case onto.IsDir() && !m.from.IsDir():
		return jptool.Errorf(jptool.CodeAlreadyExists, "the target %s is an existing directory; give the full new path, such as %s", path, jptool.Quote(m.target.Child(m.source.Name()).Path()))
	case m.from.IsDir():
		return jptool.Errorf(jptool.CodeAlreadyExists, "the target %s exists already; a directory can only be moved to a path where nothing is", path)
	case !onto.Mode().IsRegular() && onto.Mode()&fs.ModeSymlink == 0:
		return jptool.Errorf(jptool.CodeWrongType, "the target %s is a FIFO, socket or device and is left alone", path)
	}
	m.onto = onto
	if m.inPlace() {
		return m.source.Require(jptool.Read)
	}
	return nil
}

// inPlace reports whether the existing target may be updated but not replaced: then the
// content is copied into it.
func (m *move) inPlace() bool {
	return m.onto != nil && !m.target.Granted().Has(jptool.Create|jptool.Delete)
}

// hold locks what is a regular file and may be read, so that no edit of another tool is
// lost, and checks the digest.
func (m *move) hold(ctx context.Context, expected string) error {
	if expected != "" {
		if m.kind != "file" {
			return jptool.Errorf(jptool.CodeWrongType, "the source %s is a %s and has no digest; leave expected_digest out to move it", jptool.Quote(m.source.Path()), m.kind)
		}
		if err := m.source.Require(jptool.Read); err != nil {
			return err
		}
	}
	if err := m.lock(ctx); err != nil || expected == "" {
		return err
	}
	if m.heldSource == nil {
		return m.source.Fail(fs.ErrPermission)
	}
	digest, err := m.heldSource.Digest()
	if err != nil {
		return err
	}
	return fskit.CheckDigest(m.source.Path(), expected, digest)
}

// lock locks what can be locked. A file that the system does not let this user read can still be moved.
func (m *move) lock(ctx context.Context) error {
	var targets []*jptool.Target
	var held []**safewrite.File
	add := func(t *jptool.Target, fi fs.FileInfo, into **safewrite.File) {
		if fi != nil && fi.Mode().IsRegular() && t.Granted().Has(jptool.Read) {
			targets, held = append(targets, t), append(held, into)
		}
	}
	add(m.source, m.from, &m.heldSource)
	if !m.sameFile() && !m.inPlace() {
		add(m.target, m.onto, &m.heldTarget)
	}
	files, err := safewrite.HoldAll(ctx, targets)
	for i, f := range files {
		*held[i] = f
	}
	return err
}

func (m *move) release() {
	for _, f := range []*safewrite.File{m.heldSource, m.heldTarget} {
		if f != nil {
			f.Close()
		}
	}
}

func (m *move) preview(ctx context.Context, missing []*jptool.Target) (toolmain.Preview, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "Would move %s %s to %s.", m.kind, jptool.Quote(m.source.Path()), jptool.Quote(m.target.Path()))
	if m.onto != nil {
		fmt.Fprintf(&b, " What is there (%s) would be overwritten.", fskit.Bytes(m.onto.Size()))
	}
	if len(missing) > 0 {
		fmt.Fprintf(&b, " Directories to make: %s.", fskit.Quoted(fskit.Paths(missing)))
	}
	b.WriteByte('\n')
	seen, err := m.seen(ctx)
	return toolmain.Preview{
		Text: b.String(), Shown: []toolmain.Shown{{Text: b.String()}}, Paths: []string{m.source.Path(), m.target.Path()},
		Seen: append([]string{m.source.Place(), m.target.Place(), m.kind}, seen...),
	}, err
}

// seen is what a token takes of what moves and of what it replaces: all that is in a directory, too. It is looked at once.
func (m *move) seen(ctx context.Context) ([]string, error) {
	if m.looked != nil {
		return m.looked, nil
	}
	source, err := safewrite.Seen(ctx, m.source, m.from, m.heldSource)
	if err != nil {
		return nil, err
	}
	onto, err := safewrite.Seen(ctx, m.target, m.onto, m.heldTarget)
	if err != nil {
		return nil, err
	}
	m.looked = []string{source, onto}
	return m.looked, nil
}

// maxCounted bounds the count of entries in a question.
const maxCounted = 1000

// questions are all that a person is asked before the move: whether what is at the target may go, and whether
// what git does not have may move.
func (m *move) questions(ctx context.Context) ([]toolmain.Question, error) {
	overwrite, err := m.askOverwrite(ctx)
	if err != nil {
		return nil, err
	}
	dirty, err := m.askDirty(ctx)
	return append(overwrite, dirty...), err
}

// askOverwrite asks whether what is at the target may go. The answer is for that content, and for what takes
// its place.
func (m *move) askOverwrite(ctx context.Context) ([]toolmain.Question, error) {
	if m.onto == nil {
		return nil, nil
	}
	what := "file"
	if m.onto.Mode()&fs.ModeSymlink != 0 {
		what = "symlink"
	}
	seen, err := m.seen(ctx)
	if err != nil {
		return nil, err
	}
	path := jptool.Quote(m.target.Path())
	git, cancel := gitguard.Bound(ctx)
	defer cancel()
	lost := ""
	own := m.heldTarget != nil && m.Wrote(m.target.Path(), m.heldTarget.Digest)
	if dirty, reason := gitguard.State(git, m.Workspace, m.target); dirty && !own {
		lost = fmt.Sprintf(", and git could not bring it back (%s)", reason)
	}
	return []toolmain.Question{{
		ID: "overwrite_file", Default: false, Uncommitted: lost != "",
		Text:     fmt.Sprintf("The %s %s exists already%s. Overwrite it with %s?", what, path, lost, jptool.Quote(m.source.Path())),
		Token:    toolmain.Token(append([]string{"overwrite_file", m.source.Path(), m.target.Path(), what}, seen...)...),
		Declined: toolmain.Declined("the target %s already exists, and overwriting it was not allowed; nothing was moved", path),
	}}, nil
}

// askDirty asks before moving what git does not have: history and a revert would not
// follow it. The answer is for this content, and for these names.
func (m *move) askDirty(ctx context.Context) ([]toolmain.Question, error) {
	path := jptool.Quote(m.source.Path())
	text, count := "", ""
	git, cancel := gitguard.Bound(ctx)
	defer cancel()
	if m.from.IsDir() {
		c := gitguard.Count(git, m.Workspace, m.source, maxCounted)
		if !c.Any() {
			return nil, nil
		}
		switch {
		case c.Dirty == 0:
			text = fmt.Sprintf("What git has of the directory %s is unknown (%s). Move it?", path, c.Reason)
		case c.Dirty == 1 && !c.More:
			text = fmt.Sprintf("The directory %s has 1 uncommitted entry. Move it?", path)
		case c.More:
			text = fmt.Sprintf("The directory %s has %d uncommitted entries or more. Move it?", path, c.Dirty)
		default:
			text = fmt.Sprintf("The directory %s has %d uncommitted entries. Move it?", path, c.Dirty)
		}
		count = fmt.Sprint(c.Dirty, c.More, c.Unknown)
	} else {
		dirty, reason := gitguard.State(git, m.Workspace, m.source)
		if !dirty || m.heldSource != nil && m.Wrote(m.source.Path(), m.heldSource.Digest) {
			return nil, nil
		}
		text = fmt.Sprintf("Git does not have the %s %s as it is (%s). Move it?", m.kind, path, reason)
	}
	seen, err := m.seen(ctx)
	if err != nil {
		return nil, err
	}
	return []toolmain.Question{{
		ID: "move_dirty_source", Text: text, Default: false,
		Token:    toolmain.Token(append([]string{"move_dirty_source", m.source.Path(), m.target.Path(), m.kind, count}, seen...)...),
		Declined: toolmain.Declined("moving %s was not allowed, because git does not have it as it is; nothing was moved", path),
	}}, nil
}
