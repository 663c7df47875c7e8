package fit

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/sandbox/internal/failure"
)

const (
	// gone are the events that say that an entry was unlinked, moved away or replaced: the
	// mount on it is lost, even if the same object has come back since.
	gone = unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_DELETE
	// made are the events that say that a name has come to be: by open, mkdir, link, symlink, mknod,
	// or a rename.
	made = unix.IN_CREATE | unix.IN_MOVED_TO
	// around are the events that say that the watched directory itself is not what it was.
	around = unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_IGNORED | unix.IN_UNMOUNT
)

// maxFollowed bounds how often a directory on the way to an absent path is watched anew. Each time there
// is a moment in which something in it goes unnoticed; whoever makes the directory again and again does
// not get any number of them.
const maxFollowed = 256

// inotify is what a watcher on Linux knows.
type inotify struct {
	Watched
	fd      int
	points  map[key][]point
	follows int
}

// key is a name in a watched directory, which inotify gives a number.
type key struct {
	dir  int32
	name string
}

// point is what a name stands for: an entry, or an absent path or a directory on the way to one.
type point struct {
	at     string
	absent string // "" for an entry
}

func watch(what Watched) (*Watcher, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoWatch, err)
	}
	file := os.NewFile(uintptr(fd), "inotify")
	i := &inotify{Watched: what, fd: fd, points: map[key][]point{}}
	lost, err := i.begin()
	switch {
	case err != nil:
		err = fmt.Errorf("%w: %w", ErrNoWatch, err)
	case lost != nil:
		err = &failure.Error{Kind: failure.Changed, Path: lost.Path}
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	w := &Watcher{file: file, lost: make(chan Loss, 1), done: make(chan struct{})}
	stopped := make(chan struct{})
	w.stop = sync.OnceFunc(func() {
		// The deadline ends the reading, but not before everything has been read that has happened.
		_ = file.SetReadDeadline(time.Now())
		close(stopped)
	})
	go func() {
		if w.first = i.run(file); w.first != nil {
			w.lost <- *w.first
		}
		close(w.lost)
		close(w.done)
		<-stopped // also after a loss, because File may be on its way to another process
		// Nobody waits for this: everything that happened has been read, and the kernel takes some 14 ms to close a
		// descriptor that has watched something.
		_ = file.Close()
	}()
	return w, nil
}

// begin watches everything, and then looks for what happened before the watches were there.
func (i *inotify) begin() (*Loss, error) {
	for _, n := range i.Entries {
		wd, err := i.add(path.Dir(n.Path))
		if err == unix.EACCES && unix.Access(path.Dir(n.Path), unix.W_OK) == unix.EACCES {
			continue // only another user can replace the entry, and this one may not watch the directory
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path.Dir(n.Path), err)
		}
		i.point(wd, point{at: n.Path})
	}
	for _, p := range i.Absent {
		for _, t := range i.Trees {
			if p == t.Path || !Holds(t.Path, p) {
				continue
			}
			if loss, err := i.follow(t.Path, p); loss != nil || err != nil {
				return loss, err
			}
		}
	}
	return i.check(), nil
}

// add watches a directory at a canonical path without following a symlink on the way.
func (i *inotify) add(dir string) (int32, error) {
	held, err := OpenEntry(unix.AT_FDCWD, dir)
	if err != nil {
		return 0, err
	}
	defer unix.Close(held)
	wd, err := unix.InotifyAddWatch(i.fd, "/proc/self/fd/"+strconv.Itoa(held), gone|made|unix.IN_DELETE_SELF|unix.IN_MOVE_SELF|unix.IN_ONLYDIR)
	return int32(wd), err
}

func (i *inotify) point(wd int32, p point) {
	k := key{wd, path.Base(p.at)}
	if !slices.Contains(i.points[k], p) {
		i.points[k] = append(i.points[k], p)
	}
}

