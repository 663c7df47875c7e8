package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What is the host's own, and what the programs of a person obey in directories around and beside the workspace,
// stays as it is under every grant. In the namespace tier it cannot be changed; in the Landlock tier a
// change is found after the call, and `required` refuses.
func TestSandboxGrantsAroundTheWorkspace(t *testing.T) {
	attacks := []struct{ name, grant, script, of string }{
		{"one's own configuration", "--rw ..", "echo 'sandbox.mode = \"off\"' >> ../conf/jphost/config.toml", "conf"},
		{"one's own configuration, replaced", "--rw ..", "echo x > n; mv n ../conf/jphost/config.toml", "conf"},
		{"its directory, named", "--rw ../conf", "echo 'sandbox.mode = \"off\"' >> ../conf/jphost/config.toml", "conf"},
		{"its directory, renamed", "--rw ../conf", "mv ../conf/jphost ../conf/other; mkdir ../conf/jphost; echo x > ../conf/jphost/config.toml", "conf"},
		{"the directory above, renamed", "--rw ..", "mv ../conf ../other; mkdir -p ../conf/jphost; echo x > ../conf/jphost/config.toml", "conf"},
		{"something new in it", "--rw ..", "echo x > ../conf/jphost/new", "conf"},
		{"the state", "--rw ..", "mkdir -p ../data/jphost/x; echo x > ../data/jphost/x/approvals.json; chmod 777 ../data/jphost", "data"},
		{"the state, by its parent", "--rw ../data", "echo x > ../data/jphost/x; mv ../data/jphost ../data/moved", "data"},
		{"hooks beside the workspace", "--rw ../beside", "echo x > ../beside/.git/hooks/post-checkout; echo x >> ../beside/.git/config", "beside"},
		{"configuration beside the workspace", "--rw ../beside", "echo x > ../beside/.jp.toml; mkdir ../beside/.jp", "beside"},
		{"a new repository beside the workspace", "--rw ../plain", "mkdir ../plain/.git; echo x > ../plain/.git/config", "plain"},
		{"hooks of a git directory that is granted itself", "--rw ../beside/.git", "echo x > ../beside/.git/hooks/post-checkout; echo x >> ../beside/.git/config", "beside"},
		{"hooks of a bare repository", "--rw ../bare", "echo x > ../bare/hooks/post-receive; echo x >> ../bare/config", "bare"},
		{"a new bare repository", "--rw ../plain", "mkdir ../plain/objects ../plain/refs; echo x > ../plain/config; echo 'ref: refs/heads/main' > ../plain/HEAD", "plain"},
		{"configuration above the workspace", "--rw ..", "echo x > ../.jp.toml; mkdir ../.jp; mkdir ../.git", "."},
	}
	prepare := func(t *testing.T, user string) *world {
		w := repository(t, user)
		w.define("true")
		w.files(map[string]string{
			"data/jphost/owned": "x\n", "data/jphost/kept/x": "x\n", "beside/.git/config": "[core]\n", "beside/.git/hooks/pre-commit": "x\n", "beside/.git/HEAD": "ref: refs/heads/main\n", "plain/x": "x\n",
			"bare/config": "[core]\n", "bare/hooks/pre-commit": "x\n", "bare/HEAD": "ref: refs/heads/main\n",
		})
		if err := os.Chmod(filepath.Join(w.base, "data/jphost"), 0o700); err != nil { // as jphost wants it
			t.Fatal(err)
		}
		return w
	}
	// snapshot leaves out what the grant may change: the contents of base, but for what is protected there.
	snapshot := func(w *world, of string) map[string]stamp {
		if of == "." {
			all := map[string]stamp{}
			for _, name := range []string{".jp", ".jp.toml", ".git"} {
				if _, err := os.Lstat(filepath.Join(w.base, name)); err == nil {
					all[name] = stamp{}
				}
			}
			return all
		}
		if _, err := os.Lstat(filepath.Join(w.base, of)); err != nil {
			return map[string]stamp{} // the program was ended when it had moved it away
		}
		return state(w.t, filepath.Join(w.base, of))
	}
	eachUser(t, func(t *testing.T, user string) {
		eachTier(t, user, func(t *testing.T, tier string) {
			for _, a := range attacks {
				for _, required := range []bool{false, true} {
					w := prepare(t, user)
					grants := append(strings.Fields(a.grant), "--rw", ".")
					if required {
						grants = append(grants, "--required")
					}
					before := snapshot(w, a.of)
					r := w.exec(tier, grants, "sh", "-c", a.script+"; true")
					changed := differs(before, snapshot(w, a.of))
					what := fmt.Sprintf("%s (%s, required: %v)", a.name, a.grant, required)
					switch {
					case r.code == 2 || r.code == 3:
						t.Errorf("%s: %s", what, r)
					case changed != nil && r.code != 1:
						t.Errorf("%s: changed without a word: %q: %s", what, changed, r)
					}
				}
			}
			// The control: beside what is protected everything may be written.
			w := prepare(t, user)
			if r := w.exec(tier, []string{"--rw", ".", "--rw", "../plain", "--rw", "../beside"}, "sh", "-c", "echo y > ../plain/x && echo y > ../beside/new && echo y > ../beside/.git/HEAD"); r.code != 0 {
				t.Errorf("writing what is not protected: %s", r)
			}
			if r := w.exec(tier, []string{"--rw", ".", "--rw", "../bare"}, "sh", "-c", "echo y > ../bare/HEAD && mkdir ../bare/refs && echo y > ../bare/refs/x"); r.code != 0 {
				t.Errorf("committing to a bare repository: %s", r)
			}
		})
	})
}

