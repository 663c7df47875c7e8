package config

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/jptools/jptools/host/internal/state"
	"github.com/spf13/afero"
)

// base is a built-in layer with tools of every source.
const base = `
[conversation.tools.fs_create_file]
source = "local"
command = "fs_create_file"
needs.fs = ["read", "create", "update"]

[conversation.tools.fs_modify_file]
source = "local"
command = "fs_modify_file"

[conversation.tools.x]
source = "local"
command = "x"

[conversation.tools.clock]
source = "builtin"

[conversation.tools.issues]
source = "mcp.github.list_issues"
`

const (
	userFile      = "/home/u/.config/jphost/config.toml"
	workspaceFile = "/ws/.jp/config.toml"
	dataFile      = "/home/u/.local/share/jphost/ws-1/config.toml"
	talkFile      = "/home/u/.local/share/jphost/ws-1/talk.toml"
)

// files are the contents of a file system, by path.
type files map[string]string

func (f files) fs(t testing.TB) state.FS {
	t.Helper()
	m := afero.NewMemMapFs().(*afero.MemMapFs)
	for name, content := range f {
		if err := afero.WriteFile(m, name, []byte(content), 0o644); err != nil { // makes directories
			t.Fatal(err)
		}
	}
	return m
}

func options(t testing.TB, f files) Options {
	return Options{
		FS: f.fs(t), Root: "/ws", Cwd: "/ws", BuiltIn: builtInLayer(base),
		UserGlobal: userFile, UserWorkspace: dataFile, Conversation: talkFile,
	}
}

// builtInLayer holds one file.
func builtInLayer(toml string) fs.FS {
	return fstest.MapFS{"builtin/base.toml": &fstest.MapFile{Data: []byte(toml)}}
}

func load(t testing.TB, f files, change ...func(*Options)) *Config {
	t.Helper()
	o := options(t, f)
	for _, c := range change {
		c(&o)
	}
	c, err := Load(o)
	if err != nil {
		t.Fatalf("Load:\n%v", err)
	}
	return c
}

func withArgs(args ...string) func(*Options) { return func(o *Options) { o.Args = args } }

func withEnv(env ...string) func(*Options) { return func(o *Options) { o.Environ = env } }

func mustTool(t testing.TB, c *Config, name string) *Tool {
	t.Helper()
	tool, ok := c.Tool(name)
	if !ok {
		t.Fatalf("no tool %s", name)
	}
	return tool
}

// rules shows the fs rules of a tool as `path:capabilities`, in order.
func rules(t *Tool) string {
	if t.Access == nil {
		return "(no access)"
	}
	var parts []string
	for _, r := range t.Access.FS {
		p := r.Path
		if p == "" {
			p = "."
		}
		parts = append(parts, p+":"+strings.ReplaceAll(r.Caps().String(), ", ", "+"))
	}
	return strings.Join(parts, " ")
}
