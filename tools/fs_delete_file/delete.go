package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/toolmain"
	"github.com/jptools/jptools/tools/fskit"
	"github.com/jptools/jptools/tools/fskit/diff"
	"github.com/jptools/jptools/tools/fskit/gitguard"
	"github.com/jptools/jptools/tools/fskit/safewrite"
)

// arguments are what a model gives.
type arguments struct {
	Path           string `json:"path" required:"" help:"File or symlink to delete, relative to the workspace; of a symlink the link itself." example:"src/old.rs"`
	ExpectedDigest string `json:"expected_digest" help:"Digest of the file as it was read; the call is refused when the file is another."`
}

// options are what a person configures.
type options struct {
	Suppress toolmain.Strings `json:"suppress" help:"Gitignore patterns, anchored at the workspace, of paths that this tool leaves alone." example:"[\".git/\"]"`
	Deadline int              `json:"deadline" min:"0" default:"60" help:"Seconds after which the call gives up, with nothing changed; 0 is no limit."`
}

var tool = toolmain.Tool[arguments, options]{
	Name:    "fs_delete_file",
	Summary: "delete a file or a symlink",
	Description: `Of a symlink the link itself goes, never what it leads to. A file that git could not bring back
(modified, staged, not tracked or ignored, or unknown) is deleted after asking (question delete_dirty_file).
The directory it was in is removed when it is empty then and may be deleted.`,
	Example: `--path src/old.rs`,
	Run:     run,
}

// result is the data of a success.
type result struct {
	Path           string   `json:"path"`
	Kind           string   `json:"kind"` // file or symlink
	RemovedParents []string `json:"removed_parents"`
}

// deletion is one call.
type deletion struct {
	t     *jptool.Target
	there fs.FileInfo
	kind  string
	held  *safewrite.File // nil for a symlink, and without `read`
}

// run goes through these steps, and changes something in the last one only:
//
//	path · delete · suppress · what is there · expected_digest · (preview ends here) · is it what the preview
//	showed? · question delete_dirty_file · remove · remove the parents that are empty then
func run(ctx context.Context, c *toolmain.Call, a *arguments, o *options) (jptool.Outcome, error) {
	t, err := c.Workspace.CheckDelete(a.Path)
	if err != nil {
		return jptool.Outcome{}, err
	}
	globs, err := fskit.CheckUnsuppressed(c.Workspace, o.Suppress, t)
	if err != nil {
		return jptool.Outcome{}, err
	}
	d := &deletion{t: t}
	if err := d.look(); err != nil {
		return jptool.Outcome{}, fskit.NotFound(globs, t, err)
	}
	if d.kind == "symlink" {
		if err := fskit.CheckLinkUnsuppressed(c.Workspace, o.Suppress, t); err != nil {
			return jptool.Outcome{}, err
		}
	}
	if err := d.hold(ctx, a.ExpectedDigest); err != nil {
		return jptool.Outcome{}, err
	}
	if d.held != nil {
		defer d.held.Close()
	}
	git, cancel := gitguard.Bound(ctx)
	defer cancel()
	dirty, reason := gitguard.State(git, c.Workspace, t)
	if d.held != nil && c.Wrote(t.Path(), d.held.Digest) {
		dirty = false
	}
	err = c.Confirm(
		func() (toolmain.Preview, error) { return d.preview(ctx) },
		func() ([]toolmain.Question, error) { return d.questions(ctx, dirty, reason) })
	if err != nil {
		return jptool.Outcome{}, err
	}
	return d.remove()
}

// look finds out what stands at the path and whether this tool removes such a thing.
func (d *deletion) look() (err error) {
	path := jptool.Quote(d.t.Path())
	d.there, err = d.t.Lstat()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return jptool.Errorf(jptool.CodeNotFound, "%s does not exist; there is nothing to delete", path)
	case err != nil:
		return err
	case d.there.IsDir():
		return jptool.Errorf(jptool.CodeWrongType, "%s is a directory; this tool deletes files and symlinks only. Delete the files in it: a directory that is empty then is removed", path)
	case d.there.Mode()&fs.ModeSymlink != 0:
		d.kind = "symlink"
	case d.there.Mode().IsRegular():
		d.kind = "file"
	default:
		return jptool.Errorf(jptool.CodeWrongType, "%s is not a regular file or symlink (it is a FIFO, socket or device) and is left alone", path)
	}
	return nil
}

