package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Whatever the tools themselves did, in a random order and under the sandbox of this machine, undo of all of it gives the
// tree from before with its modes, whether at once or one by one; and undo of that the tree from after.
func TestUndoOfRandomCalls(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symlinks need a privilege on Windows")
	}
	bin := build(t)
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			b := newBench(t)
			b.env = append(b.env[:len(b.env)-1], "PATH="+bin)
			b.write(b.user, unattended)
			for name, mode := range map[string]fs.FileMode{"a.txt": 0o600, "d/b.txt": 0o755, "d/e/c.txt": 0o640, "f/g.txt": 0o444} {
				b.write(filepath.Join(b.ws, name), strings.Repeat("line of "+name+"\n", 3))
				if err := os.Chmod(filepath.Join(b.ws, name), mode); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink("a.txt", filepath.Join(b.ws, "link")); err != nil {
				t.Fatal(err)
			}
			before := treeOf(t, b.ws)
			random := rand.New(rand.NewPCG(seed, 1))
			pick := func(list ...string) string { return list[random.IntN(len(list))] }
			changes, kinds := []int{}, map[string]int{}
			for i := range 40 {
				name := pick("a.txt", "d/b.txt", "d/e/c.txt", "f/g.txt", "link", "new", "d/new", "x/y/z")
				var args []string
				switch i % 4 {
				case 0:
					args = []string{"fs_create_file", "path=" + name, fmt.Sprint("content=line of ", i, "\nline\n")}
				case 1:
					args = []string{"fs_modify_file", fmt.Sprintf(`patterns:=[{"old":"line","new":"line %d","paths":["%s","%s"]}]`, i, name, pick("a.txt", "new", "d/b.txt"))}
				case 2:
					args = []string{"fs_move_file", "source=" + pick(name, "d", "f", "x"), "target=" + pick("moved", "d/e/moved", "x/moved", "a.txt")}
				case 3:
					args = []string{"fs_delete_file", "path=" + name}
				}
				var report struct {
					Change  int
					Outcome struct{ Type string }
				}
				_, out, said := b.output(append([]string{"run", "--json"}, args...)...)
				if err := json.Unmarshal([]byte(out), &report); err != nil {
					t.Fatalf("%v: %s%s", err, out, said)
				}
				if report.Change > 0 {
					changes = append(changes, report.Change)
					kinds[args[0]]++
				}
			}
			if len(kinds) < 4 || len(changes) < 10 {
				t.Errorf("too few calls changed anything: %v", kinds)
			}
			after := treeOf(t, b.ws)
			if seed%2 == 0 {
				if code, said := b.jphost("--conversation", "default", "undo"); code != 0 {
					t.Fatal(said)
				}
			} else {
				for range changes {
					if code, said := b.jphost("undo", "--last"); code != 0 {
						t.Fatal(said)
					}
				}
			}
			if got := treeOf(t, b.ws); got != before {
				t.Fatalf("after undo there is\n%s\nwant\n%s", got, before)
			}
			var all []string
			for i := range changes {
				all = append(all, fmt.Sprint(changes[len(changes)-1]+i+1))
			}
			if code, said := b.jphost(append([]string{"undo"}, all...)...); code != 0 {
				t.Fatal(said)
			}
			if got := treeOf(t, b.ws); got != after {
				t.Fatalf("after undo of undo there is\n%s\nwant\n%s", got, after)
			}
		})
	}
}

// treeOf is all that is in a directory, with modes and contents.
func treeOf(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		text, _ := os.Readlink(path)
		if fi.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text = string(data)
		}
		fmt.Fprintf(&b, "%v %s %q\n", fi.Mode(), rel, text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

const unattended = `
[conversation.tools.fs_create_file]
run = "unattended"
questions.overwrite_file.answer = true
[conversation.tools.fs_modify_file]
run = "unattended"
questions.apply_changes.answer = true
[conversation.tools.fs_move_file]
run = "unattended"
questions.overwrite_file.answer = true
[conversation.tools.fs_delete_file]
run = "unattended"
`
