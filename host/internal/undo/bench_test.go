package undo

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/jptool"
)

// BenchmarkKeep is what keeping an edit of a small file adds to a call: at most a millisecond.
func BenchmarkKeep(b *testing.B) {
	top := b.TempDir()
	root := filepath.Join(top, "ws")
	if err := os.MkdirAll(root, 0o755); err != nil {
		b.Fatal(err)
	}
	file := filepath.Join(root, "a.txt")
	ws, err := state.OpenWorkspace(root)
	if err != nil {
		b.Fatal(err)
	}
	dir, err := state.OS(func(string) string { return top }).Workspace(ws)
	if err != nil {
		b.Fatal(err)
	}
	s, err := Open(dir, Limits{Bytes: 200 << 20, Age: 1 << 60})
	if err != nil {
		b.Fatal(err)
	}
	content := make([]byte, 4000)
	for b.Loop() {
		b.StopTimer()
		content[0]++
		if err := os.WriteFile(file, content, 0o644); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		c := jptool.Context{Root: root, Action: jptool.Run}
		w, err := c.Open()
		if err != nil {
			b.Fatal(err)
		}
		call := Call{Conversation: "default", Tool: "fs_create_file"}
		call.Places("fs_create_file", map[string]any{"path": "a.txt"}, w)
		p, err := s.Begin(call)
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		content[1]++
		if err := os.WriteFile(file, content, 0o644); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if id, err := p.Finish(nil); err != nil || id == 0 {
			b.Fatal(id, err)
		}
		w.Close()
	}
}
