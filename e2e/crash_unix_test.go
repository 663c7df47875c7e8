//go:build unix

package e2e

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// An edit that is killed at any moment leaves the whole old or the whole new file, and
// after the next call no temporary files.
func TestKilledEdit(t *testing.T) {
	root := jptooltest.TempRoot(t)
	path := filepath.Join(root, "big.txt")
	before := append(bytes.Repeat([]byte("some line of text\n"), 400_000), "MARK old\n"...)
	after := append(bytes.Clone(before[:len(before)-9]), "MARK new\n"...)
	if err := os.WriteFile(path, before, 0o644); err != nil {
		t.Fatal(err)
	}
	edit := func(from, to string) string {
		return request(t, root, nil, "fs_modify_file",
			map[string]any{"path": "big.txt", "patterns": []any{map[string]any{"old": "MARK " + from, "new": "MARK " + to}}},
			map[string]any{"apply_changes": true, "modify_dirty_file": true})
	}
	start := time.Now()
	if o := runTool(t, "fs_modify_file", edit("old", "new")); o.Type != "success" {
		t.Fatal(o.raw)
	}
	whole := time.Since(start)
	killed := 0
	state := "new"
	for i := range 60 {
		want := map[string]string{"new": "old", "old": "new"}[state]
		cmd := exec.Command(filepath.Join(bin, "fs_modify_file"))
		cmd.Stdin = strings.NewReader(edit(state, want))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.Int64N(int64(whole)) + 1))
		cmd.Process.Kill()
		if cmd.Wait() != nil {
			killed++
		}
		got, err := os.ReadFile(path)
		switch {
		case err == nil && bytes.Equal(got, before):
			state = "old"
		case err == nil && bytes.Equal(got, after):
			state = "new"
		default:
			t.Fatalf("round %d: the file is neither old nor new: %d bytes, %v", i, len(got), err)
		}
	}
	if o := runTool(t, "fs_modify_file", edit(state, map[string]string{"new": "old", "old": "new"}[state])); o.Type != "success" {
		t.Fatal(o.raw)
	}
	if entries, _ := os.ReadDir(root); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
	if killed < 10 {
		t.Errorf("only %d of 60 calls were killed before their end", killed)
	}
}

// An edit of several files that is told to end at any moment changes all of them or none.
func TestEndedEditOfManyFiles(t *testing.T) {
	const files = 60
	root := jptooltest.TempRoot(t)
	var names []any
	for i := range files {
		name := fmt.Sprintf("f%02d", i)
		names = append(names, name)
		if err := os.WriteFile(filepath.Join(root, name), []byte("MARK old\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	edit := func(from, to string) string {
		return request(t, root, nil, "fs_modify_file",
			map[string]any{"patterns": []any{map[string]any{"old": "MARK " + from, "new": "MARK " + to, "paths": names}}},
			map[string]any{"apply_changes": true, "modify_dirty_file": true})
	}
	other := map[string]string{"old": "new", "new": "old"}
	state := "old"
	undone := 0
	for round := 0; round < 60 && undone < 3; round++ {
		cmd := exec.Command(filepath.Join(bin, "fs_modify_file"))
		cmd.Stdin = strings.NewReader(edit(state, other[state]))
		var stdout bytes.Buffer
		cmd.Stdout = &stdout
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		// The first file that is another one is the sign that they are being put into place.
		for changed := false; !changed; {
			select {
			case err := <-ended:
				t.Fatalf("it ended unasked: %v %s", err, stdout.String())
			default:
				got, err := os.ReadFile(filepath.Join(root, "f00"))
				changed = err == nil && string(got) == "MARK "+other[state]+"\n"
			}
		}
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
		count := map[string]int{}
		for _, name := range names {
			got, err := os.ReadFile(filepath.Join(root, name.(string)))
			if err != nil {
				t.Fatal(err)
			}
			count[string(got)]++
		}
		switch files {
		case count["MARK "+state+"\n"]:
			undone++
		case count["MARK "+other[state]+"\n"]:
			state = other[state]
		default:
			t.Fatalf("round %d: %v, %s", round, count, stdout.String())
		}
		if left, _ := filepath.Glob(root + "/.jptool*"); len(left) > 0 {
			t.Fatalf("round %d: left %q", round, left)
		}
	}
	if undone == 0 {
		t.Error("no call was told to end between two files, so this test shows nothing")
	}
}

// Parallel edits of one file through the binaries: no update is lost.
func TestParallelEdits(t *testing.T) {
	root := jptooltest.TempRoot(t)
	var lines []string
	for i := range 40 {
		lines = append(lines, fmt.Sprintf("line %03d: todo", i))
	}
	if err := os.WriteFile(root+"/f", []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			o := runTool(t, "fs_modify_file", request(t, root, nil, "fs_modify_file",
				map[string]any{"path": "f", "patterns": []any{map[string]any{"old": fmt.Sprintf("line %03d: todo", i), "new": fmt.Sprintf("line %03d: done", i)}}},
				map[string]any{"apply_changes": true, "modify_dirty_file": true}))
			if o.Type != "success" {
				t.Errorf("edit %d: %s", i, o.raw)
			}
		})
	}
	wg.Wait()
	got, err := os.ReadFile(root + "/f")
	if want := strings.ReplaceAll(strings.Join(lines, "\n")+"\n", "todo", "done"); err != nil || string(got) != want {
		t.Errorf("updates were lost:\n%s", got)
	}
}
