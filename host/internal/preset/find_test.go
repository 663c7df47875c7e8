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

	"github.com/jptools/jptools/host/internal/state"
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
		w.environ = append(w.environ, w.replace(kv))
	}
	return w
}

func (w *world) replace(text string) string {
	return strings.NewReplacer("$HOME", w.home, "$WS", w.ws, "$DIR", w.dir).Replace(text)
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

// id is the name of the workspace among the directories that workspaces have of their own.
func (w *world) id() string {
	ws, err := state.OpenWorkspace(w.ws)
	if err != nil {
		w.t.Fatal(err)
	}
	return ws.ID()
}

// own is a directory of the workspace's own.
func (w *world) own(name string) string { return w.home + "/.cache/jphost/" + w.id() + "/" + name }

// named finds a place by its name.
func named(f *Found, name string) *Place {
	return f.Places[slices.IndexFunc(f.Places, func(p *Place) bool { return p.Name == name })]
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
	for name, want := range map[string][]string{
		"go": {
			"GOCACHE: writes, made at the start ~/.cache/jphost/$ID/go-build (this workspace's own)",
			"GOMODCACHE: reads ~/go/pkg/mod (the usual place)",
			"modules: with go:net writes ~/.cache/jphost/$ID/go (this workspace's own)",
		},
		"go:net": {
			"GOCACHE: writes, made at the start ~/.cache/jphost/$ID/go-build (this workspace's own)",
			"GOMODCACHE: reads ~/go/pkg/mod (the usual place)",
			"modules: writes, made at the start ~/.cache/jphost/$ID/go (this workspace's own)",
		},
		"node": {
			"npm cache: reads ~/.npm/_cacache (the usual place)",
			"packages: with node:net writes ~/.cache/jphost/$ID/npm (this workspace's own)",
			"npm logs: writes, made at the start ~/.cache/jphost/$ID/npm-logs (this workspace's own)",
			"yarn: writes, made at the start ~/.cache/jphost/$ID/yarn (this workspace's own)",
			"pnpm: writes, made at the start ~/.cache/jphost/$ID/pnpm (this workspace's own)",
			"nvm: reads ~/.nvm/versions (the usual place)",
		},
		"node:net": {
			"npm cache: reads ~/.npm/_cacache (the usual place)",
			"packages: writes, made at the start ~/.cache/jphost/$ID/npm (this workspace's own)",
			"npm logs: writes, made at the start ~/.cache/jphost/$ID/npm-logs (this workspace's own)",
			"yarn: writes, made at the start ~/.cache/jphost/$ID/yarn (this workspace's own)",
			"pnpm: writes, made at the start ~/.cache/jphost/$ID/pnpm (this workspace's own)",
			"nvm: reads ~/.nvm/versions (the usual place)",
		},
		"python": {
			"pyenv: reads ~/.pyenv (the usual place)",
			"user site: reads ~/.local/lib (the usual place)",
			"pip cache: writes, made at the start ~/.cache/jphost/$ID/pip (this workspace's own)",
			"uv cache: writes, made at the start ~/.cache/jphost/$ID/uv (this workspace's own)",
		},
		"rust": {
			"cargo: reads ~/.cargo/bin (the usual place)",
			"rustup: reads ~/.rustup (the usual place)",
			"registry: reads ~/.cargo/registry (the usual place)",
			"crates: with rust:net writes ~/.cache/jphost/$ID/cargo (this workspace's own)",
		},
		"rust:net": {
			"cargo: reads ~/.cargo/bin (the usual place)",
			"rustup: reads ~/.rustup (the usual place)",
			"registry: reads ~/.cargo/registry (the usual place)",
			"crates: writes, made at the start ~/.cache/jphost/$ID/cargo (this workspace's own)",
		},
		"java": {
			"maven: reads ~/.m2/repository (the usual place)",
			"artifacts: with java:net writes ~/.cache/jphost/$ID/maven (this workspace's own)",
			"gradle caches: reads ~/.gradle/caches (the usual place)",
			"GRADLE_USER_HOME: writes, made at the start ~/.cache/jphost/$ID/gradle (this workspace's own)",
		},
		"java:net": {
			"maven: reads ~/.m2/repository (the usual place)",
			"artifacts: writes, made at the start ~/.cache/jphost/$ID/maven (this workspace's own)",
			"gradle caches: reads ~/.gradle/caches (the usual place)",
			"GRADLE_USER_HOME: writes, made at the start ~/.cache/jphost/$ID/gradle (this workspace's own)",
		},
		"c": {
			"ccache: writes, made at the start ~/.cache/jphost/$ID/ccache (this workspace's own)",
		},
		"git": {
			"settings: reads ~/.gitconfig (the usual place)",
			"ignore: reads ~/.config/git/ignore (the usual place)",
		},
		"claude:net": {
			"CLAUDE_CONFIG_DIR: writes, made at the start ~/.local/share/jphost-agents/claude (of sandboxed agents only)",
			"nvm: reads ~/.nvm/versions (the usual place)",
		},
		"codex": {
			"CODEX_HOME: writes, made at the start ~/.local/share/jphost-agents/codex (of sandboxed agents only)",
			"nvm: reads ~/.nvm/versions (the usual place)",
		},
	} {
		for i, tree := range [][]string{slices.Clone(full), nil} {
			w := newWorld(t, tree...)
			f := w.find(name)
			got := notOfThisMachine.ReplaceAllString(w.text(f), "")
			lines := slices.Clone(want)
			if i == 1 { // nothing to read
				lines = slices.DeleteFunc(lines, func(line string) bool { return strings.Contains(line, ": reads ") })
			}
			if diff := cmp.Diff(strings.Join(lines, "\n"), got); diff != "" {
				t.Errorf("%s in home %d:\n%s", name, i, diff)
			}
			if err := f.Make(); err != nil {
				t.Error(err)
			}
			for _, e := range f.Extras() {
				fi, err := os.Stat(e.Path)
				if err != nil || e.Caps.Has(jptool.Create) && fi.Mode().Perm() != 0o700 {
					t.Errorf("%s: %s: %v, %v", name, e.Path, fi, err)
				}
			}
			if net := len(f.Net()) > 0; net != strings.HasSuffix(name, NetSuffix) {
				t.Errorf("%s: network %t", name, net)
			}
		}
	}
}

// What a program writes lies in a directory of the workspace's own, whatever variables the person has; those count for what
// is read.
func TestVariables(t *testing.T) {
	w := newWorld(t, "dir data/cache", "dir home/go/pkg/mod", "dir data/claude", "dir data/codex").
		set("GOCACHE=$DIR/data/cache", "GOMODCACHE=off", "GOROOT=relative", "CLAUDE_CONFIG_DIR=$DIR/data/claude", "CODEX_HOME=$DIR/data/codex")
	f := w.find("go,claude,codex")
	env := f.Environ()
	for name, want := range map[string]string{
		"GOCACHE": w.own("go-build"), "GOMODCACHE": w.home + "/go/pkg/mod",
		"CLAUDE_CONFIG_DIR": w.home + "/.local/share/jphost-agents/claude", "CODEX_HOME": w.home + "/.local/share/jphost-agents/codex",
	} {
		if got := jptool.LookupEnv(env, name); got != want {
			t.Errorf("%s=%s, want %s", name, got, want)
		}
		if !slices.ContainsFunc(f.Env(), func(r jptool.EnvRule) bool { return r.Name == name && r.Read }) {
			t.Errorf("%s is not handed down", name)
		}
	}
	for _, e := range f.Extras() {
		if strings.HasPrefix(e.Path, w.dir+"/data") {
			t.Errorf("%s is granted", e.Path)
		}
	}
	if got := named(f, "GOCACHE").InsteadOf; got != w.dir+"/data/cache" {
		t.Errorf("instead of %s", got)
	}
	// Another workspace has another place; XDG_CACHE_HOME is where all lie.
	other := newWorld(t).set("XDG_CACHE_HOME=$DIR/xdg", "XDG_DATA_HOME=$DIR/data")
	if got := other.text(other.find("c,codex")); got != "ccache: writes, made at the start $DIR/xdg/jphost/$ID/ccache (this workspace's own)\n"+
		"CODEX_HOME: writes, made at the start $DIR/data/jphost-agents/codex (of sandboxed agents only)" {
		t.Error(got)
	}
	if other.id() == w.id() {
		t.Error("two workspaces share a place")
	}
	// In the workspace its own grants decide, and the program is told the place all the same.
	w = newWorld(t).set("XDG_CACHE_HOME=$WS/cache")
	f = w.find("c")
	if got := w.text(f); got != "ccache: in the workspace, whose grants apply $WS/cache/jphost/$ID/ccache (this workspace's own)" || len(f.Extras()) > 0 {
		t.Error(got, f.Extras())
	}
	if got := jptool.LookupEnv(f.Environ(), "CCACHE_DIR"); got != w.ws+"/cache/jphost/"+w.id()+"/ccache" {
		t.Error(got)
	}
	// What is not there is still named, if somebody said where it would be.
	w = newWorld(t).set("GOMODCACHE=$HOME/mod")
	f = w.find("go")
	if got := w.text(f); !strings.Contains(got, "GOMODCACHE: not there ~/mod ($GOMODCACHE)") || jptool.LookupEnv(f.Environ(), "GOMODCACHE") != w.home+"/mod" {
		t.Error(got)
	}
	// No HOME, no usual places in it.
	w = newWorld(t, "dir home/.rustup")
	w.environ = []string{"PATH=/usr/bin", "HOME=relative"}
	if f := w.find("rust,git,codex,c"); len(f.Places) > 0 {
		t.Error(w.text(f))
	}
}

// With a network, or once something was downloaded with one, programs use a place of the workspace's own instead of what
// the person downloaded.
func TestDownloads(t *testing.T) {
	for _, c := range []struct{ preset, person, own, set, before, after string }{
		{"go", "home/go/pkg/mod", "go", "GOMODCACHE", "$HOME/go/pkg/mod", "$OWN/pkg/mod"},
		{"node", "home/.npm/_cacache", "npm", "npm_config_cache", "$HOME/.npm", "$OWN"},
		{"rust", "home/.cargo/registry", "cargo", "CARGO_HOME", "$HOME/.cargo", "$OWN"},
		{"java", "home/.m2/repository", "maven", "MAVEN_OPTS", "-Xmx1g -Dmaven.repo.local=$HOME/.m2/repository", "-Xmx1g -Dmaven.repo.local=$HOME/.m2/repository -Dmaven.repo.local=$OWN"},
	} {
		w := newWorld(t, "dir "+c.person).set("MAVEN_OPTS=-Xmx1g", "CARGO_HOME=$HOME/.cargo")
		check := func(name, want string, granted bool) {
			t.Helper()
			f := w.find(name)
			want = strings.NewReplacer("$HOME", w.home, "$OWN", w.own(c.own)).Replace(want)
			if got := jptool.LookupEnv(f.Environ(), c.set); got != want {
				t.Errorf("%s: %s=%s, want %s", name, c.set, got, want)
			}
			writes := slices.ContainsFunc(f.Extras(), func(e baseline.Extra) bool { return e.Path == w.own(c.own) && e.Caps.Has(jptool.Create) })
			reads := slices.ContainsFunc(f.Extras(), func(e baseline.Extra) bool { return e.Path == w.dir+"/"+c.person && !e.Caps.Has(jptool.Create) })
			if writes != granted || !reads {
				t.Errorf("%s: own %t, the person's %t", name, writes, reads)
			}
		}
		check(c.preset, c.before, false)
		check(c.preset+NetSuffix, c.after, true)
		if err := os.MkdirAll(w.own(c.own), 0o700); err != nil {
			t.Fatal(err)
		}
		check(c.preset, c.before, false)
		jptooltest.Tree(t, w.own(c.own), "file something x")
		check(c.preset, c.after, true)
	}
	// A path that would mean something else in a text is not put into it.
	w := newWorld(t, "dir home/.m2/repository").set("XDG_CACHE_HOME=$DIR/a -Dx=y")
	if got := jptool.LookupEnv(w.find("java:net").Environ(), "MAVEN_OPTS"); strings.Contains(got, "-Dx") || !strings.HasSuffix(got, ".m2/repository") {
		t.Error(got)
	}
}

// Whoever says so, no preset opens a place of secrets, nor has a program write where the person runs things from.
func TestRefused(t *testing.T) {
	const own = "jphost/$ID/ccache (this workspace's own)"
	for _, c := range []struct{ preset, env, want string }{
		{"c", "XDG_CACHE_HOME=$HOME/.ssh", "ccache: refused: a place of secrets ~/.ssh/" + own},
		{"c", "XDG_CACHE_HOME=$HOME/.ssh/deeper", "ccache: refused: a place of secrets ~/.ssh/deeper/" + own},
		{"c", "XDG_CACHE_HOME=$HOME/go/bin", "ccache: refused: you run or obey later what is in there ~/go/bin/" + own},
		{"c", "XDG_CACHE_HOME=$DIR/own/state", "ccache: refused: it belongs to the configuration and state of jphost, or holds them $DIR/own/state/" + own},
		{"c", "XDG_CACHE_HOME=$HOME/alias", "ccache: refused: a place of secrets ~/alias/" + own},
		{"c", "XDG_CACHE_HOME=$HOME/x/../.ssh", "ccache: refused: a place of secrets ~/.ssh/" + own},
		{"codex", "XDG_DATA_HOME=$HOME/.codex", "CODEX_HOME: refused: a place of secrets ~/.codex/jphost-agents/codex (of sandboxed agents only)"},
		{"go", "GOMODCACHE=$HOME", "GOMODCACHE: refused: it holds far more than that ~ ($GOMODCACHE)"},
		{"go", "GOMODCACHE=$DIR", "GOMODCACHE: refused: it holds far more than that $DIR ($GOMODCACHE)"},
		{"go", "GOMODCACHE=/", "GOMODCACHE: refused: it holds far more than that / ($GOMODCACHE)"},
		{"go", "GOMODCACHE=$HOME/.config", "GOMODCACHE: refused: a place of secrets ~/.config ($GOMODCACHE)"},
		{"node", "npm_config_cache=$HOME/.aws", "npm cache: refused: a place of secrets ~/.aws/_cacache ($npm_config_cache)"},
		{"git", "GIT_CONFIG_GLOBAL=$HOME/.ssh/id", "settings: refused: a place of secrets ~/.ssh/id ($GIT_CONFIG_GLOBAL)"},
		{"git", "GIT_CONFIG_GLOBAL=$HOME/.git-credentials", "settings: refused: a place of secrets ~/.git-credentials ($GIT_CONFIG_GLOBAL)"},
		{"java", "JAVA_HOME=$HOME/.gnupg", "JAVA_HOME: refused: a place of secrets ~/.gnupg ($JAVA_HOME)"},
	} {
		w := newWorld(t, "file home/.ssh/id", "dir home/.aws/_cacache", "dir home/.gnupg", "dir home/go/bin", "dir home/.config", "symlink home/alias .ssh",
			"file home/.git-credentials", "dir home/.claude", "dir home/.codex").set(c.env)
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

// Nothing is made or granted through a link that a program may have planted in the place of a directory of the
// workspace's own, at any depth, whenever it appears. One of the person's directly in the home directory is followed.
func TestLinks(t *testing.T) {
	w := newWorld(t, "dir data/cache", "symlink home/.cache $DIR/data/cache")
	if f := w.find("c"); f.Make() != nil || !strings.Contains(w.text(f), "ccache: writes, made at the start ~/.cache/jphost") {
		t.Error(w.text(f))
	}
	if _, err := os.Stat(w.dir + "/data/cache/jphost/" + w.id() + "/ccache"); err != nil {
		t.Error(err)
	}
	for _, c := range []struct{ at, target string }{
		{"", "home/precious"},
		{"/$ID", "home/precious"},
		{"/$ID/ccache", "home/precious"},
		{"", "home/gone"},
		{"/$ID", "home/gone"},
		{"/$ID/ccache", "home/gone"},
		{"/$ID/ccache", "home/file"},
	} {
		for _, late := range []bool{false, true} {
			w := newWorld(t, "dir home/.cache", "file home/precious/keep x", "file home/file x")
			link := w.home + "/.cache/jphost" + strings.ReplaceAll(c.at, "$ID", w.id())
			plant := func() {
				if err := os.MkdirAll(filepath.Dir(link), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(w.dir+"/"+c.target, link); err != nil {
					t.Fatal(err)
				}
			}
			if !late {
				plant()
			}
			f := w.find("c")
			if late {
				plant()
			}
			p := named(f, "ccache")
			err := f.Make()
			if late && err == nil || !late && (p.Refused == "" || len(f.Extras()) > 0 || jptool.LookupEnv(f.Environ(), "CCACHE_DIR") != "") {
				t.Errorf("%s -> %s, late %t: %q, %v, %v", c.at, c.target, late, p.Refused, f.Extras(), err)
			}
			if list, err := os.ReadDir(w.home + "/precious"); err != nil || len(list) != 1 {
				t.Errorf("%s -> %s, late %t: %v, %v", c.at, c.target, late, list, err)
			}
			if _, err := os.Lstat(w.home + "/gone"); err == nil {
				t.Errorf("%s -> %s, late %t: the target was made", c.at, c.target, late)
			}
			if !late || runtime.GOOS != "linux" {
				continue
			}
			prepared, err := sandbox.Prepare(t.Context(), nil, w.ws, sandbox.Options{Paths: f.Extras(), Environ: append(w.environ, "PATH=/usr/bin:/bin")})
			if err != nil {
				t.Fatal(err)
			}
			var refused *baseline.ExtraError
			err = prepared.Command(t.Context(), "/bin/touch", w.own("ccache")+"/new", w.home+"/precious/new", w.home+"/gone/new").Run()
			if there := c.at == "/$ID/ccache" && c.target != "home/gone"; err == nil || there && !errors.As(err, &refused) {
				t.Errorf("%s -> %s: %v", c.at, c.target, err)
			}
			if list, err := os.ReadDir(w.home + "/precious"); err != nil || len(list) != 1 {
				t.Errorf("%s -> %s: the program wrote %v, %v", c.at, c.target, list, err)
			}
		}
	}
	// What is only read is not chosen by such a link either.
	w = newWorld(t, "dir home/go/pkg", "dir data/elsewhere", "symlink home/go/pkg/mod $DIR/data/elsewhere")
	f := w.find("go")
	if got := named(f, "GOMODCACHE"); !strings.Contains(got.Refused, "is a symlink that a program or another user may have made") ||
		!strings.HasSuffix(got.Remedy, "--ro "+w.dir+"/data/elsewhere") {
		t.Error(w.text(f))
	}
}

// A directory of another user, or one that others can write to, is not taken for a cache.
func TestForeign(t *testing.T) {
	for _, at := range []string{"", "/$ID", "/$ID/ccache"} {
		w := newWorld(t)
		dir := w.home + "/.cache/jphost" + strings.ReplaceAll(at, "$ID", w.id())
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if got := w.text(w.find("c")); !strings.Contains(got, "ccache: refused: other users can write there") {
			t.Error(got)
		}
	}
	if !jptooltest.Root(t) {
		t.Skip("only root can make a directory of another user")
	}
	w := newWorld(t)
	if err := os.MkdirAll(w.own("ccache"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(w.own("ccache"), 61234, 61234); err != nil {
		t.Fatal(err)
	}
	if got := w.text(w.find("c")); !strings.Contains(got, "ccache: refused: it belongs to another user") {
		t.Error(got)
	}
	// Nor is one made in the home directory of another user, as root would with the HOME of somebody else.
	w = newWorld(t)
	if err := os.Chown(w.home, 61234, 61234); err != nil {
		t.Fatal(err)
	}
	f := w.find("c")
	if got := w.text(f); !strings.Contains(got, "ccache: refused: it is not there, and would be made in a directory of another user") {
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
	w := newWorld(t, "dir data/mod", "file home/.ssh/id secret", "file home/.config/go/env x", "dir home/go/pkg/mod")
	script(t, w.dir+"/bin", "go", `echo "$0 $*" >&2
test "$GOTOOLCHAIN,$GOWORK,$SECRET" = local,off, || exit 3
test -r ~/.config/go/env || exit 4
cat ~/.ssh/id 2>/dev/null && exit 5
echo x > ~/made 2>/dev/null && exit 6
test "$PWD" = /usr || exit 7
echo /usr/local/go
echo ~/cache
echo `+w.dir+`/data/mod
echo https://proxy.example,direct`)
	w.set("SECRET=1")
	w.environ[1] += ":/usr/bin:/bin"
	f := w.find("go:net")
	if got := w.text(f); !strings.Contains(got, "GOMODCACHE: reads $DIR/data/mod (go env)") {
		t.Error(got)
	}
	if got := jptool.LookupEnv(f.Environ(), "GOPROXY"); got != "file://"+w.dir+"/data/mod/cache/download,https://proxy.example,direct" {
		t.Error(got)
	}
	// What it says opens no secrets, and nothing that holds much.
	for _, c := range []struct{ says, want string }{
		{"echo /usr/local/go; echo ~/x; echo ~/.ssh; echo", "GOMODCACHE: refused: a place of secrets ~/.ssh (go env)"},
		{"echo /usr/local/go; echo ~/x; echo ~; echo", "GOMODCACHE: refused: it holds far more than that ~ (go env)"},
		{"echo /usr/local/go; echo ~/x; echo relative; echo x", "GOMODCACHE: reads ~/go/pkg/mod (the usual place)"},
		{"echo /usr/local/go", "go env GOROOT GOCACHE GOMODCACHE GOPROXY was not asked: it answered 1 lines instead of 4"},
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

// A proxy with a password is not handed on.
func TestAskKeepsPasswords(t *testing.T) {
	w := newWorld(t, "dir home/mod")
	script(t, w.dir+"/bin", "go", "echo /usr/local/go; echo ~/x; echo ~/mod; echo https://me:secret@proxy.example")
	w.environ[1] += ":/usr/bin:/bin"
	if got := jptool.LookupEnv(w.find("go:net").Environ(), "GOPROXY"); got != "" {
		t.Error(got)
	}
}

// What lies in the workspace is not asked, and its files of settings are not read, wherever a variable of a shell that was
// set up by the repository (GOENV, PATH) points.
func TestRepositoryWidensNothing(t *testing.T) {
	w := newWorld(t, "dir data/elsewhere", "dir home/.cache", "file home/.ssh/id", "file ws/.npmrc cache=/data/x", "file ws/go.env x", "file ws/package.json {}")
	script(t, w.ws+"/bin", "go", "echo /usr/local/go; echo ~/x; echo "+w.dir+"/data/elsewhere; echo x")
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
	script(t, w.dir+"/tools/bin", "go", "echo /usr/local/go; echo ~/x; echo "+w.dir+"/data/elsewhere; echo x")
	w.environ[1] = "PATH=" + w.dir + "/tools/bin:/usr/bin:/bin"
	if got := w.text(w.find("go")); !strings.Contains(got, "GOMODCACHE: reads $DIR/data/elsewhere (go env)") {
		t.Error(got)
	}
	// A program that obeys GOENV cannot read it in the workspace.
	script(t, w.dir+"/tools/bin", "go", `cat "$GOENV" >/dev/null || exit 1; echo /usr/local/go; echo ~/x; echo `+w.dir+`/data/elsewhere; echo x`)
	w.set("GOENV=$WS/go.env")
	if got := w.text(w.find("go")); strings.Contains(got, "elsewhere") || !strings.Contains(got, "was not asked") {
		t.Error(got)
	}
	if _, err := os.Stat(filepath.Join(w.ws, "go.env")); err != nil {
		t.Error(err)
	}
}
