package fit

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// walk looks through the trees with as many goroutines as there are processors. It follows no symlink. A directory that
// vanishes meanwhile holds nothing.
func (s *scan) walk(ctx context.Context) error {
	w := &walker{scan: s, ctx: ctx}
	w.more = sync.NewCond(&w.mu)
	tops := s.tops
	if !slices.Contains(tops, s.d.Site.Root) {
		tops = append(slices.Clone(tops), s.d.Site.Root)
	}
	for _, top := range tops {
		c := s.at(top)
		if held := c.Withheld(); held.Pattern != "" && !held.Secret {
			continue // its rule grants nothing, and what is granted besides was dropped
		}
		n, err := Look(top)
		if err != nil {
			return fmt.Errorf("%s: %w", top, err)
		}
		if n.Kind == Dir {
			w.jobs = append(w.jobs, job{path: top, at: c.AsNamed()})
		}
	}
	var all sync.WaitGroup
	for range min(4, runtime.GOMAXPROCS(0)) {
		all.Go(w.run)
	}
	all.Wait()
	return w.err
}

// walker is one walk of several goroutines.
type walker struct {
	*scan
	ctx  context.Context
	mu   sync.Mutex
	more *sync.Cond
	jobs []job
	busy int
	err  error
}

// run takes one directory after the other until there are none left. The last one that was added comes first, so that
// there are never many.
func (w *walker) run() {
	buf := make([]byte, 32<<10)
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		for len(w.jobs) == 0 && w.busy > 0 && w.err == nil {
			w.more.Wait()
		}
		if len(w.jobs) == 0 || w.err != nil {
			w.more.Broadcast()
			return
		}
		j := w.jobs[len(w.jobs)-1]
		w.jobs = w.jobs[:len(w.jobs)-1]
		w.busy++
		w.mu.Unlock()
		var r read
		err := r.dir(w.scan, j, buf)
		if err == nil {
			err = w.ctx.Err()
		}
		w.mu.Lock()
		w.busy--
		w.jobs = append(w.jobs, r.dirs...)
		w.found = append(w.found, r.found...)
		w.Directories++
		if w.Entries += r.entries; err == nil && w.Entries > maxScanned {
			err = tooMuch(fmt.Sprintf("more than %d files and directories are granted, which is too many to be looked through before each start", maxScanned))
		}
		if len(w.found) > maxWithheld && err == nil {
			err = tooMuch(fmt.Sprintf("they cover more than %d places that are granted", maxWithheld))
		}
		if w.err == nil {
			w.err = err
		}
		w.more.Broadcast()
	}
}

// read is what was found in one directory.
type read struct {
	dirs    []job
	found   []Withheld
	entries int
}

// dir reads one directory.
func (r *read) dir(s *scan, j job, buf []byte) error {
	how := unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NONBLOCK,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	var fd int
	var err error
	for range 10 { // see openEntry
		if fd, err = unix.Openat2(unix.AT_FDCWD, j.path, &how); err != unix.EAGAIN && err != unix.EINTR {
			break
		}
	}
	switch err {
	case nil:
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP:
		return nil
	case unix.EACCES:
		return r.unreadable(s, j)
	default:
		return cannotLook(s.name(j.path), err)
	}
	defer unix.Close(fd)
	if unix.Faccessat(fd, ".", unix.X_OK, unix.AT_EACCESS) == unix.EACCES {
		return r.unreadable(s, j) // its names can be listed, and what they stand for cannot be looked at
	}
	for {
		n, err := unix.ReadDirent(fd, buf)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.ENOENT:
			return nil // removed meanwhile
		case err != nil:
			return cannotLook(s.name(j.path), err)
		case n <= 0:
			return nil
		}
		r.entriesOf(s, j, fd, buf[:n])
		if r.entries > maxScanned || len(r.found) > maxWithheld {
			return nil // the walker ends for that
		}
	}
}

func cannotLook(name string, err error) error {
	const most = 200
	if len(name) > most {
		name = name[:most] + "…"
	}
	return tooMuch(fmt.Sprintf("the directory %q cannot be looked through: %v", name, err))
}

// unreadable withholds a directory that cannot be looked through and that the program may use all the same: names in it
// can be used, or its owner can change the mode, and that is the program too.
func (r *read) unreadable(s *scan, j job) error {
	var st unix.Stat_t
	switch err := unix.Lstat(j.path, &st); {
	case err == unix.ENOENT:
		return nil
	case err != nil:
		return cannotLook(s.name(j.path), err)
	case int(st.Uid) != unix.Geteuid() && unix.Faccessat(unix.AT_FDCWD, j.path, unix.X_OK, unix.AT_EACCESS) != nil:
		return nil
	}
	r.found = append(r.found, Withheld{Path: s.name(j.path), By: "deny", Pattern: "it cannot be listed", abs: j.path, kind: Dir, unlisted: true})
	return nil
}

// The layout of struct linux_dirent64.
const (
	direntLength = 16 // of the field with the length of the record
	direntType   = 18
	direntName   = 19
)

// entriesOf goes through the records of one read.
func (r *read) entriesOf(s *scan, j job, fd int, records []byte) {
	for len(records) > direntName {
		length := int(binary.NativeEndian.Uint16(records[direntLength:]))
		if length <= direntName || length > len(records) {
			return
		}
		record := records[:length]
		records = records[length:]
		name, _, _ := bytes.Cut(record[direntName:], []byte{0})
		if len(name) == 0 || string(name) == "." || string(name) == ".." {
			continue
		}
		r.entries++
		kind := record[direntType]
		if kind != unix.DT_DIR && kind != unix.DT_UNKNOWN && j.at.Untouched(name) {
			continue
		}
		r.entry(s, j, fd, string(name), kind)
	}
}

// entry decides about one entry that may be of interest.
func (r *read) entry(s *scan, j job, fd int, name string, kind byte) {
	if kind == unix.DT_UNKNOWN {
		var st unix.Stat_t
		if err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return // gone meanwhile
		}
		kind = byte(st.Mode & unix.S_IFMT >> 12) // DT_* are the same numbers
	}
	is := Special
	switch kind {
	case unix.DT_DIR:
		is = Dir
	case unix.DT_REG:
		is = File
	case unix.DT_LNK:
		is = Link
	}
	below, found, through := s.entry(j, name, is)
	if found != nil {
		r.found = append(r.found, *found)
	}
	if is == Dir && through {
		r.dirs = append(r.dirs, below)
	}
}
