package safewrite

import (
	"context"
	"io"
	"time"

	"github.com/jptools/jptools/jptool"
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
