package gitstate

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"runtime"
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

	h := r.algo.start("blob", size)
	n, err := io.Copy(h, ctxReader{ctx, io.NewSectionReader(f, 0, size+1)})
	if err != nil {
		return false, unreadable(path, err)
	}
	// A file that shrinks or grows meanwhile does not match.
	if n == size && r.algo.sum(h) == e.id {
		return true, nil
	}
	how, err := r.conversion(path)
	switch {
	case err != nil || how == convertNone:
		return false, err
	case how == convertOther:
		return false, unknownf("%q is converted by a filter, which we do not run", path)
	case size > maxObject:
		return false, unknownf("%q is too large to be compared without its line ends", path)
	}
	data, err := io.ReadAll(ctxReader{ctx, io.NewSectionReader(f, 0, size)})
	if err != nil {
		return false, unreadable(path, err)
	}
	text := bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	if how == convertAuto && bytes.ContainsAny(text, "\r\x00") {
		return false, nil // git's automatic conversion takes it for binary and leaves it alone
	}
	return r.algo.object("blob", text) == e.id, nil
}
