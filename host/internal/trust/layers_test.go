package trust

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/mount"
	"github.com/jptools/jptools/jptool"
)

// lines are the settings as they are shown, without their places.
func lines(list []consent.Setting) string {
	var out []string
	for line := range strings.Lines(consent.Diff(nil, list).String()) {
		line, _, _ = strings.Cut(strings.TrimPrefix(line, "  + "), "   (")
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// What variables, --cfg and the conversation restrict is not opened again by the repository.
func TestRestrictionsOfACall(t *testing.T) {
	const (
		opens    = "conversation.tools.t.access.fs = [{ path = \".\", read = true }]"
		asked    = `conversation.tools.t.access.fs = {"path":".","read":true}`
		only     = `conversation.tools.t.access.fs:=[{"path":"src","read":true}]`
		variable = `JP_CFG_CONVERSATION__TOOLS__T__ACCESS__FS=:[{"path":"src","read":true}]`
		programs = "conversation.tools.t.access.commands.sh = {}"
	)
	delta := func(rules ...jptool.FsRule) string {
		d := mount.Delta{Tools: map[string]mount.ToolDelta{"t": {FS: rules}}}
		text, err := d.TOML()
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	yes := true
	fork := jptool.FsRule{Path: "fork", External: true, Read: &yes}
	for _, tt := range []struct {
		name, repo string
		args, env  []string
		talk, want string
	}{
		{name: "nothing", repo: opens},
		{name: "--cfg", repo: opens, args: []string{only}, want: asked},
		{name: "--cfg of another tool", repo: opens, args: []string{strings.Replace(only, "tools.t.", "tools.fs_read_file.", 1)}},
		{name: "--cfg that replaces", repo: opens, args: []string{`conversation.tools.t.access.fs:={"strategy":"replace","value":[{"path":"src","read":true}]}`}},
		{name: "an empty list", repo: opens, args: []string{"conversation.tools.t.access.fs:=[]"}, want: asked},
		{name: "a mount and nothing else", repo: opens, args: []string{`conversation.tools.t.access.fs:=[{"path":"fork","external":true,"read":true}]`}, want: asked},
		{name: "variable", repo: opens, env: []string{variable}, want: asked},
		{name: "conversation", repo: opens, talk: delta(jptool.FsRule{Path: "src", Read: &yes}), want: asked},
		{name: "mounted in the conversation", repo: opens, talk: delta(fork)},
		{name: "mounted, with what keeps access", repo: opens, talk: delta(jptool.FsRule{Path: ".", Read: &yes, Write: &yes, Execute: &yes}, fork)},
		{name: "programs", repo: programs, args: []string{`conversation.tools.t.access.commands:={"git":{}}`}, want: "conversation.tools.t.access.commands.sh = {}"},
		{name: "programs, unrestricted", repo: programs},
		{
			name: "a tool of the call", repo: "conversation.tools.mine.options.force = true",
			args: []string{`{"conversation":{"tools":{"mine":{"source":"local","command":"mine"}}}}`}, want: "conversation.tools.mine.options.force = true",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t).repo(tt.repo)
			w.args, w.env = tt.args, tt.env
			if tt.talk != "" {
				w.write(w.talk, tt.talk)
			}
			if diff := cmp.Diff(tt.want, lines(w.widening())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What the user mounted for one tool is not another's because the repository says so.
func TestRepositoryOnAMount(t *testing.T) {
	const mine = `conversation.tools.fs_read_file.access.fs = [{ path = "docs", external = true, read = true }]`
	rule := func(tool, text string) string { return "conversation.tools." + tool + ".access.fs = [" + text + "]\n" }
	for _, tt := range []struct{ name, mine, repo, want string }{
		{"no mount", "", rule("t", `{ path = "docs", external = true, read = true }`), ""},
		{"another tool", mine, rule("t", `{ path = "docs", external = true, write = true }`), `conversation.tools.t.access.fs = {"external":true,"path":"docs","write":true}`},
		{"another tool, reading", mine, rule("t", `{ path = "docs", external = true, read = true }`), `conversation.tools.t.access.fs = {"external":true,"path":"docs","read":true}`},
		{"the same tool, more", mine, rule("fs_read_file", `{ path = "docs", external = true, execute = true, read = true }`), `conversation.tools.fs_read_file.access.fs = {"execute":true,"external":true,"path":"docs","read":true}`},
		{"the same tool, the same", mine, rule("fs_read_file", `{ path = "docs", external = true, read = true }`), ""},
		{"nothing granted", mine, rule("t", `{ path = "docs", external = true }`), ""},
		{"another spelling", mine, rule("t", `{ path = "./sub/../docs/", external = true, read = true }`), `conversation.tools.t.access.fs = {"external":true,"path":"./sub/../docs/","read":true}`},
		{"through a link", mine, rule("t", `{ path = "alias/docs", external = true, read = true }`), `conversation.tools.t.access.fs = {"external":true,"path":"alias/docs","read":true}`},
		{"another link to the same", mine, rule("t", `{ path = "other", external = true, read = true }`), ""}, // is asked for by its own approval
		{"below it", mine, rule("fs_read_file", `{ path = "docs/sub", execute = true }`), `conversation.tools.fs_read_file.access.fs = {"execute":true,"path":"docs/sub"}`},
		{"below it by an inner link", "conversation.tools.t.access.fs = [{ path = \"docs\", external = true, read = true }, { path = \".\", read = true }]", rule("t", `{ path = "inner", update = true, read = true }`), `conversation.tools.t.access.fs = {"path":"inner","read":true,"update":true}`},
		{"where the user's own rule below grants it", mine + "\nconversation.tools.t.access.fs = [{ path = \"docs\", external = true, read = true }, { path = \"docs/sub\", write = true }]", rule("t", `{ path = "docs/sub", external = true, create = true }`), ""},
		{"the user denies it", "conversation.tools.t.access.fs = [{ path = \"docs\", external = true, read = true }, { path = \"docs/sub\" }]", rule("t", `{ path = "docs/sub", read = true }`), `conversation.tools.t.access.fs = {"path":"docs/sub","read":true}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, "symlink docs $OUT", "symlink other $OUT", "dir sub", "symlink alias .", "symlink inner docs/sub").repo(tt.repo)
			if err := os.Mkdir(w.outside+"/sub", 0o755); err != nil {
				t.Fatal(err)
			}
			w.write(w.talk, "").mine(tt.mine)
			if diff := cmp.Diff(tt.want, lines(w.widening())); diff != "" {
				t.Error(diff)
			}
			// It makes no difference which of the user's layers has the mount.
			w.mine("").write(w.talk, tt.mine)
			if got := lines(w.widening()); tt.want != "" && got != tt.want {
				t.Errorf("mounted in the conversation: %s", got)
			}
		})
	}
}

// The files that a repository's commands name are part of what is accepted; those that are only data are not.
func TestNamedFiles(t *testing.T) {
	w := newWorld(t, "file scripts/edit.sh echo", "file lint.py x", "file a.cfg a", "file plain x", "dir dir", "symlink link scripts/edit.sh", "symlink out $OUT/x", "fifo pipe", "file show x").repo(`
[conversation.tools.e]
source = "local"
command = { program = "./scripts/edit.sh", args = ["--config=a.cfg", "dir", "pipe", "out", "missing", "{{tool.arguments.x}}"] }
[conversation.tools.l]
source = "local"
command = "python3 lint.py plain"
style.parameters = { program = "./show", args = [] }
[conversation.tools.s]
source = "local"
command = { program = "cd dir; ./link && plain", shell = true }
[conversation.tools.w]
source = "local"
command = { program = "./link > a.cfg 2>>plain <>show; sh < lint.py", shell = true }
[conversation.tools.p]
source = "local"
command = "wc plain"
`)
	w.write(w.outside+"/x", "x")
	runs := func() (out []string) {
		for _, s := range w.widening() {
			if s.Runs != "" {
				out = append(out, s.Key+" runs "+s.Runs)
				if len(s.Value) != len("sha256:")+64 || s.File != ".jp/config.toml" || s.Line == 0 {
					t.Errorf("%+v", s)
				}
			}
		}
		return out
	}
	want := []string{
		"conversation.tools.e.command runs scripts/edit.sh",
		"conversation.tools.e.command runs a.cfg",
		"conversation.tools.l.command runs lint.py",
		"conversation.tools.l.command runs plain",
		"conversation.tools.l.style.parameters runs show",
		"conversation.tools.s.command runs scripts/edit.sh",
		"conversation.tools.s.command runs plain",
		"conversation.tools.w.command runs scripts/edit.sh",
		"conversation.tools.w.command runs lint.py",
		"conversation.tools.w.command runs show",
	}
	if diff := cmp.Diff(want, runs()); diff != "" {
		t.Error(diff)
	}
	was := w.widening()
	w.write("lint.py", "other")
	d := consent.Diff(was, w.widening())
	if len(d.Changed) != 2 || !strings.Contains(d.String(), "l.command runs lint.py, changed since it was accepted") {
		t.Errorf("%s", d)
	}
	// The user's own commands are not the repository's.
	w.repo("").mine("conversation.tools.own = { source = \"local\", command = \"sh lint.py\" }")
	if got := w.widening(); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

// Beyond the bounds a file is known by its size and time, never unknown.
func TestManyNamedFiles(t *testing.T) {
	w := newWorld(t)
	var args []string
	for i := range maxDigested + 3 {
		name := fmt.Sprintf("f%02d", i)
		w.write(name, "#!"+name)
		args = append(args, `"`+name+`"`)
	}
	w.write("f00", "#!"+strings.Repeat("x", maxDigestedBytes))
	w.repo("conversation.tools.t.command = { program = \"t\", args = [" + strings.Join(args, ", ") + "] }")
	digested, others := 0, 0
	for _, s := range w.widening() {
		switch {
		case strings.HasPrefix(s.Value, "sha256:"):
			digested++
		case strings.HasPrefix(s.Value, "not read: "):
			others++
		}
	}
	if digested != maxDigested || others != 3 {
		t.Errorf("%d by content, %d by size", digested, others)
	}
	was := w.widening()
	if err := os.Chtimes(w.root+"/f00", time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if d := consent.Diff(was, w.widening()); len(d.Changed) != 1 || d.Changed[0].Now.Runs != "f00" {
		t.Errorf("%s", d)
	}
}

// The work grows with the number of settings, not with its square.
func TestWideningIsLinear(t *testing.T) {
	work := func(n int) float64 {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "[conversation.tools.fs_read_file.access.commands.c%d]\nargs = [[\"x\"]]\n", i)
		}
		w := newWorld(t).repo(b.String()).mine("conversation.tools.fs_read_file.access.commands = {}\n")
		c := w.config()
		return testing.AllocsPerRun(1, func() {
			if list, err := Widening(context.Background(), c, w.root); err != nil || len(list) != n {
				t.Fatalf("%d settings, %v", len(list), err)
			}
		})
	}
	if small, big := work(500), work(4000); big > 12*small {
		t.Errorf("%.0f allocations for 500 settings, %.0f for 4000", small, big)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	w := newWorld(t).repo(`sandbox.mode = "off"`)
	if _, err := Widening(ctx, w.config(), w.root); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
