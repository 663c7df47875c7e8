// Package fstest runs the scripts of the tools that change files. It is for tests only.
package fstest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/jptooltest"
)

// Answer is a decoded Outcome.
type Answer struct {
	Type      string
	Content   string
	Message   string
	Code      jptool.Code
	Transient bool
	Data      map[string]any
	Question  *struct {
		ID, Text, Token string
		PreAmble        *string `json:"pre_amble"`
		Default         any
	}
}

// Scripts runs testdata/script/*.txtar over the binaries that testscript.Main
// registered. The workspace is $WORK/ws. Besides the usual commands:
//
//	context FILE [PATH=CAPS | PATH=CAPS>TARGET | pin:PATH | preview]…   writes a Context with these rules
//	says TEXT              the last call succeeded and its content has this text
//	data KEY JSON          the last call succeeded with this in its data
//	fails CODE TEXT        the last call failed so, for good, and TEXT is in its message
//	asks ID TEXT           the last call asks this question; $TOKEN is its token from then on
//	clean DIR              no temporary file is left below DIR
//	fifo FILE              makes a FIFO
func Scripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(e *testscript.Env) error {
			root, err := filepath.EvalSymlinks(e.WorkDir)
			if err != nil {
				return err
			}
			for _, kv := range [][2]string{
				{"ROOT", root},
				{"HOME", filepath.Join(root, "home")},
				{"GIT_CONFIG_NOSYSTEM", "1"},
				{"GIT_CONFIG_GLOBAL", "/dev/null"},
				{"GIT_AUTHOR_NAME", "n"},
				{"GIT_AUTHOR_EMAIL", "e"},
				{"GIT_COMMITTER_NAME", "n"},
				{"GIT_COMMITTER_EMAIL", "e"},
			} {
				e.Setenv(kv[0], kv[1])
			}
			return os.MkdirAll(filepath.Join(root, "ws"), 0o777)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"context": writeContext, "says": says, "data": data, "fails": fails, "asks": asks, "clean": clean, "fifo": fifo,
		},
	})
}

func writeContext(ts *testscript.TestScript, _ bool, args []string) {
	access := &jptool.AccessPolicy{}
	ctx := jptool.Context{Root: ts.MkAbs("ws"), Action: jptool.Run, Access: access}
	for _, a := range args[1:] {
		if path, ok := strings.CutPrefix(a, "pin:"); ok {
			access.Pinned = append(access.Pinned, path)
			continue
		}
		if a == "preview" {
			ctx.Action = jptool.FormatArguments
			continue
		}
		path, caps, _ := strings.Cut(a, "=")
		caps, target, mount := strings.Cut(caps, ">")
		if mount {
			access.FS = append(access.FS, jptooltest.Mount(path, target, caps))
		} else {
			access.FS = append(access.FS, jptooltest.Rule(path, caps))
		}
	}
	if access.FS == nil && access.Pinned == nil {
		ctx.Access = nil
	}
	raw, err := json.Marshal(ctx)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), raw, 0o666))
}

func last(ts *testscript.TestScript) Answer {
	var a Answer
	out := ts.ReadFile("stdout")
	if err := json.Unmarshal([]byte(out), &a); err != nil || strings.Count(out, "\n") != 1 {
		ts.Fatalf("stdout is not one line of JSON: %q (%v)", out, err)
	}
	if text := out + ts.ReadFile("stderr"); strings.Contains(text, ts.Getenv("ROOT")) {
		ts.Fatalf("the answer names an absolute path: %s", text)
	}
	return a
}

func says(ts *testscript.TestScript, neg bool, args []string) {
	a := last(ts)
	if a.Type != "success" || strings.Contains(a.Content, args[0]) == neg {
		ts.Fatalf("got %+v", a)
	}
}

func data(ts *testscript.TestScript, _ bool, args []string) {
	a := last(ts)
	var want any
	ts.Check(json.Unmarshal([]byte(args[1]), &want))
	x, _ := json.Marshal(a.Data[args[0]])
	y, _ := json.Marshal(want)
	if a.Type != "success" || string(x) != string(y) {
		ts.Fatalf("got %s, want %s in %+v", x, y, a)
	}
}

func fails(ts *testscript.TestScript, _ bool, args []string) {
	a := last(ts)
	if a.Type != "error" || string(a.Code) != args[0] || !strings.Contains(a.Message, args[1]) || a.Transient {
		ts.Fatalf("got %+v", a)
	}
}

func asks(ts *testscript.TestScript, _ bool, args []string) {
	a := last(ts)
	if a.Question == nil || a.Question.ID != args[0] || !strings.Contains(a.Question.Text, args[1]) || a.Question.Token == "" {
		ts.Fatalf("got %+v %+v", a, a.Question)
	}
	if a.Question.Default != false {
		ts.Fatalf("the default is %v, want false", a.Question.Default)
	}
	ts.Setenv("TOKEN", a.Question.Token)
}

func clean(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(filepath.WalkDir(ts.MkAbs(args[0]), func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.Contains(d.Name(), "jptool-") {
			ts.Fatalf("left: %s", path)
		}
		return err
	}))
}

func fifo(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(mkfifo(ts.MkAbs(args[0])))
}
