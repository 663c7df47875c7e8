package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// plantedLinks are symlinks that a repository can hold, or a program make: the name under which a flag or a rule takes
// the place, and how the links are made. $OUT is a directory outside of the workspace.
var plantedLinks = []struct {
	name, path string
	links      [][2]string // where, and the text
}{
	{"to a directory outside", "build", [][2]string{{"build", "../outside/dir"}}},
	{"to a directory outside, absolute", "build", [][2]string{{"build", "$OUT/dir"}}},
	{"to a file outside", "build", [][2]string{{"build", "../outside/victim.txt"}}},
	{"to the home directory", "build", [][2]string{{"build", "../home/.ssh"}}},
	{"to what is protected", "build", [][2]string{{"build", ".git/hooks"}}},
	{"to a protected file", "build", [][2]string{{"build", ".git/config"}}},
	{"to the workspace", "build", [][2]string{{"build", "."}}},
	{"to another directory", "build", [][2]string{{"build", "docs"}}},
	{"a chain", "build", [][2]string{{"build", "one"}, {"one", "two"}, {"two", "../outside/dir"}}},
	{"on the way", "build/dir", [][2]string{{"build", "../outside"}}},
	{"below another directory", "src/deep", [][2]string{{"src/deep", "../.git/hooks"}}},
	{"to nothing", "build", [][2]string{{"build", "../outside/none"}}},
}

// plant makes links, as the user does who cloned a repository, or has a confined program make them.
func (w *world) plant(tier string, earlier bool, links [][2]string) {
	w.t.Helper()
	for _, l := range links {
		at, text := filepath.Join(w.root, l[0]), strings.ReplaceAll(l[1], "$OUT", w.outside)
		if err := os.RemoveAll(at); err != nil {
			w.t.Fatal(err)
		}
		if earlier {
			if r := w.exec(tier, nil, "ln", "-s", text, l[0]); r.code != 0 {
				w.t.Fatalf("a program cannot make the link: %s", r)
			}
		} else if err := os.Symlink(text, at); err != nil {
			w.t.Fatal(err)
		}
	}
	w.own()
}

// spoil tries to read and to write whatever the links could lead to.
const spoil = `for f in build src/deep build/dir . .git/hooks ../outside/dir ../outside ../home/.ssh; do
	echo x > $f/spoiled; cat $f/f $f/id_ed25519
done
echo x >> build; echo x >> .git/config; touch ran; true`

// A flag whose path leads through a link of the workspace is refused, whatever the link leads to and
// whoever made it. A link never gives a flag more than its written place has.
func TestSandboxLinksInFlags(t *testing.T) {
	flags := []struct {
		name string
		args func(path string) []string
	}{
		{"--ro", func(p string) []string { return []string{"--ro", p} }},
		{"--rw", func(p string) []string { return []string{"--ro", ".", "--rw", p} }},
		{"--rw with a slash", func(p string) []string { return []string{"--ro", ".", "--rw", p + "/"} }},
		{"--rw, absolute", func(p string) []string { return []string{"--ro", ".", "--rw", "$WS/" + p} }},
		{"--grant for reading", func(p string) []string { return []string{"--grant", "path=" + p + ",read"} }},
		{"--grant for writing", func(p string) []string { return []string{"--ro", ".", "--grant", "path=" + p + ",write"} }},
		{"--root", func(p string) []string { return []string{"--root", p} }},
		{"-C", func(p string) []string { return []string{"-C", p} }},
		{"--report", func(p string) []string { return []string{"--report", p + "/victim.json"} }},
		{"a policy file", func(p string) []string { return []string{"--policy", "../policy-" + strings.ReplaceAll(p, "/", "-")} }},
	}
	eachUser(t, func(t *testing.T, user string) {
		eachTier(t, user, func(t *testing.T, tier string) {
			for _, l := range plantedLinks {
				for _, earlier := range []bool{false, true} {
					w := repository(t, user)
					w.files(map[string]string{"policy-" + strings.ReplaceAll(l.path, "/", "-"): fmt.Sprintf(
						`{"fs":[{"path":".","read":true,"execute":true},{"path":%q,"read":true,"write":true}]}`, l.path)})
					w.plant(tier, earlier, l.links)
					before := state(t, w.outside, w.home, filepath.Join(w.root, ".git"))
					for _, f := range flags {
						for _, more := range [][]string{nil, {"--required"}} {
							args := slices.Concat(f.args(l.path), more)
							for i := range args {
								args[i] = strings.ReplaceAll(args[i], "$WS", w.root)
							}
							r := w.exec(tier, args, "sh", "-c", spoil)
							what := fmt.Sprintf("%s, made by an earlier call: %v, %q", l.name, earlier, args)
							if r.code != 2 || strings.Contains(r.stdout, w.secret) {
								t.Errorf("%s: want exit status 2 and no secret: %s", what, r)
							}
							if _, err := os.Lstat(filepath.Join(w.root, "ran")); err == nil {
								t.Fatalf("%s: the program ran", what)
							}
							if d := differs(before, state(t, w.outside, w.home, filepath.Join(w.root, ".git"))); d != nil {
								t.Fatalf("%s: changed: %q", what, d)
							}
						}
					}
				}
			}
			// The control: the same flags where there is no link.
			w := repository(t, user)
			w.files(map[string]string{"ws/build/f": "x\n", "policy-build": `{"fs":[{"path":".","read":true,"execute":true},{"path":"build","read":true,"write":true}]}`})
			for _, f := range flags {
				args := f.args("build")
				for i := range args {
					args[i] = strings.ReplaceAll(args[i], "$WS", w.root)
				}
				if r := w.exec(tier, args, "/bin/true"); r.code != 0 {
					t.Errorf("%q without a link: %s", args, r)
				}
			}
			if r := w.exec(tier, []string{"--ro", ".", "--rw", "build"}, "sh", "-c", "echo y > build/f"); r.code != 0 {
				t.Errorf("writing without a link: %s", r)
			}
		})
	})
}

