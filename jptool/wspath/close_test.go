package wspath

import (
	"os"
	"path/filepath"
	"testing"
)

// After the first Close the descriptor's number belongs to the next file that is opened.
func TestCloseTwiceClosesNothingElse(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "f"), []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		t.Fatal(err)
	}
	d, err := OpenDir(filepath.ToSlash(root))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	other, err := OpenDir(filepath.ToSlash(root))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := d.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
	if _, err := other.Lstat("f"); err != nil {
		t.Errorf("another directory was closed: %v", err)
	}
}