// hold locks the file against the other tools, so that no edit of theirs is lost, and
// checks the digest. Where it may not be read there is no lock: nothing can be compared.
func (d *deletion) hold(ctx context.Context, expected string) (err error) {
	if expected != "" {
		if err := d.t.Require(jptool.Read); err != nil {
			return err
		}
		if d.kind != "file" {
			return jptool.Errorf(jptool.CodeWrongType, "%s is a symlink and has no digest; leave expected_digest out to delete the link", jptool.Quote(d.t.Path()))
		}
	}
	if d.kind != "file" || !d.t.Granted().Has(jptool.Read) {
		return nil
	}
	d.held, err = safewrite.Hold(ctx, d.t)
	if errors.Is(err, fs.ErrPermission) && expected == "" {
		return nil // a file that its owner cannot read can be deleted all the same
	}
	if err != nil || expected == "" {
		return err
	}
	digest, err := d.held.Digest()
	if err == nil {
		err = fskit.CheckDigest(d.t.Path(), expected, digest)
	}
	if err != nil {
		d.held.Close()
	}
	return err
}

// questions asks before something goes that git does not have. The answer is for this content.
func (d *deletion) questions(ctx context.Context, dirty bool, reason string) ([]toolmain.Question, error) {
	if !dirty {
		return nil, nil
	}
	content, err := safewrite.Seen(ctx, d.t, d.there, d.held)
	if err != nil {
		return nil, err
	}
	path := jptool.Quote(d.t.Path())
	return []toolmain.Question{{
		ID:       "delete_dirty_file",
		Text:     fmt.Sprintf("Git could not bring back the %s %s (%s). Delete it?", d.kind, path, reason),
		Default:  false,
		Token:    toolmain.Token("delete_dirty_file", d.t.Path(), d.kind, content),
		Declined: toolmain.Declined("deleting %s was not allowed, because git could not bring it back (%s); it is still there", path, reason),
	}}, nil
}

func (d *deletion) remove() (jptool.Outcome, error) {
	// It must still be what was looked at and asked about.
	now, err := d.t.Lstat()
	if err != nil {
		return jptool.Outcome{}, err
	}
	if !os.SameFile(now, d.there) {
		return jptool.Outcome{}, jptool.Errorf(jptool.CodeStale, "%s was replaced by somebody else meanwhile; nothing was deleted", jptool.Quote(d.t.Path()))
	}
	if d.held != nil {
		if err := d.held.Unchanged(); err != nil {
			return jptool.Outcome{}, err
		}
	}
	if err := d.t.Remove(); err != nil {
		return jptool.Outcome{}, err
	}
	safewrite.Sweep(d.t.Parent())
	res := result{Path: d.t.Path(), Kind: d.kind}
	text := "File"
	if d.kind == "symlink" {
		text = "Symlink"
	}
	text += fmt.Sprintf(" %s deleted.", jptool.Quote(d.t.Path()))
	res.RemovedParents = fskit.Paths(safewrite.RemoveEmptyParents(d.t))
	text += fskit.Emptied(res.RemovedParents)
	return jptool.Outcome{Content: text, Data: res}, nil
}

// preview shows the beginning of what goes: that all of the file goes is said. That git could not bring it back is said
// by the question.
func (d *deletion) preview(ctx context.Context) (p toolmain.Preview, err error) {
	p.Text = fmt.Sprintf("Would delete the %s %s", d.kind, jptool.Quote(d.t.Path()))
	if d.kind == "file" {
		p.Text += " (" + fskit.Bytes(d.there.Size()) + ")"
	}
	p.Text += ".\n"
	p.Shown = []toolmain.Shown{{Text: p.Text}}
	gone, err := d.shown()
	if err != nil {
		return p, err
	}
	if gone != "" {
		p.Shown = append(p.Shown, toolmain.Shown{Text: gone, Diff: true})
		p.Text += "\n" + gone
	}
	content, err := safewrite.Seen(ctx, d.t, d.there, d.held)
	p.Paths, p.Seen = []string{d.t.Path()}, []string{d.t.Place(), d.kind, content}
	return p, err
}

// Of a file up to maxSmall bytes a preview shows about maxShown bytes.
const (
	maxSmall = 1 << 20
	maxShown = 2 << 10
	maxLine  = 200
)

// shown is a diff that removes the content, as far as it is short; "" if it is not text, large, or may not be read.
func (d *deletion) shown() (string, error) {
	if d.held == nil || d.there.Size() > maxSmall {
		return "", nil
	}
	old, err := d.held.Content()
	if err != nil {
		return "", err
	}
	text, _ := diff.Replaced(jptool.Quote(d.t.Path()), old, nil, diff.Options{MaxBytes: maxShown, MaxLine: maxLine})
	return text, nil
}
