package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// repository makes the workspace one that has all that programs obey: its own settings, and a
// repository's.
func repository(t testing.TB, user string) *world {
	t.Helper()
	w := newWorld(t, user)
	w.files(map[string]string{
		"ws/.jp/config.toml": "# settings\n", "ws/.git/HEAD": "ref: refs/heads/main\n", "ws/.git/config": "[core]\n",
		"ws/.git/hooks/pre-commit": "#!/bin/sh\n",
	})
	return w
}

// worktree has a file in place of the git directory, which says where that is.
func worktree(t testing.TB, user string) *world {
	t.Helper()
	w := newWorld(t, user)
	w.files(map[string]string{"ws/.git": "gitdir: store\n", "ws/store/HEAD": "ref: refs/heads/main\n", "ws/store/config": "[core]\n"})
	return w
}

// define has the user's own configuration say that a tool is a command line, which is not asked for,
// nor are the tools that write.
func (w *world) define(argv ...string) {
	w.t.Helper()
	w.defineUnder("", argv...)
}

// defineUnder does so with the rules that grants of `jphost sandbox exec` stand for.
func (w *world) defineUnder(grants string, argv ...string) {
	w.t.Helper()
	rules, known := map[string]string{
		"": "", "--rw .": "",
		readOnly: "fs = [{ path = \".\", read = true, execute = true }]\n",
		withheld: "fs = [{ path = \".\", read = true, write = true, execute = true }, { path = \"src/private\" }, { path = \"docs\", read = true }]\n",
		network:  "net = [{ host = \"*\", allow = true }]\n",
	}[grants]
	if !known {
		w.t.Fatalf("no rules are known for %q", grants)
	}
	quoted := make([]string, len(argv))
	for i, word := range argv {
		quoted[i] = strconv.Quote(word)
	}
	text := fmt.Sprintf("[conversation.tools.foreign]\nsource = \"local\"\nrun = \"unattended\"\ncommand = { program = %s, args = [%s] }\n",
		quoted[0], strings.Join(quoted[1:], ", "))
	if rules != "" {
		text += "[conversation.tools.foreign.access]\n" + rules
	}
	for _, tool := range []string{"fs_create_file", "fs_modify_file", "fs_delete_file", "fs_move_file"} {
		text += fmt.Sprintf("[conversation.tools.%s]\nrun = \"unattended\"\n", tool)
	}
	w.files(map[string]string{"conf/jphost/config.toml": text})
}

// called is how jphost reports a call.
type called struct {
	Outcome struct{ Type, Reason, Code, Message, Content string }
	Status  int
	Starts  int
	Exit    struct{ Code int }
	Sandbox struct{ Tier string }

	ran ran
}

// call has jphost run a tool in a tier.
func (w *world) call(tier, tool string, args ...string) *called {
	w.t.Helper()
	r := w.run(slices.Concat([]string{filepath.Join(bin, "jphost"), "run", "--json", "--no-input", "--cfg", "sandbox.tier=" + tier, tool}, args)...)
	c := &called{ran: r}
	if err := json.Unmarshal([]byte(r.stdout), c); err != nil || c.Status != r.code {
		w.t.Fatalf("%s %q: no report of this call (%v): %s", tool, args, err, r)
	}
	if c.Starts > 0 && c.Sandbox.Tier != tier {
		w.t.Fatalf("%s %q ran in the tier %q, want %q", tool, args, c.Sandbox.Tier, tier)
	}
	return c
}

// contents is what stands in the workspace below names, those left out that are not there.
func (w *world) contents(names ...string) map[string]stamp {
	w.t.Helper()
	all := map[string]stamp{}
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(w.root, name)); err == nil {
			maps.Copy(all, state(w.t, filepath.Join(w.root, name)))
		}
	}
	return all
}

