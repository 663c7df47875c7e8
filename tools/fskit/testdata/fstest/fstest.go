// Package fstest runs the scripts of the file tools. It is for tests only.
package fstest

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// Scripts runs testdata/script/*.txtar over the binaries that testscript.Main
// registered. The workspace is $WORK/ws, and $ROOT is $WORK by its canonical path.
// Besides the usual commands and those in extra:
//
//	context FILE [RULE]…   writes a Context; a RULE is PATH=CAPS, PATH=CAPS>TARGET for a mount,
//	                       pin:PATH, or preview to ask for the formatted arguments
//	content [-n] FILE      the last call succeeded with exactly this content; -n: less the
//	                       line end that the file ends with
//	says TEXT              the last call succeeded and its content has this text; ! says: has not
//	data KEY JSON          the last call succeeded with this in its data; KEY may have dots
//	fails CODE TEXT        the last call failed so, for good, and TEXT is in its message
//	asks ID [TEXT [JSON]]  the last call asks this question, TEXT is in it, and its default
//	                       is JSON, or false; $TOKEN is its token from then on
//	bytes FILE QUOTED      writes a file from a Go string; both may have escapes
//	holds FILE QUOTED      the file is exactly this Go string
//	tree LINE              makes an entry, see jptooltest.Tree
//	fifo FILE              makes a FIFO
//	clean DIR              no temporary file is left below DIR
//
// Every answer that a command looks at is checked to be one line of JSON, and to name no
// absolute path of the workspace, on stderr neither.
func Scripts(t *testing.T, extra ...map[string]func(ts *testscript.TestScript, neg bool, args []string)) {
	t.Helper()
	cmds := map[string]func(ts *testscript.TestScript, neg bool, args []string){
		"context": writeContext, "content": content, "says": says, "data": data, "fails": fails, "asks": asks,
		"bytes": writeBytes, "holds": holds, "tree": tree, "fifo": fifo, "clean": clean,
	}
	for _, more := range extra {
		for name := range more {
			if cmds[name] != nil {
				t.Fatalf("the command %s is there twice", name)
			}
		}
		maps.Copy(cmds, more)
	}
	testscript.Run(t, testscript.Params{Dir: filepath.Join("testdata", "script"), Setup: setup, Cmds: cmds})
}

// thisScript is the key of the testing.TB of a script in its values.
type thisScript struct{}

func setup(e *testscript.Env) error {
	root, err := filepath.EvalSymlinks(e.WorkDir)
	if err != nil {
		return err
	}
	e.Values[thisScript{}] = e.T()
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
}
