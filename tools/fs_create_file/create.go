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
	"github.com/jptools/jptools/tools/fskit/diff"
	"github.com/jptools/jptools/tools/fskit/gitguard"
	"github.com/jptools/jptools/tools/fskit/safewrite"
)

// arguments are what a model gives.
type arguments struct {
	Path           string `json:"path" required:"" help:"File to create, relative to the workspace. Missing directories on the way are made." example:"src/new.rs"`
	Content        string `json:"content" help:"Content of the file, exactly; absent makes an empty file."`
	ExpectedDigest string `json:"expected_digest" help:"Digest of the existing file as it was read; the call is refused when the file is another, or gone."`
}

// options are what a person configures.
type options struct {
	Suppress toolmain.Strings `json:"suppress" help:"Gitignore patterns, anchored at the workspace, of paths that this tool leaves alone." example:"[\".git/\"]"`
	Deadline int              `json:"deadline" min:"0" default:"60" help:"Seconds after which the call gives up, with nothing changed; 0 is no limit."`
}

var tool = toolmain.Tool[arguments, options]{
	Name:    "fs_create_file",
	Summary: "create a file, or replace all of its content",
	Description: `Missing directories are made. An existing file is replaced after asking (question overwrite_file);
an existing symlink never is: delete it first. The file has all of the content in the end, or
is what it was.`,
	Example: `--path src/new.rs --content 'fn main() {}'`,
	Run:     run,
}

// result is the data of a success.
type result struct {
	Path        string   `json:"path"`
	Created     bool     `json:"created"`
	Size        int      `json:"size"`
	Digest      string   `json:"digest"`
	Method      string   `json:"method"` // created, replaced, in place, or unchanged
	ParentsMade []string `json:"parents_made"`
	// Uncommitted: what it replaced was somebody's work that git does not have.
	Uncommitted bool `json:"uncommitted,omitempty"`
}

// creation is one call.
type creation struct {
	*toolmain.Call
	args *arguments
	t    *jptool.Target
	// uncommitted: what is there is somebody's work that git does not have.
	uncommitted bool
}

// run goes through these steps, and changes something in the last one only:
//
//	path · create or update · the name · suppress · what is there · the one that is needed · expected_digest ·
//	(preview ends here) · is it what the preview showed? · question overwrite_file · write
func run(ctx context.Context, c *toolmain.Call, a *arguments, o *options) (jptool.Outcome, error) {
	t, err := c.Workspace.CheckEntry(a.Path, jptool.Create|jptool.Update)
	if err != nil {
		return jptool.Outcome{}, err
	}
	if err := safewrite.CheckName(t, a.Path); err != nil {
		return jptool.Outcome{}, err
	}
	if _, err := fskit.CheckUnsuppressed(c.Workspace, o.Suppress, t); err != nil {
		return jptool.Outcome{}, err
	}
	cr := &creation{Call: c, args: a, t: t}
	there, err := cr.look()
	if err != nil {
		return jptool.Outcome{}, err
	}
	if there == nil {
		return cr.create()
	}
	return cr.overwrite(ctx, there)
}

// look returns the regular file at the path, nil if nothing is there, and checks what
// is needed for either.
func (c *creation) look() (fs.FileInfo, error) {
	fi, err := c.t.Lstat()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := c.t.Require(jptool.Create); err != nil {
			return nil, err
		}
		if c.args.ExpectedDigest != "" {
			return nil, jptool.Errorf(jptool.CodeStale, "%s does not exist, but expected_digest was given; without it the file would be created", jptool.Quote(c.t.Path()))
		}
		return nil, nil
	case err != nil:
		return nil, err
	case fi.IsDir():
		return nil, jptool.Errorf(jptool.CodeWrongType, "%s is a directory; give the path of a file", jptool.Quote(c.t.Path()))
	case fi.Mode()&fs.ModeSymlink != 0 && c.t.Pinned():
		return nil, jptool.Errorf(jptool.CodeAlreadyExists, "%s is a symlink that has to stay: a mount or an access rule depends on it. It is never written through, replaced or deleted; give the path of a file below it, or change what it leads to with fs_modify_file", jptool.Quote(c.t.Path()))
	case fi.Mode()&fs.ModeSymlink != 0:
		return nil, jptool.Errorf(jptool.CodeAlreadyExists, "%s is an existing symlink, which is never written through or replaced; delete it first, or give the path of its target", jptool.Quote(c.t.Path()))
	case !fi.Mode().IsRegular():
		return nil, jptool.Errorf(jptool.CodeWrongType, "%s is neither a regular file nor a directory", jptool.Quote(c.t.Path()))
	}
	need := jptool.Update
	if c.args.ExpectedDigest != "" {
		need |= jptool.Read
	}
	return fi, c.t.Require(need)
}

