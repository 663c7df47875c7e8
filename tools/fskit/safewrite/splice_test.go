package safewrite

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/tools/fskit"
)

// A splice gives what Stage of the whole content gives, by either method, around the
// sizes of the buffers, and can be rolled back.
func TestStageSplice(t *testing.T) {
	root := jptooltest.TempRoot(t)
	ws := jptooltest.Open(t, root)
	path := filepath.Join(root, "f")
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.SampledFrom([]int{0, 1, 10, bufferSize - 1, bufferSize, bufferSize + 1, 9*bufferSize + 7}).Draw(rt, "size")
		old := make([]byte, size)
		for i := range old {
			old[i] = byte(i*7 + i>>8)
		}
		start := rapid.IntRange(0, size).Draw(rt, "start")
		end := rapid.IntRange(start, size).Draw(rt, "end")
		text := bytes.Repeat([]byte("new"), rapid.IntRange(0, 1000).Draw(rt, "text"))
		inPlace, before, undo := rapid.Bool().Draw(rt, "in place"), rapid.Bool().Draw(rt, "digest before"), rapid.Bool().Draw(rt, "undo")
		must := func(err error) {
			if err != nil {
				rt.Fatal(err)
			}
		}
		_ = os.Remove(path)
		_ = os.Remove(path + "2")
		must(os.WriteFile(path, old, 0o666))
		if inPlace {
			must(os.Link(path, path+"2"))
		}
		f, err := Lock(t.Context(), target(t, ws, "f"))
		must(err)
		defer f.Close()
		if before {
			_, err := f.Digest()
			must(err)
		}
		was := bytes.Clone(old[start:end])
		digest, err := f.StageSplice(int64(start), was, text)
		must(err)
		method, err := f.Commit()
		must(err)
		want := append(append(bytes.Clone(old[:start]), text...), old[end:]...)
		if digest != fskit.DigestBytes(want) || (method == InPlace) != inPlace {
			rt.Fatalf("digest %s, method %s", digest, method)
		}
		if undo {
			must(f.Rollback())
			want = old
		}
		must(f.Close())
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			rt.Fatalf("%d bytes, %v; want %d", len(got), err, len(want))
		}
	})
}

// Whatever somebody else changed since, before the splice or after it, stops the commit
// and stays.
func TestStageSpliceIsStale(t *testing.T) {
	old := bytes.Repeat([]byte("0123456789"), 100_000)
	for _, at := range []int{0, 500_000, 500_005, 999_999} {
		for _, when := range []string{"after the digest", "after the part was read", "after staging"} {
			t.Run(when, func(t *testing.T) {
				root := jptooltest.TempRoot(t)
				path := filepath.Join(root, "f")
				if err := os.WriteFile(path, old, 0o666); err != nil {
					t.Fatal(err)
				}
				f := lock(t, jptooltest.Open(t, root), "f")
				changed := bytes.Clone(old)
				changed[at] = 'X'
				change := func() {
					w, err := os.OpenFile(path, os.O_WRONLY, 0)
					if err == nil {
						_, err = w.WriteAt([]byte("X"), int64(at))
						err = errors.Join(err, w.Close())
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				if when == "after the digest" {
					if _, err := f.Digest(); err != nil {
						t.Fatal(err)
					}
				}
				was := bytes.Clone(old[500_000:500_010])
				inPart := at >= 500_000 && at < 500_010
				if when != "after staging" {
					change()
				}
				_, err := f.StageSplice(500_000, was, []byte("new"))
				if err == nil && when == "after staging" {
					change()
				}
				if err == nil {
					_, err = f.Commit()
				}
				if when == "after the part was read" && !inPart {
					// Nobody was told what stood there: the change of it is kept.
					if err != nil {
						t.Fatal(err)
					}
					got, _ := os.ReadFile(path)
					if want := append(append(bytes.Clone(changed[:500_000]), "new"...), changed[500_010:]...); !bytes.Equal(got, want) {
						t.Error("the change of somebody else was lost")
					}
					return
				}
				wantCode(t, err, jptool.CodeStale)
				f.Close()
				if got, _ := os.ReadFile(path); !bytes.Equal(got, changed) {
					t.Error("the change of somebody else was lost")
				}
				wantNames(t, root, "f")
			})
		}
	}
}

// What cannot be written leaves the old content and no litter.
func TestStageSpliceFails(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file f 0123456789")
	f := lock(t, jptooltest.Open(t, root), "f")
	for _, name := range []string{"temporary made", "temporary partly written"} {
		onStep = func(s string) error {
			if s == name {
				return errors.New("no")
			}
			return nil
		}
		_, err := f.StageSplice(3, []byte("345"), []byte("x"))
		onStep = nil
		if err == nil {
			t.Fatalf("%s: no error", name)
		}
		wantFile(t, filepath.Join(root, "f"), "0123456789")
		wantNames(t, root, "f")
	}
	if _, err := f.StageSplice(3, []byte("345"), []byte("x")); err != nil {
		t.Fatal(err) // it can be tried again
	}
	if _, err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	wantFile(t, filepath.Join(root, "f"), "012x6789")
}
