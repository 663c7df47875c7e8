package preset

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/sandbox"
	"github.com/jptools/jptools/sandbox/baseline"
)

// world is a home directory and a workspace beside it.
type world struct {
	t             *testing.T
	dir, home, ws string
	environ       []string
}

func newWorld(t *testing.T, tree ...string) *world {
	dir := jptooltest.TempRoot(t)
	w := &world{t: t, dir: dir, home: dir + "/home", ws: dir + "/ws"}
	jptooltest.Tree(t, dir, "dir home", "dir ws", "dir bin")
	for i, line := range tree {
		tree[i] = strings.NewReplacer("$DIR", dir).Replace(line)
	}
	jptooltest.Tree(t, dir, tree...)
	w.environ = []string{"HOME=" + w.home, "PATH=" + dir + "/bin"}
	return w
}

func (w *world) set(list ...string) *world {
	for _, kv := range list {
		w.environ = append(w.environ, strings.NewReplacer("$HOME", w.home, "$WS", w.ws, "$DIR", w.dir).Replace(kv))
	}
	return w
}

func (w *world) find(names string) *Found {
	w.t.Helper()
	choices, err := Parse([]string{names})
	if err != nil {
		w.t.Fatal(err)
	}
	f, err := Find(w.t.Context(), choices, Request{Workspace: w.ws, Environ: w.environ, Own: []string{w.dir + "/own/state"}})
	if err != nil {
		w.t.Fatal(err)
	}
	return f
}

// notOfThisMachine leaves out what lies outside of any home directory.
var notOfThisMachine = regexp.MustCompile(`(?m)^[^~\n]* /(usr|etc)/[^~\n]*\n?`)

// Each preset in a home directory that has everything, and in an empty one.
func TestPresets(t *testing.T) {
	full := []string{
		"dir home/sdk/go", "dir home/.cache/go-build", "dir home/go/pkg/mod", "dir home/go/bin", "dir home/.npm/_cacache", "dir home/.npm/_npx",
		"dir home/.nvm/versions", "dir home/.pyenv", "dir home/.local/lib", "dir home/.cargo/bin", "dir home/.cargo/registry",
		"dir home/.rustup", "dir home/.m2/repository", "file home/.m2/settings.xml", "dir home/.gradle/caches", "dir home/.gradle/wrapper",
		"file home/.gitconfig", "file home/.config/git/ignore", "file home/.config/git/credentials", "dir home/.claude", "dir home/.codex",
		"dir home/.cache/ccache", "file home/.npmrc", "dir home/.cache/pip",
	}
	for name, want := range map[string][2]string{
		"go":       {"GOCACHE: writes ~/.cache/go-build (the usual place)\nGOMODCACHE: reads ~/go/pkg/mod (the usual place)", "GOCACHE: writes, made at the start ~/.cache/go-build (the usual place)"},
		"go:net":   {"GOCACHE: writes ~/.cache/go-build (the usual place)\nGOMODCACHE: writes ~/go/pkg/mod (the usual place)\nsumdb: writes, made at the start ~/go/pkg/sumdb (the usual place)", "GOCACHE: writes, made at the start ~/.cache/go-build (the usual place)\nGOMODCACHE: writes, made at the start ~/go/pkg/mod (the usual place)\nsumdb: writes, made at the start ~/go/pkg/sumdb (the usual place)"},
		"node":     {"npm cache: reads ~/.npm/_cacache (the usual place)\nnpm logs: writes, made at the start ~/.npm/_logs (the usual place)\nnvm: reads ~/.nvm/versions (the usual place)", "npm logs: writes, made at the start ~/.npm/_logs (the usual place)"},
		"node:net": {"npm cache: writes ~/.npm/_cacache (the usual place)\nnpm logs: writes, made at the start ~/.npm/_logs (the usual place)\nnvm: reads ~/.nvm/versions (the usual place)", "npm cache: writes, made at the start ~/.npm/_cacache (the usual place)\nnpm logs: writes, made at the start ~/.npm/_logs (the usual place)"},
		"python":   {"pyenv: reads ~/.pyenv (the usual place)\nuser site: reads ~/.local/lib (the usual place)", ""},
		"rust":     {"cargo: reads ~/.cargo/bin (the usual place)\nrustup: reads ~/.rustup (the usual place)\nregistry: reads ~/.cargo/registry (the usual place)", ""},
		"rust:net": {
			"cargo: reads ~/.cargo/bin (the usual place)\nrustup: reads ~/.rustup (the usual place)\nregistry: writes ~/.cargo/registry (the usual place)\ngit: writes, made at the start ~/.cargo/git (the usual place)",
			"registry: writes, made at the start ~/.cargo/registry (the usual place)\ngit: writes, made at the start ~/.cargo/git (the usual place)",
		},
		"java":       {"maven: reads ~/.m2/repository (the usual place)\ngradle wrapper: reads ~/.gradle/wrapper (the usual place)\ngradle caches: reads ~/.gradle/caches (the usual place)", ""},
		"c":          {"ccache: writes ~/.cache/ccache (the usual place)", ""},
		"git":        {"settings: reads ~/.gitconfig (the usual place)\nignore: reads ~/.config/git/ignore (the usual place)", ""},
		"claude:net": {"CLAUDE_CONFIG_DIR: writes, made at the start ~/.local/share/jphost-agents/claude (the usual place)\nnvm: reads ~/.nvm/versions (the usual place)", "CLAUDE_CONFIG_DIR: writes, made at the start ~/.local/share/jphost-agents/claude (the usual place)"},
		"codex":      {"CODEX_HOME: writes, made at the start ~/.local/share/jphost-agents/codex (the usual place)\nnvm: reads ~/.nvm/versions (the usual place)", "CODEX_HOME: writes, made at the start ~/.local/share/jphost-agents/codex (the usual place)"},
	} {
		for i, tree := range [][]string{slices.Clone(full), nil} {
			w := newWorld(t, tree...)
			f := w.find(name)
			got := notOfThisMachine.ReplaceAllString(w.text(f), "")
			if diff := cmp.Diff(want[i], got); diff != "" {
				t.Errorf("%s in home %d:\n%s", name, i, diff)
			}
			if err := f.Make(); err != nil {
				t.Error(err)
			}
			for _, e := range f.Extras() {
				fi, err := os.Stat(e.Path)
				if err != nil || e.Caps.Has(jptool.Create) && i == 1 && fi.Mode().Perm() != 0o700 {
					t.Errorf("%s: %s: %v, %v", name, e.Path, fi, err)
				}
			}
			if net := len(f.Net()) > 0; net != strings.HasSuffix(name, NetSuffix) {
				t.Errorf("%s: network %t", name, net)
			}
		}
	}
}

