package trust

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// base is a built-in layer.
const base = `
[conversation.tools.t]
source = "local"
command = "t"

[conversation.tools.fs_read_file]
source = "local"
command = "fs_read_file"
needs.fs = ["read"]
run = "unattended"

[conversation.tools.mcp]
source = "mcp.server.x"
`

// world is a workspace with layers of configuration.
type world struct {
	t                         testing.TB
	root, outside             string
	user, talk, userWorkspace string
	env, args                 []string
}

// newWorld makes a workspace of lines as [jptooltest.Tree] takes them; $OUT is a directory outside of it.
func newWorld(t testing.TB, tree ...string) *world {
	t.Helper()
	dir := jptooltest.TempRoot(t)
	w := &world{
		t: t, root: dir + "/ws", outside: dir + "/out",
		user: dir + "/home/.config/jphost/config.toml", talk: dir + "/data/talk.toml", userWorkspace: dir + "/data/config.toml",
	}
	jptooltest.Tree(t, dir, "dir ws", "dir home", "dir out", "dir data")
	tree = slices.Clone(tree)
	for i, line := range tree {
		tree[i] = strings.ReplaceAll(line, "$OUT", w.outside)
	}
	jptooltest.Tree(t, w.root, tree...)
	return w
}

func (w *world) write(name, text string) *world {
	w.t.Helper()
	if !filepath.IsAbs(name) {
		name = w.root + "/" + name
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
	return w
}

// repo and mine write the workspace's and the user's layer.
func (w *world) repo(text string) *world { return w.write(config.WorkspaceFile, text) }
func (w *world) mine(text string) *world { return w.write(w.user, text) }

func (w *world) config() *config.Config {
	w.t.Helper()
	c, err := config.Load(config.Options{
		Root: w.root, Cwd: w.root, BuiltIn: fstest.MapFS{"builtin/base.toml": &fstest.MapFile{Data: []byte(base)}},
		UserGlobal: w.user, UserWorkspace: w.userWorkspace,
		Conversation: w.talk, Environ: w.env, Args: w.args,
	})
	if err != nil {
		w.t.Fatalf("config:\n%v", err)
	}
	return c
}

func (w *world) widening() []consent.Setting {
	w.t.Helper()
	list, err := Widening(context.Background(), w.config(), w.root)
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}