// The report is written through no link of what the flags name either, and a FIFO in its place does not block.
func TestSandboxReportThroughLinks(t *testing.T) {
	eachUser(t, func(t *testing.T, user string) {
		needTier(t, user, landlocked)
		w := repository(t, user)
		w.files(map[string]string{"other/f": "x\n"})
		if err := os.Symlink("../outside/dir", w.base+"/other/out"); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mkfifo(w.root+"/fifo", 0o666); err != nil {
			t.Fatal(err)
		}
		w.own()
		before := state(t, w.outside)
		for _, args := range [][]string{
			{"--rw", "../other", "--report", "../other/out/r"},
			{"--grant", "path=../other,write", "--report", "../other/out/r"},
			{"--root", "../other", "--report", "../other/out/r"},
			{"-C", "../other", "--report", "../other/out/r"},
			{"--report", "fifo"},
		} {
			if r := w.exec(landlocked, args, "true"); r.code != 2 {
				t.Errorf("%q: %s", args, r)
			}
		}
		if d := differs(before, state(t, w.outside)); d != nil {
			t.Errorf("changed: %q", d)
		}
		if r := w.exec(landlocked, []string{"--rw", "../other", "--report", "../other/r"}, "true"); r.code != 0 {
			t.Errorf("without a link: %s", r)
		}
	})
}

// The error names the link, the target, and how to name that.
func TestSandboxLinkRefusalNamesTheTarget(t *testing.T) {
	w := repository(t, root)
	w.plant(landlocked, false, [][2]string{{"build", "../home/.ssh"}})
	r := w.run(filepath.Join(bin, "jphost"), "sandbox", "exec", "--ro", ".", "--rw", "build/", "--", "true")
	for _, want := range []string{"--rw build/: " + w.root + "/build is a symlink", "leads to " + w.home + "/.ssh", "if that place is meant, write " + w.home + "/.ssh"} {
		if !strings.Contains(r.stderr, want) {
			t.Errorf("no %q: %s", want, r)
		}
	}
}

// A link of the person's own, outside of any repository and of all that a program may write, is followed.
func TestSandboxOwnLinksAreFollowed(t *testing.T) {
	eachUser(t, func(t *testing.T, user string) {
		w := repository(t, user)
		if err := os.Symlink(w.outside+"/dir", w.home+"/data"); err != nil {
			t.Fatal(err)
		}
		w.own()
		needTier(t, user, landlocked)
		if r := w.exec(landlocked, []string{"--ro", ".", "--ro", w.home + "/data"}, "cat", w.home+"/data/f"); r.code != 0 || !strings.Contains(r.stdout, w.secret) {
			t.Errorf("one's own link: %s", r)
		}
		// A link that an earlier call could make is not followed by a later one with other grants.
		w.files(map[string]string{"cache/x": "x"})
		if r := w.exec(landlocked, []string{"--rw", ".", "--rw", "../cache"}, "ln", "-s", "../home/.ssh", "../cache/l"); r.code != 0 {
			t.Fatalf("%s", r)
		}
		if r := w.exec(landlocked, []string{"--ro", ".", "--ro", "../cache/l"}, "cat", "../cache/l/id_ed25519"); r.code != 2 || strings.Contains(r.stdout, w.secret) {
			t.Errorf("a link of an earlier call: %s", r)
		}
		// Where the program may write, a link may be its own.
		if r := w.exec(landlocked, []string{"--ro", ".", "--rw", w.home, "--ro", w.home + "/data"}, "true"); r.code != 2 || !strings.Contains(r.stderr, "is a symlink") {
			t.Errorf("a link where the program may write: %s", r)
		}
	})
}

