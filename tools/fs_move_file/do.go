package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
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
		ParentsMade: fskit.Paths(made),
	}
	text := fmt.Sprintf("Moved %s %s to %s.", m.kind, jptool.Quote(res.Source), jptool.Quote(res.Target))
	if res.Overwritten {
		text += " The target was overwritten."
	}
	if len(made) > 0 {
		text += fmt.Sprintf(" Directories made: %s.", fskit.Quoted(res.ParentsMade))
	}
	res.RemovedParents = fskit.Paths(safewrite.RemoveEmptyParents(m.source))
	text += fskit.Emptied(res.RemovedParents)
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
	if isDir {
		return t.RemoveDir()
	}
	return t.Remove()
}

// entry is one of the entries to copy, with what it was when it was found.
type entry struct {
	source, target *jptool.Target
	fi             fs.FileInfo
}

// copy moves by copying everything, bringing it to the disk, and only then removing the
// source. Modes, times, extended attributes and symlinks are kept, and owners where that is permitted;
// hard links become files of their own. When it fails before the removal has begun, the
// source is whole and the copy is removed as far as `delete` is granted on it. A
// process killed in the middle leaves the source whole and a part of the copy.
func (m *move) copy(ctx context.Context, why error) error {
	if err := m.source.Require(jptool.Read); err != nil {
		if !errors.Is(why, fs.ErrPermission) {
			return err
		}
		return m.source.Fail(why) // what the system refused, not what could be tried next
	}
	list, err := m.scan(ctx, nil, m.source, m.target, m.from)
	if err != nil {
		return err
	}
	if err := m.copyAll(ctx, list); err != nil {
		return err
	}
	if n, err := m.removeSource(list); err != nil {
		if n > 0 || m.onto != nil {
			return jptool.Errorf(jptool.CodeOf(err), "%s was copied to %s, all of it, but the source could not be removed completely: %w", jptool.Quote(m.source.Path()), jptool.Quote(m.target.Path()), err)
		}
		return m.undo(list, err)
	}
	return nil
}

const (
	// maxCopied bounds the entries of a copy, which are known all at once.
	maxCopied = 500_000
	// maxInPlace is how large a file may be that is written into another one.
	maxInPlace = 1 << 30
)

func (m *move) noTime(state string) error {
	path := jptool.Quote(m.source.Path())
	return jptool.Errorf(jptool.CodeDeadline, "there was no time left to copy %s; %s", path, state)
}

