package safewrite

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strconv"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/toolmain"
	"github.com/jptools/jptools/tools/fskit"
)

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
		return stampOfEntry(fi).version(), nil
	}
	dir, path, err := t.Base()
	if err != nil {
		return "", err
	}
	text, err := dir.Readlink(path)
	return "link:" + text, t.Fail(err)
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
		names, err = list(t)
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

func list(t *jptool.Target) ([]string, error) {
	d, err := t.OpenDir()
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	slices.Sort(names)
	return names, t.Fail(err)
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