// A variable of the person counts, and names the place for the program. One that is no path does not.
func TestVariables(t *testing.T) {
	w := newWorld(t, "dir data/cache", "dir home/go/pkg/mod", "dir ws/own").set("GOCACHE=$DIR/data/cache", "GOMODCACHE=off", "GOROOT=relative")
	f := w.find("go")
	if got := strings.ReplaceAll(w.text(f), "GOROOT: reads /usr/local/go (the usual place)\n", ""); got != "GOCACHE: writes $DIR/data/cache ($GOCACHE)\nGOMODCACHE: reads ~/go/pkg/mod (the usual place)" {
		t.Error(got)
	}
	env := f.Environ()
	for name, want := range map[string]string{"GOCACHE": w.dir + "/data/cache", "GOMODCACHE": w.home + "/go/pkg/mod"} {
		if got := jptool.LookupEnv(env, name); got != want {
			t.Errorf("%s=%s, want %s", name, got, want)
		}
		if !slices.ContainsFunc(f.Env(), func(r jptool.EnvRule) bool { return r.Name == name && r.Read }) {
			t.Errorf("%s is not handed down", name)
		}
	}
	// In the workspace its own grants decide, and the program is told the place all the same.
	w = newWorld(t, "dir ws/own").set("npm_config_cache=$WS/own")
	f = w.find("node:net")
	if got := w.text(f); got != "npm cache: in the workspace, whose grants apply $WS/own/_cacache ($npm_config_cache)\nnpm logs: in the workspace, whose grants apply $WS/own/_logs ($npm_config_cache)" || len(f.Extras()) > 0 {
		t.Error(got, f.Extras())
	}
	if got := jptool.LookupEnv(f.Environ(), "npm_config_cache"); got != w.ws+"/own" {
		t.Error(got)
	}
	// What is not there is still named, if somebody said where it would be.
	w = newWorld(t).set("GOMODCACHE=$HOME/mod")
	f = w.find("go")
	if got := w.text(f); !strings.HasSuffix(got, "GOMODCACHE: not there ~/mod ($GOMODCACHE)") || jptool.LookupEnv(f.Environ(), "GOMODCACHE") != w.home+"/mod" {
		t.Error(got)
	}
	// No HOME, no usual places in it.
	w = newWorld(t, "dir home/.rustup")
	w.environ = []string{"PATH=/usr/bin", "HOME=relative"}
	if f := w.find("rust,git,codex"); len(f.Places) > 0 {
		t.Error(w.text(f))
	}
}

