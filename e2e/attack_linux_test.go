package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// ordinary runs a command as an ordinary user when the tests run as root.
func ordinary(t testing.TB, cmd *exec.Cmd) *exec.Cmd {
	if jptooltest.Root(t) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: jptooltest.OrdinaryID, Gid: jptooltest.OrdinaryID}}
	}
	return cmd
}

// The root may not be read, by policy and, for an ordinary user, by its mode: tools
// still work below the rules.
func TestUnreadableRoot(t *testing.T) {
	access := map[string]any{"fs": []map[string]any{
		{"path": "src", "read": true, "write": true},
		{"path": "docs/a.md", "read": true, "update": true},
	}}
	for _, user := range []string{"own", "ordinary"} {
		t.Run(user, func(t *testing.T) {
			root := jptooltest.TempRoot(t)
			jptooltest.Tree(t, root, "file src/lib.rs needle\\n", "file src/other x\\n", "file docs/a.md needle\\n", "file docs/b.md needle\\n", "file top needle\\n")
			// The directory that the testing package makes is for its owner only.
			if err := os.Chmod(filepath.Dir(root), 0o755); err != nil {
				t.Fatal(err)
			}
			if user == "ordinary" {
				if err := filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
					if err == nil && jptooltest.Root(t) {
						err = os.Chown(p, jptooltest.OrdinaryID, jptooltest.OrdinaryID)
					}
					return err
				}); err != nil {
					t.Fatal(err)
				}
			}
			for _, dir := range []string{root, root + "/docs"} {
				if err := os.Chmod(dir, 0o311); err != nil {
					t.Fatal(err)
				}
				defer os.Chmod(dir, 0o755)
			}
			run := func(tool string, arguments map[string]any) *outcome {
				cmd := exec.Command(filepath.Join(bin, tool))
				if user == "ordinary" {
					ordinary(t, cmd)
				}
				return runCmd(t, cmd, request(t, root, access, tool, arguments,
					map[string]any{"apply_changes": true, "overwrite_file": true, "delete_dirty_file": true, "modify_dirty_file": true, "move_dirty_source": true}))
			}
			for _, c := range []struct {
				tool      string
				arguments map[string]any
				want      string // in the line
				not       string
			}{
				{"fs_read_file", map[string]any{"path": "src/lib.rs"}, "needle", ""},
				{"fs_read_file", map[string]any{"path": "docs/a.md"}, "needle", ""},
				{"fs_read_file", map[string]any{"path": "docs/b.md"}, "access_denied", "needle"},
				{"fs_list_files", map[string]any{}, `docs/a.md\nsrc/lib.rs\nsrc/other`, "b.md"},
				{"fs_list_files", map[string]any{"prefixes": "docs"}, `docs/a.md`, "b.md"},
				{"fs_grep_files", map[string]any{"pattern": "needle"}, `docs/a.md:1:needle\nsrc/lib.rs:1:needle`, "b.md"},
				{"fs_create_file", map[string]any{"path": "src/new/file", "content": "x"}, `"success"`, ""},
				{"fs_modify_file", map[string]any{"path": "src/lib.rs", "patterns": []any{map[string]any{"old": "needle", "new": "thread"}}}, `"success"`, ""},
				{"fs_modify_file", map[string]any{"path": "docs/a.md", "patterns": []any{map[string]any{"old": "needle", "new": "thread"}}}, `"success"`, ""},
				{"fs_move_file", map[string]any{"source": "src/other", "target": "src/moved"}, `"success"`, ""},
				{"fs_delete_file", map[string]any{"path": "src/moved"}, `"success"`, ""},
				{"fs_delete_file", map[string]any{"path": "top"}, "access_denied", ""},
				{"fs_create_file", map[string]any{"path": "docs/new"}, "access_denied", ""},
			} {
				o := run(c.tool, c.arguments)
				if !strings.Contains(o.raw, c.want) || c.not != "" && strings.Contains(o.raw, c.not) {
					t.Errorf("%s %v: %s; want %q and not %q", c.tool, c.arguments, o.raw, c.want, c.not)
				}
			}
		})
	}
}

