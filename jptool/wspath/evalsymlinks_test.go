package wspath

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/jptools/jptools/jptool/internal/testhook"
)

// EvalSymlinks says what package filepath says, whichever way it goes.
func TestEvalSymlinks(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"a/b/c", "d"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(top, "a/file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"link": "a/b", "a/up": "..", "to-file": "a/file", "nowhere": "absent", "loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(top, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(top)
	sep := string(filepath.Separator)
	for _, path := range []string{
		"", "a", "a/b/c", "a/file", "link", "link/c", "link/..", "link/../file", "a/up/d", "to-file", "to-file/x", "nowhere", "absent", "loop", "a/./b", "a//b", "a/b/", "a/../d", "a/file/x", "../" + filepath.Base(top) + "/a",
	} {
		path = filepath.FromSlash(path)
		for _, path := range []string{path, top + sep + path} {
			for _, portable := range []bool{false, true} {
				testhook.Portable.Store(portable)
				got, err := EvalSymlinks(path)
				testhook.Portable.Store(false)
				want, wantErr := filepath.EvalSymlinks(path)
				if got != want || (err == nil) != (wantErr == nil) {
					t.Errorf("%s (portable %v): got %q, %v, want %q, %v", path, portable, got, err, want, wantErr)
				}
			}
		}
	}
	if !linkFree(top+sep+"a"+sep+"b") && runtime.GOOS == "linux" {
		t.Error("one look is not enough to tell that there is no link")
	}
	for _, path := range []string{"link", "link/c", "nowhere", "absent"} {
		if linkFree(top + sep + filepath.FromSlash(path)) {
			t.Errorf("%s is taken for free of links", path)
		}
	}
}
