package safewrite

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// When the time is over nothing more is read, and nothing is written; what has to be put
// back is, all the same.
func TestDeadline(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file f old", "file g old")
	ws := jptooltest.Open(t, root)
	for step, do := range map[string]func(*File) error{
		"content": func(f *File) error { _, err := f.Content(); return err },
		"digest":  func(f *File) error { _, err := f.Digest(); return err },
		"version": func(f *File) error { _, err := f.Version(); return err },
		"part":    func(f *File) error { _, err := f.ReadAt(make([]byte, 1), 0); return err },
		"splice":  func(f *File) error { _, err := f.StageSplice(0, []byte("o"), nil); return err },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		f, err := Lock(ctx, target(t, ws, "f"))
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := do(f); jptool.CodeOf(err) != jptool.CodeDeadline {
			t.Errorf("%s: %v", step, err)
		}
		f.Close()
		wantFile(t, root+"/f", "old")
		wantNames(t, root, "f", "g")
	}
	for _, rules := range [][]jptool.FsRule{nil, {jptooltest.Rule("", "read update")}} {
		for _, when := range []string{"before the commit", "at the exchange", "before the rollback"} {
			ctx, cancel := context.WithCancel(t.Context())
			f, err := Lock(ctx, target(t, jptooltest.Open(t, root, rules...), "f"))
			if err != nil {
				t.Fatal(err)
			}
			_, err = f.Content()
			if err == nil {
				err = f.Stage([]byte("new"))
			}
			if err != nil {
				t.Fatal(err)
			}
			switch when {
			case "before the commit":
				cancel()
			case "at the exchange":
				onStep = func(s string) error {
					if s == "exchanged" {
						cancel()
					}
					return nil
				}
			}
			_, err = f.Commit()
			onStep = nil
			late := when == "before the rollback" || when == "at the exchange" && rules != nil
			if late != (err == nil) || !late && jptool.CodeOf(err) != jptool.CodeDeadline {
				t.Errorf("%s: %v", when, err)
			}
			cancel()
			if late {
				if err := f.Rollback(); err != nil {
					t.Error(err)
				}
			}
			f.Close()
			wantFile(t, root+"/f", "old")
			wantNames(t, root, "f", "g")
		}
	}
	from, err := os.Open(root + "/f")
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantCode(t, Copy(ctx, target(t, ws, "h"), from, false), jptool.CodeDeadline)
	wantCode(t, CopyOver(ctx, target(t, ws, "g"), from, func() error { return nil }), jptool.CodeDeadline)
	wantFile(t, root+"/g", "old")
	wantNames(t, root, "f", "g")
}

// What was put under the target's name while the copy was written is not replaced.
func TestCopyOverAsks(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file f from", "file g old")
	from, err := os.Open(root + "/f")
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	g := target(t, jptooltest.Open(t, root), "g")
	still := func() error { return jptool.Errorf(jptool.CodeStale, "no") }
	wantCode(t, CopyOver(t.Context(), g, from, still), jptool.CodeStale)
	wantFile(t, root+"/g", "old")
	wantNames(t, root, "f", "g")
	if err := CopyOver(t.Context(), g, from, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	wantFile(t, root+"/g", "from")
}

// A file as large as one likes costs nothing to ask about, and a change of it is noticed.
func TestVersionOfHugeFile(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file f", "file small text")
	if err := os.Truncate(root+"/f", 1<<40); err != nil {
		t.Skipf("no sparse file of that size can be made: %v", err)
	}
	ws := jptooltest.Open(t, root)
	small := lock(t, ws, "small")
	digest, err := small.Digest()
	if v, err2 := small.Version(); err != nil || err2 != nil || v != digest {
		t.Errorf("%q %v, %q %v", v, err2, digest, err)
	}
	f := lock(t, ws, "f")
	before, err := f.Version()
	if err != nil || strings.HasPrefix(before, "sha256:") {
		t.Fatalf("%q, %v", before, err)
	}
	if again, err := f.Version(); again != before || err != nil {
		t.Errorf("%q, %v; want %q", again, err, before)
	}
	if err := f.Unchanged(); err != nil {
		t.Error(err)
	}
	if _, err := f.Content(); jptool.CodeOf(err) != jptool.CodeTooLarge {
		t.Errorf("content: %v", err)
	}
	if err := f.Stage([]byte("new")); err != nil {
		t.Fatal(err)
	}
	w, err := os.OpenFile(root+"/f", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.WriteAt([]byte("x"), 1<<39); err != nil {
		t.Fatal(err)
	}
	if now, err := lockAgain(t, f, ws).Version(); now == before || err != nil {
		t.Errorf("the version is the same after a write: %q, %v", now, err)
	}
}

// lockAgain checks that the commit of f fails, and locks its file once more.
func lockAgain(t *testing.T, f *File, ws *jptool.Workspace) *File {
	t.Helper()
	wantCode(t, f.Unchanged(), jptool.CodeStale)
	_, err := f.Commit()
	wantCode(t, err, jptool.CodeStale)
	f.Close()
	return lock(t, ws, "f")
}
