package safewrite

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/tools/fskit"
)

// backup is a copy of the old content in the directory for temporary files. While the file holds a mix its
// name is jptool-*.old: if the process is killed then, a person or the host can put the content
// back. Otherwise its name is jptool-*.copy and it may be removed.
type backup struct {
	f    *os.File
	name string // now
	size int64
	keep bool
}

const backupMixed, backupSpare = ".old", ".copy"

// rename gives the backup the other end of its name.
func (b *backup) rename(end string) error {
	if b == nil {
		return nil
	}
	to := strings.TrimSuffix(b.f.Name(), backupSpare) + end
	if err := os.Rename(b.name, to); err != nil {
		return jptool.Errorf(jptool.CodeIO, "the copy of the old content in the directory for temporary files (TMPDIR) cannot be renamed: %w", wspath.Bare(err))
	}
	b.name = to
	return nil
}

// stageInPlace prepares what can fail, so that overwriting hardly can.
func (f *File) stageInPlace() error {
	if !f.writable {
		return errors.New("it is being executed, and cannot be replaced by a new file here")
	}
	if err := f.materialise(); err != nil {
		return err
	}
	fi, err := f.f.Stat()
	if err != nil {
		return err
	}
	if f.readable {
		if err := f.backUp(fi.Size()); err != nil {
			return err
		}
	}
	if err := step("backed up"); err != nil {
		return err
	}
	f.grown = int64(len(f.want)) > fi.Size()
	if err := f.allocate(); err != nil {
		return err
	}
	return step("allocated")
}

// allocate reserves room in the file. That changes its times, which Version may have taken for the
// content: they are compared before, and taken anew after.
func (f *File) allocate() error {
	if f.asked != nil {
		if now, err := stampOf(f.f); err != nil || now != *f.asked {
			return cmp.Or(err, f.stale())
		}
	}
	if err := allocate(f.f, int64(len(f.want))); err != nil || f.asked == nil {
		return err
	}
	now, err := stampOf(f.f)
	f.asked = &now
	return err
}

func (f *File) backUp(size int64) error {
	if size > maxContent {
		return f.tooLarge(size, "written in place, which it has to be here")
	}
	c, err := os.CreateTemp("", "jptool-*"+backupSpare)
	if err != nil {
		return jptool.Errorf(jptool.CodeIO, "%s must be written in place, and there is no room for a copy of the old content in the directory for temporary files (TMPDIR): %w", jptool.Quote(f.t.Path()), wspath.Bare(err))
	}
	f.backup = &backup{f: c, name: c.Name(), size: size}
	if _, err := io.Copy(c, until(f.ctx, f.t, io.NewSectionReader(f.f, 0, size))); err != nil {
		if timeIsUp(f.ctx, f.t) != nil {
			return err
		}
		return jptool.Errorf(jptool.CodeIO, "%s must be written in place, and the old content cannot be copied to the directory for temporary files (TMPDIR): %w", jptool.Quote(f.t.Path()), wspath.Bare(err))
	}
	return nil
}

func (b *backup) remove() {
	if b == nil {
		return
	}
	b.f.Close()
	if !b.keep {
		_ = os.Remove(b.name)
	}
}

// overwrite writes the new content over the old one, or puts that back: also when a signal arrives
// that would have ended the process.
func (f *File) overwrite() error {
	ctx, stop := Orderly(f.ctx)
	defer stop()
	if err := f.backup.rename(backupMixed); err != nil {
		return err // nothing is written yet
	}
	err := f.pour(ctx)
	if err == nil {
		return nil
	}
	if back := f.restore(); back != nil {
		return failed(f.t, err, "%v", back)
	}
	return err
}

func (f *File) pour(ctx context.Context) error {
	from, to := 0, len(f.want)
	// Bytes that stay are not written: less can go wrong.
	for from < min(len(f.content), to) && f.content[from] == f.want[from] {
		from++
	}
	const chunk = 1 << 20
	for at := from; at < to; at += chunk {
		// Whatever is less to write: going on, or putting back.
		if at-from < to-at && f.backup != nil && Ended(ctx) {
			return jptool.Errorf(jptool.CodeDeadline, "the call was told to end while %s was written; it is as it was", jptool.Quote(f.t.Path()))
		}
		if _, err := f.f.WriteAt(f.want[at:min(at+chunk, to)], int64(at)); err != nil {
			return err
		}
		if err := step("partly overwritten"); err != nil {
			return err
		}
	}
	if err := f.f.Truncate(int64(len(f.want))); err != nil {
		return err
	}
	if err := step("overwritten"); err != nil {
		return err
	}
	if err := f.backup.rename(backupSpare); err != nil {
		return err
	}
	return f.f.Sync()
}

// restore puts the old content back.
func (f *File) restore() error {
	if f.backup == nil {
		return errors.New("the old content cannot be put back, because read is not granted: the file holds a mix")
	}
	b := f.backup
	// Without the name it still is a backup as long as this process lives.
	_ = b.rename(backupMixed)
	_, err := io.Copy(io.NewOffsetWriter(f.f, 0), io.NewSectionReader(b.f, 0, b.size))
	if err == nil {
		err = f.f.Truncate(b.size)
	}
	if err == nil {
		_ = b.rename(backupSpare)
		err = f.f.Sync()
	}
	if err != nil {
		b.keep = true
		return fmt.Errorf("the old content could not be put back (%w): a copy of it is %s in the directory for temporary files", wspath.Bare(err), filepath.Base(b.name))
	}
	return nil
}

