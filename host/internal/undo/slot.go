package undo

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/gofrs/flock"
)

// slot is a file for a call that is under way. It is used again and again. Its lock says that the process of the call is
// alive; what a killed one has left there is added to the records by the next that takes the slot.
type slot struct {
	name string
	f    *os.File
	lock *flock.Flock
	// end is where the next copy goes.
	end int64
}

const (
	slotPrefix = "slot-"
	// slots bounds the calls of a workspace that are under way at a time; further ones are not kept.
	slots = 64
	// slotHeader is the size of the head of a slot: where the record is, and how long. It is written last.
	slotHeader = 16
	// recordMost bounds a record in a slot, in bytes.
	recordMost = 64 << 20
)

// take takes a free slot.
func (s *Store) take() (*slot, error) {
	if err := s.dir.Ensure(); err != nil {
		return nil, err
	}
	var failed error
	for n := range slots {
		sl, err := s.try(fmt.Sprint(slotPrefix, n), os.O_CREATE)
		if sl != nil {
			return sl, nil
		}
		failed = cmp.Or(failed, err) // what a killed process has left may be what fails
	}
	return nil, cmp.Or(failed, fmt.Errorf("%d calls are under way at the same time", slots))
}

// try takes a slot, nil if it is taken, and adds what a killed process has left there.
func (s *Store) try(name string, flag int) (*slot, error) {
	lock := flock.New(s.dir.File(name+".lock"), flock.SetPermissions(0o600))
	if got, err := lock.TryLock(); err != nil || !got {
		return nil, err
	}
	f, err := os.OpenFile(s.dir.File(name), os.O_RDWR|flag, 0o600)
	if err != nil {
		lock.Close()
		return nil, err
	}
	sl := &slot{name: name, f: f, lock: lock, end: slotHeader}
	if r := sl.record(); r != nil {
		_, err = s.add(r, sl)
	}
	if err = errors.Join(err, f.Truncate(0)); err != nil {
		sl.free()
		return nil, err
	}
	return sl, nil
}

// adopt adds what calls left that were killed with their hosts.
func (s *Store) adopt() {
	names, _ := s.names()
	for _, name := range names {
		if fi, err := os.Lstat(s.dir.File(name)); err != nil || !copyName.MatchString(name) || !strings.HasPrefix(name, slotPrefix) || fi.Size() == 0 {
			continue
		}
		if sl, err := s.try(name, 0); err == nil && sl != nil {
			sl.free()
		}
	}
}

// record reads the record of a slot, nil if there is none.
func (sl *slot) record() *Record {
	head := make([]byte, slotHeader)
	if _, err := sl.f.ReadAt(head, 0); err != nil {
		return nil
	}
	at, size := int64(binary.BigEndian.Uint64(head)), int64(binary.BigEndian.Uint64(head[8:]))
	if at < slotHeader || size <= 0 || size > recordMost {
		return nil
	}
	data := make([]byte, size)
	if _, err := sl.f.ReadAt(data, at); err != nil {
		return nil
	}
	r, err := decode(data)
	if err != nil || !r.Running {
		return nil
	}
	return r
}

// write writes the record of a call whose copies are in the slot.
func (sl *slot) write(r *Record) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if _, err := sl.f.WriteAt(data, sl.end); err != nil {
		return err
	}
	head := binary.BigEndian.AppendUint64(nil, uint64(sl.end))
	_, err = sl.f.WriteAt(binary.BigEndian.AppendUint64(head, uint64(len(data))), 0)
	return err
}

// copy adds a copy.
func (sl *slot) copy(content []byte) (*Copy, error) {
	at := sl.end
	if _, err := sl.f.WriteAt(content, at); err != nil {
		return nil, err
	}
	sl.end += int64(len(content))
	return &Copy{File: sl.name, Offset: at}, nil
}

// free empties the slot and lets others take it. No copy stays behind.
func (sl *slot) free() {
	_ = sl.f.Truncate(0)
	_ = sl.f.Close()
	_ = sl.lock.Close()
}

// large copies a large file, or clones it if the file system can.
func (s *Store) large(name string, f *os.File, size int64) error {
	to, err := os.OpenFile(s.dir.File(name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if !clone(to, f) {
		_, err = io.Copy(to, io.LimitReader(f, size))
	}
	if fi, statErr := to.Stat(); err == nil && statErr == nil && fi.Size() != size {
		err = errors.New("it changes while it is copied")
	}
	return errors.Join(err, to.Close())
}
