package safewrite

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
)

// Create makes a new file at t with all of content, or nothing: never over an existing
// entry, a symlink included (CodeAlreadyExists). t must grant create, and its parent exist. perm is
// less the umask, as in os.OpenFile.
//
// Where t grants create but not update and the launcher handed down an unnamed file
// for it ([jptool.Target.StagedFile]), that one is filled and given the name: a sandbox lets no other
// new file be written there. On file systems without unnamed files and without update and delete
// on the directory, a process killed in the middle leaves a part of the file.
func Create(t *jptool.Target, content []byte, perm fs.FileMode) error {
	return (&newFile{content: content, perm: perm}).create(t)
}

// Copy makes a new file at t with the content of from and its attributes, see
// [CopyAttributes]; otherwise it is Create, but it sweeps nothing. When ctx ends before all is read it
// fails with CodeDeadline. With lazy it does not wait for the disk: [SyncAll] does, once
// for many files.
func Copy(ctx context.Context, t *jptool.Target, from *os.File, lazy bool) error {
	n, err := copyOf(ctx, t, from, lazy)
	if err != nil {
		return err
	}
	return n.create(t)
}

// CopyOver is Copy onto an existing file or symlink, which is replaced in one step. It
// takes no lock, and is for callers that hold one. Right before that step it calls still, which returns an
// error unless the file to be replaced is the one that the caller looked at. t and its directory must grant create,
// update and delete.
func CopyOver(ctx context.Context, t *jptool.Target, from *os.File, still func() error) error {
	n, err := copyOf(ctx, t, from, false)
	if err != nil {
		return err
	}
	if n.place, err = find(t, jptool.Create|jptool.Update|jptool.Delete); err != nil {
		return err
	}
	defer n.dir.Close()
	tmp, err := newTemp(n.dir, 0)
	if err != nil {
		return t.Fail(err)
	}
	defer tmp.discard()
	if err := n.pour(tmp); err != nil {
		return fail(t, err)
	}
	if err := tmp.link(); err != nil {
		return t.Fail(err)
	}
	if err := still(); err != nil {
		return err
	}
	return t.Fail(tmp.become(n.name))
}

func copyOf(ctx context.Context, t *jptool.Target, from *os.File, lazy bool) (*newFile, error) {
	fi, err := from.Stat()
	if err != nil {
		return nil, t.Fail(err)
	}
	return &newFile{ctx: ctx, like: from, perm: fi.Mode().Perm(), lazy: lazy && syncsFileSystem}, nil
}

// CopyAttributes gives a file or directory the owner, mode, times and extended
// attributes of another one, as far as that is permitted: what cannot be given is left out.
// Set-user-ID bits and file capabilities go only with the owner.
func CopyAttributes(from, to *os.File) error { return wspath.Bare(copyMeta(from, to)) }

// SyncAll brings everything that was copied to the file system of the directory at t to
// the disk.
func SyncAll(t *jptool.Target) error {
	d, err := t.OpenDir()
	if err != nil {
		return err
	}
	defer d.Close()
	return t.Fail(syncFileSystem(d))
}

// newFile is a file about to be made, and what it is made of.
type newFile struct {
	place
	content []byte
	like    *os.File // if not nil, its content and attributes, read as long as ctx allows
	ctx     context.Context
	perm    fs.FileMode
	lazy    bool // do not wait for the disk
}

// pour fills tmp.
func (n *newFile) pour(tmp *temp) error {
	if n.like == nil {
		return tmp.writeBytes(n.content)
	}
	if _, err := n.like.Seek(0, io.SeekStart); err != nil {
		return err
	}
	tmp.lazy = n.lazy
	if err := tmp.write(until(n.ctx, n.t, n.like)); err != nil {
		return err
	}
	// After the content: writing changes times, and takes attributes away.
	if err := copyMeta(n.like, tmp.f); err != nil || n.lazy {
		return err
	}
	return tmp.f.Sync()
}

func (n *newFile) create(t *jptool.Target) (err error) {
	if n.place, err = find(t, jptool.Create); err != nil {
		return err
	}
	defer n.dir.Close()
	if n.like == nil {
		sweep(n.dir, n.parent)
	}
	// Not worth writing it all first, and a clear answer where writing is refused.
	if _, err := n.dir.Lstat(n.name); err == nil {
		return t.Fail(fs.ErrExist)
	}
	if !t.Granted().Has(jptool.Update) {
		if fd, ok := t.StagedFile(); ok {
			return n.staged(fd)
		}
	}
	return n.unnamed()
}

// unnamed fills a file without a name and gives it one at the end.
func (n *newFile) unnamed() error {
	f, err := unnamedFile(n.dir)
	if errors.Is(err, wspath.ErrUnsupported) {
		return n.named()
	}
	if errors.Is(err, fs.ErrPermission) && !n.t.Granted().Has(jptool.Update) {
		return failed(n.t, err, "where only create is granted a sandbox lets a file be filled only if the launcher opened it, which it did not")
	}
	if err != nil {
		return n.t.Fail(err)
	}
	defer f.Close()
	// The umask has taken something from 0666. It cannot be read without changing it for the whole process.
	fi, err := f.Stat()
	if err != nil {
		return n.t.Fail(err)
	}
	have := fi.Mode().Perm()
	if err := f.Chmod(n.perm.Perm() & (have | have&0o444>>2)); err != nil {
		return n.t.Fail(err)
	}
	if err := n.finish(f); !errors.Is(err, errNoProc) {
		return fail(n.t, err)
	}
	return n.named()
}

