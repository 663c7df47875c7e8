package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jptools/jptools/host/internal/exit"
)

// A line of batch mode is answered as the same question alone is.
func TestExplainBatch(t *testing.T) {
	for _, c := range []struct {
		line, want string
		status     exit.Code
	}{
		{"read a b", `"target":"a b"`, exit.OK},
		{"read a\r", `"target":"a"`, exit.OK},
		{"write a", `"allowed":false`, exit.Refused},
		{"command ls -l", `"target":"ls -l"`, exit.OK},
		{"read", "this is no question", exit.Usage},
		{"command", "this is no question", exit.Usage},
		{"fly a", "is not a capability", exit.Usage},
	} {
		stdout, _, err := commandWith(t, nil, "\n"+c.line+"\n\n", "explain", "fs_read_file", "-", "--json")
		if exit.Of(err) != c.status || !strings.Contains(stdout, c.want) || strings.Count(stdout, "\n") != 1 {
			t.Errorf("%s: %v: %s", c.line, err, stdout)
		}
	}
	// An absolute path below the workspace means the place there.
	ws, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(ws, ".jp"), 0o755); err != nil {
		t.Fatal(err)
	}
	stdout, _, err := commandWith(t, nil, "read "+ws+"/a\n", "explain", "-C", ws, "fs_read_file", "-", "--json")
	if err != nil || !strings.Contains(stdout, `"target":"a"`) {
		t.Errorf("%s: %v: %s", ws, err, stdout)
	}
	// A line that is too long is not cut, and what comes after it is not answered unnoticed.
	long := "read " + strings.Repeat("a/", maxQuestion)
	stdout, stderr, err := commandWith(t, nil, "read a\n"+long+"\nread b\n", "explain", "fs_read_file", "-", "--json")
	if exit.Of(err) != exit.Usage || strings.Count(stdout, "\n") != 1 || !strings.Contains(stderr, "longer than 1024 KiB") {
		t.Errorf("%v: %d bytes, %s", err, len(stdout), stderr)
	}
}

// `--` before a program is no part of it, after it is.
func TestExplainCommandDashes(t *testing.T) {
	for words, want := range map[string]string{"-- ls -l": "ls -l", "ls -- -l": "ls -- -l", "-- ls -- -l": "ls -- -l", "ls --json": "ls --json"} {
		stdout, _, err := runCommand(t, nil, append([]string{"explain", "fs_read_file", "command"}, strings.Fields(words)...)...)
		if err != nil || !strings.HasPrefix(stdout, "allowed: "+want+"\n") {
			t.Errorf("%s: %v: %s", words, err, stdout)
		}
	}
}
