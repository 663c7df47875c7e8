package wspath

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Where openat2 cannot be used, whatever it says, a directory is held in the portable way; where it can, its word
// counts.
func TestOpenDirFallback(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(".", filepath.Join(top, "refused")); err != nil {
		t.Fatal(err)
	}
	defer func(was func() bool) { haveOpenat2 = was }(haveOpenat2)
	for _, have := range []bool{true, false} {
		haveOpenat2 = func() bool { return have }
		d, err := OpenDir(top + "/refused")
		if have {
			if !errors.Is(err, ErrChanged) {
				t.Errorf("a link is opened: %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("without openat2: %v", err)
		}
		defer d.Close()
		if _, ok := d.b.(rootDir); !ok {
			t.Errorf("without openat2: %T", d.b)
		}
	}
}
