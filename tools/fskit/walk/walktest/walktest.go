// Package walktest runs the scripts of the tools that list and search. It is for tests
// only.
package walktest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/jptooltest"
)

// Scripts runs testdata/script/*.txtar over the binary that testscript.Main registered.
// The workspace is $WORK/ws. Besides the usual commands:
//
//	context FILE [preview] [PATH=CAPS | PATH=CAPS>TARGET]…   writes a Context with these rules
//	content FILE           the last call succeeded with exactly this content
//	says TEXT              the last call succeeded and its content has this text
//	data KEY JSON          the last call succeeded with this in its data; KEY may have dots
//	fails CODE TEXT        the last call failed so, for good, and TEXT is in its message
//	bytes FILE QUOTED      writes a file from a Go string; both may have escapes
//	tree LINE              makes an entry, see jptooltest.Tree
//
// Every answer is checked to be one line of JSON that names no absolute path.
func Scripts(t *testing.T) {
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
		Condition: func(name string) (bool, error) { return name == "unix" && runtime.GOOS != "windows", nil },
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"context": writeContext, "content": content, "says": says, "data": data, "fails": fails, "bytes": writeBytes,
			"tree": func(ts *testscript.TestScript, _ bool, args []string) {
				jptooltest.Tree(t, ts.MkAbs("."), strings.Join(args, " "))
			},
		},
	})
}

func writeContext(ts *testscript.TestScript, _ bool, args []string) {
	ctx := jptool.Context{Root: ts.MkAbs("ws"), Action: jptool.Run}
	for _, a := range args[1:] {
		if a == "preview" {
			ctx.Action = jptool.FormatArguments
			continue
		}
		if ctx.Access == nil {
			ctx.Access = &jptool.AccessPolicy{}
		}
		path, caps, _ := strings.Cut(a, "=")
		caps, target, mount := strings.Cut(caps, ">")
		rule := jptooltest.Rule(path, caps)
		if mount {
			rule = jptooltest.Mount(path, target, caps)
		}
		ctx.Access.FS = append(ctx.Access.FS, rule)
	}
	raw, err := json.Marshal(ctx)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), raw, 0o666))
}

type answer struct {
	Type, Content, Message string
	Code                   jptool.Code
	Transient              bool
	Data                   map[string]any
}

func last(ts *testscript.TestScript) answer {
	var a answer
	out := ts.ReadFile("stdout")
	if err := json.Unmarshal([]byte(out), &a); err != nil || strings.Count(out, "\n") != 1 {
		ts.Fatalf("stdout is not one line of JSON: %q (%v)", out, err)
	}
	if text := out + ts.ReadFile("stderr"); strings.Contains(text, ts.Getenv("ROOT")) {
		ts.Fatalf("the answer names an absolute path: %s", text)
	}
	return a
}

func content(ts *testscript.TestScript, _ bool, args []string) {
	a := last(ts)
	if want := strings.TrimSuffix(ts.ReadFile(args[0]), "\n"); a.Type != "success" || a.Content != want {
		ts.Fatalf("got %s %s\n%s\nwant\n%s", a.Type, a.Message, a.Content, want)
	}
}

func says(ts *testscript.TestScript, neg bool, args []string) {
	a := last(ts)
	if a.Type != "success" || strings.Contains(a.Content, args[0]) == neg {
		ts.Fatalf("got %s %s\n%s", a.Type, a.Message, a.Content)
	}
}

func data(ts *testscript.TestScript, _ bool, args []string) {
	a := last(ts)
	var got any = a.Data
	for key := range strings.SplitSeq(args[0], ".") {
		m, _ := got.(map[string]any)
		got = m[key]
	}
	var want any
	ts.Check(json.Unmarshal([]byte(args[1]), &want))
	x, _ := json.Marshal(got)
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

func writeBytes(ts *testscript.TestScript, _ bool, args []string) {
	name, err := strconv.Unquote(`"` + args[0] + `"`)
	ts.Check(err)
	text, err := strconv.Unquote(`"` + args[1] + `"`)
	ts.Check(err)
	ts.Check(os.MkdirAll(filepath.Dir(ts.MkAbs(name)), 0o777))
	ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o666))
}