// scan lists the tree at source, each directory before what is in it, and refuses what
// cannot be copied or may not be, before anything is.
func (m *move) scan(ctx context.Context, list []entry, source, target *jptool.Target, fi fs.FileInfo) ([]entry, error) {
	if ctx.Err() != nil {
		return nil, m.noTime("nothing was moved")
	}
	if err := source.Require(jptool.Read | jptool.Delete); err != nil {
		return nil, err
	}
	if m.onto == nil {
		if err := target.Require(jptool.Create); err != nil {
			return nil, err
		}
	}
	mode := fi.Mode()
	if !mode.IsRegular() && !mode.IsDir() && mode&fs.ModeSymlink == 0 {
		return nil, jptool.Errorf(jptool.CodeWrongType, "%s is a FIFO, socket or device, which cannot be copied to another file system; nothing was moved", jptool.Quote(source.Path()))
	}
	if len(list) == maxCopied {
		return nil, jptool.Errorf(jptool.CodeTooLarge, "%s cannot be renamed, and holds more than the %d entries that are copied in one call; nothing was moved. Move its parts one by one", jptool.Quote(m.source.Path()), maxCopied)
	}
	list = append(list, entry{source, target, fi})
	if !mode.IsDir() {
		return list, nil
	}
	names, err := source.Names()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		child := source.Child(name)
		fi, err := child.Lstat()
		if err != nil {
			return nil, err
		}
		if list, err = m.scan(ctx, list, child, target.Child(name), fi); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// copyAll makes the copy, or removes what it made.
func (m *move) copyAll(ctx context.Context, list []entry) error {
	m.Progress.Of("entries copied")
	for i, e := range list {
		if ctx.Err() != nil {
			return m.undo(list[:i], m.noTime("the source is as it was"))
		}
		if err := m.copyEntry(ctx, e); err != nil {
			return m.undo(list[:i], err)
		}
		m.Progress.Add(1)
	}
	// What is in a directory changes its times, and its mode may forbid making anything in it:
	// attributes go last, innermost first.
	for _, e := range slices.Backward(list) {
		if e.fi.IsDir() {
			if err := copyDirAttributes(e); err != nil {
				return m.undo(list, err)
			}
		}
	}
	if m.from.IsDir() {
		if err := safewrite.SyncAll(m.target.Parent()); err != nil {
			return m.undo(list, err)
		}
	}
	return nil
}

func (m *move) copyEntry(ctx context.Context, e entry) error {
	switch {
	case e.fi.IsDir():
		return e.target.Mkdir(0o700)
	case e.fi.Mode()&fs.ModeSymlink != 0:
		text, err := e.source.Readlink()
		if err != nil {
			return err
		}
		if m.onto != nil {
			if err := removeEntry(e.target, false); err != nil {
				return err
			}
		}
		return e.target.Symlink(text)
	}
	f, err := e.source.Open()
	if err != nil {
		return err
	}
	defer f.Close()
	if m.onto != nil {
		err = m.copyOver(ctx, e.target, f)
	} else {
		err = safewrite.Copy(ctx, e.target, f, m.from.IsDir())
	}
	if err != nil {
		return err
	}
	now, err := f.Stat()
	if err != nil {
		return e.source.Fail(err)
	}
	if same(e.fi, now) {
		return nil
	}
	if m.onto == nil && e.target.Require(jptool.Delete) == nil {
		_ = removeEntry(e.target, false)
	}
	return changed(e.source)
}

// copyOver puts the content of f into the existing file at t: as a new file where one may
// take its place, else into the file itself.
func (m *move) copyOver(ctx context.Context, t *jptool.Target, f *os.File) error {
	if !m.inPlace() {
		err := safewrite.CopyOver(ctx, t, f, m.unchanged)
		if jptool.CodeOf(err) != jptool.CodeAccessDenied && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	if m.heldTarget != nil { // its lock would keep out our own
		m.heldTarget.Close()
		m.heldTarget = nil
	}
	content, err := io.ReadAll(io.LimitReader(f, maxInPlace+1))
	switch {
	case ctx.Err() != nil:
		return m.noTime("nothing was moved")
	case err != nil:
		return m.source.Fail(err)
	case len(content) > maxInPlace:
		return jptool.Errorf(jptool.CodeTooLarge, "%s has more than %d MiB, too much to be written into %s, which can only be updated in place", jptool.Quote(m.source.Path()), maxInPlace>>20, jptool.Quote(m.target.Path()))
	}
	over, err := safewrite.Lock(ctx, t)
	if err != nil {
		return err
	}
	defer over.Close()
	if err := over.Stage(content); err != nil {
		return err
	}
	_, err = over.Commit()
	return err
}

// same reports whether a file is as it was. Unlike content, times can be looked at for
// each of many files; if they deceive, it is a file that changed while it was moved.
func same(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Mode().Type() == b.Mode().Type() &&
		(!a.Mode().IsRegular() || a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()))
}

func changed(t *jptool.Target) error {
	return jptool.Errorf(jptool.CodeStale, "%s was changed by somebody else while it was copied", jptool.Quote(t.Path()))
}

func copyDirAttributes(e entry) error {
	from, err := e.source.OpenDir()
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := e.target.OpenDir()
	if err != nil {
		return err
	}
	defer to.Close()
	return e.target.Fail(safewrite.CopyAttributes(from, to))
}

// removeSource removes what was copied, innermost first, and nothing else: what changed
// or appeared meanwhile stops it. n is how many entries went.
func (m *move) removeSource(list []entry) (n int, err error) {
	for _, e := range list {
		now, err := e.source.Lstat()
		if err != nil {
			return 0, err
		}
		if !same(e.fi, now) {
			return 0, changed(e.source)
		}
	}
	for _, e := range slices.Backward(list) {
		if err := removeEntry(e.source, e.fi.IsDir()); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// undo removes the copy because of err, and returns err with what is left of it. What
// was overwritten is not brought back: the user let it go.
func (m *move) undo(list []entry, err error) error {
	if m.onto != nil {
		return err
	}
	for _, e := range list {
		if e.fi.IsDir() { // its mode may forbid to remove what is in it
			if d, openErr := e.target.OpenDir(); openErr == nil {
				_ = d.Chmod(0o700)
				d.Close()
			}
		}
	}
	for _, e := range slices.Backward(list) {
		failed := e.target.Require(jptool.Delete)
		if failed == nil {
			failed = removeEntry(e.target, e.fi.IsDir())
		}
		if failed != nil && !errors.Is(failed, fs.ErrNotExist) {
			return jptool.Errorf(jptool.CodeOf(err), "%w (the source is as it was; a part of the copy is left at %s)", err, jptool.Quote(e.target.Path()))
		}
	}
	return err
}
