package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	testscript.Main(m, map[string]func(){"jphost": func() { os.Exit(jphost()) }})
}

var tools = []string{"fs_create_file", "fs_delete_file", "fs_grep_files", "fs_list_files", "fs_modify_file", "fs_move_file", "fs_read_file"}

var toolsDir = flag.String("tools", "", "a directory with the seven tools; by default they are built")

// build builds the seven tools into a directory, as a person would have them on PATH.
func build(t *testing.T) string {
	t.Helper()
	if *toolsDir != "" {
		return *toolsDir
	}
	dir := t.TempDir()
	for _, name := range tools {
		cmd := exec.Command("go", "build", "-o", filepath.Join(dir, name), ".")
		cmd.Dir = filepath.Join("..", "tools", name)
		cmd.Env = append(os.Environ(), "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("building %s: %v\n%s", name, err, out)
		}
	}
	return dir
}

// commands are what scripts have beside the usual commands; tty is there on Linux only.
var commands = map[string]func(ts *testscript.TestScript, neg bool, args []string){"status": status, "env-from": envFrom}

// TestScripts runs testdata/script over the binaries. The workspace is $WS, the canonical
// path of $WORK/ws, where every script begins; $EXT is a directory outside of it. $STATE is the
// private state of the workspace.
func TestScripts(t *testing.T) {
	// Under nohup it is ignored, and commands would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	bin := build(t)
	confined := jptooltest.Announced()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			work, err := filepath.EvalSymlinks(e.WorkDir)
			if err != nil {
				return err
			}
			ws := filepath.Join(work, "ws")
			for _, dir := range []string{ws, filepath.Join(work, "ext"), filepath.Join(work, "home")} {
				if err := os.MkdirAll(dir, 0o755); err != nil {
					return err
				}
			}
			for k, v := range map[string]string{
				"WS": ws, "EXT": filepath.Join(work, "ext"), "HOME": filepath.Join(work, "home"), "JPHOST_SESSION": "script",
				"XDG_DATA_HOME": filepath.Join(work, "data"), "XDG_CONFIG_HOME": filepath.Join(work, "conf"),
				"PATH": bin + string(filepath.ListSeparator) + e.Getenv("PATH"),
				// The toolchains of the person who runs the tests lie there.
				"REAL_HOME": os.Getenv("HOME"), "XDG_CACHE_HOME": filepath.Join(work, "cache"),
				"GORACE": "atexit_sleep_ms=0", // else every jphost takes a second to end under the race detector
			} {
				e.Setenv(k, v)
			}
			e.Cd = ws
			return nil
		},
		Cmds: commands,
		// A sandbox around the tests refuses namespaces, and to be told of calls.
		Condition: func(cond string) (bool, error) {
			if cond != "confined" {
				return false, fmt.Errorf("unknown condition %q", cond)
			}
			return confined, nil
		},
	})
}

// status runs a command and wants exactly this exit status: status CODE COMMAND…
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status CODE COMMAND…")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := "0"
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		code = fmt.Sprint(exit.ExitCode())
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if code != args[0] {
		ts.Fatalf("exit status %s, want %s", code, args[0])
	}
}

// envFrom sets a variable to the standard output of the last command, without its line end.
func envFrom(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: env-from NAME")
	}
	ts.Setenv(args[0], strings.TrimRight(ts.ReadFile("stdout"), "\n"))
}
