package safewrite

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
)

// Stage prepares the new content: it is on the disk beside the old one, without a name,
// or, for writing in place, room for it is allocated and the old content copied to the directory for
// temporary files. Nothing of it can be seen yet. The caller must not change the bytes until Close.
func (f *File) Stage(content []byte) error {
	f.want = content
	return f.stage()
}

// stage prepares want or splice.
func (f *File) stage() error {
	if f.readOnly || f.state != locked {
		return errors.New("safewrite: Stage of a File that is held, staged or closed")
	}
	err := f.stageTemp()
	if errors.Is(err, errKeep) {
		f.dropTemp()
		err = f.stageInPlace()
	}
	if err != nil {
		f.unstage()
		return fail(f.t, err)
	}
	f.state = staged
	return nil
}

// errKeep: the file itself has to stay, so it is written in place.
var errKeep = errors.New("the file cannot be replaced by another one")

// stageTemp writes the file that is to take the place, or returns errKeep.
func (f *File) stageTemp() error {
	if f.parent == nil || !f.t.Granted().Has(jptool.Create|jptool.Update|jptool.Delete) || !mayTemp(f.parent) {
		return errKeep
	}
	sweep(f.dir, f.parent)
	old, err := stampOf(f.f)
	if err != nil {
		return err
	}
	tmp, err := newTemp(f.dir, old.id())
	if refused(err) {
		return errKeep
	}
	if err != nil {
		return err
	}
	f.temp = tmp
	kept, err := keepMeta(f.f, tmp.f)
	if err != nil {
		return err
	}
	if !kept {
		return errKeep
	}
	return f.fill(tmp)
}

// refused reports whether the system does not let entries of the directory change,
// so that writing in place is what is left.
func refused(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EBUSY) ||
		errors.Is(err, syscall.EXDEV) || errors.Is(err, wspath.ErrUnsupported)
}

// Commit puts the staged content into place, after making sure that the file is still
// what was read (else CodeStale). When it returns an error the old content is
// there; when even that could not be achieved, the error says where a copy is.
func (f *File) Commit() (Method, error) {
	if f.state != staged {
		return "", errors.New("safewrite: Commit without Stage")
	}
	if err := f.Unchanged(); err != nil {
		return "", err
	}
	if f.temp != nil {
		err := f.swap()
		if err == nil {
			f.state = committed
			return Replaced, nil
		}
		if !refused(err) {
			return "", fail(f.t, err)
		}
		f.dropTemp()
		if err := f.stageInPlace(); err != nil {
			return "", fail(f.t, err)
		}
	}
	if err := f.overwrite(); err != nil {
		return "", fail(f.t, err)
	}
	f.state = committed
	return InPlace, nil
}

// rename is swap for file systems that cannot exchange entries. The old file loses its name, and so does
// a file that another process put there after the comparison.
func (f *File) rename() error {
	if err := f.dir.Rename(f.temp.name, f.dir, f.name); err != nil {
		return err
	}
	f.temp.name = ""
	if err := step("renamed"); err != nil {
		return err
	}
	if err := f.unchangedSince(); err != nil {
		if back := f.rewrite(); back != nil {
			return failed(f.t, err, "what they wrote could not be put back: %v", back)
		}
		return err
	}
	return syncDir(f.dir, f.temp.f)
}

// Rollback puts the old content back after Commit, for a call that changes several
// files or none. It fails with CodeStale if another process has replaced the new file.
func (f *File) Rollback() error {
	if f.state != committed {
		return errors.New("safewrite: Rollback without Commit")
	}
	err := f.rollback()
	if err == nil {
		f.state = locked
		f.unstage()
	}
	return fail(f.t, err)
}

func (f *File) rollback() error {
	if f.temp == nil {
		return f.restore()
	}
	if !is(f.dir, f.name, f.temp.f) {
		return f.stale()
	}
	if f.old == "" {
		return f.rewrite()
	}
	if note := f.swapBack(); note != "" {
		return jptool.Errorf(jptool.CodeStale, "somebody else changed %s meanwhile: %s", jptool.Quote(f.t.Path()), note)
	}
	return syncDir(f.dir, f.f)
}

// rewrite makes a new file of the old content, which only the open descriptor has left.
func (f *File) rewrite() error {
	if !f.readable {
		return f.t.Require(jptool.Read)
	}
	tmp, err := newTemp(f.dir, 0)
	if err != nil {
		return err
	}
	defer tmp.discard()
	if _, err := keepMeta(f.f, tmp.f); err != nil {
		return err
	}
	if err := tmp.write(io.NewSectionReader(f.f, 0, 1<<62)); err != nil {
		return err
	}
	if err := tmp.link(); err != nil {
		return err
	}
	return tmp.become(f.name)
}

