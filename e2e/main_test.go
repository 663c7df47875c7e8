// Package e2e tests the built binaries as their users meet them, and the rules of the
// repository.
package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// bin is the directory of the binaries under test.
var bin string

// tools are the binaries that must be there.
var tools = []string{
	"fs_read_file", "fs_create_file", "fs_modify_file", "fs_delete_file",
	"fs_move_file", "fs_grep_files", "fs_list_files",
}

func TestMain(m *testing.M) {
	os.Exit(runMain(m))
}

func runMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "jptools-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	// An ordinary user must be able to run them too.
	if err := os.Chmod(dir, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	bin = dir
	for _, args := range [][]string{
		{dir + string(filepath.Separator), "github.com/jptools/jptools/tools/..."},
		{filepath.Join(dir, "jphost"), "github.com/jptools/jptools/host"},
	} {
		build := exec.Command("go", append([]string{"build", "-trimpath", "-o"}, args...)...)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building the binaries: %v\n%s", err, out)
			return 1
		}
	}
	return m.Run()
}

// outcome is an Outcome as a host reads it.
type outcome struct {
	Type      string          `json:"type"`
	Content   string          `json:"content"`
	Message   string          `json:"message"`
	Trace     []string        `json:"trace"`
	Transient bool            `json:"transient"`
	Code      string          `json:"code"`
	Data      json.RawMessage `json:"data"`
	Question  *struct {
		ID    string `json:"id"`
		Token string `json:"token"`
	} `json:"question"`

	exit int
	raw  string
}

// verdict is "allow" for what the checks let pass, else the code.
func (o *outcome) verdict() string {
	switch o.Code {
	case "access_denied", "path_escape", "absolute_path", "invalid_arguments", "invalid_policy", "invalid_request", "not_found":
		return o.Code
	}
	return "allow"
}

// runTool runs a binary and fails the test unless it printed exactly one Outcome with
// the exit status that goes with it.
func runTool(t testing.TB, tool, stdin string, args ...string) *outcome {
	t.Helper()
	return runCmd(t, exec.Command(filepath.Join(bin, tool), args...), stdin)
}

func runCmd(t testing.TB, cmd *exec.Cmd, stdin string) *outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	err := cmd.Run()
	o := &outcome{exit: cmd.ProcessState.ExitCode(), raw: stdout.String()}
	if o.exit < 0 {
		t.Fatalf("%s died: %v\n%s", cmd.Args, err, stderr.String())
	}
	if strings.Count(o.raw, "\n") != 1 || json.Unmarshal(stdout.Bytes(), o) != nil {
		t.Fatalf("%s: standard output is not one line of JSON: %.500q\n%s", cmd.Args, o.raw, stderr.String())
	}
	if err := valid(t, "outcome", stdout.Bytes()); err != nil {
		t.Fatalf("%s: %.500s does not fit docs/wire.schema.json: %v", cmd.Args, o.raw, err)
	}
	want := map[string]int{"success": 0, "needs_input": 0, "error": 1}[o.Type]
	if strings.HasPrefix(o.Code, "invalid_") {
		want = 2
	}
	if o.exit != want {
		t.Fatalf("%s: exit status %d with %s; want %d", cmd.Args, o.exit, o.raw, want)
	}
	if o.Type == "error" && (o.Code == "" || o.Message == "" || o.Trace == nil) {
		t.Fatalf("%s: incomplete error %s", cmd.Args, o.raw)
	}
	if strings.Contains(stderr.String(), "goroutine ") {
		t.Fatalf("%s panicked:\n%s", cmd.Args, stderr.String())
	}
	return o
}

// request makes a whole request.
func request(t testing.TB, root string, access any, tool string, arguments, answers map[string]any) string {
	t.Helper()
	raw, err := json.Marshal(map[string]any{
		"context": map[string]any{"root": root, "action": "run", "access": access},
		"tool":    map[string]any{"name": tool, "arguments": arguments, "answers": answers},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