// Whoever says so, no preset opens a place of secrets, nor has a program write where the person runs things from.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ preset, env, want string }{
		{"go", "GOCACHE=$HOME/.ssh", "GOCACHE: refused: a place of secrets ~/.ssh ($GOCACHE)"},
		{"go", "GOCACHE=$HOME/.ssh/deeper", "GOCACHE: refused: a place of secrets ~/.ssh/deeper ($GOCACHE)"},
		{"go", "GOCACHE=$HOME", "GOCACHE: refused: it holds far more than that ~ ($GOCACHE)"},
		{"go", "GOCACHE=$DIR", "GOCACHE: refused: it holds far more than that $DIR ($GOCACHE)"},
		{"go", "GOCACHE=/", "GOCACHE: refused: it holds far more than that / ($GOCACHE)"},
		{"go", "GOCACHE=$HOME/go/bin", "GOCACHE: refused: you run or obey later what is in there ~/go/bin ($GOCACHE)"},
		{"go", "GOCACHE=$HOME/.config", "GOCACHE: refused: a place of secrets ~/.config ($GOCACHE)"},
		{"go", "GOCACHE=$DIR/own", "GOCACHE: refused: it belongs to the configuration and state of jphost, or holds them $DIR/own ($GOCACHE)"},
		{"go", "GOCACHE=$DIR/own/state/x", "GOCACHE: refused: it belongs to the configuration and state of jphost, or holds them $DIR/own/state/x ($GOCACHE)"},
		{"go", "GOCACHE=$HOME/alias", "GOCACHE: refused: a place of secrets ~/alias ($GOCACHE)"},
		{"go", "GOCACHE=$HOME/file", "GOCACHE: refused: it is not a directory ~/file ($GOCACHE)"},
		{"go", "GOCACHE=$HOME/x/../.ssh", "GOCACHE: refused: a place of secrets ~/.ssh ($GOCACHE)"},
		{"node", "npm_config_cache=$HOME/.aws", "npm logs: refused: a place of secrets ~/.aws/_logs ($npm_config_cache)"},
		{"git", "GIT_CONFIG_GLOBAL=$HOME/.ssh/id", "settings: refused: a place of secrets ~/.ssh/id ($GIT_CONFIG_GLOBAL)"},
		{"git", "GIT_CONFIG_GLOBAL=$HOME/.git-credentials", "settings: refused: a place of secrets ~/.git-credentials ($GIT_CONFIG_GLOBAL)"},
		{"claude", "CLAUDE_CONFIG_DIR=$HOME/.claude", "CLAUDE_CONFIG_DIR: refused: a place of secrets ~/.claude ($CLAUDE_CONFIG_DIR)"},
		{"codex", "CODEX_HOME=$HOME/.codex", "CODEX_HOME: refused: a place of secrets ~/.codex ($CODEX_HOME)"},
		{"java", "JAVA_HOME=$HOME/.gnupg", "JAVA_HOME: refused: a place of secrets ~/.gnupg ($JAVA_HOME)"},
	} {
		w := newWorld(t, "file home/.ssh/id", "dir home/.aws/_logs", "dir home/.gnupg", "dir home/go/bin", "dir home/.config", "symlink home/alias .ssh",
			"file home/file", "file home/.git-credentials", "dir home/.claude", "dir home/.codex").set(c.env)
		f := w.find(c.preset)
		if got := w.text(f); !slices.Contains(strings.Split(got, "\n"), c.want) {
			t.Errorf("%s:\n%s\nwant %s", c.env, got, c.want)
		}
		name, _, _ := strings.Cut(c.env, "=")
		for _, e := range f.Extras() {
			for _, secret := range []string{".ssh", ".aws", ".gnupg", ".git-credentials", ".claude", ".codex", "go/bin"} {
				if strings.HasPrefix(e.Path+"/", w.home+"/"+secret+"/") || e.Path == w.home || e.Path == w.dir {
					t.Errorf("%s: %s is granted", c.env, e.Path)
				}
			}
		}
		if len(f.Warnings()) == 0 {
			t.Errorf("%s is refused without a word", name)
		}
		if err := f.Make(); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(w.home + "/.ssh/deeper"); err == nil {
			t.Error("a directory was made among the keys")
		}
	}
}

