// Package disktest has a file system in memory for tests.
package disktest

import (
	"io/fs"
	"os"
	"path"
	"testing"

	"github.com/spf13/afero"

	"github.com/jptools/jptools/host/internal/disk"
)

// Memory returns a file system in memory that holds files with this content, by path.
func Memory(t testing.TB, files map[string]string) disk.FS {
	t.Helper()
	m := afero.NewMemMapFs()
	for name, content := range files {
		if err := afero.WriteFile(m, name, []byte(content), 0o644); err != nil { // makes directories
			t.Fatal(err)
		}
	}
	return memory{m}
}

type memory struct{ afero.Fs }

func (m memory) OpenFile(name string, flag int, perm fs.FileMode) (disk.File, error) {
	f, err := m.Fs.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// OpenBelow opens what is there as it is named.
func (m memory) OpenBelow(dir, name string) (disk.File, error) {
	return m.OpenFile(path.Join(dir, name), os.O_RDONLY, 0)
}

// Lstat is Stat: there are no links.
func (m memory) Lstat(name string) (fs.FileInfo, error) { return m.Stat(name) }

// EvalSymlinks finds what is there as it is named.
func (m memory) EvalSymlinks(name string) (string, error) {
	_, err := m.Stat(name)
	return name, err
}

func (m memory) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := afero.ReadDir(m.Fs, name)
	entries := make([]fs.DirEntry, len(list))
	for i, fi := range list {
		entries[i] = fs.FileInfoToDirEntry(fi)
	}
	return entries, err
}
