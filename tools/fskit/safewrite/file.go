// Package safewrite makes and replaces the content of files so that no process ever reads
// half of it.
//
// A file is replaced by a temporary beside it and a rename wherever the policy grants
// create, update and delete on both, so that a process killed at any moment leaves the
// old or the new content, whole. Where that cannot be done without losing something (several hard
// links, a mount point, an owner that cannot be kept) or is not granted, it is written in
// place, with a copy of the old content kept until it is done: an error, a full disk, or a
// signal that asks the process to end brings the old content back. A process that is killed in the middle
// (SIGKILL, power loss) leaves a mix, and the copy as jptool-*.old in the directory for temporary files. Which
// of the two happened is the [Method].
//
// Cooperating calls exclude each other by a lock on the file. Other programs do not take it: they
// may write to the file or put another one there at any moment. So content is compared just
// before it is replaced and, because old and new exchange their names, once more when the old
// file can no longer be reached by its name. If another program changed it, its version goes back or, where
// that is impossible, gets a visible name, and the error says so. This does not save what a program writes later
// through a descriptor or mapping that it opened before. Where names cannot be exchanged, or the file is written
// in place, it does not save what is written within microseconds after the comparison either.
//
// A killed process can leave a temporary, which the next writing call in the directory removes if it
// can tell that it is one, see [Sweep].
package safewrite

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
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
	return one(lockAll(ctx, []*jptool.Target{t}, jptool.Read, false))
}

func one(files []*File, err error) (*File, error) {
	if err != nil {
		return nil, err
	}
	return files[0], nil
}

// open opens without locking, for update or, where need is Read, to hold.
func open(t *jptool.Target, need jptool.Caps) (*File, error) {
	p, err := find(t, need)
	if err != nil {
		return nil, err
	}
	f := &File{place: p, readOnly: need == jptool.Read, readable: t.Granted().Has(jptool.Read)}
	flag := os.O_RDONLY
	switch f.writable = !f.readOnly; {
	case f.writable && f.readable:
		flag = os.O_RDWR
	case f.writable:
		flag = os.O_WRONLY
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

// find holds the directory that t is in, if t grants need. The caller must close it.
func find(t *jptool.Target, need jptool.Caps) (place, error) {
	if err := t.Require(need); err != nil {
		return place{}, err
	}
	base, path, err := t.Base()
	if err != nil {
		return place{}, err
	}
	dir, err := base.Sub(wspath.ParentOf(path))
	if err != nil {
		return place{}, t.Fail(err)
	}
	p := place{t: t, dir: dir, name: path[strings.LastIndexByte(path, '/')+1:]}
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

// stamp shows, without reading the file, whether it was written to. It does not see what is
// written through a memory mapping that was dirty already.
type stamp struct {
	device, inode uint64 // 0 where they cannot be had
	size          int64
	mtime, ctime  int64 // nanoseconds; ctime is 0 where there is none
}

func stampOf(f *os.File) (stamp, error) {
	fi, err := f.Stat()
	if err != nil {
		return stamp{}, err
	}
	return stampOfInfo(f, fi), nil
}

// stampOfInfo is stampOf with what is known of the file; f is nil if it is not open.
func stampOfInfo(f *os.File, fi fs.FileInfo) stamp {
	device, inode := fileID(f, fi)
	return stamp{device, inode, fi.Size(), fi.ModTime().UnixNano(), changeTime(fi)}
}

// sameContent leaves out the ctime, which renaming changes too.
func (s stamp) sameContent(other stamp) bool {
	s.ctime, other.ctime = 0, 0
	return s == other
}

// settled reports whether any write after now changes the mtime: a clock that ticks gives
// the same one to writes that are close together.
func (s stamp) settled(now int64) bool {
	const millisecond = 1_000_000
	tick := int64(100 * millisecond) // that of a kernel is 10 ms at most
	if s.mtime%(1000*millisecond) == 0 {
		tick = 3000 * millisecond // a file system that has whole seconds, or two
	}
	return now-s.mtime > tick
}

// id identifies the old file in a temporary's name; it is never 0. It covers size and time, so that [Sweep] does
// not remove an old file that was written to since.
func (s stamp) id() uint64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d-%d-%d", s.inode, s.size, s.mtime))
	return max(1, binary.BigEndian.Uint64(sum[:]))
}

// version is the stamp for the token of a question.
func (s stamp) version() string {
	return fmt.Sprintf("stamp:%d-%d-%d-%d-%d", s.device, s.inode, s.size, s.mtime, s.ctime)
}

// fail is t.Fail that leaves errors alone which say all themselves.
func fail(t *jptool.Target, err error) error {
	var own *jptool.Error
	var denied *jptool.DeniedError
	if errors.As(err, &own) || errors.As(err, &denied) {
		return err
	}
	return t.Fail(err)
}

// failed is an error on t with a remark on what was left behind.
func failed(t *jptool.Target, err error, format string, args ...any) error {
	remark := fmt.Sprintf(format, args...)
	var own *jptool.Error
	if errors.As(err, &own) {
		return jptool.Errorf(own.Code, "%w; %s", err, remark)
	}
	return &jptool.PathError{Path: t.Path(), Err: fmt.Errorf("%w; %s", wspath.Bare(err), remark)}
}