func (f *File) dropTemp() {
	if f.temp != nil {
		f.temp.discard()
		f.temp = nil
	}
}

// unstage drops what was prepared and not committed.
func (f *File) unstage() {
	f.dropTemp()
	if f.grown {
		// The room behind the end goes; the size is what it was.
		if fi, err := f.f.Stat(); err == nil {
			_ = f.f.Truncate(fi.Size())
		}
		f.grown = false
	}
	f.backup.remove()
	f.backup = nil
	f.want, f.splice = nil, nil
	if f.state == staged {
		f.state = locked
	}
}

// Close gives up what was not committed, removes what was kept for Rollback, and
// unlocks. Calling it again does nothing.
func (f *File) Close() error {
	if f.state == closed {
		return nil
	}
	if f.state == committed {
		f.grown = false // it is content now
	}
	if f.old != "" && is(f.dir, f.old, f.f) {
		_ = f.dir.Remove(f.old) // else the next sweep does
		_ = step("old removed")
	}
	f.unstage()
	f.state = closed
	return errors.Join(f.f.Close(), f.dir.Close())
}

// swap exchanges old and new in one step, so that the old file can be put back. Afterwards it
// looks at what it took away: if another program replaced or changed the old file before that step, its version goes
// back.
func (f *File) swap() error {
	if err := f.temp.link(); err != nil {
		return err
	}
	var err error
	if f.temp.done, err = stampOf(f.temp.f); err != nil {
		return err
	}
	err = exchange(f.dir, f.temp.name, f.name)
	if errors.Is(err, wspath.ErrUnsupported) {
		return f.rename()
	}
	if errors.Is(err, fs.ErrNotExist) {
		return f.stale()
	}
	if err != nil {
		return err
	}
	f.old, f.temp.name = f.temp.name, ""
	if err := step("exchanged"); err != nil {
		return f.undo(err)
	}
	if !is(f.dir, f.old, f.f) {
		return f.undo(f.stale())
	}
	if err := f.unchangedSince(); err != nil {
		return f.undo(err)
	}
	if err := syncDir(f.dir, f.temp.f); err != nil {
		return f.undo(err)
	}
	return step("directory synced")
}

// undo swaps back because of err, and returns why.
func (f *File) undo(err error) error {
	note := f.swapBack()
	_ = syncDir(f.dir, f.temp.f)
	if note == "" {
		return err
	}
	path := jptool.Quote(f.t.Path())
	if jptool.CodeOf(err) == jptool.CodeStale {
		return jptool.Errorf(jptool.CodeStale, "somebody else changed %s more than once while it was being replaced: %s; look at what is there and decide anew", path, note)
	}
	return jptool.Errorf(jptool.CodeStale, "%s could not be replaced (%v), and somebody else changed it meanwhile: %s; look at what is there and decide anew", path, err, note)
}

// swapBack exchanges once more. Somebody else may act at any moment, so it looks before
// and after. Nothing of theirs is removed: what cannot be put back gets a name that can be
// seen. The note says what was done then, and is empty when all is as it was.
func (f *File) swapBack() (note string) {
	taken := f.old
	f.old = "" // or Close would remove it
	_ = step("to swap back")
	if !is(f.dir, f.name, f.temp.f) {
		return f.giveBack(taken)
	}
	_ = step("looked before swapping back")
	if err := exchange(f.dir, taken, f.name); err != nil {
		return f.giveBack(taken)
	}
	now, err := stampOf(f.temp.f)
	if err == nil && now.sameContent(f.temp.done) && is(f.dir, taken, f.temp.f) {
		f.temp.name = taken
		return ""
	}
	return "what was there before is back, and what they put there is now called " + f.save(taken)
}

// giveBack is swapBack where the new file is not at its name any more.
func (f *File) giveBack(taken string) string {
	elsewhere := ""
	if linked(f.temp.f) && !is(f.dir, f.name, f.temp.f) {
		elsewhere = "; the new content went where they moved it"
	}
	if f.dir.RenameNew(taken, f.dir, f.name) == nil {
		return "it was moved or removed, and what was there before is back" + elsewhere
	}
	return "what was there before is now called " + f.save(taken) + elsewhere
}

// save gives what has a temporary's name one that can be seen, and returns it.
func (f *File) save(name string) string {
	as := savedName(f.name)
	if err := f.dir.RenameNew(name, f.dir, as); err != nil {
		return fmt.Sprintf("%s (it could not be renamed: %v)", jptool.Quote(f.parent.Child(name).Path()), err)
	}
	return jptool.Quote(f.parent.Child(as).Path())
}
