package undo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/jptool/wspath"
)

// Limits are what may be kept of a workspace.
type Limits struct {
	// Bytes bounds all of it, Age how long it is kept. The oldest records go first.
	Bytes int64
	Age   time.Duration
}

// Store is where the records of a workspace are kept. Calls add to few files, because making a file can take longer than
// a call should:
//
//	00000001.jsonl             records, one line of JSON each
//	00000001.data              the copies of these records, one behind the other
//	00000001-XXXXXXXXXXXX.large  the copy of a large file of one of these records
//	slot-0                     a call that is under way: its record so far, and copies
//	call-XXXXXXXXXXXX.large    the copy of a large file of such a call
//	ledger.json                the number of the next record, and the one of the files that it is added to
//
// The first three are a segment. When a segment is an eighth of the budget the next one begins, and the oldest ones are
// removed as a whole.
type Store struct {
	dir    *state.Dir
	limits Limits
}

// Open opens the store in the private state of a workspace.
func Open(workspace *state.Dir, l Limits) (*Store, error) {
	dir, err := workspace.Undo()
	return &Store{dir, l}, err
}

const (
	ledgerFile = "ledger.json"
	// patience bounds the wait for others that add or remove records. A call that waits in vain cannot be undone.
	patience = 10 * time.Second
	// parts is how many segments the budget, and the age, are divided into.
	parts = 8
)

// ledger saves looking at all files after each call. If it is lost, they are looked at.
type ledger struct {
	Next    int `json:"next"`
	Segment int `json:"segment"`
	// Began is when the segment began.
	Began time.Time `json:"began"`
}

// locked runs f while no other process adds or removes records.
func (s *Store) locked(f func() error) error {
	unlock, err := s.dir.Lock(context.Background(), ledgerFile, patience)
	if err != nil {
		return err
	}
	defer unlock()
	return f()
}

// add adds a record, with the copies that from has, and gives it its number.
func (s *Store) add(r *Record, from *slot) (int, error) {
	err := s.locked(func() error {
		l := s.ledger()
		if r.Running && s.known(r) {
			return nil // its process was killed just after it had added it
		}
		now := s.dir.Now()
		if s.sizeOf(l.Segment) > s.limits.Bytes/parts || now.Sub(l.Began) > s.limits.Age/parts {
			l.Segment, l.Began = l.Segment+1, now
		}
		s.prune(now, l.Segment, r.bytes())
		r.ID = l.Next
		if err := s.append(r, from, l.Segment); err != nil {
			return err
		}
		l.Next++
		return s.setLedger(l)
	})
	return r.ID, err
}

// bytes is the size of the copies of a record.
func (r *Record) bytes() (total int64) {
	for i := range r.Items {
		if s := &r.Items[i].Before; s.Kept != nil {
			total += s.Size
		}
	}
	return total
}