// follow watches the way to an absent path from a directory on, as far as there is one. It looks at each
// entry after its directory is watched, so that none comes in between.
func (i *inotify) follow(dir, absent string) (*Loss, error) {
	for {
		before, err := Look(dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		wd, err := i.add(dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		below, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(absent, dir), "/"), "/")
		at := path.Join(dir, below)
		i.point(wd, point{at, absent})
		n, err := Look(at)
		switch {
		case err == errLink:
			return &Loss{Appeared, absent}, nil // a symlink took the place of dir meanwhile
		case err != nil:
			return nil, fmt.Errorf("%s: %w", at, err)
		case n.Kind == Missing:
			// Nothing is there, or dir has gone meanwhile, with what was in it. If another one
			// took its place and it came back, there is an event for that.
			if now, err := Look(dir); err != nil || now != before {
				return &Loss{Appeared, absent}, nil
			}
			return nil, nil
		case at == absent, n.Kind == Link:
			return &Loss{Appeared, absent}, nil
		case n.Kind != Dir:
			return nil, nil // nothing can be below it
		}
		dir = at
	}
}

// run reads what happens, until there is a loss or the watcher is closed. Then it reads what has happened and was not
// read yet: the kernel keeps it from the moment of the change.
func (i *inotify) run(file *os.File) *Loss {
	buf := make([]byte, 64<<10)
	read := file.Read
	for {
		n, err := read(buf)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			read = func(b []byte) (int, error) { return unix.Read(i.fd, b) }
			continue
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return nil
		case err != nil:
			return i.unwatched()
		}
		if loss := i.events(buf[:n]); loss != nil {
			return loss
		}
	}
}

// events is the first loss among events.
func (i *inotify) events(data []byte) *Loss {
	for r := bytes.NewReader(data); r.Len() > 0; {
		var e unix.InotifyEvent
		err := binary.Read(r, binary.NativeEndian, &e)
		if err != nil || int(e.Len) > r.Len() {
			return i.unwatched()
		}
		padded := make([]byte, e.Len)
		_, _ = r.Read(padded)
		name := strings.TrimRight(string(padded), "\x00")
		if e.Mask&unix.IN_Q_OVERFLOW != 0 {
			return i.unwatched()
		}
		if e.Mask&around != 0 {
			if loss := i.check(); loss != nil {
				return loss
			}
		}
		for _, p := range slices.Clone(i.points[key{e.Wd, name}]) {
			if loss := i.event(p, e.Mask); loss != nil {
				return loss
			}
		}
	}
	return nil
}

// event is the loss that an event on a name means, if any.
func (i *inotify) event(p point, mask uint32) *Loss {
	switch {
	case p.absent == "" && mask&gone != 0:
		return &Loss{Replaced, p.at}
	case p.absent == "" || mask&made == 0:
		return nil
	case p.at == p.absent:
		return &Loss{Appeared, p.absent}
	}
	n, err := Look(p.at)
	switch {
	case err != nil, n.Kind == Missing, n.Kind == Link:
		// It may have been a directory, with the absent path in it, and is gone again; or a symlink
		// leads to one.
		return &Loss{Appeared, p.absent}
	case n.Kind != Dir:
		return nil
	}
	if i.follows++; i.follows > maxFollowed {
		return &Loss{Unwatched, p.absent}
	}
	loss, err := i.follow(p.at, p.absent)
	switch {
	case err == nil:
		return loss
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return &Loss{Appeared, p.absent} // as above
	}
	return &Loss{Unwatched, p.absent}
}

// unwatched is for when what happened cannot be known any more: what can be seen to be lost, or that.
func (i *inotify) unwatched() *Loss {
	if loss := i.check(); loss != nil {
		return loss
	}
	if len(i.Absent) > 0 {
		return &Loss{Unwatched, i.Absent[0]}
	}
	return &Loss{Unwatched, i.Entries[0].Path}
}

// check is an entry that is not in its place.
func (i *inotify) check() *Loss {
	for _, n := range i.Entries {
		if now, err := Look(n.Path); err != nil || now.Kind != n.Kind || now.ID != n.ID {
			return &Loss{Replaced, n.Path}
		}
	}
	return nil
}
