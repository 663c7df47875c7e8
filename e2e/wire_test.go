package e2e

import (
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

func TestThreeRequestFormsPrintTheSameLine(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file README.md # Hello\\nworld\\n")
	ctx := `{"root":"` + root + `","action":"run"}`
	tool := `{"name":"fs_read_file","arguments":{"path":"README.md"}}`
	flags := runTool(t, "fs_read_file", ctx, "--path", "README.md")
	whole := runTool(t, "fs_read_file", `{"context":`+ctx+`,"tool":`+tool+`}`)
	positional := runTool(t, "fs_read_file", "", ctx, tool)
	if flags.Type != "success" || flags.raw != whole.raw || whole.raw != positional.raw {
		t.Errorf("flags:      %swhole:      %spositional: %s", flags.raw, whole.raw, positional.raw)
	}
}

// RFD 076's table of tools, with a policy of read on ".", read and write on
// .config/jp/tools, and nothing on .env.
func TestRFD076ToolTable(t *testing.T) {
	access := map[string]any{"fs": []map[string]any{
		{"path": ".", "read": true},
		{"path": ".config/jp/tools", "read": true, "write": true},
		{"path": ".env"},
	}}
	const in, out = ".config/jp/tools/", "src/"
	yes := map[string]any{"apply_changes": true, "overwrite_file": true, "delete_dirty_file": true, "modify_dirty_file": true, "move_dirty_source": true}
	edit := func(path string) map[string]any {
		return map[string]any{"path": path, "patterns": []any{map[string]any{"old": "text", "new": "word"}}}
	}
	for _, c := range []struct {
		tool      string
		arguments map[string]any
		denied    string // capability that the message must name, "" for success
		path      string // path that it must name
	}{
		{"fs_read_file", map[string]any{"path": out + "a"}, "", ""},
		{"fs_read_file", map[string]any{"path": ".env"}, "read", ".env"},
		{"fs_list_files", map[string]any{"prefixes": "src"}, "", ""},
		{"fs_grep_files", map[string]any{"pattern": "text", "paths": "src"}, "", ""},
		{"fs_create_file", map[string]any{"path": in + "new", "content": "x"}, "", ""},
		{"fs_create_file", map[string]any{"path": in + "deep/er/new"}, "", ""},
		{"fs_create_file", map[string]any{"path": out + "new"}, "create", out + "new"},
		{"fs_create_file", map[string]any{"path": out + "a", "content": "x"}, "update", out + "a"},
		{"fs_create_file", map[string]any{"path": in + "a", "content": "x"}, "", ""},
		{"fs_modify_file", edit(in + "a"), "", ""},
		{"fs_modify_file", edit(out + "a"), "update", out + "a"},
		{"fs_modify_file", edit(".env"), "update", ".env"},
		{"fs_delete_file", map[string]any{"path": in + "a"}, "", ""},
		{"fs_delete_file", map[string]any{"path": out + "a"}, "delete", out + "a"},
		{"fs_move_file", map[string]any{"source": in + "a", "target": in + "sub/b"}, "", ""},
		{"fs_move_file", map[string]any{"source": out + "a", "target": in + "b"}, "delete", out + "a"},
		{"fs_move_file", map[string]any{"source": in + "a", "target": out + "b"}, "create", out + "b"},
		{"fs_move_file", map[string]any{"source": in + "a", "target": out + "a"}, "update", out + "a"},
	} {
		root := jptooltest.TempRoot(t)
		jptooltest.Tree(t, root, "file src/a text", "file .config/jp/tools/a text", "file .config/jp/tools/keep x", "file .env KEY=1")
		before := snapshot(t, root)
		o := runTool(t, c.tool, request(t, root, access, c.tool, c.arguments, yes))
		name := fmt.Sprintf("%s %v", c.tool, c.arguments)
		if c.denied == "" {
			if o.Type != "success" {
				t.Errorf("%s: %s; want success", name, o.raw)
			}
			continue
		}
		for _, want := range []string{c.denied, c.path, ". (read)", ".config/jp/tools (read, create, update, delete)"} {
			if o.Code != "access_denied" || o.Transient || !strings.Contains(o.Message, want) {
				t.Errorf("%s: %s; want a lasting access_denied that names %q", name, o.raw, want)
			}
		}
		if after := snapshot(t, root); after != before {
			t.Errorf("%s was refused but changed the tree to\n%s", name, after)
		}
		if strings.Contains(o.raw, "KEY=1") {
			t.Errorf("%s disclosed a denied file: %s", name, o.raw)
		}
	}
}

// Paths that no tool accepts, in every argument that takes one.
func TestBadPaths(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file f x")
	for path, code := range map[string]string{
		"..": "path_escape", "../x": "path_escape", "a/../../x": "path_escape",
		"/etc/passwd": "absolute_path", root + "/f": "absolute_path", "f\x00": "invalid_arguments",
		strings.Repeat("d/", 5000) + "f": "invalid_arguments", strings.Repeat("n", 300): "invalid_arguments",
	} {
		edit := []any{map[string]any{"old": "x", "new": "y"}}
		for _, c := range []struct {
			tool      string
			arguments map[string]any
		}{
			{"fs_read_file", map[string]any{"path": path}},
			{"fs_create_file", map[string]any{"path": path}},
			{"fs_delete_file", map[string]any{"path": path}},
			{"fs_modify_file", map[string]any{"path": path, "patterns": edit}},
			{"fs_move_file", map[string]any{"source": path, "target": "g"}},
			{"fs_move_file", map[string]any{"source": "f", "target": path}},
			{"fs_list_files", map[string]any{"prefixes": []string{path}}},
			{"fs_grep_files", map[string]any{"pattern": "x", "paths": []string{path}}},
		} {
			o := runTool(t, c.tool, request(t, root, nil, c.tool, c.arguments, nil))
			if o.Type != "error" || o.Code != code {
				t.Errorf("%s with path %.40q: %.300s; want %s", c.tool, path, o.raw, code)
			}
		}
	}
}

// A body far over the limit is refused without being taken into memory whole.
func TestHugeRequest(t *testing.T) {
	for _, tool := range tools {
		cmd := exec.Command(filepath.Join(bin, tool))
		body := io.MultiReader(strings.NewReader(`{"context":{"root":"/","action":"run"},"tool":{"arguments":{"path":"`),
			io.LimitReader(letters{}, 200<<20), strings.NewReader(`"}}}`))
		start := time.Now()
		cmd.Stdin = body
		out, _ := cmd.Output()
		if !strings.Contains(string(out), `"code":"invalid_request"`) || !strings.Contains(string(out), "64 MiB") || cmd.ProcessState.ExitCode() != 2 {
			t.Errorf("%s: exit %d, %.200s", tool, cmd.ProcessState.ExitCode(), out)
		}
		if rss := maxRSS(cmd); rss > 512<<20 {
			t.Errorf("%s took %d MiB for a request it refused", tool, rss>>20)
		}
		if d := time.Since(start); d > 20*time.Second {
			t.Errorf("%s took %v", tool, d)
		}
	}
}

type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// Every flag in the help works: the help names each argument of the schema, and the
// schema is JSON. No line is wider than a terminal usually is.
func TestHelpAndSchema(t *testing.T) {
	for _, tool := range tools {
		help, err := exec.Command(filepath.Join(bin, tool), "--help").Output()
		if err != nil {
			t.Fatal(err)
		}
		schema, err := exec.Command(filepath.Join(bin, tool), "--schema").Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range schemaProperties(t, schema) {
			flag := regexp.MustCompile(`--(\[no-\])?` + strings.ReplaceAll(name, "_", "-") + `[ =]`)
			if !flag.Match(help) {
				t.Errorf("%s --help does not name --%s", tool, name)
			}
		}
		for line := range strings.Lines(string(help)) {
			if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > 80 {
				t.Errorf("%s --help has a line of more than 80 columns: %s", tool, line)
			}
		}
		for _, want := range []string{"Example:", "--option", "Exit status"} {
			if !strings.Contains(string(help), want) {
				t.Errorf("%s --help lacks %q", tool, want)
			}
		}
	}
}