// A link that a program or another user may have made does not choose the place; one of the person's directly in the home
// directory does.
func TestLinks(t *testing.T) {
	w := newWorld(t, "dir home/.cache", "dir home/.ssh", "dir data/elsewhere", "symlink home/.cache/go-build $DIR/data/elsewhere")
	f := w.find("go")
	if got := w.text(f); !strings.Contains(got, "GOCACHE: refused: "+"~/.cache/go-build is a symlink that a program or another user may have made, and it leads to $DIR/data/elsewhere") || len(f.Names()) > 1 {
		t.Error(got)
	}
	if got := f.Places[slices.IndexFunc(f.Places, func(p Place) bool { return p.Name == "GOCACHE" })].Remedy; !strings.HasSuffix(got, "--rw "+w.dir+"/data/elsewhere") {
		t.Error(got)
	}
	w = newWorld(t, "dir data/cache/go-build", "symlink home/.cache $DIR/data/cache")
	if got := w.text(w.find("go")); !strings.Contains(got, "GOCACHE: writes ~/.cache/go-build") {
		t.Error(got)
	}
	// Nothing is made through a link that leads nowhere.
	w = newWorld(t, "dir home/.cache", "dir data", "symlink home/.cache/go-build $DIR/data/gone")
	f = w.find("go")
	if err := f.Make(); err != nil || !strings.Contains(w.text(f), "GOCACHE: refused: it cannot be followed") {
		t.Error(w.text(f), err)
	}
	if _, err := os.Lstat(w.dir + "/data/gone"); err == nil {
		t.Error("it was made")
	}
	// Nor one that appears between the look and the start.
	w = newWorld(t, "dir home/.cache", "dir home/.ssh")
	f = w.find("go")
	if err := os.Symlink(w.home+"/.ssh", w.home+"/.cache/go-build"); err != nil {
		t.Fatal(err)
	}
	if err := f.Make(); err == nil || !strings.Contains(err.Error(), "a symlink appeared") {
		t.Errorf("made: %v", err)
	}
	prepared, err := sandbox.Prepare(t.Context(), nil, w.ws, sandbox.Options{Paths: f.Extras(), Environ: append(w.environ, "PATH=/usr/bin:/bin")})
	if err != nil {
		t.Fatal(err)
	}
	var refused *baseline.ExtraError
	if err := prepared.Command(t.Context(), "/bin/true").Run(); runtime.GOOS == "linux" && !errors.As(err, &refused) {
		t.Errorf("the program was started: %v", err)
	}
}

// A directory of another user is not taken for a cache.
func TestForeign(t *testing.T) {
	if !jptooltest.Root(t) {
		t.Skip("only root can make a directory of another user")
	}
	w := newWorld(t, "dir home/.cache/go-build")
	if err := os.Chown(w.home+"/.cache/go-build", 61234, 61234); err != nil {
		t.Fatal(err)
	}
	if got := w.text(w.find("go")); !strings.Contains(got, "GOCACHE: refused: it belongs to another user") {
		t.Error(got)
	}
	// Nor is one made in the home directory of another user, as root would with the HOME of somebody else.
	w = newWorld(t)
	if err := os.Chown(w.home, 61234, 61234); err != nil {
		t.Fatal(err)
	}
	f := w.find("go")
	if got := w.text(f); !strings.Contains(got, "GOCACHE: refused: it is not there, and would be made in a directory of another user") {
		t.Error(got)
	}
	if err := f.Make(); err != nil {
		t.Error(err)
	}
	if list, err := os.ReadDir(w.home); err != nil || len(list) > 0 {
		t.Errorf("%v, %v", list, err)
	}
}

