package private

import (
	"io"
	"os"
	"path/filepath"
	"strings"
)

// keeping ends the names of directories of which something is kept.
const keeping = "-k"

// mostKept bounds what is kept of one call, mostLooked at how many entries is looked for it.
const mostKept, mostLooked = 64, 10_000

// Keep saves what tools leave of files that they were writing when they were killed: regular files named
// jptool-*.old, directly in the directory. They get names beside it, which nothing removes but a person;
// it returns their paths. Call it before Remove. It does nothing unless the name is one of
// [Shelf.NameToKeep].
func (p *Dir) Keep() []string {
	var paths []string
	for _, name := range keep(p.in, p.name) {
		paths = append(paths, filepath.Join(p.in.Name(), name))
	}
	return paths
}

// keep renames within one file system: that takes no room and works on a full disk.
func keep(in *os.Root, name string) (kept []string) {
	if !strings.HasSuffix(name, keeping) {
		return nil
	}
	dir, err := in.OpenRoot(name)
	if err != nil {
		return nil
	}
	defer dir.Close()
	list, err := dir.Open(".")
	if err != nil {
		return nil
	}
	defer list.Close()
	for looked := 0; looked < mostLooked && len(kept) < mostKept; {
		names, err := list.Readdirnames(256)
		looked += len(names)
		for _, old := range names {
			is, statErr := dir.Lstat(old)
			if ok, _ := filepath.Match("jptool-*.old", old); !ok || statErr != nil || !is.Mode().IsRegular() || len(kept) == mostKept {
				continue
			}
			to := "jphost-kept-" + random() + ".old" // never the name that a program chose
			if in.Rename(filepath.Join(name, old), to) == nil {
				kept = append(kept, to)
			}
		}
		if err == io.EOF || err != nil {
			break
		}
	}
	return kept
}
