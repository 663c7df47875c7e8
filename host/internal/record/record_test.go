package record

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jptools/jptools/host/internal/state"
)

func open(t testing.TB, root, data string) *Log {
	t.Helper()
	ws, err := state.OpenWorkspace(root)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := state.OS(func(string) string { return data }).Workspace(ws)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func entry(tool string) *Entry {
	return &Entry{Time: time.Now().UTC(), Conversation: "default", Interface: "run", Tool: tool, Outcome: "success"}
}

func tools(t testing.TB, l *Log) (list []string, damaged int) {
	t.Helper()
	damaged, err := l.Read(func(e *Entry) { list = append(list, e.Tool) })
	if err != nil {
		t.Fatal(err)
	}
	return list, damaged
}

// Processes that write at once lose no line, and mix none.
func TestConcurrentWriters(t *testing.T) {
	const writers, lines = 4, 50
	if data := os.Getenv("RECORD_TEST_DATA"); data != "" {
		l := open(t, os.Getenv("RECORD_TEST_ROOT"), data)
		for i := range lines {
			e := entry(fmt.Sprint(os.Getenv("RECORD_TEST_NAME"), "-", i))
			e.Arguments = map[string]any{"padding": strings.Repeat("x", i*40)}
			if err := l.Append(context.Background(), e); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	root, data := t.TempDir(), t.TempDir()
	var group sync.WaitGroup
	for i := range writers {
		cmd := exec.Command(os.Args[0], "-test.run=^TestConcurrentWriters$")
		cmd.Env = append(os.Environ(), "RECORD_TEST_DATA="+data, "RECORD_TEST_ROOT="+root, fmt.Sprint("RECORD_TEST_NAME=w", i))
		group.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	group.Wait()
	list, damaged := tools(t, open(t, root, data))
	seen := map[string]bool{}
	for _, tool := range list {
		seen[tool] = true
	}
	if len(seen) != writers*lines || len(list) != len(seen) || damaged != 0 {
		t.Errorf("%d lines, %d different, %d damaged", len(list), len(seen), damaged)
	}
}

// A torn line costs itself only, and the log stays within its bound.
func TestTornAndBounded(t *testing.T) {
	l := open(t, t.TempDir(), t.TempDir())
	add := func(e *Entry) {
		t.Helper()
		if err := l.Append(context.Background(), e); err != nil {
			t.Fatal(err)
		}
	}
	add(entry("one"))
	file := l.dir.File(current)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(data, data[:len(data)/2]...), 0o600); err != nil {
		t.Fatal(err)
	}
	add(entry("two"))
	if list, damaged := tools(t, l); strings.Join(list, " ") != "one two" || damaged != 1 {
		t.Errorf("%v, %d damaged", list, damaged)
	}
	long := entry("long")
	long.Arguments = map[string]any{}
	for i := range 20 {
		long.Arguments[fmt.Sprint(i)] = strings.Repeat("x", 1500)
	}
	for range 2*most/30_000 + 50 {
		add(long)
	}
	huge := entry("huge")
	huge.Arguments = map[string]any{"a": strings.Repeat("x", 2*mostLine)}
	add(huge)
	total := int64(0)
	for _, name := range []string{current, previous} {
		fi, err := os.Stat(l.dir.File(name))
		if err != nil {
			t.Fatal(err)
		}
		total += fi.Size()
	}
	list, _ := tools(t, l)
	if total > 2*most || list[len(list)-1] != "huge" || list[0] != "long" {
		t.Errorf("%d bytes in %d lines, the first is %s", total, len(list), list[0])
	}
}

// Those that follow see every call once, also when the file is full meanwhile.
func TestFollow(t *testing.T) {
	l := open(t, t.TempDir(), t.TempDir())
	if err := l.Append(context.Background(), entry("before")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	seen := make(chan string, 10_000)
	done := make(chan error)
	go func() { done <- l.Follow(ctx, func(e *Entry) { seen <- e.Tool }) }()
	// From the first line on that it sees it follows.
	for following := false; !following; {
		if err := l.Append(context.Background(), entry("early")); err != nil {
			t.Fatal(err)
		}
		select {
		case tool := <-seen:
			if tool != "early" {
				t.Fatalf("it began with %s", tool)
			}
			following = true
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			t.Fatal("it sees nothing")
		}
	}
	for i := range 6 {
		if i == 3 {
			if err := os.Rename(l.dir.File(current), l.dir.File(previous)); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Append(context.Background(), entry(fmt.Sprint("t", i))); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 6 {
		for tool := "early"; tool == "early"; {
			select {
			case tool = <-seen:
			case <-ctx.Done():
				t.Fatalf("line %d never came", i)
			}
			if tool != "early" && tool != fmt.Sprint("t", i) {
				t.Errorf("line %d is %s", i, tool)
			}
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestArguments(t *testing.T) {
	const digest = `"digest":"sha256:`
	for _, c := range []struct{ args, want, not string }{
		{`{"path":"a.txt"}`, `{"path":"a.txt"}`, digest},
		{`{"content":"s3cret"}`, `{"content":{"bytes":6}}`, "s3cret"},
		{`{"Content":"` + strings.Repeat("s3cret", 10) + `"}`, `{"Content":{"bytes":60,` + digest, "s3cret"},
		{`{"note":"` + strings.Repeat("s3cret", 100) + `"}`, `"bytes":600,` + digest, "s3cret"},
		{`{"patterns":[{"old":"s3cret","new":"s3cret","paths":["a"]}]}`, `"paths":["a"]`, "s3cret"},
		{`{"patterns":"[{\"old\":\"s3cret\",\"new\":\"x\"}]"}`, `{"patterns":[{"new":{"bytes":1},"old":{"bytes":6}}]}`, "s3cret"},
		{`{"password":"s3cret","API_KEY":["s3cret"],"x":{"auth_token":{"a":"s3cret"}}}`, `"(not logged)"`, "s3cret"},
		{`{"a":[[[[[[[["s3cret"]]]]]]]]}`, "nested too deep", "s3cret"},
		{`{"n":1,"b":true,"x":null}`, `{"b":true,"n":1,"x":null}`, digest},
	} {
		var args map[string]any
		if err := json.Unmarshal([]byte(c.args), &args); err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(Arguments(args))
		if err != nil || !strings.Contains(string(got), c.want) || strings.Contains(string(got), c.not) {
			t.Errorf("%.100s: %s, %v", c.args, got, err)
		}
	}
}
