package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Nobody reads `.env` at any depth: without configuration, with the rule that equals the default, and with one deny; none of
// the seven tools, and no program; under any of its names, and through links. The control is a file beside it, and the
// same calls by somebody who named the place.
func TestSecretsAreWithheld(t *testing.T) {
	eachUser(t, func(t *testing.T, user string) {
		eachTier(t, user, func(t *testing.T, tier string) {
			const grant = "fs = [{ path = \".\", read = true, write = true, execute = true }]\n"
			for name, c := range map[string]struct {
				all, access string
				denied      bool
			}{
				"without configuration":   {},
				"with the default's rule": {access: grant},
				"with one deny":           {all: "deny = [\"**/.env*\"]\n", denied: true},
				"with a rule that names":  {all: "deny = [\".env*\"]\n", access: "fs = [{ path = \".\", read = true, write = true, execute = true }, { path = \".env\", read = true }]\n", denied: true},
			} {
				t.Run(name, func(t *testing.T) {
					w := newWorld(t, user)
					secret := "TOKEN=" + w.secret + "\n"
					w.files(map[string]string{
						"ws/.env": secret, "ws/a/b/.env": secret, "ws/a/b/.env.local": secret, "ws/a/.env.d/in/key": secret,
						"ws/conf/real": secret, "ws/a/b/plain": "TOKEN=plain\n",
					})
					for link, to := range map[string]string{"a/link": "b/.env", "down/.env": "../conf/real", "dir": "a/.env.d"} {
						at := filepath.Join(w.root, link)
						if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
							t.Fatal(err)
						}
						if err := os.Symlink(to, at); err != nil {
							t.Fatal(err)
						}
					}
					w.own()
					tools := []string{"fs_read_file", "fs_grep_files", "fs_list_files", "fs_create_file", "fs_modify_file", "fs_delete_file", "fs_move_file", "foreign"}
					text := "sandbox.tier = \"" + tier + "\"\n[conversation.tools.foreign]\nsource = \"local\"\nrun = \"unattended\"\ncommand = { program = \"/bin/sh\", args = [\"-c\", \"cat $1\", \"sh\", \"{{tool.arguments.path}}\"] }\nparameters.path.type = \"string\"\n"
					if c.all != "" {
						text += "[conversation.tools.'*'.access]\n" + c.all
					}
					for _, tool := range tools {
						if c.access != "" {
							text += "[conversation.tools." + tool + ".access]\n" + c.access
						}
						if strings.Contains("fs_create_file fs_modify_file fs_delete_file fs_move_file", tool) {
							text += "[conversation.tools." + tool + "]\nrun = \"unattended\"\n"
						}
					}
					w.files(map[string]string{"conf/jphost/config.toml": text})
					jphost := filepath.Join(bin, "jphost")
					call := func(args ...string) ran {
						return w.run(append([]string{jphost, "-C", w.root, "run", "--no-input"}, args...)...)
					}
					hidden := func(r ran, what string) {
						t.Helper()
						if strings.Contains(r.stdout+r.stderr, w.secret) {
							t.Errorf("%s: %s", what, r)
						}
					}
					paths := []string{
						".env", "a/b/.env", "./a//b/../b/.env", "a/b/.env.local", "a/.env.d/in/key", "a/link", "down/.env", "dir/in/key", "conf/real", ".env/", "a/b/.env/.",
					}
					for _, p := range paths {
						r := call("fs_read_file", "path="+p)
						hidden(r, "fs_read_file "+p)
						if p != "conf/real" && r.code == 0 { // which is known only to a host that looks where links lead
							t.Errorf("fs_read_file %s: %s", p, r)
						}
						hidden(call("fs_grep_files", "pattern=TOKEN", "paths="+p), "fs_grep_files "+p)
						hidden(call("fs_modify_file", "path="+p, `patterns=[{"old":"TOKEN","new":"x"}]`), "fs_modify_file "+p)
						hidden(call("fs_move_file", "source="+p, "target=moved"), "fs_move_file "+p)
						hidden(call("fs_read_file", "path=moved"), "what was moved")
						hidden(call("foreign", "path="+p), "a program, "+p)
						hidden(w.exec(tier, nil, "cat", p), "sandbox exec, "+p)
						hidden(w.exec(tier, []string{"--rw", "."}, "sh", "-c", "cp "+p+" copy; ln "+p+" hard; mv "+p+" moved; cat copy hard moved"), "sandbox exec, "+p)
					}
					r := call("fs_grep_files", "pattern=TOKEN")
					if hidden(r, "fs_grep_files"); r.code != 0 || !strings.Contains(r.stdout, "a/b/plain") || strings.Contains(r.stdout, ".env") {
						t.Errorf("fs_grep_files: %s", r)
					}
					if r := call("fs_list_files"); r.code != 0 || strings.Contains(r.stdout, ".env") || !strings.Contains(r.stdout, "a/b/plain") {
						t.Errorf("fs_list_files: %s", r)
					}
					hidden(w.exec(tier, nil, "grep", "-r", "TOKEN", "."), "grep -r")
					if r := w.exec(tier, nil, "cat", "a/b/plain"); r.code != 0 {
						t.Errorf("the control: %s", r)
					}
					// The line that withholds it is named.
					r = w.run(jphost, "-C", w.root, "explain", "fs_read_file", "read", "a/b/.env")
					if c.denied && !strings.Contains(r.stdout, "config.toml:") || !c.denied && !strings.Contains(r.stdout, "place of secrets") {
						t.Errorf("explain: %s", r)
					}
					// Controls: who says so may.
					read := call("fs_read_file", "path=a/b/.env", "--allow-sensitive")
					if strings.Contains(read.stdout, w.secret) == c.denied {
						t.Errorf("--allow-sensitive: %s", read)
					}
					named := w.exec(tier, []string{"--ro", ".", "--ro", "a/b/.env"}, "cat", "a/b/.env")
					if strings.Contains(named.stdout, w.secret) == c.denied {
						t.Errorf("what a flag names: %s", named)
					}
				})
			}
		})
	})
}

// Every tool that is given nothing but a place of secrets leaves it as it is, too.
func TestSecretsAreNotChanged(t *testing.T) {
	eachUser(t, func(t *testing.T, user string) {
		eachTier(t, user, func(t *testing.T, tier string) {
			w := newWorld(t, user)
			w.files(map[string]string{"ws/.env": w.secret, "ws/a/.env": w.secret})
			for _, script := range []string{
				"echo x > .env", "rm -f .env", "rm -rf a", "mv .env x", "mv a b", "ln a/.env x", "mkdir y; mv a y/", "chmod 777 a/.env", "truncate -s 0 a/.env",
			} {
				before := state(t, w.root)
				w.exec(tier, nil, "sh", "-c", script)
				for _, d := range differs(before, state(t, w.root)) {
					if strings.Contains(d, ".env") && !(tier != namespaces && strings.HasPrefix(script, "chmod")) {
						t.Errorf("%s: %s", script, d)
					}
				}
			}
		})
	})
}
