package safewrite

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
)

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
	var err error
	for range maxNames {
		as := savedName(f.name)
		err = f.dir.RenameNew(name, f.dir, as)
		if err == nil {
			return jptool.Quote(f.parent.Child(as).Path())
		}
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return fmt.Sprintf("%s (it could not be renamed: %v)", jptool.Quote(f.parent.Child(name).Path()), err)
}