// The repository that the working directory lies in is protected too.
func TestSandboxGrantsAboveASubdirectory(t *testing.T) {
	eachUser(t, func(t *testing.T, user string) {
		eachTier(t, user, func(t *testing.T, tier string) {
			w := repository(t, user)
			top := w.root
			w.root = filepath.Join(top, "src")
			before := state(t, filepath.Join(top, ".git"), filepath.Join(top, ".jp"))
			r := w.exec(tier, []string{"--rw", ".."}, "sh", "-c",
				"echo x > ../.git/hooks/post-checkout; echo x >> ../.git/config; echo x >> ../.jp/config.toml; echo x > ../good/f || exit 9; true")
			if d := differs(before, state(t, filepath.Join(top, ".git"), filepath.Join(top, ".jp"))); d != nil && r.code != 1 || r.code == 9 {
				t.Errorf("changed %q: %s", d, r)
			}
		})
	})
}

// A grant that names the configuration or the state itself is refused: no program is to write there.
func TestSandboxGrantOnOwnFilesIsRefused(t *testing.T) {
	w := repository(t, root)
	w.define("true")
	w.files(map[string]string{"data/jphost/ws/approvals.json": "{}\n"})
	for _, path := range []string{"../conf/jphost", "../conf/jphost/config.toml", "../data/jphost", "../data/jphost/ws"} {
		for _, flag := range []string{"--rw", "--grant"} {
			args := []string{flag, path}
			if flag == "--grant" {
				args[1] = "path=" + path + ",write"
			}
			r := w.run(slices.Concat([]string{filepath.Join(bin, "jphost"), "sandbox", "exec"}, args, []string{"--", "true"})...)
			if r.code != 2 || !strings.Contains(r.stderr, "belongs to the configuration and state of jphost") {
				t.Errorf("%q: %s", args, r)
			}
		}
	}
	if r := w.run(filepath.Join(bin, "jphost"), "sandbox", "exec", "--ro", "../conf/jphost", "--", "cat", "../conf/jphost/config.toml"); r.code != 0 {
		t.Errorf("for reading: %s", r)
	}
}

// What sandbox.paths grants is no way to the host's own files either.
func TestSandboxPathsSpareTheHost(t *testing.T) {
	eachUser(t, func(t *testing.T, user string) {
		eachTier(t, user, func(t *testing.T, tier string) {
			w := repository(t, user)
			w.define("sh", "-c", "echo x >> ../conf/jphost/config.toml; echo x > ../conf/jphost/new; echo y > ../conf/free; mv ../conf/jphost ../conf/other; true")
			path := filepath.Join(w.base, "conf/jphost/config.toml")
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			w.files(map[string]string{"conf/jphost/config.toml": fmt.Sprintf("sandbox.paths = [{ path = %q, read = true, write = true }]\n%s", w.base+"/conf", text)})
			before := state(t, filepath.Join(w.base, "conf/jphost"))
			c := w.call(tier, "foreign")
			after := map[string]stamp{}
			if _, err := os.Lstat(filepath.Join(w.base, "conf/jphost")); err == nil {
				after = state(t, filepath.Join(w.base, "conf/jphost"))
			}
			if d := differs(before, after); d != nil && c.Status == 0 {
				t.Errorf("changed without a word: %q: %s", d, c.ran)
			}
			if _, err := os.Lstat(filepath.Join(w.base, "conf/free")); err != nil {
				t.Errorf("what is granted beside it cannot be written: %s", c.ran)
			}
		})
	})
}

// The file of --policy stays as it is: the same command would grant more the next time.
func TestSandboxPolicyFileIsProtected(t *testing.T) {
	const policy = `{"fs":[{"path":".","read":true,"write":true,"execute":true}]}`
	rules := func(w *world) map[string]stamp {
		if _, err := os.Lstat(w.root + "/rules"); err != nil {
			return map[string]stamp{} // the program was ended when it had moved it away
		}
		return state(w.t, w.root+"/rules")
	}
	eachUser(t, func(t *testing.T, user string) {
		eachTier(t, user, func(t *testing.T, tier string) {
			w := repository(t, user)
			w.files(map[string]string{"ws/rules/policy.json": policy})
			for _, script := range []string{"echo x > rules/policy.json", "echo x > n; mv n rules/policy.json", "mv rules r; mkdir rules; echo x > rules/policy.json"} {
				before := rules(w)
				r := w.exec(tier, []string{"--policy", "rules/policy.json"}, "sh", "-c", script+"; true")
				d := differs(before, rules(w))
				if d != nil && r.code != 1 || d == nil && r.code != 0 {
					t.Errorf("%q: changed %q: %s", script, d, r)
				}
				if err := os.RemoveAll(w.root + "/rules"); err != nil {
					t.Fatal(err)
				}
				w.files(map[string]string{"ws/rules/policy.json": policy})
			}
			if r := w.run("sh", "-c", "echo '"+policy+"' | "+bin+"/jphost sandbox exec --tier "+tier+" --policy /dev/stdin -- sh -c 'echo x > written'"); r.code != 0 {
				t.Errorf("from standard input by its name: %s", r)
			}
		})
	})
}
