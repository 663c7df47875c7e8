package fstest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

func writeContext(ts *testscript.TestScript, neg bool, args []string) {
	check(ts, neg, args, 1, len(args))
	var access jptool.AccessPolicy
	ctx := jptool.Context{Root: ts.MkAbs("ws"), Action: jptool.Run}
	for _, a := range args[1:] {
		if a == "preview" {
			ctx.Action = jptool.FormatArguments
			continue
		}
		ctx.Access = &access
		if path, ok := strings.CutPrefix(a, "pin:"); ok {
			access.Pinned = append(access.Pinned, path)
			continue
		}
		path, caps, ok := strings.Cut(a, "=")
		if !ok {
			ts.Fatalf("not a rule: %q", a)
		}
		caps, target, mount := strings.Cut(caps, ">")
		if mount {
			access.FS = append(access.FS, jptooltest.Mount(path, target, caps))
		} else {
			access.FS = append(access.FS, jptooltest.Rule(path, caps))
		}
	}
	raw, err := json.Marshal(ctx)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), raw, 0o666))
}

func unquote(ts *testscript.TestScript, s string) string {
	text, err := strconv.Unquote(`"` + s + `"`)
	ts.Check(err)
	return text
}

func writeBytes(ts *testscript.TestScript, neg bool, args []string) {
	check(ts, neg, args, 2, 2)
	path := ts.MkAbs(unquote(ts, args[0]))
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o777))
	ts.Check(os.WriteFile(path, []byte(unquote(ts, args[1])), 0o666))
}

func holds(ts *testscript.TestScript, neg bool, args []string) {
	check(ts, neg, args, 2, 2)
	if got := ts.ReadFile(args[0]); got != unquote(ts, args[1]) {
		ts.Fatalf("%s holds %q", args[0], got)
	}
}

func tree(ts *testscript.TestScript, neg bool, args []string) {
	check(ts, neg, args, 2, len(args))
	jptooltest.Tree(ts.Value(thisScript{}).(testing.TB), ts.MkAbs("."), strings.Join(args, " "))
}

func fifo(ts *testscript.TestScript, neg bool, args []string) {
	check(ts, neg, args, 1, 1)
	tree(ts, false, []string{"fifo", args[0]})
}

func clean(ts *testscript.TestScript, neg bool, args []string) {
	check(ts, neg, args, 1, 1)
	ts.Check(filepath.WalkDir(ts.MkAbs(args[0]), func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.Contains(d.Name(), "jptool-") {
			ts.Fatalf("left: %s", path)
		}
		return err
	}))
}
