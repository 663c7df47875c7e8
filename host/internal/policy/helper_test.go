package policy

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/state"
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
	dir, root, home, outside  string
	user, talk, userWorkspace string
	env, args                 []string
	approved                  map[string]bool // targets
	asked                     []consent.Request
	sandbox                   bool
	state                     string
}

func newWorld(t testing.TB, tree ...string) *world {
	t.Helper()
	dir := jptooltest.TempRoot(t)
	w := &world{
		t: t, dir: dir, root: dir + "/ws", home: dir + "/home", outside: dir + "/out",
		user: dir + "/home/.config/jphost/config.toml", talk: dir + "/data/talk.toml", userWorkspace: dir + "/data/config.toml",
		approved: map[string]bool{}, sandbox: true, state: dir + "/data",
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
		Root: w.root, Cwd: w.root, BuiltIn: fstest.MapFS{"builtin/base.toml": &fstest.MapFile{Data: []byte(base)}}, UserGlobal: w.user, UserWorkspace: w.userWorkspace,
		Conversation: w.talk, Environ: w.env, Args: w.args,
	})
	if err != nil {
		w.t.Fatalf("config:\n%v", err)
	}
	return c
}

func (w *world) request(tool string) Request {
	w.t.Helper()
	ws, err := state.OpenWorkspace(w.root)
	if err != nil {
		w.t.Fatal(err)
	}
	c := w.config()
	t, ok := c.Tool(tool)
	if !ok {
		w.t.Fatalf("no tool %s", tool)
	}
	return Request{
		Workspace: ws, Config: c, Tool: t, Home: w.home, StateDir: w.state, OSSandbox: w.sandbox,
		Approve: func(_ context.Context, r consent.Request) (consent.Result, error) {
			w.asked = append(w.asked, r)
			return consent.Result{Approved: w.approved[r.Target], Reason: "it has no approved target\nsomething"}, nil
		},
	}
}

func (w *world) compile(tool string) *Declared {
	w.t.Helper()
	d, err := Compile(context.Background(), w.request(tool))
	if err != nil {
		w.t.Fatalf("Compile:\n%v", err)
	}
	return d
}

// fails compiles and returns the error with the workspace written as WS.
func (w *world) fails(tool string) string {
	w.t.Helper()
	_, err := Compile(context.Background(), w.request(tool))
	if err == nil {
		w.t.Fatal("Compile accepted it")
	}
	return strings.ReplaceAll(err.Error(), w.root, "WS")
}

// verdicts of `capability path` lines, through Explain.
func (w *world) check(d *Declared, allowed, denied string) {
	w.t.Helper()
	for want, lines := range map[bool]string{true: allowed, false: denied} {
		for line := range strings.SplitSeq(lines, "\n") {
			f := strings.Fields(line)
			if len(f) != 2 {
				continue
			}
			e, err := d.ExplainFS(f[0], f[1])
			if err != nil {
				w.t.Errorf("%s: %v", line, err)
			} else if e.Allowed != want {
				w.t.Errorf("%s: allowed = %v\n%s", line, e.Allowed, e)
			}
		}
	}
}

// shown are the fs rules on the wire, one line each.
func shown(d *Declared) string {
	var b strings.Builder
	if d.Access == nil {
		return "null"
	}
	for _, r := range d.Access.FS {
		b.WriteString(cmp.Or(r.Path, "."))
		if r.External {
			b.WriteString(" external")
		}
		b.WriteString(": " + r.Caps().String() + "\n")
	}
	return b.String()
}
