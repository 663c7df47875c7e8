package undo

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/jptools/jptools/jptool"
)

// digestMost is the size up to which a file is read to know its content. A larger one is known by its stamp, and by the
// digest that a tool tells.
const digestMost = 1 << 20

// look describes what is at a place. It follows no link and opens nothing but regular files.
func look(t *jptool.Target) (State, error) {
	s, f, err := open(t)
	if f == nil {
		return s, err
	}
	defer f.Close()
	if s.Size <= digestMost {
		s.Digest, err = digest(f)
	}
	return s, err
}

// open is look without a digest. It returns an open file if there is one that may be read.
func open(t *jptool.Target) (State, *os.File, error) {
	fi, err := t.Lstat()
	switch {
	case errors.Is(err, fs.ErrNotExist), err != nil && jptool.CodeOf(err) == jptool.CodeWrongType: // below a file
		return State{Kind: Absent, UID: -1, GID: -1}, nil, nil
	case err != nil:
		return State{Kind: Other}, nil, err
	case fi.Mode().IsRegular():
		f, err := t.Open()
		if err != nil {
			return stateOf(fi), nil, nil // its owner may not read it
		}
		if fi, err = f.Stat(); err != nil {
			f.Close()
			return State{Kind: Other}, nil, err
		}
		s := stateOf(fi)
		s.Attributes = attributes(f)
		return s, f, nil
	}
	s := stateOf(fi)
	if s.Kind == Link {
		dir, path, err := t.Base()
		if err == nil {
			s.Link, err = dir.Readlink(path)
		}
		if err != nil {
			return s, nil, err
		}
	}
	return s, nil, nil
}

func stateOf(fi fs.FileInfo) State {
	s := State{Kind: Other, Mode: fi.Mode() & modeBits, Stamp: stampOf(fi)}
	s.UID, s.GID = ownerOf(fi)
	switch {
	case fi.Mode().IsRegular():
		s.Kind, s.Size = File, fi.Size()
	case fi.IsDir():
		s.Kind = Dir
		s.Stamp.Modified = 0 // what is made in it changes it
	case fi.Mode()&fs.ModeSymlink != 0:
		s.Kind, s.Mode = Link, 0
	}
	return s
}

// digest is that of a file's content from its start.
func digest(f io.ReaderAt) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, 1<<62)); err != nil {
		return "", err
	}
	return digestText(h.Sum(nil)), nil
}

// digestText writes a digest as the tools do.
func digestText(sum []byte) string { return fmt.Sprintf("sha256:%x", sum) }

// same reports whether a place is now as it was then. digest reads the content that is there now; it is asked only where
// nothing else decides.
func same(now, then State, digest func() (string, error)) (bool, error) {
	if now.Kind != then.Kind {
		return false, nil
	}
	switch now.Kind {
	case Absent:
		return true, nil
	case Link:
		return now.Link == then.Link, nil
	case Dir: // one that an undo has made again is as good as the one from before
		return now.Mode == then.Mode, nil
	case File:
	default:
		return now.Stamp == then.Stamp, nil
	}
	switch {
	case now.Mode != then.Mode || now.Size != then.Size:
		return false, nil
	case now.Digest != "" && then.Digest != "":
		return now.Digest == then.Digest, nil
	case now.Stamp == then.Stamp:
		return true, nil
	case then.Digest == "":
		return false, nil
	}
	got, err := digest()
	return got == then.Digest, err
}
