package undo

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
)

// entry is a name in a directory that is held open, so that no link on the way can lead elsewhere.
type entry struct {
	dir  *wspath.Dir
	name string
}

func entryOf(t *jptool.Target) (*entry, error) {
	base, path, err := t.Base()
	if err != nil {
		return nil, err
	}
	dir, err := base.Sub(wspath.ParentOf(path))
	if err != nil {
		return nil, t.Fail(err)
	}
	return &entry{dir, path[strings.LastIndexByte(path, '/')+1:]}, nil
}

// step is called before each change of the workspace; tests stop there.
var step = func(string) error { return nil }

// tempName is a name for a moment in the directory of what changes.
func tempName() string { return ".jphost-undo-" + rand.Text()[:12] }

// write gives the entry content and mode: as a new file that takes the place of what is there, now. Where that would
// separate the names of a file, or a mount lies on it, the file is written in place.
func (e *entry) write(content *Content, s *State, now State) error {
	if now.Kind == File {
		f, err := e.dir.OpenFile(e.name, os.O_RDWR, 0)
		if err == nil {
			defer f.Close()
			if fi, err := f.Stat(); err == nil && names(fi) > 1 {
				return e.inPlace(f, content, s, now)
			}
		}
	}
	temp, err := e.fresh(content, s)
	if err != nil {
		return err
	}
	err = e.place(temp, now)
	if errors.Is(err, syscall.EBUSY) {
		f, err := e.dir.OpenFile(e.name, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		return e.inPlace(f, content, s, now)
	}
	return err
}

// link makes the entry a symlink with this text.
func (e *entry) link(text string, now State) error {
	if err := step("link"); err != nil {
		return err
	}
	temp := tempName()
	if err := e.dir.Symlink(text, temp); err != nil {
		return err
	}
	return e.place(temp, now)
}

// place gives what has a temporary name its own one, in the place of what is there, now.
func (e *entry) place(temp string, now State) error {
	if now.Kind != Absent {
		return e.swap(temp, now)
	}
	if err := e.dir.RenameNew(temp, e.dir, e.name); err != nil {
		_ = e.dir.Remove(temp)
		return err
	}
	return e.sync()
}

// fresh makes a file with the content under a temporary name.
func (e *entry) fresh(content *Content, s *State) (string, error) {
	if err := step("write"); err != nil {
		return "", err
	}
	name := tempName()
	f, err := e.dir.TempFile()
	unnamed := err == nil
	if errors.Is(err, wspath.ErrUnsupported) {
		f, err = e.dir.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	if err = fill(f, content, s); err == nil && unnamed {
		err = e.dir.LinkFile(f, name)
	}
	if err != nil && !unnamed {
		_ = e.dir.Remove(name)
	}
	return name, err
}

// fill writes content, attributes, owner and mode of a file, and brings them to the disk.
func fill(f *os.File, content *Content, s *State) error {
	if !content.wholeFile() || !clone(f, content.f) {
		if _, err := io.Copy(f, io.NewSectionReader(content, 0, s.Size)); err != nil {
			return err
		}
	}
	if err := own(f, *s); err != nil {
		return err
	}
	setAttributes(f, s.Attributes)
	return f.Sync()
}

// swap puts the temporary file in the place of what is there, and looks at what it got for it: if another program was
// faster, that goes back.
func (e *entry) swap(temp string, now State) error {
	if err := step("swap"); err != nil {
		_ = e.dir.Remove(temp)
		return err
	}
	err := e.dir.Exchange(temp, e.name)
	if errors.Is(err, wspath.ErrUnsupported) {
		if err = e.is(e.name, now); err == nil {
			err = e.dir.Rename(temp, e.dir, e.name)
		}
		if err == nil {
			return e.sync()
		}
	}
	if err != nil {
		_ = e.dir.Remove(temp)
		return err
	}
	if err := e.is(temp, now); err != nil {
		if back := e.dir.Exchange(temp, e.name); back != nil {
			return fmt.Errorf("%w, but is %s now: %w", err, temp, back)
		}
		_ = e.dir.Remove(temp)
		return err
	}
	if err := step("swapped"); err != nil {
		return err
	}
	return errors.Join(e.dir.Remove(temp), e.sync())
}

// is makes sure that a name leads to what was seen.
func (e *entry) is(name string, now State) error {
	fi, err := e.dir.Lstat(name)
	if err != nil {
		return err
	}
	if got := stateOf(fi); got.Kind != now.Kind || got.Stamp != now.Stamp || got.Size != now.Size {
		return errChanged
	}
	return nil
}

// inPlace writes into the file itself. If that fails in the middle, the file has a mix of both; the copies of both are
// kept.
func (e *entry) inPlace(f *os.File, content *Content, s *State, now State) error {
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	if got := stateOf(fi); got.Stamp != now.Stamp || got.Size != now.Size {
		return errChanged
	}
	if _, err := io.Copy(f, io.NewSectionReader(content, 0, s.Size)); err != nil {
		return err
	}
	if err := f.Truncate(s.Size); err != nil {
		return err
	}
	return errors.Join(own(f, *s), f.Sync())
}

// remove removes what is there, now. It takes the name away first and looks at what that was.
func (e *entry) remove(now State) error {
	if now.Kind == Absent {
		return nil
	}
	if err := step("remove"); err != nil {
		return err
	}
	temp := tempName()
	if err := e.dir.RenameNew(e.name, e.dir, temp); err != nil {
		return err
	}
	if err := e.is(temp, now); err != nil {
		if back := e.dir.RenameNew(temp, e.dir, e.name); back != nil {
			return fmt.Errorf("%w, but is %s now: %w", err, temp, back)
		}
		return err
	}
	return errors.Join(e.dir.Remove(temp), e.sync())
}

// moveTo moves what is there, now, to a place where nothing is. A file is copied if the two lie on different file systems.
func (e *entry) moveTo(t *jptool.Target, now State) error {
	to, err := entryOf(t)
	if err != nil {
		return err
	}
	defer to.dir.Close()
	if err := step("move"); err != nil {
		return err
	}
	err = e.dir.RenameNew(e.name, to.dir, to.name)
	switch {
	case errors.Is(err, syscall.EXDEV) && now.Kind == File:
		return e.copyTo(to, now)
	case errors.Is(err, syscall.EXDEV):
		return errors.New("the two places lie on different file systems; move it with mv")
	case err != nil:
		return err
	}
	if wrong := to.is(to.name, now); wrong != nil {
		return errors.Join(wrong, to.dir.RenameNew(to.name, e.dir, e.name))
	}
	return errors.Join(to.sync(), e.sync())
}

func (e *entry) copyTo(to *entry, now State) error {
	f, err := e.dir.Open(e.name)
	if err != nil {
		return err
	}
	defer f.Close()
	content := &Content{SectionReader: io.NewSectionReader(f, 0, now.Size), f: f}
	if err := to.write(content, &now, State{Kind: Absent}); err != nil {
		return err
	}
	return e.remove(now)
}

func (e *entry) mkdir(s *State) error {
	if err := step("mkdir"); err != nil {
		return err
	}
	if err := e.dir.Mkdir(e.name, 0o700); err != nil {
		return err
	}
	f, err := e.dir.OpenDirFile(e.name)
	if err != nil {
		return err
	}
	defer f.Close()
	return errors.Join(own(f, *s), e.sync())
}

// rmdir leaves a directory in which there is something.
func (e *entry) rmdir() error {
	if err := step("rmdir"); err != nil {
		return err
	}
	err := e.dir.RemoveDir(e.name)
	if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, fs.ErrExist) {
		return nil
	}
	return errors.Join(err, e.sync())
}

// sync makes renames durable, where directories can be opened for that.
func (e *entry) sync() error {
	f, err := e.dir.OpenDirFile("")
	if err != nil {
		return nil // a directory that may not be listed can still be changed
	}
	defer f.Close()
	_ = f.Sync()
	return nil
}