// What a flag withholds is withheld where a link leads, too.
func TestSandboxWithholdingFollowsLinks(t *testing.T) {
	eachUser(t, func(t *testing.T, user string) {
		eachTier(t, user, func(t *testing.T, tier string) {
			w := repository(t, user)
			w.plant(tier, false, [][2]string{{"vault", "src/private"}})
			r := w.exec(tier, []string{"--rw", ".", "--deny", "vault"}, "sh", "-c", "cat src/private/secret vault/secret")
			if r.code == 0 || strings.Contains(r.stdout, w.secret) {
				t.Errorf("%s", r)
			}
		})
	})
}

// A rule of a configuration, also of the user's own, grants nothing at the target of a link that does not hold there
// without it, until the target was approved. No rule through a link lifts self-protection.
func TestSandboxLinksInRules(t *testing.T) {
	eachUser(t, func(t *testing.T, user string) {
		eachTier(t, user, func(t *testing.T, tier string) {
			for _, l := range plantedLinks {
				w := repository(t, user)
				w.plant(tier, false, l.links)
				before := state(t, w.outside, w.home, filepath.Join(w.root, ".git"), filepath.Join(w.root, "docs"))
				w.configure(fmt.Sprintf("{ path = \".\", read = true, execute = true }, { path = %q, read = true, write = true }", l.path), "", "sh", "-c", spoil)
				w.call(tier, "foreign") // its status is not the point: the program may run, held
				w.configure(fmt.Sprintf("{ path = \".\", read = true }, { path = %q, read = true, write = true }", l.path), "fs_create_file", "true")
				w.call(tier, "fs_create_file", "path="+l.path+"/spoiled", "content=x")
				if d := differs(before, state(t, w.outside, w.home, filepath.Join(w.root, ".git"), filepath.Join(w.root, "docs"))); d != nil {
					t.Errorf("%s: changed: %q", l.name, d)
				}
				if _, err := os.Lstat(filepath.Join(w.root, "spoiled")); err == nil {
					t.Errorf("%s: the workspace was written to", l.name)
				}
			}
			// An approval lets the rule hold, except on what is protected.
			w := repository(t, user)
			w.plant(tier, false, [][2]string{{"build", "docs"}, {"out", ".git/hooks"}})
			w.configure(`{ path = ".", read = true, execute = true }, { path = "build", read = true, write = true }, { path = "out", read = true, write = true }`, "", "sh", "-c", "echo x > docs/written; echo x > .git/hooks/written; true")
			for name, target := range map[string]string{"build": "docs", "out": ".git/hooks"} {
				if r := w.run(filepath.Join(bin, "jphost"), "approvals", "approve", name, "--target", filepath.Join(w.root, target)); r.code != 0 {
					t.Fatalf("approving %s: %s", name, r)
				}
			}
			if c := w.call(tier, "foreign"); c.Status != 0 {
				t.Errorf("with the target approved: %s", c.ran)
			}
			if _, err := os.Lstat(filepath.Join(w.root, "docs/written")); err != nil {
				t.Errorf("the approved target could not be written to: %v", err)
			}
			if _, err := os.Lstat(filepath.Join(w.root, ".git/hooks/written")); err == nil {
				t.Error("an approved link lifts self-protection")
			}
		})
	})
}

// configure writes the user's own configuration: rules for a tool, "" for foreign, which is this command line.
func (w *world) configure(rules, tool string, argv ...string) {
	w.t.Helper()
	w.define(argv...)
	path := filepath.Join(w.base, "conf/jphost/config.toml")
	text, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	if tool == "" {
		tool = "foreign"
	}
	w.files(map[string]string{"conf/jphost/config.toml": strings.Replace(string(text), "[conversation.tools."+tool+"]\n",
		"[conversation.tools."+tool+"]\naccess.fs = ["+rules+"]\n", 1)})
}

// -C names the directory that is written, not one that a link of a repository leads to.
func TestWorkspaceThroughLinks(t *testing.T) {
	for _, l := range plantedLinks {
		w := repository(t, root)
		w.files(map[string]string{"outside/dir/.jp/config.toml": "", "outside/x": ""})
		w.plant(landlocked, false, l.links)
		for _, command := range [][]string{
			{"-C", l.path, "run", "fs_read_file", "path=f"},
			{"run", "-C", l.path, "fs_list_files"},
			{"-C", w.root + "/" + l.path, "tools"},
			{"-C", l.path, "config", "init"},
			{"-C", l.path, "mounts"},
		} {
			if r := w.run(append([]string{filepath.Join(bin, "jphost")}, command...)...); r.code != 2 || strings.Contains(r.stdout, w.secret) {
				t.Errorf("%s, %q: %s", l.name, command, r)
			}
		}
	}
}