// Under the default policy no program changes what others obey: where it can be held it is refused,
// elsewhere it is found, and fails the call.
func TestSandboxProtected(t *testing.T) {
	for _, c := range []struct {
		path string
		make func(testing.TB, string) *world
		// missing: there is nothing at the path that a mount could hold.
		missing bool
		// does is another attack than doing everything to it.
		does string
	}{
		{".jp/config.toml", repository, false, ""},
		{".jp/planted.toml", repository, false, ""},
		{".jp", repository, false, ""},
		{".jp.toml", repository, true, ""},
		{".git", repository, false, "exchange {P} {WS}/good"},
		{".git/config", repository, false, "link {P} {WS}/good/config"},
		{".git/hooks/pre-commit", repository, false, "link {P} {WS}/good/hook"},
		{".git/config", repository, false, ""},
		{".git/hooks/pre-commit", repository, false, ""},
		{".git/hooks/post-checkout", repository, false, ""},
		{".git/hooks", repository, false, ""},
		{".git/commondir", repository, true, ""},
		{".git/config.worktree", repository, true, ""},
		{".git/modules/x", repository, true, ""},
		{"HEAD", repository, true, ""}, // makes the workspace itself a git directory
		{".git", worktree, false, ""},
		{"store/config", worktree, false, ""},
		{"store/hooks/pre-commit", worktree, true, ""},
		{"store/commondir", worktree, true, ""},
		{".git/hooks/pre-commit", newWorld, true, ""}, // no repository yet
	} {
		name := strings.ReplaceAll(strings.TrimPrefix(c.path, "."), "/", "-")
		t.Run(name, func(t *testing.T) {
			eachUser(t, func(t *testing.T, user string) {
				prepare := func(t *testing.T) (*world, []string) {
					w := c.make(t, user)
					does := "vandal {P} {WS}"
					if c.does != "" {
						does = c.does
					}
					does = strings.NewReplacer("{P}", w.root+"/"+c.path, "{WS}", w.root).Replace(does)
					attack := append([]string{attackPath(t)}, strings.Fields(does)...)
					w.define(attack...)
					return w, attack
				}
				w, attack := prepare(t)
				if v := w.attack(uncontained, nil, attack[1:]...); !v.Worked {
					t.Fatalf("the control did not work: %s", v)
				}
				eachTier(t, user, func(t *testing.T, tier string) {
					top, _, _ := strings.Cut(c.path, "/")
					kept := tier == namespaces && !c.missing
					check := func(w *world, before map[string]stamp, code int, says string) {
						t.Helper()
						changes := differs(before, w.contents(top))
						switch {
						case kept && (code != 0 || len(changes) > 0):
							t.Errorf("exit status %d, want 0, and changed is %q\n%s", code, changes, says)
						case !kept && len(changes) == 0 && !c.missing: // else it may be gone again
							t.Errorf("nothing was changed, so nothing was to be found\n%s", says)
						case !kept && (code != 1 || !strings.Contains(says, "/"+top) && !strings.Contains(says, `\"`+top)): // a person is told the whole path, a model the one in the workspace
							t.Errorf("exit status %d, want 1 and the name of what changed\n%s", code, says)
						}
					}
					t.Run("exec", func(t *testing.T) {
						w, attack := prepare(t)
						before := w.contents(top)
						v := w.attackMayDie(tier, nil, attack[1:]...)
						if !v.came && kept || v.Worked && kept { // what appears, or leaves its place, ends the attack
							t.Errorf("the attack worked, or there is no verdict: %s", v)
						}
						check(w, before, v.ran.code, v.ran.stderr)
					})
					t.Run("run", func(t *testing.T) {
						w, _ := prepare(t)
						before := w.contents(top)
						r := w.call(tier, "foreign")
						check(w, before, r.Status, r.ran.stdout)
						if !kept && (r.Outcome.Type != "refused" || r.Outcome.Reason != "changed") {
							t.Errorf("the call did not fail for what it changed: %s", r.ran)
						}
					})
				})
			})
		})
	}
}

