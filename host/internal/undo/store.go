package undo

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/jptool/wspath"
)

// Limits are what may be kept of a workspace.
type Limits struct {
	// Bytes bounds all of it, Age how long it is kept. The oldest records go first.
	Bytes int64
	Age   time.Duration
}

// Store is where the records of a workspace are kept. Its directory has one directory for each record, called by its
// number, with record.json and the copies; one called call-… for each call that is under way; and the file
// ledger.json.
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
	recordFile = "record.json"
	ledgerFile = "ledger.json"
	lockFile   = "lock"
	running    = "call-"
	// numberWidth makes the names of records sort by number.
	numberWidth = 8
	// recordCost is what a record takes beside the copies.
	recordCost = 8 << 10
)

// ledger saves looking at all records after each call. If it is lost, they are looked at.
type ledger struct {
	Next int `json:"next"`
	// Bytes is what all records took, or more.
	Bytes int64 `json:"bytes"`
	// Looked is when the records were last looked at.
	Looked time.Time `json:"looked"`
}

// lookEvery is how often old records are looked for.
const lookEvery = time.Hour

// locked runs f while no other process adds or removes records.
func (s *Store) locked(f func() error) error {
	if err := s.dir.Ensure(); err != nil {
		return err
	}
	lock := flock.New(s.dir.File(lockFile), flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("locking %s: %w", s.dir.File(lockFile), err)
	}
	defer lock.Unlock()
	return f()
}

// add gives the directory of a finished call its number, and removes what is over the limits.
func (s *Store) add(name string, bytes int64) (id int, err error) {
	err = s.locked(func() error {
		var l ledger
		data, err := os.ReadFile(s.dir.File(ledgerFile))
		now := s.dir.Now()
		if err != nil || json.Unmarshal(data, &l) != nil || l.Next < 1 || l.Looked.After(now) {
			l = ledger{}
		}
		if id, err = s.number(name, &l); err != nil {
			return err
		}
		l.Bytes += bytes + recordCost
		if l.Bytes > s.limits.Bytes || now.Sub(l.Looked) > lookEvery {
			l.Bytes, l.Looked = s.prune(now), now
		}
		data, err = json.Marshal(l)
		return cmp.Or(err, os.WriteFile(s.dir.File(ledgerFile), data, 0o600))
	})
	return id, err
}

// number moves the directory of a call to the next free number.
func (s *Store) number(name string, l *ledger) (int, error) {
	if l.Next < 1 {
		l.Next = 1
		if all := s.numbers(); len(all) > 0 {
			l.Next = all[len(all)-1] + 1
		}
	}
	to := s.dir.File(dirName(l.Next))
	if _, err := os.Lstat(to); err == nil { // the ledger is not true
		all := s.numbers()
		l.Next = all[len(all)-1] + 1
		to = s.dir.File(dirName(l.Next))
	}
	if err := os.Rename(s.dir.File(name), to); err != nil {
		return 0, err
	}
	l.Next++
	return l.Next - 1, nil
}

func dirName(id int) string { return fmt.Sprintf("%0*d", numberWidth, id) }

// entries lists the names in the store, sorted.
func (s *Store) entries() []string {
	f, err := os.Open(s.dir.Path())
	if err != nil {
		return nil
	}
	defer f.Close()
	list, _ := f.Readdirnames(-1)
	slices.Sort(list)
	return list
}

// numbers lists the numbers of all records, the oldest first.
func (s *Store) numbers() (list []int) {
	for _, name := range s.entries() {
		if id, err := strconv.Atoi(name); err == nil && id > 0 && name == dirName(id) {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return list
}

// prune removes records that are too old, and then the oldest until a tenth of the budget is free. It returns what the
// rest takes.
func (s *Store) prune(now time.Time) (total int64) {
	all := s.numbers()
	sizes := map[int]int64{}
	for _, id := range all {
		sizes[id] = s.size(id)
		total += sizes[id]
	}
	most := s.limits.Bytes
	if total > most {
		most -= most / 10
	}
	for i, id := range all {
		old := false
		if total <= most {
			r, err := s.read(id)
			old = err != nil && i < len(all)-1 || err == nil && now.Sub(r.Time) > s.limits.Age
			if !old {
				break
			}
		}
		if i == len(all)-1 && !old {
			break // what was just added stays: it is within the budget by itself
		}
		_ = os.RemoveAll(s.dir.File(dirName(id)))
		total -= sizes[id]
	}
	return total
}

// size is what a record takes.
func (s *Store) size(id int) int64 {
	total := int64(recordCost)
	list, _ := os.ReadDir(s.dir.File(dirName(id)))
	for _, e := range list {
		if fi, err := e.Info(); err == nil && keptName.MatchString(e.Name()) {
			total += fi.Size()
		}
	}
	return total
}

// read reads a record.
func (s *Store) read(id int) (*Record, error) {
	f, err := s.open(id, recordFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, 64<<20))
	if err != nil {
		return nil, err
	}
	r, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("the record of change %d cannot be used: %w", id, err)
	}
	r.ID = id
	return r, nil
}

// open opens a file of a record; links are not followed.
func (s *Store) open(id int, name string) (*os.File, error) {
	dir, err := wspath.OpenDir(filepath.ToSlash(s.dir.Path()))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.Open(dirName(id) + "/" + name)
}

// Get reads the record of a number.
func (s *Store) Get(id int) (*Record, error) {
	s.adopt()
	r, err := s.read(id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no change %d\nlist them with: jphost undo", id)
	}
	return r, err
}

// List returns the records, the oldest first, as many as can be read, and the errors of the others.
func (s *Store) List() (list []*Record, broken []error) {
	s.adopt()
	for _, id := range s.numbers() {
		if r, err := s.read(id); err == nil {
			list = append(list, r)
		} else if !errors.Is(err, fs.ErrNotExist) { // else it was removed meanwhile
			broken = append(broken, err)
		}
	}
	return list, broken
}

// youngest is the age of a call's directory from which it counts as left behind although it has no lock.
const youngest = time.Minute

// adopt gives numbers to what calls left that were killed with their host. What they changed is unknown then.
func (s *Store) adopt() {
	for _, name := range s.entries() {
		if !strings.HasPrefix(name, running) {
			continue
		}
		lock := flock.New(filepath.Join(s.dir.File(name), lockFile), flock.SetFlag(os.O_RDWR))
		got, err := lock.TryLock()
		fi, gone := os.Lstat(s.dir.File(name))
		if gone != nil || err == nil && !got || err != nil && s.dir.Now().Sub(fi.ModTime()) < youngest {
			continue // it is under way
		}
		data, err := os.ReadFile(filepath.Join(s.dir.File(name), recordFile))
		if err == nil {
			_, err = decode(data)
		}
		if err != nil {
			_ = os.RemoveAll(s.dir.File(name))
		} else {
			_, _ = s.addLocked(name, lock, 0)
		}
		_ = lock.Close()
	}
}

// addLocked is add for a directory with a lock in it, which is no longer needed.
func (s *Store) addLocked(name string, lock *flock.Flock, bytes int64) (int, error) {
	if runtime.GOOS == "windows" { // no directory with an open file is renamed there
		_ = lock.Close()
	}
	_ = os.Remove(filepath.Join(s.dir.File(name), lockFile))
	return s.add(name, bytes)
}