// A program says where its places are. It sees its settings and nothing else of the person's.
func TestAsk(t *testing.T) {
	w := newWorld(t, "dir data/cache", "file home/.ssh/id secret", "file home/.config/go/env x")
	script(t, w.dir+"/bin", "go", `echo "$0 $*" >&2
test "$GOTOOLCHAIN,$GOWORK,$SECRET" = local,off, || exit 3
test -r ~/.config/go/env || exit 4
cat ~/.ssh/id 2>/dev/null && exit 5
echo x > ~/made 2>/dev/null && exit 6
test "$PWD" = /usr || exit 7
echo /usr/local/go
echo `+w.dir+`/data/cache
echo `+w.home+`/mod
echo `+w.home+`/go`)
	w.set("SECRET=1")
	w.environ[1] += ":/usr/bin:/bin"
	if got := w.text(w.find("go")); !strings.Contains(got, "GOCACHE: writes $DIR/data/cache (go env)") {
		t.Error(got)
	}
	// What it says opens no secrets, and nothing that holds much.
	for _, c := range []struct{ says, want string }{
		{"echo /usr/local/go; echo ~/.ssh; echo ~/mod; echo ~/go", "GOCACHE: refused: a place of secrets ~/.ssh (go env)"},
		{"echo /usr/local/go; echo ~; echo ~/mod; echo ~/go", "GOCACHE: refused: it holds far more than that ~ (go env)"},
		{"echo /usr/local/go; echo relative; echo ~/mod; echo ~/go", "GOCACHE: writes, made at the start ~/.cache/go-build (the usual place)"},
		{"echo /usr/local/go", "go env GOROOT GOCACHE GOMODCACHE GOPATH was not asked: it answered 1 lines instead of 4"},
		{"exit 1", "was not asked: exit status 1"},
		{"sleep 30", "was not asked: "},
		{"while :; do echo /x; done", "was not asked: "},
	} {
		script(t, w.dir+"/bin", "go", c.says)
		patience = time.Second
		start := time.Now()
		if got := w.text(w.find("go")); !strings.Contains(got, c.want) {
			t.Errorf("%s:\n%s\nwant %s", c.says, got, c.want)
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s: %s", c.says, took)
		}
	}
}

// What lies in the workspace is not asked, and its files of settings are not read, wherever a variable of a shell that was
// set up by the repository (GOENV, PATH) points.
func TestRepositoryWidensNothing(t *testing.T) {
	w := newWorld(t, "dir data/elsewhere", "dir home/.cache", "file home/.ssh/id", "file ws/.npmrc cache=/data/x", "file ws/go.env x", "file ws/package.json {}")
	script(t, w.ws+"/bin", "go", "echo /usr/local/go; echo "+w.dir+"/data/elsewhere; echo "+w.home+"/mod; echo "+w.home+"/go")
	jptooltest.Tree(t, w.dir, "symlink bin/go ../ws/bin/go")
	w.environ = []string{"HOME=" + w.home, "PATH=" + w.ws + "/bin:" + w.dir + "/bin:ws/bin:"}
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(w.ws)
	if got := w.text(w.find("go")); strings.Contains(got, "elsewhere") {
		t.Error(got)
	}
	t.Chdir(cwd)
	// The control: outside of the workspace it is asked.
	script(t, w.dir+"/tools/bin", "go", "echo /usr/local/go; echo "+w.dir+"/data/elsewhere; echo "+w.home+"/mod; echo "+w.home+"/go")
	w.environ[1] = "PATH=" + w.dir + "/tools/bin:/usr/bin:/bin"
	if got := w.text(w.find("go")); !strings.Contains(got, "GOCACHE: writes $DIR/data/elsewhere (go env)") {
		t.Error(got)
	}
	// A program that obeys GOENV cannot read it in the workspace.
	script(t, w.dir+"/tools/bin", "go", `cat "$GOENV" >/dev/null || exit 1; echo /usr/local/go; echo `+w.dir+`/data/elsewhere; echo `+w.home+`/mod; echo `+w.home+`/go`)
	w.set("GOENV=$WS/go.env")
	if got := w.text(w.find("go")); strings.Contains(got, "elsewhere") || !strings.Contains(got, "was not asked") {
		t.Error(got)
	}
	if _, err := os.Stat(filepath.Join(w.ws, "go.env")); err != nil {
		t.Error(err)
	}
}