func (c *creation) create() (jptool.Outcome, error) {
	missing, err := safewrite.MissingParents(c.t)
	if err != nil {
		return jptool.Outcome{}, err
	}
	preview := func() (toolmain.Preview, error) {
		return c.preview("Would create", missing, c.shown(), "nothing"), nil
	}
	if err := c.Confirm(preview, nil); err != nil {
		return jptool.Outcome{}, err
	}
	made, err := safewrite.MakeParents(c.t)
	if err != nil {
		return jptool.Outcome{}, err
	}
	if err := safewrite.Create(c.t, []byte(c.args.Content), 0o666); err != nil {
		if left := safewrite.RemoveMade(made); len(left) > 0 {
			return jptool.Outcome{}, jptool.Errorf(jptool.CodeOf(err), "%w (the directory %s was made and could not be removed again)", err, jptool.Quote(left[0].Path()))
		}
		return jptool.Outcome{}, err
	}
	return c.done("created", fskit.Paths(made)), nil
}

func (c *creation) overwrite(ctx context.Context, there fs.FileInfo) (jptool.Outcome, error) {
	content := []byte(c.args.Content)
	f, err := safewrite.Lock(ctx, c.t)
	if err != nil {
		return jptool.Outcome{}, err
	}
	defer f.Close()
	// Content of another size is not the same, and not read to see that.
	old, readable := "", c.t.Granted().Has(jptool.Read)
	if c.args.ExpectedDigest != "" || readable && there.Size() == int64(len(content)) {
		if old, err = f.Digest(); err != nil {
			return jptool.Outcome{}, err
		}
	}
	if c.args.ExpectedDigest != "" {
		if err := fskit.CheckDigest(c.t.Path(), c.args.ExpectedDigest, old); err != nil {
			return jptool.Outcome{}, err
		}
	}
	same := old == fskit.DigestBytes(content)
	err = c.Confirm(
		func() (toolmain.Preview, error) {
			fi, err := f.Stat()
			if err != nil {
				return toolmain.Preview{}, err
			}
			version, err := f.Version()
			if err != nil {
				return toolmain.Preview{}, err
			}
			shown, err := c.difference(f, fi)
			return c.preview(fmt.Sprintf("Would overwrite (now %s)", fskit.Bytes(fi.Size())), nil, shown, version), err
		},
		func() ([]toolmain.Question, error) {
			if same {
				return nil, nil
			}
			return c.questions(ctx, f)
		})
	if err != nil {
		return jptool.Outcome{}, err
	}
	if same {
		return c.done("unchanged", []string{}), nil
	}
	if err := f.Stage(content); err != nil {
		return jptool.Outcome{}, err
	}
	method, err := f.Commit()
	if err != nil {
		return jptool.Outcome{}, err
	}
	return c.done(string(method), []string{}), nil
}

// questions asks whether the old content may go. It shows sizes, not the old content, because a model may get a question
// that nobody answered. A person sees the difference: here in text, and from a host in the preview.
func (c *creation) questions(ctx context.Context, f *safewrite.File) ([]toolmain.Question, error) {
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	old, err := f.Version()
	if err != nil {
		return nil, err
	}
	path := jptool.Quote(c.t.Path())
	text := fmt.Sprintf("File %s exists already. Overwrite it?", path)
	git, cancel := gitguard.Bound(ctx)
	defer cancel()
	dirty, reason := gitguard.State(git, c.Workspace, c.t)
	if c.uncommitted = dirty && !c.Wrote(c.t.Path(), f.Digest); c.uncommitted {
		text = fmt.Sprintf("File %s exists already, and git could not bring it back (%s). Overwrite it?", path, reason)
	}
	before := fmt.Sprintf("now: %s\nnew: %s", fskit.Bytes(fi.Size()), describe(c.args.Content))
	if c.Person {
		shown, err := c.difference(f, fi)
		if err != nil {
			return nil, err
		}
		before += "\n\n" + shown.Text
	}
	return []toolmain.Question{{
		ID: "overwrite_file", Text: text, Before: before, Default: false, Uncommitted: c.uncommitted,
		Token:    toolmain.Token("overwrite_file", c.t.Path(), old, fskit.DigestBytes([]byte(c.args.Content))),
		Declined: toolmain.Declined("%s exists already, and overwriting it was not allowed; nothing was written", path),
	}}, nil
}

