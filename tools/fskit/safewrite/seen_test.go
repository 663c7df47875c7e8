package safewrite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// What a token takes of a directory tells it from any other, without reading more than its bound.
func TestSeenOfADirectory(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file d/a/f one", "file d/g two", "dir d/empty", "file d/hidden/x secret")
	large, err := os.Create(filepath.Join(root, "d", "large"))
	if err != nil {
		t.Fatal(err)
	}
	if err := large.Truncate(1 << 40); err != nil {
		t.Fatalf("no sparse file can be made here: %v", err)
	}
	large.Close()
	rules := []jptool.FsRule{jptooltest.Rule("", "read write"), jptooltest.Rule("d/hidden", "write")}
	seen := func() string {
		t.Helper()
		target, err := jptooltest.Open(t, root, rules...).CheckDelete("d")
		if err != nil {
			t.Fatal(err)
		}
		fi, err := target.Lstat()
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		s, err := Seen(t.Context(), target, fi, nil)
		if err != nil || !strings.HasPrefix(s, "tree:") {
			t.Fatalf("%q, %v", s, err)
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("it took %v", took)
		}
		return s
	}
	was := seen()
	if seen() != was {
		t.Fatal("the same directory is seen as two")
	}
	at := func(name string) string { return filepath.Join(root, "d", filepath.FromSlash(name)) }
	for _, c := range []struct {
		name   string
		change func() error
	}{
		{"content", func() error { return os.WriteFile(at("a/f"), []byte("eno"), 0o666) }},
		{"another name", func() error { return os.Rename(at("g"), at("h")) }},
		{"another directory", func() error { return os.Rename(at("a/f"), at("f")) }},
		{"a directory more", func() error { return os.Mkdir(at("empty/e"), 0o777) }},
		{"a directory less", func() error { return os.Remove(at("empty/e")) }},
		{"a file for a directory", func() error { _ = os.Remove(at("empty")); return os.WriteFile(at("empty"), nil, 0o666) }},
		{"the times of a large file", func() error { return os.Chtimes(at("large"), time.Time{}, time.Unix(1, 0)) }},
		{"a directory that may not be read", func() error { return os.WriteFile(at("hidden/y"), nil, 0o666) }},
	} {
		if err := c.change(); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		now := seen()
		if now == was {
			t.Errorf("%s: not seen", c.name)
		}
		was = now
	}
}