// append writes the copies and then the line of a record to a segment. What is left of a copy without a line is not
// found by anybody.
func (s *Store) append(r *Record, from *slot, segment int) error {
	data, err := os.OpenFile(s.file(segment, ".data"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer data.Close()
	at, err := data.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	for i := range r.Items {
		st := &r.Items[i].Before
		switch {
		case st.Kept == nil:
		case strings.HasSuffix(st.Kept.File, ".large"):
			name := fmt.Sprintf("%08d%s", segment, strings.TrimPrefix(st.Kept.File, "call"))
			err := os.Rename(s.dir.File(st.Kept.File), s.dir.File(name))
			if errors.Is(err, fs.ErrNotExist) { // its process was killed just after it had moved it, if it is there at all
				_, err = os.Lstat(s.dir.File(name))
			}
			switch {
			case err == nil:
				st.Kept = &Copy{File: name}
			case errors.Is(err, fs.ErrNotExist):
				st.Kept, st.NotKept = nil, "its copy was lost when jphost was killed"
			default:
				return err
			}
		default:
			if _, err := io.Copy(data, io.NewSectionReader(from.f, st.Kept.Offset, st.Size)); err != nil {
				_ = data.Truncate(at)
				return err
			}
			st.Kept = &Copy{File: filepath.Base(data.Name()), Offset: at}
			at += st.Size
		}
	}
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return s.dir.AppendLine(segmentFile(segment, ".jsonl"), line)
}

func (s *Store) file(segment int, suffix string) string {
	return s.dir.File(segmentFile(segment, suffix))
}

func segmentFile(segment int, suffix string) string { return fmt.Sprintf("%08d%s", segment, suffix) }

// ledgerSize is the size of the ledger's file in bytes. It is always the same, so that the file need not be cut: on ext4
// that takes as long as making a file.
const ledgerSize = 256

// ledger reads the ledger. If it is not one, the segments tell.
func (s *Store) ledger() (l ledger) {
	data, err := os.ReadFile(s.dir.File(ledgerFile))
	if err == nil && len(data) == ledgerSize && json.Unmarshal(data, &l) == nil && l.Next > 0 && l.Segment > 0 && l.Segment < 1e8 {
		return l
	}
	l = ledger{Next: 1, Segment: 1, Began: s.dir.Now()}
	for _, segment := range s.segments() {
		l.Segment = segment
		records, _ := s.records(segment)
		for _, r := range records {
			l.Next = max(l.Next, r.ID+1)
		}
	}
	return l
}

func (s *Store) setLedger(l ledger) error {
	data, err := json.Marshal(l)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(s.dir.File(ledgerFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err = f.WriteAt(fmt.Appendf(nil, "%-*s\n", ledgerSize-1, data), 0); err == nil {
		if fi, statErr := f.Stat(); statErr == nil && fi.Size() != ledgerSize {
			err = f.Truncate(ledgerSize)
		}
	}
	return err
}

// segments lists the numbers of the segments, the oldest first.
func (s *Store) segments() (list []int) {
	names, _ := s.names()
	for _, name := range names {
		if number, ok := strings.CutSuffix(name, ".jsonl"); ok && len(number) == 8 {
			if n, err := strconv.Atoi(number); err == nil && n > 0 {
				list = append(list, n)
			}
		}
	}
	return list
}

// names lists the files of the store, sorted.
func (s *Store) names() ([]string, error) {
	f, err := os.Open(s.dir.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := f.Readdirnames(-1)
	slices.Sort(list)
	return list, err
}

// sizeOf is what the lines and small copies of a segment take.
func (s *Store) sizeOf(segment int) (total int64) {
	for _, suffix := range []string{".jsonl", ".data"} {
		if fi, err := os.Lstat(s.file(segment, suffix)); err == nil {
			total += fi.Size()
		}
	}
	return total
}

// prune removes the oldest segments, but not the last one, until there is room for more bytes, those in which everything
// is too old, and what killed processes left half made.
func (s *Store) prune(now time.Time, last int, more int64) {
	names, err := s.names()
	if err != nil {
		return
	}
	sizes, ages := map[int]int64{}, map[int]time.Duration{}
	total := more
	for _, name := range names {
		fi, err := os.Lstat(s.dir.File(name))
		if err == nil && strings.HasPrefix(name, "call-") && now.Sub(fi.ModTime()) > s.limits.Age/parts {
			_ = os.Remove(s.dir.File(name)) // its process was killed while it made it
		}
		if err != nil || len(name) < 9 || name[8] != '.' && name[8] != '-' {
			continue
		}
		n, err := strconv.Atoi(name[:8])
		if err != nil {
			continue
		}
		sizes[n] += fi.Size()
		total += fi.Size()
		if strings.HasSuffix(name, ".jsonl") {
			ages[n] = now.Sub(fi.ModTime())
		}
	}
	for _, n := range slices.Sorted(maps.Keys(sizes)) {
		if n >= last || total <= s.limits.Bytes && ages[n] <= s.limits.Age {
			continue
		}
		total -= sizes[n]
		for _, name := range names {
			if strings.HasPrefix(name, fmt.Sprintf("%08d", n)) {
				_ = os.Remove(s.dir.File(name))
			}
		}
	}
}

// records reads the records of a segment; damaged ones are in the error.
func (s *Store) records(segment int) (list []*Record, err error) {
	f, err := s.open(segmentFile(segment, ".jsonl"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(data) {
		line = bytes.TrimSpace(line)
		r, wrong := decode(line)
		switch {
		case len(line) == 0:
		case wrong != nil || r.ID == 0:
			err = errors.Join(err, fmt.Errorf("a record in %s cannot be used: %w", s.file(segment, ".jsonl"), wrong))
		default:
			list = append(list, r)
		}
	}
	return list, err
}

// known reports whether a record was added already.
func (s *Store) known(r *Record) bool {
	return slices.ContainsFunc(s.segments(), func(segment int) bool {
		data, err := os.ReadFile(s.file(segment, ".jsonl"))
		return err == nil && bytes.Contains(data, []byte(r.Token))
	})
}

// open opens a file of the store; links are not followed.
func (s *Store) open(name string) (*os.File, error) {
	dir, err := wspath.OpenDir(filepath.ToSlash(s.dir.Path()))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.Open(name)
}

// List returns the records that are not too old, the oldest first, as far as they can be read, and what is wrong with
// the others.
func (s *Store) List() (list []*Record, broken []error) {
	s.adopt()
	youngest := s.dir.Now().Add(-s.limits.Age)
	for _, segment := range s.segments() {
		records, err := s.records(segment)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // else it was removed meanwhile
			broken = append(broken, err)
		}
		for _, r := range records {
			if r.Time.After(youngest) {
				list = append(list, r)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b *Record) int { return a.ID - b.ID })
	return list, broken
}

// content opens a copy for reading, exactly as long as the state says. The caller closes the file.
func (s *Store) content(st *State) (*os.File, *io.SectionReader, error) {
	f, err := s.open(st.Kept.File)
	if err != nil {
		return nil, nil, err
	}
	return f, io.NewSectionReader(f, st.Kept.Offset, st.Size), nil
}