func (c *creation) done(method string, made []string) jptool.Outcome {
	content := c.args.Content
	var b strings.Builder
	path := jptool.Quote(c.t.Path())
	switch method {
	case "created":
		fmt.Fprintf(&b, "File %s created.", path)
	case "unchanged":
		fmt.Fprintf(&b, "File %s has this content already; nothing was written.", path)
	default:
		fmt.Fprintf(&b, "File %s overwritten (%s).", path, method)
	}
	fmt.Fprintf(&b, " File size: %s.", fskit.Bytes(int64(len(content))))
	if len(made) > 0 {
		fmt.Fprintf(&b, " Directories made: %s.", fskit.Quoted(made))
	}
	return jptool.Outcome{Content: b.String(), Data: result{
		Path: c.t.Path(), Created: method == "created", Size: len(content), Digest: fskit.DigestBytes([]byte(content)),
		Method: method, ParentsMade: made, Uncommitted: c.uncommitted,
	}}
}

// maxText bounds the content in the text of a preview, in bytes, and maxCompared the old content that a preview compares
// it with. A line of more than maxLine bytes is shown where it changes.
const (
	maxText     = 64 << 10
	maxLine     = 500
	maxCompared = 8 << 20
)

// preview says what would be done. shown is the new content or how it differs, old what was seen at the path.
func (c *creation) preview(what string, missing []*jptool.Target, shown toolmain.Shown, old string) toolmain.Preview {
	var b strings.Builder
	fmt.Fprintf(&b, "%s file %s: %s.", what, jptool.Quote(c.t.Path()), describe(c.args.Content))
	if len(missing) > 0 {
		fmt.Fprintf(&b, " Directories to make: %s.", fskit.Quoted(fskit.Paths(missing)))
	}
	p := toolmain.Preview{
		Shown: []toolmain.Shown{{Text: b.String()}}, Paths: []string{c.t.Path()},
		Seen: []string{c.t.Place(), old, fskit.DigestBytes([]byte(c.args.Content))},
	}
	if shown.Text != "" {
		p.Cut = len(shown.Text) > toolmain.MaxShown
		text := strings.ToValidUTF8(shown.Text[:min(len(shown.Text), maxText)], "")
		b.WriteString("\n\n" + strings.TrimSuffix(text, "\n") + "\n")
		if more := len(shown.Text) - maxText; more > 0 {
			fmt.Fprintf(&b, "… (%s more)\n", fskit.Bytes(int64(more)))
		}
		shown.Text = strings.ToValidUTF8(shown.Text[:min(len(shown.Text), toolmain.MaxShown)], "")
		p.Shown = append(p.Shown, shown)
	}
	p.Text = b.String()
	return p
}

// shown is the new content for a person.
func (c *creation) shown() toolmain.Shown {
	return toolmain.Shown{Text: toolmain.Plain(c.args.Content)}
}

// difference is a diff from the old to the new content, or the new content if the old one is not text, may not be read
// or is too large.
func (c *creation) difference(f *safewrite.File, there fs.FileInfo) (shown toolmain.Shown, err error) {
	if !c.t.Granted().Has(jptool.Read) || there.Size() > maxCompared {
		return c.shown(), nil
	}
	old, err := f.Content()
	if err != nil {
		return shown, err
	}
	changes, ok := diff.Replaced(jptool.Quote(c.t.Path()), old, []byte(c.args.Content),
		diff.Options{MaxLine: maxLine, Whole: true})
	if !ok {
		return c.shown(), nil
	}
	return toolmain.Shown{Text: changes, Diff: true}, nil
}

// describe is the size of the new content: "12 bytes, 2 lines".
func describe(content string) string {
	lines := strings.Count(content, "\n")
	if content != "" && !strings.HasSuffix(content, "\n") {
		lines++
	}
	if lines == 1 {
		return fskit.Bytes(int64(len(content))) + ", 1 line"
	}
	return fmt.Sprintf("%s, %d lines", fskit.Bytes(int64(len(content))), lines)
}
