package undo

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// The same holds for a user who owns nothing: all tests of this package pass.
func TestOrdinaryUser(t *testing.T) {
	if !jptooltest.Root(t) {
		return // these are the tests of an ordinary user
	}
	cmd := jptooltest.Ordinary(t, "-test.run=^Test[^O]")
	jptooltest.Passed(t, cmd)
}

// On a disk that is full no call fails, and an undo leaves the old or the new content, whole.
func TestFullDisk(t *testing.T) {
	if dir := os.Getenv("UNDO_TEST_FULL"); dir != "" {
		fullDisk(t, dir)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestFullDisk$", "-test.v")
	cmd.Env = append(os.Environ(), "UNDO_TEST_FULL="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) || strings.Contains(string(out), "no tmpfs") {
		t.Skipf("a user and mount namespace with a tmpfs is needed and cannot be had: %v %s", err, out)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS: TestFullDisk") {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

func fullDisk(t *testing.T, dir string) {
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skip("no tmpfs: ", err)
	}
	refused, done, unkept := 0, 0, 0
	for free := 0; free <= 200; free += 8 {
		for _, where := range []string{"before the call", "before the undo"} {
			list, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range list {
				if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
					t.Fatal(err)
				}
			}
			root := filepath.Join(dir, "ws")
			if err := os.Mkdir(root, 0o755); err != nil {
				t.Fatal(err)
			}
			w := &world{t: t, root: root, store: openStore(t, root, filepath.Join(dir, "data"), Limits{Bytes: 100 << 20, Age: 1 << 60})}
			old, now := strings.Repeat("o", 60_000), strings.Repeat("n", 50_000)
			w.write("a", old, 0o644)
			fill := func() {
				f, err := os.Create(filepath.Join(dir, "filler"))
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				block := make([]byte, 4096)
				for err == nil {
					_, err = f.Write(block)
				}
				fi, _ := f.Stat()
				if err := f.Truncate(max(0, fi.Size()-int64(free)<<10)); err != nil {
					t.Fatal(err)
				}
			}
			if where == "before the call" {
				fill()
			}
			c := Call{Tool: "fs_modify_file", Conversation: "default"}
			c.Places("fs_modify_file", map[string]any{"path": "a"}, w.workspace(nil))
			p, err := w.store.Begin(c)
			if err := os.WriteFile(w.path("a"), []byte(now), 0o644); err != nil {
				t.Fatal(err) // it is smaller
			}
			id := 0
			if err == nil {
				id, err = p.Finish(nil)
			}
			if err != nil {
				unkept++
				w.close()
				continue
			}
			if where != "before the call" {
				fill()
			}
			err = w.undo(id)
			data, readErr := os.ReadFile(w.path("a"))
			switch got := string(data); {
			case readErr != nil || got != old && got != now:
				t.Fatalf("%d KiB free %s: %d bytes, %v", free, where, len(got), readErr)
			case err == nil && got != old:
				t.Fatalf("%d KiB free %s: nothing was put back", free, where)
			case err != nil:
				refused++
			default:
				done++
			}
			w.none()
			w.close()
		}
	}
	if done == 0 || refused == 0 || unkept == 0 {
		t.Errorf("%d done, %d refused, %d not kept", done, refused, unkept)
	}
	fmt.Printf("%d done, %d refused, %d not kept\n", done, refused, unkept)
}
