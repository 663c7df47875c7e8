//go:build linux || darwin

package private

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The old content of a file that a tool was writing when it was killed outlives the private directory,
// whoever removes that; nothing else does.
func TestOldContentIsKept(t *testing.T) {
	fill := func(dir string) {
		do(t, os.WriteFile(dir+"/jptool-1.old", []byte("precious"), 0o600))
		do(t, os.WriteFile(dir+"/jptool-2.copy", nil, 0o600))
		do(t, os.WriteFile(dir+"/other.old", nil, 0o600))
		do(t, os.Symlink("/etc/passwd", dir+"/jptool-3.old"))
		do(t, os.MkdirAll(dir+"/jptool-4.old/x", 0o700))
		do(t, os.Mkdir(dir+"/sub", 0o700))
		do(t, os.WriteFile(dir+"/sub/jptool-5.old", nil, 0o600))
	}
	for name, remove := range map[string]func(s Shelf, p *Dir, path string) (kept []string){
		"by its call": func(s Shelf, p *Dir, path string) []string {
			kept := p.Keep()
			do(t, p.Remove())
			return kept
		},
		"without its call": func(s Shelf, p *Dir, path string) []string {
			do(t, Remove(path))
			return nil
		},
		"by a later call": func(s Shelf, p *Dir, path string) []string {
			do(t, p.lock.Close())
			later(t)
			call(t, filepath.Dir(s.dir))
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := ShelfIn(t.TempDir())
			p, err := s.Make(s.NameToKeep())
			do(t, err)
			path := s.Path(p.name)
			fill(path)
			told := remove(s, p, path)
			if there(path) {
				t.Fatal("the directory is still there")
			}
			left, err := filepath.Glob(s.dir + "/*")
			do(t, err)
			if len(left) != 1 || !strings.HasPrefix(filepath.Base(left[0]), "jphost-kept-") {
				t.Fatalf("left: %q", left)
			}
			if told != nil && !slices.Equal(told, left) {
				t.Errorf("told %q, left %q", told, left)
			}
			if got, err := os.ReadFile(left[0]); string(got) != "precious" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}

	s := ShelfIn(t.TempDir())
	p, err := s.Make(s.Name())
	do(t, err)
	fill(s.Path(p.name))
	if kept := p.Keep(); len(kept) > 0 {
		t.Errorf("of any program was kept: %q", kept)
	}
	do(t, p.Remove())
	if left, _ := filepath.Glob(s.dir + "/*"); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}
