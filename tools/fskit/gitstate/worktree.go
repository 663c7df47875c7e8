package gitstate

import (
	"bytes"
	"context"
	"errors"
	"hash"
	"io"
	"io/fs"
	"runtime"
)

const (
	copyBuffer = 64 << 10
	// trustSize is the size from which a length that differs from the one in the index saves the reading.
	trustSize = 64 << 10
)

// workMatches compares what is in the work tree with an index entry: kind, executable bit and content.
func (r *repo) workMatches(ctx context.Context, path string, e *indexEntry, info fs.FileInfo) (bool, error) {
	switch {
	case e.conflict || e.intentToAdd:
		return false, nil
	case info == nil:
		// With these bits git does not miss the file. They do not make a changed file clean.
		return e.skipWorktree || e.assumeValid, nil
	case e.mode == modeGitlink:
		return false, nil // a submodule that has become something else
	case info.Mode()&fs.ModeSymlink != 0:
		return r.linkMatches(path, e)
	case !info.Mode().IsRegular():
		return false, nil
	case e.mode == modeSymlink:
		if r.cfg.symlinks {
			return false, nil
		}
		// Such systems check links out as files that hold the target.
	case r.cfg.fileMode && runtime.GOOS != "windows" && (info.Mode()&0o100 != 0) != (e.mode&0o100 != 0):
		return false, nil
	}
	return r.fileMatches(ctx, path, e)
}

func (r *repo) linkMatches(path string, e *indexEntry) (bool, error) {
	if e.mode != modeSymlink {
		return false, nil
	}
	target, err := r.fsys.Readlink(path)
	if err != nil {
		return false, unreadable(path, err)
	}
	return r.algo.object("blob", []byte(target)) == e.id, nil
}

// fileMatches compares the content as it is first, and only if that differs as git would convert it.
func (r *repo) fileMatches(ctx context.Context, path string, e *indexEntry) (bool, error) {
	f, size, err := openRegular(r.fsys, path)
	if notThere(err) || errors.Is(err, errNotRegular) {
		return false, nil
	}
	if err != nil {
		return false, unreadable(path, err)
	}
	defer f.Close()
	if r.copyBuf == nil {
		r.copyBuf = make([]byte, copyBuffer)
	}

	skipped := size > trustSize && e.size != 0 && e.size != uint32(size)
	if !skipped {
		if same, err := r.hashMatches(ctx, f, size, e.id, path); same || err != nil {
			return same, err
		}
	}
	how, err := r.conversion(path)
	if err != nil || how == convertNone {
		return false, err
	}
	if skipped {
		if same, err := r.hashMatches(ctx, f, size, e.id, path); same || err != nil {
			return same, err
		}
	}
	if how == convertOther {
		return false, unknownf("%q is converted by a filter, which we do not run", path)
	}

	strip := &crlfStripper{w: io.Discard}
	if _, err := r.copy(ctx, strip, f, size); err != nil {
		return false, unreadable(path, err)
	}
	strip.finish()
	if strip.removed == 0 || how == convertAuto && strip.binary {
		return false, nil
	}
	h := r.algo.start("blob", size-strip.removed)
	again := &crlfStripper{w: h}
	if _, err := r.copy(ctx, again, f, size); err != nil {
		return false, unreadable(path, err)
	}
	again.finish()
	return r.algo.sum(h) == e.id, nil
}

// hashMatches hashes the file as it is. A file that shrinks or grows meanwhile does not match.
func (r *repo) hashMatches(ctx context.Context, f io.ReaderAt, size int64, id oid, path string) (bool, error) {
	var h hash.Hash = r.algo.start("blob", size)
	n, err := r.copy(ctx, h, f, size+1)
	if err != nil {
		return false, unreadable(path, err)
	}
	return n == size && r.algo.sum(h) == id, nil
}

// copy hands the first limit bytes of f to w.
func (r *repo) copy(ctx context.Context, w io.Writer, f io.ReaderAt, limit int64) (int64, error) {
	var n int64
	for n < limit {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		got, err := f.ReadAt(r.copyBuf[:min(int64(len(r.copyBuf)), limit-n)], n)
		n += int64(got)
		if _, err := w.Write(r.copyBuf[:got]); err != nil {
			return n, err
		}
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// crlfStripper passes everything on but the CR of each CRLF.
type crlfStripper struct {
	w       io.Writer
	removed int64
	binary  bool // a NUL, or a CR that no LF follows: git's automatic conversion leaves such files alone
	pending bool // the last byte was a CR, not yet passed on
}

// Write never fails unless w does.
func (s *crlfStripper) Write(p []byte) (int, error) {
	total := len(p)
	s.binary = s.binary || bytes.IndexByte(p, 0) >= 0
	for len(p) > 0 {
		if s.pending {
			s.pending = false
			if p[0] == '\n' {
				s.removed++
			} else {
				s.lone()
			}
		}
		n := bytes.IndexByte(p, '\r')
		if n < 0 {
			n = len(p)
		} else {
			s.pending = true
		}
		if _, err := s.w.Write(p[:n]); err != nil {
			return 0, err
		}
		p = p[n:]
		if s.pending {
			p = p[1:]
		}
	}
	return total, nil
}

// finish passes on a CR at the very end.
func (s *crlfStripper) finish() {
	if s.pending {
		s.pending = false
		s.lone()
	}
}

func (s *crlfStripper) lone() {
	s.binary = true
	s.w.Write([]byte{'\r'}) // a hash or io.Discard: cannot fail
}
