package sandbox

import (
	"encoding/binary"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// gone are the events that say that an entry was unlinked, moved away or replaced: the
// mount on it is lost, even if the same object has come back since.
const gone = unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_DELETE

// around are the events that say that the watched directory itself is not what it was.
const around = unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_IGNORED | unix.IN_UNMOUNT | unix.IN_Q_OVERFLOW

func watch(nodes []Node) (*Watcher, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoWatch, err)
	}
	file := os.NewFile(uintptr(fd), "inotify")
	in := map[int32][]Node{}
	byDir := map[string]int32{}
	for _, n := range nodes {
		dir := path.Dir(n.Path)
		wd, known := byDir[dir]
		if !known {
			if wd, err = addWatch(fd, dir); err != nil {
				file.Close()
				return nil, fmt.Errorf("%w: %s: %w", ErrNoWatch, dir, err)
			}
			byDir[dir] = wd
		}
		in[wd] = append(in[wd], n)
	}
	w := &Watcher{lost: make(chan Node, 1), done: make(chan struct{}), stop: file.Close}
	go w.run(file, nodes, in)
	return w, nil
}

// addWatch watches a directory at a canonical path without following a symlink on the way.
func addWatch(fd int, dir string) (int32, error) {
	held, err := OpenEntry(dir)
	if err != nil {
		return 0, err
	}
	defer unix.Close(held)
	wd, err := unix.InotifyAddWatch(fd, "/proc/self/fd/"+strconv.Itoa(held), gone|unix.IN_DELETE_SELF|unix.IN_MOVE_SELF|unix.IN_ONLYDIR)
	return int32(wd), err
}

func (w *Watcher) run(file *os.File, nodes []Node, in map[int32][]Node) {
	defer close(w.done)
	defer close(w.lost)
	// What happened before the watches were there.
	if w.check(nodes) {
		return
	}
	buf := make([]byte, 64<<10)
	for {
		n, err := file.Read(buf)
		if err != nil {
			return // closed
		}
		if w.events(buf[:n], nodes, in) {
			return
		}
	}
}

// events reports whether something is lost.
func (w *Watcher) events(data []byte, nodes []Node, in map[int32][]Node) bool {
	for len(data) >= unix.SizeofInotifyEvent {
		wd := int32(binary.NativeEndian.Uint32(data))
		mask := binary.NativeEndian.Uint32(data[4:])
		end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(data[12:]))
		if end > len(data) {
			return w.check(nodes)
		}
		name := strings.TrimRight(string(data[unix.SizeofInotifyEvent:end]), "\x00")
		data = data[end:]
		if mask&around != 0 && w.check(nodes) {
			return true
		}
		for _, n := range in[wd] {
			if mask&gone != 0 && path.Base(n.Path) == name {
				w.lost <- n
				return true
			}
		}
	}
	return false
}

// check reports whether something is not in its place.
func (w *Watcher) check(nodes []Node) bool {
	for _, n := range nodes {
		if !inPlace(n) {
			w.lost <- n
			return true
		}
	}
	return false
}
