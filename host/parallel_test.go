package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/jptools/jptools/host/internal/exit"
)

// Calls that mount different names on one workspace at the same time lose nothing of each
// other: every call has its mount, and afterwards all links, approvals and rules are there.
func TestParallelMounts(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symlinks need a privilege on Windows")
	}
	const calls = 50
	bin := build(t)
	for _, c := range []struct {
		name         string
		conversation func(i int) string
	}{
		{"one conversation", func(int) string { return "default" }},
		{"a conversation each", func(i int) string { return fmt.Sprintf("c%d", i) }},
		{"two tools of one conversation, and names taken away meanwhile", func(int) string { return "default" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			if err := os.Remove(b.user); err != nil {
				t.Fatal(err)
			}
			b.env = append(b.env[:len(b.env)-1], "PATH="+bin)
			two := strings.HasPrefix(c.name, "two")
			tools := []string{"fs_read_file"}
			if two {
				tools = append(tools, "fs_grep_files")
				for i := range 10 {
					name := fmt.Sprintf("old%d", i)
					b.write(filepath.Join(b.ext, name, "f"), name)
					if code, said := b.jphost("mount", "fs_read_file:"+name+"="+filepath.Join(b.ext, name)); code != 0 {
						t.Fatal(said)
					}
				}
			}
			var group sync.WaitGroup
			failed := make([]string, calls)
			for i := range calls {
				name, tool := fmt.Sprintf("m%d", i), tools[i%len(tools)]
				b.write(filepath.Join(b.ext, name, "f"), "content of "+name+"\n")
				args := []string{"--conversation", c.conversation(i), "run", tool, "--mount", tool + ":" + name + "=" + filepath.Join(b.ext, name)}
				if tool == "fs_read_file" {
					args = append(args, "path="+name+"/f")
				} else {
					args = append(args, "pattern=content", "paths="+name)
				}
				if two && i%5 == 0 {
					args = append(args, "--no-mount", fmt.Sprintf("old%d", i/5))
				}
				group.Go(func() {
					if out, err := b.process(args); err != nil || !strings.Contains(out, "content of "+name) {
						failed[i] = fmt.Sprintf("%s: %v\n%s", name, err, out)
					}
				})
			}
			group.Wait()
			for _, f := range failed {
				if f != "" {
					t.Error(f)
				}
			}
			b.mounted(calls, tools, c.conversation)
		})
	}
}

// process runs the binary of the test as jphost, as a process of its own.
func (b *bench) process(args []string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	cmd := exec.Command(self)
	cmd.Args = append([]string{"jphost", "-C", b.ws}, args...)
	cmd.Env = b.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// mounted checks that the mounts m0 to m(n-1), and no others, are there in every respect.
func (b *bench) mounted(n int, tools []string, conversation func(int) string) {
	b.t.Helper()
	var approvals struct {
		Mounts []struct {
			RulePath string `json:"rule_path"`
			Target   string `json:"canonical_target"`
		} `json:"mounts"`
	}
	data, err := os.ReadFile(filepath.Join(b.state(), "approvals.json"))
	if err == nil {
		err = json.Unmarshal(data, &approvals)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	targets := map[string]string{}
	for _, m := range approvals.Mounts {
		targets[m.RulePath] = m.Target
	}
	if len(approvals.Mounts) != n || len(targets) != n {
		b.t.Errorf("%d approvals of %d paths, want %d", len(approvals.Mounts), len(targets), n)
	}
	for i := range n {
		name := fmt.Sprintf("m%d", i)
		want := filepath.Join(b.ext, name)
		if to, err := os.Readlink(filepath.Join(b.ws, name)); err != nil || to != want {
			b.t.Errorf("%s leads to %q (%v)", name, to, err)
		}
		if targets[name] != want {
			b.t.Errorf("%s is approved for %q", name, targets[name])
		}
		code, out, said := b.output("--conversation", conversation(i), "explain", tools[i%len(tools)], "read", name+"/f")
		if code != exit.OK || !strings.Contains(out, `path = "`+name+`", external = true, read = true`) {
			b.t.Errorf("%s: %d\n%s%s", name, code, out, said)
		}
	}
	left, err := filepath.Glob(filepath.Join(b.ws, "old*"))
	if err != nil || len(left) > 0 {
		b.t.Errorf("still there: %v (%v)", left, err)
	}
}

// state is the private state of the workspace.
func (b *bench) state() string {
	b.t.Helper()
	list, err := filepath.Glob(filepath.Join(filepath.Dir(b.ws), "data", "jphost", "ws-*"))
	if err != nil || len(list) != 1 {
		b.t.Fatalf("%v %v", list, err)
	}
	return list[0]
}
