package undo

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// An undo that is killed at any moment leaves the old or the new content, never a mix or nothing.
func TestKilledUndo(t *testing.T) {
	old, now := strings.Repeat("old\n", 500_000), strings.Repeat("new!\n", 500_000)
	if root := os.Getenv("UNDO_TEST_KILL"); root != "" {
		w := &world{t: t, root: root, store: openStore(t, root, os.Getenv("UNDO_TEST_DATA"), Limits{Bytes: 100 << 20, Age: time.Hour})}
		w.write("a", old, 0o644)
		fmt.Println("READY")
		for id := w.create("a", now); ; { // and then undo of undo
			plan := w.plan(id)
			for _, a := range plan.Conflicts() {
				a.Conflict = "" // of a large file without a digest
			}
			var err error
			if id, err = plan.Apply(plan.Steps[0]); err != nil {
				t.Fatal(err)
			}
			w.close()
		}
	}
	contents := map[string]int{}
	for i := range 12 {
		w := newWorld(t)
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledUndo$")
		cmd.Env = append(os.Environ(), "UNDO_TEST_KILL="+w.root, "UNDO_TEST_DATA="+filepath.Dir(w.store.dir.Base()))
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 100)
		if n, err := out.Read(buf); err != nil || !strings.Contains(string(buf[:n]), "READY") {
			t.Fatalf("%q, %v", buf[:n], err)
		}
		time.Sleep(time.Duration(20+7*i) * time.Millisecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if _ = cmd.Wait(); cmd.ProcessState.Exited() {
			t.Fatalf("it ended by itself: %v", cmd.ProcessState)
		}
		data, err := os.ReadFile(w.path("a"))
		switch {
		case err != nil:
			t.Fatal(err)
		case string(data) == old:
			contents["old"]++
		case string(data) == now:
			contents["new"]++
		default:
			t.Fatalf("the file has %d bytes of neither content", len(data))
		}
	}
	t.Log(contents)
}
