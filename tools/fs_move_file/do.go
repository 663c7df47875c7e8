package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/tools/fskit"
	"github.com/jptools/jptools/tools/fskit/safewrite"
)

// do makes the parents and moves.
func (m *move) do(ctx context.Context) (jptool.Outcome, error) {
	made, err := safewrite.MakeParents(m.target)
	if err != nil {
		return jptool.Outcome{}, err
	}
	safewrite.Sweep(m.target.Parent())
	method, err := "rename", m.rename()
	if errors.Is(err, errCopy) {
		method, err = "copy", m.copy(ctx, err)
	}
	if err != nil {
		if left := safewrite.RemoveMade(made); len(left) > 0 {
			err = jptool.Errorf(jptool.CodeOf(err), "%w (the directory %s was made and is still there)", err, jptool.Quote(left[0].Path()))
		}
		return jptool.Outcome{}, err
	}
	safewrite.Sweep(m.source.Parent())
	res := result{
		Source: m.source.Path(), Target: m.target.Path(), Kind: m.kind, Method: method, Overwritten: m.onto != nil,
		ParentsMade: fskit.Paths(made), RemovedParents: []string{},
	}
	text := fmt.Sprintf("Moved %s %s to %s.", m.kind, jptool.Quote(res.Source), jptool.Quote(res.Target))
	if res.Overwritten {
		text += " The target was overwritten."
	}
	if len(made) > 0 {
		text += fmt.Sprintf(" Directories made: %s.", fskit.Quoted(res.ParentsMade))
	}
	if parent, ok := safewrite.RemoveEmptyParent(m.source); ok {
		res.RemovedParents = append(res.RemovedParents, parent.Path())
		text += fmt.Sprintf(" Removed the empty parent directory %s.", jptool.Quote(parent.Path()))
	}
	return jptool.Outcome{Content: text, Data: res}, nil
}

// errCopy wraps the reason for which the system does not rename, so that copying is left.
var errCopy = errors.New("it cannot be renamed")

// renameEntry is the system's rename; tests replace it to have the reasons for copying.
var renameEntry = func(source, target *jptool.Target, over bool) error {
	from, path, err := source.Base()
	if err != nil {
		return err
	}
	to, newPath, err := target.Base()
	if err != nil {
		return err
	}
	if over {
		return from.Rename(path, to, newPath)
	}
	return from.RenameNew(path, to, newPath)
}

// rename moves the entry in one step, or returns an error that wraps errCopy.
func (m *move) rename() error {
	if err := m.unchanged(); err != nil {
		return err
	}
	if m.sameFile() {
		// Two names of one file: renaming one to the other is defined to do nothing.
		return removeEntry(m.source, false)
	}
	if m.inPlace() {
		return errCopy
	}
	err := renameEntry(m.source, m.target, m.onto != nil)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EXDEV), errors.Is(err, fs.ErrPermission):
		// Another file system or mount; or the kernel's rules for moving, which are
		// stricter than those for making and removing.
		return fmt.Errorf("%w: %w", errCopy, err)
	case errors.Is(err, fs.ErrExist):
		return m.target.Fail(err)
	}
	return m.source.Fail(err)
}

// sameFile reports whether source and target are names of one file.
func (m *move) sameFile() bool {
	return m.onto != nil && m.kind == "file" && os.SameFile(m.from, m.onto)
}

// unchanged makes sure that both ends are still what was looked at and asked about.
func (m *move) unchanged() error {
	for _, end := range []struct {
		t    *jptool.Target
		seen fs.FileInfo
		held *safewrite.File
	}{{m.source, m.from, m.heldSource}, {m.target, m.onto, m.heldTarget}} {
		if end.seen == nil {
			continue
		}
		now, err := end.t.Lstat()
		if err != nil {
			return err
		}
		if !os.SameFile(now, end.seen) {
			return jptool.Errorf(jptool.CodeStale, "%s was replaced by somebody else meanwhile; nothing was moved", jptool.Quote(end.t.Path()))
		}
		if end.held != nil {
			if err := end.held.Unchanged(); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeEntry removes what is at t: a directory if it is one and empty, else a file or a link.
func removeEntry(t *jptool.Target, isDir bool) error {
	parent, path, err := t.Base()
	switch {
	case err != nil:
		return err
	case isDir:
		return t.Fail(parent.RemoveDir(path))
	}
	return t.Fail(parent.Remove(path))
}
