package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A write in place that the host, a person or the kernel ends in the middle loses nothing: told to end, the
// tool leaves the old or the new content; killed, it can leave a mix, and then the host names a file with
// the old content.
func TestInterruptedWriteInPlace(t *testing.T) {
	// The files are large and never in memory: what this process takes counts for what it starts.
	content := func(head string) io.Reader {
		body := bytes.Repeat([]byte("some line of text\n"), 1000)
		list := []io.Reader{strings.NewReader(head)}
		for range 6000 {
			list = append(list, bytes.NewReader(body))
		}
		return io.MultiReader(list...)
	}
	fill := func(path string) {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
		if err == nil {
			_, err = io.Copy(f, content("START\n"))
		}
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	digest := func(r io.Reader) string {
		h := sha256.New()
		if _, err := io.Copy(h, r); err != nil {
			t.Fatal(err)
		}
		return string(h.Sum(nil))
	}
	holds := func(path string) string {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		return digest(f)
	}
	old, changed := digest(content("START\n")), digest(content("START and more of it\n"))
	for _, setting := range []string{"sandbox.tier=namespace", "sandbox.tier=landlock", "sandbox.mode=off"} {
		t.Run(setting, func(t *testing.T) {
			w := newWorld(t, root)
			w.files(map[string]string{"conf/jphost/config.toml": "[conversation.tools.fs_modify_file]\nrun = \"unattended\"\n", "temp/x": ""})
			w.env = append(w.env, "TMPDIR="+w.base+"/temp")
			path := w.root + "/large"
			shelf := filepath.Join(w.base, "temp", "jphost-"+strconv.Itoa(os.Geteuid()))
			fill(path)
			if err := os.Link(path, w.root+"/second name"); err != nil {
				t.Fatal(err)
			}
			// during runs an edit and calls do in the middle of writing, with jphost and the tool, if it sees that in
			// time. It returns the file's content, what of the old content was kept, and what jphost said.
			during := func(do func(host, tool *os.Process)) (now string, kept []string, said string) {
				t.Helper()
				fill(path)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				cmd := w.command(ctx, filepath.Join(bin, "jphost"), "run", "--no-input", "--cfg", setting, "fs_modify_file", "path=large",
					`patterns:=[{"old":"START\n","new":"START and more of it\n"}]`, "--answer", "apply_changes=true", "--answer", "modify_dirty_file=true")
				var stderr bytes.Buffer
				cmd.Stderr = &stderr
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				ended := make(chan struct{})
				go func() { _ = cmd.Wait(); close(ended) }()
				tool := 0
				for writing, over := false, false; !writing && !over; {
					select {
					case <-ended:
						over = true
					default:
					}
					if list, _ := filepath.Glob(shelf + "/*/jptool-*"); len(list) > 0 { // it copies first
						if tool == 0 {
							tool = toolBelow(t, cmd.Process.Pid)
						}
						mixed, _ := filepath.Glob(shelf + "/*/jptool-*.old")
						writing = len(mixed) > 0
					}
				}
				if tool != 0 {
					if process, err := os.FindProcess(tool); err == nil {
						do(cmd.Process, process)
					}
				}
				<-ended
				now = holds(path)
				left, err := os.ReadDir(shelf)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range left {
					if !strings.HasPrefix(e.Name(), "jphost-kept-") {
						t.Errorf("%s was left", e.Name())
						continue
					}
					kept = append(kept, filepath.Join(shelf, e.Name()))
				}
				return now, kept, stderr.String()
			}
			whole := func(content string) bool { return content == old || content == changed }

			for range 3 {
				now, kept, said := during(func(host, _ *os.Process) { _ = host.Signal(syscall.SIGINT) })
				if !whole(now) && len(kept) == 0 { // where the grace was too short
					t.Fatalf("a mix: %s", said)
				}
			}
			mixed := 0
			for try := 0; try < 20 && mixed < 2; try++ {
				now, kept, said := during(func(_, tool *os.Process) { _ = tool.Kill() })
				if !whole(now) {
					mixed++
					if len(kept) != 1 || !strings.Contains(said, kept[0]) {
						t.Fatalf("a mix, kept %q: %s", kept, said)
					}
				}
				for _, k := range kept {
					if holds(k) != old {
						t.Errorf("%s is not the old content", k)
					}
					if err := os.Remove(k); err != nil {
						t.Error(err)
					}
				}
			}
			if mixed == 0 {
				t.Error("no call was killed in the middle of writing, so this test shows nothing")
			}
		})
	}
}

// toolBelow is the process of the tool that a jphost has started.
func toolBelow(t *testing.T, host int) int {
	t.Helper()
	out, err := exec.Command("ps", "-eo", "pid,ppid,comm").Output()
	if err != nil {
		t.Fatal(err)
	}
	parents, names := map[int]int{}, map[int]string{}
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) >= 3 {
			pid, _ := strconv.Atoi(f[0])
			parents[pid], _ = strconv.Atoi(f[1])
			names[pid] = f[2]
		}
	}
	for pid, name := range names {
		if name != "fs_modify_file" {
			continue
		}
		for p := pid; p > 1; p = parents[p] {
			if p == host {
				return pid
			}
		}
	}
	return 0 // it has ended
}