// errNoProc: a file without a name cannot get one, because /proc is missing.
var errNoProc = errors.New("/proc is not mounted")

// finish fills a file without a name and gives it its final one.
func (n *newFile) finish(f *os.File) error {
	tmp := &temp{f: f, dir: n.dir}
	if err := n.pour(tmp); err != nil {
		return err
	}
	err := n.dir.LinkFile(tmp.f, n.name)
	if errors.Is(err, fs.ErrNotExist) {
		return errNoProc // or the directory is gone; then the other way fails too
	}
	if err != nil {
		return err
	}
	if err := step("file named"); err != nil {
		return err
	}
	return tmp.syncDir()
}

// staged fills the file that the launcher opened.
func (n *newFile) staged(fd int) error {
	f, err := stagedFile(fd)
	if err != nil {
		return jptool.Errorf(jptool.CodeInvalidRequest, "access.staged: descriptor %d is not an empty file without a name; each serves for one new file", fd)
	}
	defer f.Close()
	return fail(n.t, n.finish(f))
}

// named is for file systems without unnamed files.
func (n *newFile) named() error {
	if mayTemp(n.parent) {
		tmp, err := namedTemp(n.dir, 0, n.perm)
		if err != nil {
			return n.t.Fail(err)
		}
		defer tmp.discard()
		if err := n.pour(tmp); err != nil {
			return fail(n.t, err)
		}
		if err := n.dir.RenameNew(tmp.name, n.dir, n.name); err != nil {
			return n.t.Fail(err)
		}
		tmp.name = ""
		return n.t.Fail(tmp.syncDir())
	}
	f, err := n.dir.OpenFile(n.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, n.perm)
	if err != nil {
		return n.t.Fail(err)
	}
	tmp := &temp{f: f, dir: n.dir}
	if err = n.pour(tmp); err == nil {
		defer f.Close()
		return n.t.Fail(tmp.syncDir())
	}
	if n.t.Granted().Has(jptool.Delete) {
		tmp.name = n.name
		tmp.discard()
		return fail(n.t, err)
	}
	f.Close()
	return failed(n.t, err, "an incomplete file was left there, because delete is not granted")
}

// mayTemp reports whether a temporary may be made in a directory and renamed. A pin on
// the directory itself does not matter for what is in it.
func mayTemp(dir *jptool.Target) bool {
	return tempIn(dir).Granted().Has(jptool.Create | jptool.Update | jptool.Delete)
}

// MakeParents makes the missing directories above t, outermost first, and returns them.
// `create` is checked on each before the first is made. After an error none of them is
// left, as far as `delete` is granted on them.
func MakeParents(t *jptool.Target) (made []*jptool.Target, err error) {
	missing, err := MissingParents(t)
	if err != nil {
		return nil, err
	}
	for _, p := range missing {
		err := p.Mkdir(0o777)
		if errors.Is(err, fs.ErrExist) {
			// Another call was faster; what it made is not ours to remove. Whether
			// it is a directory shows when something is made in it.
			continue
		}
		if err == nil {
			made = append(made, p)
			err = step("directory made")
		}
		if err != nil {
			RemoveMade(made)
			return nil, p.Fail(err)
		}
	}
	return made, nil
}

// MissingParents returns the directories that MakeParents would make, outermost first,
// or why it could not; it changes nothing.
func MissingParents(t *jptool.Target) ([]*jptool.Target, error) {
	var missing []*jptool.Target
	for p := t; !p.IsRoot(); {
		p = p.Parent()
		if p.IsRoot() {
			break
		}
		fi, err := p.Lstat()
		if err == nil {
			if !fi.IsDir() {
				return nil, jptool.Errorf(jptool.CodeWrongType, "%s is not a directory, so that nothing can be made in it", jptool.Quote(p.Path()))
			}
			break
		}
		if jptool.CodeOf(err) == jptool.CodeWrongType {
			continue // something further up is not a directory
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if err := p.Require(jptool.Create); err != nil {
			return nil, err
		}
		missing = append(missing, p)
	}
	slices.Reverse(missing)
	return missing, nil
}

// RemoveMade removes directories that MakeParents made, if they are still empty, and
// returns those that are left; `delete` must be granted on each.
func RemoveMade(made []*jptool.Target) (left []*jptool.Target) {
	for i, p := range slices.Backward(made) {
		if p.Require(jptool.Delete) != nil || p.RemoveDir() != nil {
			return made[:i+1]
		}
	}
	return nil
}

// RemoveEmptyParents removes the directory that held t if it is empty now and `delete` is granted on it, then the one
// that held that, and so on, and returns those that are gone, the innermost first. It never removes the root, the
// target of a mount or a pinned directory. Nor does it remove a directory that has a rule on it or below it: removing
// it would reveal that nothing withheld is left in it, and a rule on a missing entry may have been written by way of a
// link, which would then lead nowhere.
func RemoveEmptyParents(t *jptool.Target) (removed []*jptool.Target) {
	for p := t.Parent(); !p.IsRoot() && !p.HasRule() && !p.Cursor().Leads() && p.Granted().Has(jptool.Delete); p = p.Parent() {
		if p.RemoveDir() != nil {
			break
		}
		removed = append(removed, p)
	}
	return removed
}