// Git's own configuration can name programs. Nothing may run them.
func TestHostileGitConfig(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	root := jptooltest.TempRoot(t)
	proof := filepath.Join(t.TempDir(), "proof")
	hook := filepath.Join(root, "hook.sh")
	jptooltest.Tree(t, root, "file a one\\n", "file b two\\n", "file c three\\n", "file e five\\n", "file hook.sh #!/bin/sh\\ntouch "+proof+"\\n")
	if err := os.Chmod(hook, 0o755); err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) {
		cmd := exec.Command("git", append([]string{"-C", root, "-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-qm", "x")
	for _, key := range []string{"core.fsmonitor", "core.sshCommand", "core.editor", "filter.x.clean", "filter.x.process", "diff.external", "core.pager"} {
		git("config", key, hook)
	}
	git("config", "core.hooksPath", root)
	git("config", "alias.status", "!"+hook)
	jptooltest.Tree(t, root, "file .gitattributes * filter=x diff=x\\n")
	os.Remove(proof)
	yes := map[string]any{"apply_changes": true, "delete_dirty_file": true, "modify_dirty_file": true, "move_dirty_source": true, "overwrite_file": true}
	for tool, arguments := range map[string]map[string]any{
		"fs_modify_file": {"path": "a", "patterns": []any{map[string]any{"old": "one", "new": "1"}}},
		"fs_delete_file": {"path": "b"},
		"fs_move_file":   {"source": "c", "target": "d"},
		"fs_create_file": {"path": "e", "content": "new"},
		"fs_grep_files":  {"pattern": "three"},
		"fs_list_files":  {},
		"fs_read_file":   {"path": "hook.sh"},
	} {
		if o := runTool(t, tool, request(t, root, nil, tool, arguments, yes)); o.Type != "success" {
			t.Errorf("%s: %s", tool, o.raw)
		}
		if _, err := os.Stat(proof); err == nil {
			t.Fatalf("%s ran a program named by .git/config", tool)
		}
	}
}

// FIFOs, sockets and devices are refused and block nobody.
func TestSpecialFiles(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "fifo pipe", "file text needle", "dir d", "fifo d/pipe")
	sock, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(sock)
	wd, _ := os.Getwd()
	if err := os.Chdir(root); err == nil { // socket paths are short
		err = syscall.Bind(sock, &syscall.SockaddrUnix{Name: "sock"})
		os.Chdir(wd)
		if err != nil {
			t.Fatal(err)
		}
	}
	specials := []string{"pipe", "sock"}
	if err := unix.Mknod(root+"/zero", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5))); err == nil {
		specials = append(specials, "zero")
	}
	start := time.Now()
	for _, path := range specials {
		for tool, arguments := range map[string]map[string]any{
			"fs_read_file":   {"path": path},
			"fs_modify_file": {"path": path, "patterns": []any{map[string]any{"old": "x", "new": "y"}}},
			"fs_delete_file": {"path": path},
			"fs_move_file":   {"source": path, "target": "moved"},
			"fs_create_file": {"path": path, "content": "x"},
		} {
			if o := runTool(t, tool, request(t, root, nil, tool, arguments, map[string]any{"overwrite_file": true})); o.Code != "wrong_type" {
				t.Errorf("%s %s: %s; want wrong_type", tool, path, o.raw)
			}
			if _, err := os.Lstat(filepath.Join(root, path)); err != nil {
				t.Fatalf("%s %s: it is gone: %v", tool, path, err)
			}
		}
	}
	if o := runTool(t, "fs_grep_files", request(t, root, nil, "", map[string]any{"pattern": "needle"}, nil)); !strings.Contains(o.Content, "text:1:needle") {
		t.Errorf("grep beside special files: %s", o.raw)
	}
	if o := runTool(t, "fs_move_file", request(t, root, nil, "", map[string]any{"source": "d", "target": "e"}, map[string]any{"move_dirty_source": true})); o.Type != "success" && o.Code != "wrong_type" {
		t.Errorf("moving a directory with a FIFO: %s", o.raw)
	}
	if d := time.Since(start); d > 30*time.Second {
		t.Errorf("took %v: something blocked", d)
	}
}

// Symlinks and directories are swapped while the built tools run. Nothing outside of
// the grants is read or written. JPTOOLS_RACES sets the number of calls.
func TestToolRaces(t *testing.T) {
	calls := 400
	if v, err := strconv.Atoi(os.Getenv("JPTOOLS_RACES")); err == nil {
		calls = v / 20
	}
	base := jptooltest.TempRoot(t)
	jptooltest.Tree(t, base, "file ws/pub/d/f public needle\\n", "file ws/denied/f SECRET needle\\n", "file out/f SECRET needle\\n",
		"symlink ws/pub/l ../denied", "symlink ws/pub/m ../../out")
	access := map[string]any{"fs": []map[string]any{{"path": ".", "read": true}, {"path": "pub", "read": true, "write": true}, {"path": "denied"}}}
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		swap := func(a, b string) {
			_ = unix.Renameat2(unix.AT_FDCWD, base+"/ws/pub/"+a, unix.AT_FDCWD, base+"/ws/pub/"+b, unix.RENAME_EXCHANGE)
		}
		for i := 0; !stop.Load(); i++ {
			link := []string{"l", "m"}[i%2]
			swap("d", link)
			if i%3 == 0 {
				time.Sleep(time.Duration(i%7) * 100 * time.Microsecond)
			}
			swap("d", link)
			if i%5 == 0 {
				time.Sleep(time.Duration(i%11) * 100 * time.Microsecond)
			}
		}
	}()
	codes := map[string]int{}
	yes := map[string]any{"apply_changes": true, "delete_dirty_file": true, "modify_dirty_file": true, "move_dirty_source": true, "overwrite_file": true}
	for i := range calls {
		name := fmt.Sprintf("pub/d/n%d", i)
		for _, c := range []struct {
			tool      string
			arguments map[string]any
		}{
			{"fs_read_file", map[string]any{"path": "pub/d/f"}},
			{"fs_grep_files", map[string]any{"pattern": "needle", "paths": "pub"}},
			{"fs_create_file", map[string]any{"path": name, "content": "x"}},
			{"fs_modify_file", map[string]any{"path": "pub/d/f", "patterns": []any{map[string]any{"old": "public", "new": "public"}, map[string]any{"old": "needle", "new": "needle!"}}}},
			{"fs_move_file", map[string]any{"source": name, "target": name + "m"}},
			{"fs_delete_file", map[string]any{"path": name + "m"}},
		}[i%6 : i%6+1] {
			o := runTool(t, c.tool, request(t, base+"/ws", access, c.tool, c.arguments, yes))
			codes[o.Type+" "+o.Code]++
			if strings.Contains(o.raw, "SECRET") {
				t.Fatalf("%s disclosed what is denied: %s", c.tool, o.raw)
			}
		}
	}
	stop.Store(true)
	<-done
	for _, dir := range []string{"/ws/denied", "/out"} {
		entries, err := os.ReadDir(base + dir)
		data, _ := os.ReadFile(base + dir + "/f")
		if err != nil || len(entries) != 1 || string(data) != "SECRET needle\n" {
			t.Errorf("%s holds %v with f = %q; something was written there", dir, entries, data)
		}
	}
	t.Logf("outcomes: %v", codes)
}
