package undo

import (
	"io/fs"
	"os"
	"testing"
)

// Content that was setuid for somebody else never becomes setuid for another user.
func TestSetuidNeedsItsOwner(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	was := State{UID: os.Getuid() + 12345, GID: os.Getgid() + 12345, Mode: 0o755 | fs.ModeSetuid | fs.ModeSetgid}
	if err := own(f, was); err != nil {
		t.Fatal(err)
	}
	fi, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := ownerOf(fi)
	if fi.Mode().Perm() != 0o755 && needsModes || (fi.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0) != (uid == was.UID) {
		t.Errorf("uid %d: %v", uid, fi.Mode())
	}
}
