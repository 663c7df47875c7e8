package linux

import (
	"bytes"
	"io"
	"os"
	"strings"

	"github.com/jptools/jptools/sandbox/internal/failure"
)

// Watcher looks whether the covers and pins of the private tree are where they were put. What somebody outside does
// to an entry of the host's tree undoes what is mounted on it: deleting or replacing it removes the mount, and
// renaming it, or a directory that holds it, takes the mount along, away from its path.
type Watcher struct {
	file  *os.File
	paths []string // as the kernel writes them
}

// Watch begins to watch the mounts of this process, which must be on these paths; nil if there are none.
func Watch(paths []string) (*Watcher, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	w := &Watcher{}
	for _, p := range paths {
		w.paths = append(w.paths, escape.Replace(p))
	}
	var err error
	w.file, err = os.Open("/proc/self/mountinfo")
	return w, failure.At(failure.Failed, "watching the private tree", "", err)
}

// Lost returns a path that has nothing mounted on it any more, or nothing. A list of mounts that cannot be read
// counts as lost.
func (w *Watcher) Lost() string {
	if w == nil {
		return ""
	}
	var list []byte
	_, err := w.file.Seek(0, io.SeekStart)
	if err == nil {
		list, err = io.ReadAll(w.file)
	}
	if err != nil {
		return unescape.Replace(w.paths[0])
	}
	mounted := map[string]bool{}
	for line := range bytes.Lines(list) {
		if f := bytes.SplitN(line, []byte(" "), 6); len(f) == 6 { // id, parent, device, root, and where it is mounted
			mounted[string(f[4])] = true
		}
	}
	for _, p := range w.paths {
		if !mounted[p] {
			return unescape.Replace(p)
		}
	}
	return ""
}

// In lists of mounts the kernel writes these characters in octal.
var (
	escape   = strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`, `\134`)
	unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
)