// splice is new content that differs from the old in one range.
type splice struct {
	start     int64
	was, text []byte
}

// ReadAt reads the locked file without keeping anything, for files too large to hold.
// What was read this way is compared at Commit only as far as Digest or StageSplice saw
// the same. The policy must grant read.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	if !f.readable {
		return 0, f.t.Require(jptool.Read)
	}
	if err := timeIsUp(f.ctx, f.t); err != nil {
		return 0, err
	}
	n, err := f.f.ReadAt(p, off)
	if err != nil && err != io.EOF {
		err = f.t.Fail(err)
	}
	return n, err
}

// StageSplice is [File.Stage] of the old content with text in the place of was, which
// stands at start. The rest is copied from the file and never held in memory, unless the
// file has to be written in place. What Commit finds must still be was and the rest as
// copied, and what Digest returned before, if it was called. It returns the digest of the new content. The
// caller must not change the bytes until Close. The policy must grant read.
func (f *File) StageSplice(start int64, was, text []byte) (digest string, err error) {
	if _, err := f.reader(); err != nil {
		return "", err
	}
	f.splice = &splice{start, was, text}
	if err := f.stage(); err != nil {
		return "", err
	}
	return f.splicedDigest, nil
}

// A large file is copied in pieces of bufferSize, of which so many are read or hashed at a time.
const (
	bufferSize = 256 << 10
	buffers    = 4
)

// fill writes the new content to the temporary.
func (f *File) fill(tmp *temp) error {
	if f.splice == nil {
		return tmp.writeBytes(f.want)
	}
	// The digest of what the copy was made from is what Commit compares with, so that
	// the new content is made from exactly what it replaces.
	// The digests are made by a goroutine beside the writing, which takes as long.
	s, old := f.splice, sha256.New()
	var spliced hash.Hash
	free, todo := make(chan []byte, buffers), make(chan func(), buffers)
	for range buffers {
		free <- make([]byte, bufferSize)
	}
	var hashing sync.WaitGroup
	hashing.Go(func() {
		for do := range todo {
			do()
		}
	})
	finish := sync.OnceFunc(func() {
		close(todo)
		hashing.Wait()
	})
	defer finish()
	pour := func(from, size int64, hash func([]byte)) error {
		in := until(f.ctx, f.t, io.NewSectionReader(f.f, from, size))
		for {
			buf := <-free
			n, err := io.ReadFull(in, buf)
			if n > 0 {
				if _, err := tmp.f.Write(buf[:n]); err != nil {
					return err
				}
				if err := step("temporary partly written"); err != nil {
					return err
				}
			}
			todo <- func() {
				hash(buf[:n])
				free <- buf
			}
			if err == io.EOF || err == io.ErrUnexpectedEOF {
				return nil
			}
			if err != nil {
				return err
			}
		}
	}
	if err := step("temporary made"); err != nil {
		return err
	}
	if err := pour(0, s.start, func(b []byte) { old.Write(b) }); err != nil {
		return err
	}
	todo <- func() {
		spliced, _ = old.(hash.Cloner).Clone() // they are the same up to here
		old.Write(s.was)
		spliced.Write(s.text)
	}
	if _, err := tmp.f.Write(s.text); err != nil {
		return err
	}
	both := func(b []byte) {
		old.Write(b)
		spliced.Write(b)
	}
	if err := pour(s.start+int64(len(s.was)), 1<<62, both); err != nil {
		return err
	}
	if err := tmp.sync(); err != nil {
		return err
	}
	finish()
	seen := fskit.DigestOf(old)
	if f.seen != "" && f.seen != seen {
		return f.stale()
	}
	f.seen, f.splicedDigest = seen, fskit.DigestOf(spliced)
	return nil
}

// materialise turns a splice into content in memory, for writing in place.
func (f *File) materialise() error {
	if f.splice == nil {
		return nil
	}
	old, err := f.Content()
	if err != nil {
		return err
	}
	s := f.splice
	if int64(len(old)) < s.start+int64(len(s.was)) || !bytes.HasPrefix(old[s.start:], s.was) {
		return f.stale()
	}
	f.want = bytes.Join([][]byte{old[:s.start], s.text, old[s.start+int64(len(s.was)):]}, nil)
	f.splicedDigest = fskit.DigestBytes(f.want)
	f.splice = nil
	return nil
}

// Orderly keeps the signals that ask the process to end (SIGTERM, SIGINT, SIGHUP) from ending it until stop
// is called, so that the caller can finish or undo what is half done. [Ended] reports whether there was
// one. The caller must be done quickly: the sender of the signal usually kills the process soon after.
func Orderly(ctx context.Context) (_ context.Context, stop func()) {
	signals := []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP}
	signals = slices.DeleteFunc(signals, signal.Ignored) // as nohup has it
	ctx = context.WithoutCancel(ctx)
	if len(signals) == 0 { // none would mean all
		return ctx, func() {}
	}
	return signal.NotifyContext(ctx, signals...)
}

// Ended reports whether a signal asked the process to end since [Orderly] returned this context.
func Ended(ctx context.Context) bool { return ctx.Err() != nil }
