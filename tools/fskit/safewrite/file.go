package safewrite

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/tools/fskit"
)

// Method says how content was replaced, in the words for results.
type Method string

// The two methods.
const (
	Replaced Method = "replaced" // by a new file under the same name
	InPlace  Method = "in place" // the same file, written over
)

// File is an existing regular file, locked for being edited. It is not safe for concurrent use.
type File struct {
	place
	ctx context.Context // bounds all reading but that which puts things back
	f   *os.File        // holds the lock
	// readable and writable say how f is open. It is not readable without the grant,
	// and not writable while a process executes the file.
	readable, writable bool
	readOnly           bool // by Hold: never written

	// seen is the digest of what was read, "" if nothing was; content is the bytes, if they are kept.
	seen    string
	content []byte
	known   bool
	// asked is what Version took in place of a digest.
	asked *stamp
	// compared is the stamp of the file when Unchanged last found that it has the content that was read; quiet
	// says that any later write changes the stamp.
	compared stamp
	quiet    bool

	state  state
	want   []byte  // what Stage was given
	splice *splice // what StageSplice was given
	// splicedDigest is of the content that a splice gives.
	splicedDigest string
	temp          *temp // the new file, when replacing
	backup        *backup
	grown         bool   // room was allocated behind the end
	old           string // name under which the replaced file waits for Rollback, or ""
}

// place is where a file is, or will be.
type place struct {
	t      *jptool.Target
	parent *jptool.Target // nil for a root: no entry of it may be touched
	dir    *wspath.Dir    // the directory that t is in, kept open
	name   string
}

type state uint8

const (
	locked state = iota
	staged
	committed
	closed
)

// Lock opens the regular file at t and locks it against other calls that lock. t must
// grant update. It waits for the lock as long as ctx allows and at most ten seconds; then
// the error has CodeBusy and is transient. The caller must Close the File. When ctx ends
// later, everything that still has to read the file fails with CodeDeadline, and nothing is
// written; Rollback and Close still work.
//
// The lock is advisory: programs that do not ask for it are not stopped.
func Lock(ctx context.Context, t *jptool.Target) (*File, error) {
	return one(LockAll(ctx, []*jptool.Target{t}))
}

// Hold is [Lock] for a file whose entry is to be deleted or moved: it needs `read` instead of
// update, and the File can be read and compared but not written.
func Hold(ctx context.Context, t *jptool.Target) (*File, error) {
	return one(all(ctx, []*jptool.Target{t}, openToHold))
}

func one(files []*File, err error) (*File, error) {
	if err != nil {
		return nil, err
	}
	return files[0], nil
}

// open opens without locking.
func open(t *jptool.Target) (*File, error) {
	if err := t.Require(jptool.Update); err != nil {
		return nil, err
	}
	p, err := find(t)
	if err != nil {
		return nil, err
	}
	f := &File{place: p, writable: true}
	flag := os.O_WRONLY
	if t.Granted().Has(jptool.Read) {
		flag, f.readable = os.O_RDWR, true
	}
	f.f, err = f.dir.OpenFile(f.name, flag, 0)
	if errors.Is(err, syscall.ETXTBSY) && f.readable {
		// It may be written, but is running: it can still be replaced.
		f.writable = false
		f.f, err = f.dir.OpenFile(f.name, os.O_RDONLY, 0)
	}
	if err != nil {
		f.dir.Close()
		return nil, t.Fail(err)
	}
	return f, nil
}

func openToHold(t *jptool.Target) (*File, error) {
	if err := t.Require(jptool.Read); err != nil {
		return nil, err
	}
	p, err := find(t)
	if err != nil {
		return nil, err
	}
	f := &File{place: p, readOnly: true, readable: true}
	if f.f, err = f.dir.OpenFile(f.name, os.O_RDONLY, 0); err != nil {
		f.dir.Close()
		return nil, t.Fail(err)
	}
	return f, nil
}

// find holds the directory that t is in. The caller must close it.
func find(t *jptool.Target) (place, error) {
	base, path, err := t.Base()
	if err != nil {
		return place{}, err
	}
	dir, err := base.Sub(wspath.ParentOf(path))
	if err != nil {
		return place{}, t.Fail(err)
	}
	p := place{t: t, dir: dir, name: nameOf(path)}
	if !t.IsRoot() {
		p.parent = t.Parent()
	}
	return p, nil
}

// stillThere reports whether the path still leads to the locked file.
func (f *File) stillThere() (bool, error) {
	now, err := f.t.Lstat()
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	mine, err := f.f.Stat()
	if err != nil {
		return false, f.t.Fail(err)
	}
	return os.SameFile(now, mine), nil
}

// Target returns the target that was locked.
func (f *File) Target() *jptool.Target { return f.t }

// Stat describes the locked file.
func (f *File) Stat() (fs.FileInfo, error) {
	fi, err := f.f.Stat()
	return fi, f.t.Fail(err)
}

// maxContent bounds what is held in memory, or copied to the directory for temporary files.
const maxContent = 1 << 30

func (f *File) tooLarge(size int64, what string) error {
	return jptool.Errorf(jptool.CodeTooLarge, "%s has %d bytes; at most %d MiB can be %s", jptool.Quote(f.t.Path()), size, maxContent>>20, what)
}

// Content reads the file, of at most 1 GiB (CodeTooLarge). What Commit finds must still be
// this. The caller must not change the bytes. The policy must grant read.
func (f *File) Content() ([]byte, error) {
	if f.known {
		return f.content, nil
	}
	fi, err := f.f.Stat()
	if err != nil {
		return nil, f.t.Fail(err)
	}
	r, err := f.reader()
	if err != nil {
		return nil, err
	}
	if fi.Size() > maxContent {
		return nil, f.tooLarge(fi.Size(), "held in memory")
	}
	var b bytes.Buffer
	b.Grow(int(fi.Size()) + bytes.MinRead)
	if _, err := b.ReadFrom(r); err != nil {
		return nil, fail(f.t, err)
	}
	content := b.Bytes()
	if f.seen != "" && f.seen != fskit.DigestBytes(content) {
		return nil, f.stale()
	}
	f.content, f.known = content, true
	return content, nil
}

// Digest returns the digest of the content without keeping it in memory. What Commit
// finds must still be this. The policy must grant read.
func (f *File) Digest() (string, error) {
	if f.seen != "" {
		return f.seen, nil
	}
	if f.known {
		f.seen = fskit.DigestBytes(f.content)
		return f.seen, nil
	}
	r, err := f.reader()
	if err != nil {
		return "", err
	}
	sum, err := fskit.Digest(r)
	if err != nil {
		return "", fail(f.t, err)
	}
	f.seen = sum
	return sum, nil
}

// reader reads the locked file from its start.
func (f *File) reader() (io.Reader, error) {
	if !f.readable {
		return nil, f.t.Require(jptool.Read)
	}
	return until(f.ctx, f.t, io.NewSectionReader(f.f, 0, 1<<62)), nil
}

func nameOf(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
