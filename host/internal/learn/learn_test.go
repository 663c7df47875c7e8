package learn

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jptools/jptools/host/internal/preset"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/sandbox"
	"github.com/jptools/jptools/sandbox/observe"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	os.Exit(m.Run())
}

const (
	read   = jptool.Read
	create = jptool.Create
	update = jptool.Update
)

// refused reads lines of `operation path`, in which ~ is the home directory, . the workspace.
func refused(dir, text string) (list []observe.Refusal) {
	for line := range strings.FieldsSeq(text) {
		op, path, _ := strings.Cut(line, ":")
		path = strings.Replace(path, "~", dir+"/home", 1)
		if strings.HasPrefix(path, "./") {
			path = dir + "/ws" + path[1:]
		}
		caps := map[string]jptool.Caps{"read": read, "list": read, "create": create, "write": update, "delete": jptool.Delete}[op]
		list = append(list, observe.Refusal{Operation: observe.Operation(op), Path: path, Need: caps, Lacking: caps, Why: observe.Lacks, Times: 1})
	}
	return list
}

func TestPropose(t *testing.T) {
	dir := jptooltest.TempRoot(t)
	jptooltest.Tree(t, dir, "dir ws/build", "file ws/a", "dir home/.cache/go-build/00", "dir home/go/pkg/mod", "file home/.ssh/id", "file home/.config/tool/conf", "file home/.config/tool/x/y",
		"file home/.config/top", "dir home/.rustup", "file home/lib/a/1", "file home/lib/b/1", "file home/lib/c/1", "file home/held/a/1", "file home/held/b/1", "file home/held/c/1", "file home/.netrc", "file home/notes", "dir home/.claude", "file home/.gitconfig",
		"dir home/.local/share/state", "dir home/.cargo/bin", "file home/.cargo/credentials.toml", "dir data/x", "file data/f")
	home := dir + "/home"
	environ := []string{"HOME=" + home, "PATH=/nowhere"}
	var all []preset.Choice
	for _, p := range preset.All() {
		all = append(all, preset.Choice{Preset: p})
	}
	found, err := preset.Find(t.Context(), all, preset.Request{Workspace: dir + "/ws", Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, program, refused, want string }{
		{"nothing", "sh", "", ""},
		{"a preset", "go", "read:~/.cache/go-build/00/x create:~/.cache/go-build/11", "preset go"},
		{"a preset by its system", "go", "read:~/go/pkg/mod/m read:/usr/bin/gcc", "preset go"},
		{"the system", "tool", "read:/usr/bin/gcc read:/usr/lib/x read:/lib64/ld.so", "read /lib64; read /usr"},
		{"not where others believe it", "tool", "write:~/go/pkg/mod/m create:~/.npm/_cacache/x create:~/.m2/repository/x", "preset node; never create ~/.m2/repository/x: your own programs believe what lies there: --preset java:net has sandboxed calls write elsewhere; never write ~/go/pkg/mod/m: your own programs believe what lies there: --preset go:net has sandboxed calls write elsewhere"},
		{"nor what other workspaces have", "tool", "read:~/.cache/jphost/x/go-build/y create:~/.local/share/jphost-agents/claude/x", "never create ~/.local/share/jphost-agents/claude/x: roots; never read ~/.cache/jphost/x/go-build/y: roots"},
		{"two presets", "tool", "read:~/.rustup/x read:~/.gitconfig", "preset git; preset rust"},
		{"a preset of a program before one that has more", "cargo", "read:~/.rustup/x read:~/.cache/go-build/1 read:~/.cache/go-build/2", "preset rust; preset go"},
		{"no preset of an agent", "tool", "create:~/.local/share/jphost-agents", "never create ~/.local/share/jphost-agents: roots"},
		{"nor its own place", "claude", "create:~/.local/share/jphost-agents", "never create ~/.local/share/jphost-agents: roots"},
		{"no settings of an agent", "tool", "create:~/.claude/x", "never create ~/.claude/x: a place of secrets"},
		{"but another place for the agent", "claude", "create:~/.claude/x read:~/.claude/y", "preset claude"},
		{"a directory, not its file", "tool", "read:~/.config/tool/conf", "read ~/.config/tool"},
		{"one above another", "tool", "read:~/.config/tool/conf read:~/.config/tool/x/y", "read ~/.config/tool"},
		{"for writing", "tool", "read:~/.config/tool/conf create:~/.config/tool/new", "write ~/.config/tool"},
		{"to write below what is read", "tool", "read:~/.config/tool/conf create:~/.config/tool/x/new", "read ~/.config/tool; write ~/.config/tool/x"},
		{"many are their parent", "tool", "read:~/lib/a/1 read:~/lib/b/1 read:~/lib/c/1", "read ~/lib"},
		{"but not one that is guarded", "tool", "read:~/held/a/1 read:~/held/b/1 read:~/held/c/1", "read ~/held/a; read ~/held/b; read ~/held/c"},
		{"two are two", "tool", "read:~/lib/a/1 read:~/lib/b/1", "read ~/lib/a; read ~/lib/b"},
		{"only the file, where the directory is shared", "tool", "read:~/.config/top read:~/notes", "read ~/.config/top; read ~/notes"},
		{"secrets", "tool", "read:~/.ssh/id list:~/.ssh read:~/.netrc read:~/.cargo/credentials.toml list:~/.claude", "never list ~/.claude: a place of secrets; never list ~/.ssh: a place of secrets; never read ~/.cargo/credentials.toml: a place of secrets; never read ~/.netrc: a place of secrets; never read ~/.ssh/id: a place of secrets"},
		{"never more than one looks for", "tool", "list:~ list:~/.config list:~/.cargo", "never list ~/.cargo: it holds far more than that: name what is needed of it yourself; never list ~/.config: it holds far more than that: name what is needed of it yourself; never list ~: it holds far more than that"},
		{"what is run later", "tool", "create:~/.cargo/bin/x write:~/.gitconfig create:~/.bashrc", "never create ~/.bashrc: you run or obey later what is in there; never create ~/.cargo/bin/x: you run or obey later what is in there; never write ~/.gitconfig: you run or obey later what is in there"},
		{"what is not there", "tool", "create:~/.newtool", "never create ~/.newtool: it is not there, and all of ~ is too much for it: if it is a directory, make it yourself and run this again"},
		{"noise", "tool", "read:/proc/1/x read:/sys/kernel/x", ""},
		{"devices", "tool", "read:/dev/kvm", "never read /dev/kvm: devices are not granted; a program has the usual ones"},
		{"/tmp", "tool", "create:/tmp/x", "never create /tmp/x: others can write there: a program has $TMPDIR for that"},
		{"the workspace", "tool", "create:./build/x", "write ./build"},
		{"all of it", "tool", "create:./new", "write ./"},
		{"guarded", "tool", "write:./guarded/x create:~/lib/guarded", "never create ~/lib/guarded: guarded; never write ./guarded/x: guarded"},
	} {
		w := &World{Root: dir + "/ws", Homes: preset.Homes(environ), Program: c.program, Presets: found, Guarded: func(r observe.Refusal) string {
			if strings.Contains(r.Path, "guarded") || strings.HasSuffix(r.Path, "/held") {
				return "guarded"
			}
			for _, dir := range preset.Roots(environ) {
				if strings.HasPrefix(r.Path+"/", dir+"/") {
					return "roots"
				}
			}
			return ""
		}}
		p := w.Propose(refused(dir, c.refused))
		var lines []string
		for _, name := range p.Presets {
			lines = append(lines, "preset "+name)
		}
		for _, g := range p.Grants {
			lines = append(lines, map[bool]string{true: "write ", false: "read "}[g.Writes]+g.Path)
			if len(g.For) == 0 {
				t.Errorf("%s: no reason for %s", c.name, g.Path)
			}
		}
		var never []string
		for _, n := range p.Never {
			never = append(never, fmt.Sprintf("never %s %s: %s", n.Operation, n.Path, n.Why))
		}
		got := strings.Join(append(lines, sorted(never)...), "; ")
		got = strings.NewReplacer(home, "~", dir+"/ws/", "./", dir+"/ws", "./").Replace(got)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
	}
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}
