//go:build unix

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// However much a caller asks to be shown, memory and result stay bounded: a file of line ends has as many
// matches as bytes.
func TestSizesThatCallersChooseAreBounded(t *testing.T) {
	root := jptooltest.TempRoot(t)
	if err := os.WriteFile(filepath.Join(root, "large"), bytes.Repeat([]byte("\n"), 30_000_000), 0o644); err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		if err := os.WriteFile(filepath.Join(root, fmt.Sprintf("part%02d", i)), bytes.Repeat([]byte("\n"), 1_000_000), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// The peak of a process that is started counts what this one has.
	t.Cleanup(debug.FreeOSMemory)
	const all = 1_000_000_000
	for _, test := range []struct {
		tool               string
		arguments, options map[string]any
		says               string
	}{
		{"fs_grep_files", map[string]any{"pattern": "^", "max_results": all, "paths": "large"}, nil, "of 30000000 matching lines"},
		{"fs_grep_files", map[string]any{"pattern": "^", "max_results": all, "context": all, "paths": "large"}, nil, "of 30000000 matching lines"},
		{"fs_grep_files", map[string]any{"pattern": "^", "max_results": 1, "context": all, "paths": "large"}, nil, "1 of 30000000 matching lines"},
		{"fs_grep_files", map[string]any{"pattern": "^", "max_results": all}, nil, "of 60000000 matching lines in 31 files"},
		{"fs_grep_files", map[string]any{"pattern": "^", "max_results": all, "output": "count"}, nil, "large:30000000"},
		{"fs_grep_files", map[string]any{"pattern": `\n+`, "multiline": true, "max_results": all}, nil, "of 60000000 matching lines in 31 files"},
		{"fs_read_file", map[string]any{"path": "large", "end_line": all}, map[string]any{"max_lines": all, "max_bytes": all, "max_line_bytes": all}, "Note: "},
		{"fs_read_file", map[string]any{"path": "large", "tail": all}, map[string]any{"max_lines": all, "max_bytes": all}, "Note: "},
		{"fs_list_files", map[string]any{"max_results": all, "max_depth": all}, nil, "part29"},
	} {
		debug.FreeOSMemory()
		cmd := exec.Command(filepath.Join(bin, test.tool))
		o := runCmd(t, cmd, withOptions(t, request(t, root, nil, test.tool, test.arguments, nil), test.options))
		if o.Type != "success" || !strings.Contains(o.Content, test.says) {
			t.Errorf("%s %v: %.300s … %s", test.tool, test.arguments, o.raw, o.Content[max(0, len(o.Content)-300):])
		}
		if rss := maxRSS(cmd); rss > 512<<20 { // a multiline search holds whole files
			t.Errorf("%s %v took %d MiB", test.tool, test.arguments, rss>>20)
		}
		if len(o.raw) > 64<<20 {
			t.Errorf("%s %v printed %d bytes", test.tool, test.arguments, len(o.raw))
		}
	}
}

// Every tool has a time limit. A sparse file can be as long as one likes.
func TestEveryToolHasADeadline(t *testing.T) {
	root := jptooltest.TempRoot(t)
	path := filepath.Join(root, "sparse")
	if err := os.WriteFile(path, []byte("text\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Skipf("no sparse file of that size can be made: %v", err)
	}
	const other = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
	for tool, arguments := range map[string]map[string]any{
		"fs_read_file":   {"path": "sparse", "digest": true},
		"fs_create_file": {"path": "sparse", "expected_digest": other},
		"fs_delete_file": {"path": "sparse", "expected_digest": other},
		"fs_move_file":   {"source": "sparse", "target": "moved", "expected_digest": other},
		"fs_modify_file": {"path": "sparse", "expected_digest": other, "patterns": []any{map[string]any{"old": "text", "new": "x"}}},
		"fs_grep_files":  {"pattern": "text", "paths": "sparse"},
		"fs_list_files":  {},
	} {
		start := time.Now()
		o := runTool(t, tool, withOptions(t, request(t, root, nil, tool, arguments, nil), map[string]any{"deadline": 1}))
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%s took %v", tool, took)
		}
		switch tool {
		case "fs_list_files", "fs_grep_files", "fs_modify_file": // need not read it all, or refuse it
		default:
			if o.Code != "deadline" {
				t.Errorf("%s: %.300s", tool, o.raw)
			}
		}
	}
}

// Ignore files take bounded memory, however many directories have one: a pattern of two bytes takes more
// than a hundred there.
func TestIgnoreFilesTakeBoundedMemory(t *testing.T) {
	root := jptooltest.TempRoot(t)
	dir := root
	for range 8 {
		dir = filepath.Join(dir, "d")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, ".gitignore"), bytes.Repeat([]byte("a\n"), 2<<20), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, ".gitignore"), []byte("*.log\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"file", "file.log"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	debug.FreeOSMemory()
	cmd := exec.Command(filepath.Join(bin, "fs_list_files"))
	o := runCmd(t, cmd, request(t, root, nil, "fs_list_files", nil, nil))
	if !strings.Contains(o.Content, "/file\n") || strings.Contains(o.Content, "file.log") || !strings.Contains(o.Content, "could not be read") {
		t.Errorf("%.1000s", o.raw)
	}
	if rss := maxRSS(cmd); rss > 300<<20 {
		t.Errorf("it took %d MiB", rss>>20)
	}
}

// Lists that callers make as long as they like end in time, with a message of bounded size.
func TestLongListsEndInTime(t *testing.T) {
	root := jptooltest.TempRoot(t)
	var bad, missing, there []string
	for i := range 100_000 {
		bad = append(bad, fmt.Sprintf("../%07d", i))
		missing = append(missing, fmt.Sprintf("%07d", i))
	}
	for i := range 10_001 {
		there = append(there, fmt.Sprintf("f%05d", i))
		if err := os.WriteFile(filepath.Join(root, there[i]), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var patterns []any
	for range 100_000 {
		patterns = append(patterns, map[string]any{"old": "x", "new": "y"})
	}
	for _, test := range []struct {
		tool      string
		arguments map[string]any
		code      string
	}{
		{"fs_list_files", map[string]any{"prefixes": bad}, "path_escape"},
		{"fs_grep_files", map[string]any{"paths": bad, "pattern": "x"}, "path_escape"},
		{"fs_list_files", map[string]any{"prefixes": missing}, ""},
		{"fs_grep_files", map[string]any{"paths": missing, "pattern": "x"}, ""},
		{"fs_modify_file", map[string]any{"patterns": []any{map[string]any{"old": "x", "new": "y", "paths": there}}}, "too_large"},
		{"fs_modify_file", map[string]any{"patterns": patterns}, "invalid_arguments"},
	} {
		start := time.Now()
		o := runTool(t, test.tool, withOptions(t, request(t, root, nil, test.tool, test.arguments, nil), map[string]any{"deadline": 5}))
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s took %v", test.tool, took)
		}
		if o.Code != test.code || len(o.raw) > 100<<10 {
			t.Errorf("%s: %d bytes, %.300s", test.tool, len(o.raw), o.raw)
		}
	}
}