// The tools refuse by themselves, in every tier, and say so.
func TestToolsKeepOffProtected(t *testing.T) {
	patterns := `patterns:=[{"old":"core","new":"owned"}]`
	eachUser(t, func(t *testing.T, user string) {
		eachTier(t, user, func(t *testing.T, tier string) {
			w := repository(t, user)
			w.define("/bin/true")
			before := w.contents(".jp", ".git")
			yes := []string{"--answer", "overwrite_file=true", "--answer", "delete_dirty_file=true", "--answer", "apply_changes=true", "--answer", "modify_dirty_file=true", "--answer", "move_dirty_source=true"}
			for _, call := range [][]string{
				{"fs_create_file", "path=.jp/config.toml", "content=owned"},
				{"fs_create_file", "path=.jp/new", "content=owned"},
				{"fs_create_file", "path=.jp.toml", "content=owned"},
				{"fs_create_file", "path=.git/config", "content=owned"},
				{"fs_create_file", "path=.git/commondir", "content=owned"},
				{"fs_create_file", "path=.git/hooks/post-checkout", "content=owned"},
				{"fs_create_file", "path=.git/modules/x/config", "content=owned"},
				{"fs_modify_file", "path=.git/config", patterns},
				{"fs_delete_file", "path=.git/hooks/pre-commit"},
				{"fs_move_file", "source=docs/guide", "target=.git/hooks/pre-commit"},
				{"fs_move_file", "source=.git", "target=good/git"},
				{"fs_move_file", "source=.git/hooks", "target=.git/hooks-off"},
				{"fs_move_file", "source=.jp", "target=jp"},
			} {
				c := w.call(tier, call[0], slices.Concat(call[1:], yes)...)
				if c.Outcome.Code != "access_denied" {
					t.Errorf("%q was not denied: %s", call, c.ran)
				}
				if list := differs(before, w.contents(".jp", ".git", ".jp.toml")); len(list) > 0 {
					t.Fatalf("%q changed %q", call, list)
				}
			}
			// The same on what is anybody's.
			for _, call := range [][]string{
				{"fs_create_file", "path=docs/guide", "content=core"},
				{"fs_modify_file", "path=docs/guide", patterns},
				{"fs_move_file", "source=docs", "target=good/docs"},
				{"fs_delete_file", "path=good/docs/guide"},
			} {
				if c := w.call(tier, call[0], slices.Concat(call[1:], yes)...); c.Outcome.Type != "success" {
					t.Errorf("the control %q did not work: %s", call, c.ran)
				}
			}
			if _, err := os.Stat(w.root + "/good/docs/guide"); err == nil {
				t.Error("the controls changed nothing")
			}
		})
	})
}

// What was found after a call holds the next that writes, until a person has looked.
func TestSandboxHolds(t *testing.T) {
	eachUser(t, func(t *testing.T, user string) {
		eachTier(t, user, func(t *testing.T, tier string) {
			w := repository(t, user)
			w.define(attackPath(t), "create", w.root+"/.git/commondir")
			const name = ".git/commondir"
			if c := w.call(tier, "fs_create_file", "path=before", "content=x"); c.Outcome.Type != "success" {
				t.Fatalf("nothing is held yet: %s", c.ran)
			}
			c := w.call(tier, "foreign")
			if c.Status != 1 || c.Outcome.Reason != "changed" || !strings.Contains(c.Outcome.Message, name+`" appeared`) {
				t.Fatalf("the call did not fail for %s: %s", name, c.ran)
			}
			if c.Exit.Code != 0 && c.Exit.Code != -1 { // it may be ended as soon as the file is there
				t.Errorf("the program itself ended with %d", c.Exit.Code)
			}
			for _, call := range [][]string{{"fs_create_file", "path=held", "content=x"}, {"fs_delete_file", "path=before"}, {"foreign"}} {
				if c := w.call(tier, call[0], call[1:]...); c.Outcome.Reason != "held" || !strings.Contains(c.Outcome.Message, name) {
					t.Errorf("%q was not held for %s: %s", call, name, c.ran)
				}
			}
			if c := w.call(tier, "fs_read_file", "path=docs/guide"); c.Outcome.Type != "success" {
				t.Errorf("reading was held too: %s", c.ran)
			}
			jphost := filepath.Join(bin, "jphost")
			if r := w.run(jphost, "trust", "show"); !strings.Contains(r.stdout, name) {
				t.Errorf("what is held is not shown: %s", r)
			}
			if r := w.run(jphost, "--no-input", "trust", "accept"); r.code != 1 {
				t.Errorf("it was accepted without anybody: %s", r)
			}
			if r := w.run(jphost, "trust", "accept", "--yes"); r.code != 0 {
				t.Errorf("it was not accepted: %s", r)
			}
			if c := w.call(tier, "fs_create_file", "path=after", "content=x"); c.Outcome.Type != "success" {
				t.Errorf("it is held although a person has looked: %s", c.ran)
			}
			for name, want := range map[string]bool{"before": true, "held": false, "after": true, ".git/commondir": true} {
				if _, err := os.Lstat(filepath.Join(w.root, name)); (err == nil) != want {
					t.Errorf("%s is there: %v, want %v", name, err == nil, want)
				}
			}
		})
	})
}

