package safewrite

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/tools/fskit"
)

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

// fill writes the new content to the temporary.
func (f *File) fill(tmp *temp) error {
	if f.splice == nil {
		return tmp.writeBytes(f.want)
	}
	// The digest of what the copy was made from is what Commit compares with, so that
	// the new content is made from exactly what it replaces.
	s, h := f.splice, startHasher()
	defer h.stop()
	old := sha256.New()
	var spliced hash.Hash
	pour := func(r io.Reader, hash func([]byte)) error {
		for {
			buf := h.buffer()
			n, err := io.ReadFull(r, buf)
			if buf = buf[:n]; n > 0 {
				h.todo <- func() { hash(buf) }
				if _, err := tmp.f.Write(buf); err != nil {
					return err
				}
				if err := step("temporary partly written"); err != nil {
					return err
				}
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
	if err := pour(until(f.ctx, f.t, io.NewSectionReader(f.f, 0, s.start)), func(b []byte) { old.Write(b) }); err != nil {
		return err
	}
	h.todo <- func() {
		spliced = clone(old) // they are the same up to here
		old.Write(s.was)
		spliced.Write(s.text)
	}
	if _, err := tmp.f.Write(s.text); err != nil {
		return err
	}
	rest := until(f.ctx, f.t, io.NewSectionReader(f.f, s.start+int64(len(s.was)), 1<<62))
	err := pour(rest, func(b []byte) {
		old.Write(b)
		spliced.Write(b)
	})
	if err != nil {
		return err
	}
	if err := tmp.sync(); err != nil {
		return err
	}
	h.stop()
	seen := digestOf(old)
	if f.seen != "" && f.seen != seen {
		return f.stale()
	}
	f.seen, f.splicedDigest = seen, digestOf(spliced)
	return nil
}

func digestOf(h hash.Hash) string { return "sha256:" + hex.EncodeToString(h.Sum(nil)) }

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

// hasher makes digests beside the writing.
type hasher struct {
	todo chan func()
	done chan struct{}
	ring [ringSize][]byte
	next int
}

// The hasher may be at one buffer, hold ringSize-2 in its channel, and the reader fill
// one: then none is used twice at a time.
const (
	ringSize   = 6
	bufferSize = 256 << 10
)

func startHasher() *hasher {
	todo := make(chan func(), ringSize-2)
	h := &hasher{todo: todo, done: make(chan struct{})}
	go func() {
		defer close(h.done)
		for do := range todo {
			do()
		}
	}()
	return h
}

func clone(h hash.Hash) hash.Hash {
	c, err := h.(hash.Cloner).Clone()
	if err != nil {
		panic(err) // every hash of the standard library can be cloned
	}
	return c
}

// buffer returns a buffer that the hasher has done with, when it gets every one.
func (h *hasher) buffer() []byte {
	i := h.next % ringSize
	h.next++
	if h.ring[i] == nil {
		h.ring[i] = make([]byte, bufferSize)
	}
	return h.ring[i]
}

// stop waits for what is to do; again does nothing.
func (h *hasher) stop() {
	if h.todo != nil {
		close(h.todo)
		h.todo = nil
	}
	<-h.done
}
