package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/jptooltest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"fs_read_file": main})
}

// TestScripts runs the binary. The workspace is $WORK/ws. Besides the usual commands:
//
//	context FILE [PATH=CAPS | PATH=CAPS>TARGET]…   writes a Context with these rules
//	content FILE                                   the last call succeeded with exactly this content
//	says TEXT                                      the last call succeeded and its content has this text
//	fails CODE TEXT                                the last call failed so, and TEXT is in its message
//	bytes FILE QUOTED                              writes a file from a Go string
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
			"context": writeContext, "content": checkContent, "says": checkSays, "fails": checkFails, "bytes": writeBytes,
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
	return a
}

func checkContent(ts *testscript.TestScript, _ bool, args []string) {
	a := lastAnswer(ts)
	if want := ts.ReadFile(args[0]); a.Type != "success" || a.Content != want {
		ts.Fatalf("got %s %s\n%s\nwant\n%s", a.Type, a.Message, a.Content, want)
	}
}

func checkSays(ts *testscript.TestScript, neg bool, args []string) {
	a := lastAnswer(ts)
	if a.Type != "success" || strings.Contains(a.Content, args[0]) == neg {
		ts.Fatalf("got %s %s\n%s", a.Type, a.Message, a.Content)
	}
}

func checkFails(ts *testscript.TestScript, _ bool, args []string) {
	a := lastAnswer(ts)
	if a.Type != "error" || string(a.Code) != args[0] || !strings.Contains(a.Message, args[1]) || a.Transient {
		ts.Fatalf("got %s %s %q", a.Type, a.Code, a.Message+a.Content)
	}
	if strings.Contains(a.Message, ts.Getenv("ROOT")) {
		ts.Fatalf("the message names an absolute path: %s", a.Message)
	}
}

func writeBytes(ts *testscript.TestScript, _ bool, args []string) {
	text, err := strconv.Unquote(`"` + args[1] + `"`)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o666))
}
