package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/jptools/jptools/tools/fskit/testdata/fstest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"fs_modify_file": main})
}

// TestScripts has, besides the commands of fstest:
//
//	slots FILE N           writes a file with N slots
//	parallel CTX FILE N    N processes at once fill one slot each; all must be filled
func TestScripts(t *testing.T) {
	fstest.Scripts(t, map[string]func(ts *testscript.TestScript, neg bool, args []string){
		"slots": writeSlots, "parallel": parallel,
	})
}

func writeSlots(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "slot %d: empty\n", i)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(b.String()), 0o666))
}

// parallel fails when an update is lost: each process changes its own line of one file.
func parallel(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[2])
	ts.Check(err)
	ctx := ts.ReadFile(args[0])
	// The binaries of testscript are in the PATH of the script, not in that of the test.
	bin := ""
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if path := filepath.Join(dir, "fs_modify_file"); bin == "" {
			if _, err := os.Stat(path); err == nil {
				bin = path
			}
		}
	}
	var wait sync.WaitGroup
	fails := make(chan string, n)
	for i := range n {
		wait.Go(func() {
			cmd := exec.Command(bin, "--path", args[1], "--answer", "apply_changes=true", "--answer", "broad_change=true",
				"--patterns", fmt.Sprintf(`[{"old":"slot %d: empty","new":"slot %d: full"}]`, i, i))
			cmd.Stdin = strings.NewReader(ctx)
			if out, err := cmd.CombinedOutput(); err != nil {
				fails <- fmt.Sprintf("process %d: %v %s", i, err, out)
			}
		})
	}
	wait.Wait()
	close(fails)
	for f := range fails {
		ts.Logf("%s", f)
		ts.Fatalf("a process failed")
	}
	var want strings.Builder
	for i := range n {
		fmt.Fprintf(&want, "slot %d: full\n", i)
	}
	if got := ts.ReadFile(filepath.Join("ws", args[1])); got != want.String() {
		ts.Fatalf("an update was lost:\n%s", got)
	}
}
