package safewrite

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strconv"
	"time"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/toolmain"
	"github.com/jptools/jptools/tools/fskit"
)

// maxDigested is the size up to which Version is a digest.
const maxDigested = 64 << 20

// Version is what the token of a question takes of the file: an answer is for the content
// it was asked about. Up to 64 MiB it is the digest. Above, where reading takes long (a sparse file
// can be as large as one likes), and where the policy does not grant read, it is device, inode, size,
// mtime and ctime, and Commit and Unchanged compare those too.
func (f *File) Version() (string, error) {
	s, err := stampOf(f.f)
	if err != nil {
		return "", f.t.Fail(err)
	}
	if f.readable && (s.size <= maxDigested || f.seen != "" || f.known) {
		return f.Digest()
	}
	f.asked = &s
	return s.version(), nil
}

// maxCompared bounds how often a file that is written to while it is compared is compared again.
const maxCompared = 3

// Unchanged returns an error with CodeStale unless the path still leads to the locked
// file and it is what Content, Digest or Version returned, if one was called.
//
// It compares content: times prove little, and only decide whether to compare again.
func (f *File) Unchanged() error {
	for range maxCompared {
		before, err := stampOf(f.f)
		if err != nil {
			return f.t.Fail(err)
		}
		quiet := before.settled(time.Now().UnixNano())
		if f.asked != nil && *f.asked != before {
			return f.stale()
		}
		if err := f.compare(); err != nil {
			return err
		}
		after, err := stampOf(f.f)
		if err != nil {
			return f.t.Fail(err)
		}
		// After the comparison, which takes its time.
		same, err := f.stillThere()
		if err != nil {
			return err
		}
		if !same {
			return f.stale()
		}
		if after == before {
			f.compared, f.quiet = before, quiet
			return nil
		}
	}
	return f.stale()
}

// alwaysCompared is the size up to which reading twice costs next to nothing.
const alwaysCompared = 4 << 20

// unchangedSince is Unchanged once more, when the name leads elsewhere already: what was
// written between the first look and the exchange shows now. A large file is only read
// again if its times say that there was a write, or cannot say that there was none.
func (f *File) unchangedSince() error {
	now, err := stampOf(f.f)
	if err != nil {
		return f.t.Fail(err)
	}
	if f.asked != nil && !f.asked.sameContent(now) {
		return f.stale()
	}
	if f.quiet && now.size > alwaysCompared && now.sameContent(f.compared) {
		return nil
	}
	return f.compare()
}

// compare returns an error with CodeStale unless the content is what was read.
func (f *File) compare() error {
	if !f.known && f.seen == "" {
		return nil
	}
	r, err := f.reader()
	if err != nil {
		return err
	}
	now, err := fskit.Digest(r)
	if err != nil {
		return fail(f.t, err)
	}
	before, err := f.Digest()
	if err != nil {
		return err
	}
	if now != before {
		return f.stale()
	}
	return nil
}

func (f *File) stale() error {
	return jptool.Errorf(jptool.CodeStale, "%s was changed by somebody else since it was read; nothing was written; read it again", jptool.Quote(f.t.Path()))
}

// until is r until ctx ends, then it fails with CodeDeadline. t is for the message.
func until(ctx context.Context, t *jptool.Target, r io.Reader) io.Reader {
	return &bounded{ctx, t, r}
}

type bounded struct {
	ctx context.Context
	t   *jptool.Target
	r   io.Reader
}

func (b *bounded) Read(p []byte) (int, error) {
	if err := timeIsUp(b.ctx, b.t); err != nil {
		return 0, err
	}
	return b.r.Read(p)
}

func timeIsUp(ctx context.Context, t *jptool.Target) error {
	if ctx.Err() == nil {
		return nil
	}
	return jptool.Errorf(jptool.CodeDeadline, "the time for this call was over before all of %s was read; nothing was changed", jptool.Quote(t.Path()))
}

// The bounds of what [Seen] takes of a directory.
const (
	maxTreeEntries = 20_000
	maxTreeBytes   = maxDigested
)

// Seen is what a token takes of the entry at t, described by fi, which is nil when nothing is there. An answer
// given for it fits while it is the same:
//
//   - of a regular file what Version says, if it is locked, else its identity, size and times;
//   - of a symlink its text, or without read what is said of a file;
//   - of a directory the names and kinds of everything in it, and the content of files until 64 MiB are read.
//     Of what may not be read, of files beyond that, and of directories when 20 000 entries are counted, identity, size and
//     times.
//
// Identity is device and inode; where the system has none, size and times must do.
func Seen(ctx context.Context, t *jptool.Target, fi fs.FileInfo, locked *File) (string, error) {
	switch {
	case fi == nil:
		return "nothing", nil
	case locked != nil:
		return locked.Version()
	case fi.IsDir():
		s := tree{ctx: ctx, bytes: maxTreeBytes}
		if err := s.add("", t, fi); err != nil {
			return "", err
		}
		return "tree:" + toolmain.Token(s.parts...), nil
	}
	return seenEntry(t, fi)
}

func seenEntry(t *jptool.Target, fi fs.FileInfo) (string, error) {
	if fi.Mode()&fs.ModeSymlink == 0 || !t.Granted().Has(jptool.Read) {
		return stampOfInfo(nil, fi).version(), nil
	}
	text, err := t.Readlink()
	return "link:" + text, err
}

// tree collects what is in a directory.
type tree struct {
	ctx     context.Context
	parts   []string
	entries int
	bytes   int64 // of content that may still be read
}

func (s *tree) add(path string, t *jptool.Target, fi fs.FileInfo) error {
	if err := timeIsUp(s.ctx, t); err != nil {
		return err
	}
	s.entries++
	var what string
	var names []string
	err := fs.ErrPermission
	switch readable := t.Granted().Has(jptool.Read); {
	case fi.IsDir() && readable && s.entries <= maxTreeEntries:
		what = "directory"
		names, err = t.Names()
	case fi.Mode().IsRegular() && readable && fi.Size() <= s.bytes:
		what, err = s.content(t, fi.Size())
	}
	if errors.Is(err, fs.ErrPermission) { // of the policy, of the bounds, or of the system
		what, err = seenEntry(t, fi)
	}
	if err != nil {
		return err
	}
	s.parts = append(s.parts, path, strconv.FormatUint(uint64(fi.Mode().Type()), 8), what)
	for _, name := range names {
		child := t.Child(name)
		fi, err := child.Lstat()
		if err != nil {
			return err
		}
		if err := s.add(path+"/"+name, child, fi); err != nil {
			return err
		}
	}
	return nil
}

// content reads no more than the file was said to have: it may grow without end.
func (s *tree) content(t *jptool.Target, size int64) (string, error) {
	f, err := t.Open()
	if err != nil {
		return "", err
	}
	defer f.Close()
	s.bytes -= size
	sum, err := fskit.Digest(until(s.ctx, t, io.LimitReader(f, size+1)))
	return sum, fail(t, err)
}