// A new configuration is written into the workspace, not to where a link of a repository leads.
func TestConfigInitThroughALink(t *testing.T) {
	w := repository(t, root)
	w.plant(landlocked, false, [][2]string{{".jp", "../outside/dir"}})
	if r := w.run(filepath.Join(bin, "jphost"), "config", "init"); r.code != 2 || !strings.Contains(r.stderr, "/.jp is a symlink") {
		t.Errorf("%s", r)
	}
	if _, err := os.Lstat(filepath.Join(w.outside, "dir/config.toml")); err == nil {
		t.Error("the file was written outside")
	}
}

// The target of a mount is what was written, not where a link of the workspace leads.
func TestMountsThroughLinks(t *testing.T) {
	for _, l := range plantedLinks {
		w := repository(t, root)
		w.files(map[string]string{"conf/jphost/config.toml": "", "outside/dir/sub/x": "x"})
		w.plant(landlocked, false, l.links)
		for _, command := range [][]string{
			{"mount", "fs_read_file:fork=" + l.path},
			{"mount", "fs_modify_file:fork=$WS/" + l.path + ":rw"},
			{"mount", "fs_read_file:" + l.path + "/fork=../outside/dir/sub"},
			{"run", "fs_read_file", "path=fork/f", "--mount", "fs_read_file:fork=" + l.path},
		} {
			for i := range command {
				command[i] = strings.ReplaceAll(command[i], "$WS", w.root)
			}
			r := w.run(append([]string{filepath.Join(bin, "jphost")}, command...)...)
			inside := l.name == "to another directory" && strings.Contains(command[1], "/fork=") || l.name == "to the workspace" && strings.Contains(command[1], "/fork=")
			if (r.code == 0) != inside || strings.Contains(r.stdout, w.secret) {
				t.Errorf("%s, %q: %s", l.name, command, r)
			}
			if _, err := os.Lstat(filepath.Join(w.outside, "dir/fork")); err == nil {
				t.Fatalf("%s, %q: the link was made outside", l.name, command)
			}
		}
	}
	// The control.
	w := repository(t, root)
	if r := w.run(filepath.Join(bin, "jphost"), "mount", "fs_read_file:fork=../outside/dir"); r.code != 0 {
		t.Errorf("a mount without a link: %s", r)
	}
}

// A path of sandbox.paths is no way around either: it may lead through no link of a workspace, a repository or a
// directory that tools may write to.
func TestSandboxLinksInSandboxPaths(t *testing.T) {
	eachUser(t, func(t *testing.T, user string) {
		needTier(t, user, landlocked)
		for _, c := range []struct {
			name, path string
			link       [2]string
			refused    bool
		}{
			{"of the workspace", "ws/build", [2]string{"ws/build", "../outside/dir"}, true},
			{"of another repository", "other/build", [2]string{"other/build", "../outside/dir"}, true},
			{"where tools may write", "cache/build", [2]string{"cache/build", "../outside/dir"}, true},
			{"of an archive", "tar/build", [2]string{"tar/build", "../outside/dir"}, true},
			{"one's own", "home/build", [2]string{"home/build", "../outside/dir"}, false},
		} {
			w := repository(t, user)
			w.files(map[string]string{"other/.git/config": "x", "cache/x": "x", "tar/x": "x"})
			if err := os.Symlink(c.link[1], filepath.Join(w.base, c.link[0])); err != nil {
				t.Fatal(err)
			}
			w.own()
			w.define("cat", filepath.Join(w.base, c.path, "f"))
			path := filepath.Join(w.base, "conf/jphost/config.toml")
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			w.files(map[string]string{"conf/jphost/config.toml": fmt.Sprintf("sandbox.paths = [{ path = %q, read = true }, { path = %q, read = true, write = true }]\n%s",
				filepath.Join(w.base, c.path), filepath.Join(w.base, "cache"), text)})
			r := w.run(filepath.Join(bin, "jphost"), "run", "--json", "--no-input", "foreign")
			if leaked := strings.Contains(r.stdout, w.secret); leaked == c.refused || c.refused == (r.code == 0) {
				t.Errorf("%s: refused is to be %v: %s", c.name, c.refused, r)
			}
		}
	})
}