// What appeared outside of the workspace holds calls like what appeared in it, until a person has looked or taken it away.
func TestSandboxHoldsOutsideEndWhenPutRight(t *testing.T) {
	eachUser(t, func(t *testing.T, user string) {
		eachTier(t, user, func(t *testing.T, tier string) {
			w := repository(t, user)
			w.files(map[string]string{"out/here": "x"})
			config := filepath.Join(w.base, "out/.jp.toml")
			flags := []string{"--rw", ".", "--rw", filepath.Dir(config)}
			held := func() bool { return w.call(tier, "fs_create_file", "path=new").Outcome.Reason == "held" }
			w.define("true")
			r := w.exec(tier, flags, "/bin/sh", "-c", "echo x > "+config+"; sleep 10")
			if _, err := os.Lstat(config); err != nil || r.code != 1 || !held() {
				t.Fatalf("nothing is held for %s (%v): %s", config, err, r)
			}
			if err := os.Remove(config); err != nil {
				t.Fatal(err)
			}
			if held() {
				t.Error("it is held although the file was taken away")
			}
		})
	})
}

// Where the home directory is the workspace, no tool puts a file where a directory of the configuration or of the state
// will have to be: every later call would fail.
func TestNoFileInPlaceOfTheHostsDirectories(t *testing.T) {
	home := t.TempDir()
	run := func(args ...string) (string, error) {
		cmd := exec.Command(filepath.Join(bin, "jphost"), append([]string{"-C", home}, args...)...)
		cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run("sandbox", "exec", "--rw", ".", "--", "/bin/sh", "-c", "echo > .config || echo > .local"); err == nil {
		t.Errorf("a program made a file: %s", out)
	}
	// The same where a grant outside of the workspace reaches them.
	beside := t.TempDir()
	cmd := exec.Command(filepath.Join(bin, "jphost"), "sandbox", "exec", "--rw", ".", "--rw", beside, "--", "/bin/sh", "-c", "echo > "+beside+"/.config || echo > "+beside+"/.local")
	cmd.Dir, cmd.Env = t.TempDir(), []string{"HOME=" + beside, "PATH=" + os.Getenv("PATH")}
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Errorf("a program made a file beside the workspace: %s", out)
	}
	for _, mode := range []string{"auto", "off"} {
		for _, name := range []string{".config", ".local", ".local/share", ".config/jphost", ".local/share/jphost"} {
			if out, err := run("run", "fs_create_file", "path="+name, "--cfg", "sandbox.mode="+mode, "--cfg", "conversation.tools.fs_create_file.run=unattended"); err == nil {
				t.Errorf("%s was created (%s): %s", name, mode, out)
			}
		}
	}
	if out, err := run("run", "fs_create_file", "path=.config/other/file", "--cfg", "conversation.tools.fs_create_file.run=unattended"); err != nil {
		t.Errorf("nothing can be created beside them: %s", out)
	}
	if out, err := run("run", "fs_read_file", "path=.config/other/file"); err != nil {
		t.Errorf("later calls fail: %s", out)
	}
}
