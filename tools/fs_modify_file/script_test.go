package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/jptooltest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"fs_modify_file": main})
}

// TestScripts runs the binary. The workspace is $WORK/ws. Besides the usual commands:
//
//	context FILE [PATH=CAPS | PATH=CAPS>TARGET]…   writes a Context with these rules
//	modified TEXT          the last call succeeded and its content has this text
//	asks ID                the last call asked this
//	fails CODE TEXT        the last call failed so, and TEXT is in its message
//	bytes FILE QUOTED      writes a file from a Go string
//	holds FILE QUOTED      the file is exactly this
//	slots FILE N           writes a file with N slots
//	parallel CTX FILE N    N processes at once fill one slot each; all must be filled
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(e *testscript.Env) error {
			root, err := filepath.EvalSymlinks(e.WorkDir)
			if err != nil {
				return err
			}
			e.Setenv("ROOT", root)
			e.Setenv("HOME", filepath.Join(root, "home"))
			return os.MkdirAll(filepath.Join(root, "ws"), 0o777)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"context": writeContext, "modified": checkModified, "asks": checkAsks, "fails": checkFails,
			"bytes": writeBytes, "holds": checkHolds, "slots": writeSlots, "parallel": parallel,
		},
	})
}

func writeContext(ts *testscript.TestScript, _ bool, args []string) {
	var rules []jptool.FsRule
	for _, a := range args[1:] {
		path, caps, _ := strings.Cut(a, "=")
		caps, target, mount := strings.Cut(caps, ">")
		if mount {
			rules = append(rules, jptooltest.Mount(path, target, caps))
		} else {
			rules = append(rules, jptooltest.Rule(path, caps))
		}
	}
	ctx := jptool.Context{Root: ts.MkAbs("ws"), Action: jptool.Run}
	if len(rules) > 0 {
		ctx.Access = &jptool.AccessPolicy{FS: rules}
	}
	raw, err := json.Marshal(ctx)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), raw, 0o666))
}

func lastAnswer(ts *testscript.TestScript) answer {
	var a answer
	out := ts.ReadFile("stdout")
	if err := json.Unmarshal([]byte(out), &a); err != nil || strings.Count(out, "\n") != 1 {
		ts.Fatalf("stdout is not one line of JSON: %q (%v)", out, err)
	}
	if strings.Contains(a.Message, ts.Getenv("ROOT")) {
		ts.Fatalf("the message names an absolute path: %s", a.Message)
	}
	return a
}

func checkModified(ts *testscript.TestScript, _ bool, args []string) {
	a := lastAnswer(ts)
	if a.Type != "success" || !strings.Contains(a.Content, args[0]) {
		ts.Fatalf("got %s %s\n%s", a.Type, a.Message, a.Content)
	}
}

func checkAsks(ts *testscript.TestScript, _ bool, args []string) {
	if a := lastAnswer(ts); a.Type != "needs_input" || a.Question.ID != args[0] {
		ts.Fatalf("got %s %s%s", a.Type, a.Message, a.Content)
	}
}

func checkFails(ts *testscript.TestScript, _ bool, args []string) {
	a := lastAnswer(ts)
	if a.Type != "error" || string(a.Code) != args[0] || !strings.Contains(a.Message, args[1]) || a.Transient {
		ts.Fatalf("got %s %s %q", a.Type, a.Code, a.Message+a.Content)
	}
}

func unquote(ts *testscript.TestScript, s string) string {
	text, err := strconv.Unquote(`"` + s + `"`)
	ts.Check(err)
	return text
}

func writeBytes(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(unquote(ts, args[1])), 0o666))
}

func checkHolds(ts *testscript.TestScript, _ bool, args []string) {
	if got := ts.ReadFile(args[0]); got != unquote(ts, args[1]) {
		ts.Fatalf("%s holds %q", args[0], got)
	}
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
