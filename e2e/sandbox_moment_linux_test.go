package e2e

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What must not be there is not there for a moment either: the call ends when it appears, says so, and
// writing calls are held, although nothing of it is left.
func TestSandboxAppearsForAMoment(t *testing.T) {
	const file, dir = ": > {P}; rm {P}", "mkdir {P}; rmdir {P}"
	for _, c := range []struct {
		name string
		make func(testing.TB, string) *world
		path string
		does string
	}{
		{"file", repository, ".git/commondir", file},
		{"renamed", repository, ".git/commondir", ": > .git/x; mv .git/x {P}; mv {P} .git/x"},
		{"linked", repository, ".git/commondir", "ln .git/HEAD {P}; rm {P}"},
		{"symlink", repository, ".git/commondir", "ln -s x {P}; rm {P}"},
		{"worktree-settings", repository, ".git/config.worktree", file},
		{"modules", repository, ".git/modules", dir},
		{"head", repository, "HEAD", file},
		{"directory-settings", repository, ".jp.toml", file},
		{"settings", newWorld, ".jp", dir},
		{"repository", newWorld, ".git", dir},
		{"tree-moved-there", newWorld, ".git", "mkdir -p x/hooks; mv x {P}; mv {P} x"},
		{"git-directory-elsewhere", worktree, "store/commondir", file},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachUser(t, func(t *testing.T, user string) {
				script := strings.ReplaceAll(c.does, "{P}", c.path) + "; echo > passed; sleep 10; echo > survived"
				passed := func(w *world) bool { _, err := os.Lstat(w.root + "/passed"); return err == nil }
				gone := func(t *testing.T, w *world) {
					t.Helper()
					if _, err := os.Lstat(filepath.Join(w.root, c.path)); err == nil && passed(w) {
						t.Errorf("%s is still there, so this is not about a moment", c.path)
					}
					if _, err := os.Lstat(w.root + "/survived"); err == nil {
						t.Error("the program went on")
					}
				}
				w := c.make(t, user)
				if r := w.run("/bin/sh", "-c", strings.Split(script, "sleep")[0]); r.code != 0 || !passed(w) {
					t.Fatalf("the control did not work: %s", r)
				}
				eachTier(t, user, func(t *testing.T, tier string) {
					t.Run("exec", func(t *testing.T) {
						w := c.make(t, user)
						r := w.exec(tier, nil, "/bin/sh", "-c", script)
						gone(t, w)
						if r.code != 1 || !strings.Contains(r.stderr, c.path+" appeared, where nothing may be created") {
							t.Error(r)
						}
						w.define("true")
						if r := w.call(tier, "fs_create_file", "path=new", "content=x"); r.Outcome.Reason != "held" || !strings.Contains(r.Outcome.Message, c.path) {
							t.Errorf("writing calls are not held: %s", r.ran)
						}
					})
					t.Run("run", func(t *testing.T) {
						w := c.make(t, user)
						w.define("/bin/sh", "-c", script)
						r := w.call(tier, "foreign")
						gone(t, w)
						if r.Status != 1 || r.Outcome.Reason != "changed" || !strings.Contains(r.Outcome.Message, c.path+" appeared") {
							t.Error(r.ran)
						}
						if strings.Contains(r.Outcome.Message, w.base) {
							t.Errorf("a model is told where the workspace is: %s", r.Outcome.Message)
						}
						if r := w.call(tier, "fs_create_file", "path=new", "content=x"); r.Outcome.Reason != "held" || !strings.Contains(r.Outcome.Message, c.path) {
							t.Errorf("writing calls are not held: %s", r.ran)
						}
					})
				})
			})
		})
	}
}

// A rule that takes away where there is nothing yet holds likewise, also where directories have to be made
// on the way, and with --required.
func TestSandboxWithheldAppearsForAMoment(t *testing.T) {
	eachUser(t, func(t *testing.T, user string) {
		needTier(t, user, namespaces)
		for _, grants := range [][]string{
			{"--policy", "../policy.json"},
			{"--required", "--policy", "../policy.json"},
			{"--policy", "../deny.json"}, // on a command line it would be a slip
		} {
			for does, ended := range map[string]bool{
				"mkdir build; sleep 0.1; mkdir build/out; sleep 0.1; : > build/out/key; rm -r build": true,
				"mkdir -p x/out/key; mv x build; mv build x":                                         true,
				// Slowly: of a directory that is gone before it has been seen nobody knows what was in it.
				"mkdir build; sleep 0.3; mkdir build/out; sleep 0.3; : > build/out/other; rm -r build": false,
			} {
				w := newWorld(t, user)
				w.files(map[string]string{
					"policy.json": `{"fs": [{"path": "", "read": true, "write": true, "execute": true}, {"path": "build/out/key"}]}`,
					"deny.json":   `{"fs": [{"path": "", "read": true, "write": true, "execute": true}], "deny": ["build/out/key"]}`,
				})
				r := w.exec(namespaces, grants, "/bin/sh", "-c", does+"; sleep 0.2; echo > survived")
				_, err := os.Lstat(w.root + "/survived")
				if survived := err == nil; survived == ended || ended != (r.code == 1 && strings.Contains(r.stderr, "build/out/key appeared")) || !ended && r.code != 0 {
					t.Errorf("%q %q: survived %v: %s", grants, does, survived, r)
				}
			}
		}
	})
}

// What a model is told of changes names them as rules do, also where a mount leads outside.
func TestSandboxChangesBelowMountsAreNamedByTheMount(t *testing.T) {
	eachUser(t, func(t *testing.T, user string) {
		eachTier(t, user, func(t *testing.T, tier string) {
			w := newWorld(t, user)
			if err := os.Symlink(w.outside, w.root+"/fork"); err != nil {
				t.Fatal(err)
			}
			w.define("/bin/sh", "-c", "echo x > fork/newsecret; sleep 1")
			config := w.base + "/conf/jphost/config.toml"
			text, err := os.ReadFile(config)
			if err != nil {
				t.Fatal(err)
			}
			w.files(map[string]string{"conf/jphost/config.toml": string(text) + `
				[conversation.tools.foreign.access]
				fs = [{ path = ".", read = true, write = true, execute = true }, { path = "fork", external = true, read = true, write = true }, { path = "fork/newsecret", external = true }]
			`})
			if r := w.run(filepath.Join(bin, "jphost"), "approvals", "approve", "fork", "--target", w.outside); r.code != 0 {
				t.Fatal(r)
			}
			r := w.call(tier, "foreign")
			if r.Outcome.Reason != "changed" || !strings.Contains(r.Outcome.Message, "fork/newsecret") || strings.Contains(r.Outcome.Message, w.base) {
				t.Error(r.ran)
			}
			if r := w.call(tier, "fs_create_file", "path=new", "content=x"); r.Outcome.Reason != "held" || !strings.Contains(r.Outcome.Message, "fork/newsecret") || strings.Contains(r.Outcome.Message, w.base) {
				t.Error(r.ran)
			}
		})
	})
}

// More changes than the kernel keeps for a watcher end the call: anything may have been among them.
func TestSandboxMoreChangesThanAreKept(t *testing.T) {
	most, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	if err != nil || len(bytes.TrimSpace(most)) > len("99999") {
		t.Skipf("not run: it takes too many changes here (%s, %v)", most, err)
	}
	eachUser(t, func(t *testing.T, user string) {
		needTier(t, user, namespaces)
		w := repository(t, user)
		ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
		defer cancel()
		script := "echo > ready; until [ -e good/go ]; do :; done; n=0; while [ $n -le " + string(bytes.TrimSpace(most)) + " ]; do : > $n; n=$((n+1)); done; echo > good/done; sleep 30"
		cmd := w.command(ctx, contain(namespaces, nil, "/bin/sh", "-c", script)...)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		awaitFile(t, w.root+"/ready")
		// It does not look while the program makes its changes.
		if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		w.files(map[string]string{"ws/good/go": ""})
		awaitFile(t, w.root+"/good/done")
		if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(stderr.String(), "than can be watched") {
			t.Errorf("exit status %d\n%s%s", code, stdout.String(), stderr.String())
		}
	})
}

// Where nothing can be watched any more, it is said; with --required the program is not started.
func TestSandboxNothingLeftToWatchWith(t *testing.T) {
	eachUser(t, func(t *testing.T, user string) {
		needTier(t, user, namespaces)
		for _, grants := range [][]string{nil, {"--required"}} {
			w := repository(t, user)
			// In a user namespace of its own the test can have the limit lowered for itself alone.
			argv := contain(namespaces, grants, "/bin/sh", "-c", "echo > ran")
			r := w.run(append([]string{"unshare", "-Ur", "/bin/sh", "-c", `echo 0 > /proc/sys/user/max_inotify_instances && exec "$0" "$@"`}, argv...)...)
			_, err := os.Lstat(w.root + "/ran")
			refused := len(grants) > 0
			if !strings.Contains(r.stderr, "fs.inotify.max_user_instances") || refused != (err != nil) || refused != (r.code == 1) {
				t.Errorf("%q: ran %v: %s", grants, err == nil, r)
			}
		}
	})
}

// Without namespaces a protected file can be changed and put back: that is told.
func TestSandboxChangedAndPutBack(t *testing.T) {
	eachUser(t, func(t *testing.T, user string) {
		needTier(t, user, landlocked)
		for script, told := range map[string]bool{
			"cat .git/config > x; echo evil > .git/config; cat x > .git/config": true,
			"cat .git/config > x": false,
		} {
			w := repository(t, user)
			w.define("/bin/sh", "-c", script)
			says := "changed and put back: .git/config; their content is as it was\n"
			if r := w.exec(landlocked, nil, "/bin/sh", "-c", script); r.code != 0 || strings.Contains(r.stderr, says) != told {
				t.Errorf("%s: %s", script, r)
			}
			if r := w.call(landlocked, "foreign"); r.Status != 0 || strings.Contains(r.ran.stderr, says) != told {
				t.Errorf("%s: %s", script, r.ran)
			}
		}
	})
}

// Without namespaces nothing keeps `.git` in its place. Another one there for a moment ends the call.
func TestSandboxSwappedForAMoment(t *testing.T) {
	const script = "mv .git x; mkdir .git; cp -r x/. .git; echo evil >> .git/config; rm -r .git; mv x .git; sleep 10; echo > survived"
	eachUser(t, func(t *testing.T, user string) {
		needTier(t, user, landlocked)
		w := repository(t, user)
		w.define("/bin/sh", "-c", script)
		r := w.exec(landlocked, nil, "/bin/sh", "-c", script)
		if _, err := os.Lstat(w.root + "/survived"); err == nil || r.code != 1 || !strings.Contains(r.stderr, ".git was replaced, moved or removed") {
			t.Errorf("survived: %v: %s", err == nil, r)
		}
		if r := w.call(landlocked, "fs_create_file", "path=new", "content=x"); r.Outcome.Reason != "held" {
			t.Errorf("writing calls are not held: %s", r.ran)
		}
		w = repository(t, user)
		w.define("/bin/sh", "-c", script)
		if r := w.call(landlocked, "foreign"); r.Status != 1 || r.Outcome.Reason != "changed" || !strings.Contains(r.Outcome.Message, ".git was replaced, moved or removed") {
			t.Error(r.ran)
		}
	})
}

// A hold on a directory does not end because there is one again: what is in it may be anything.
func TestSandboxHoldOutlastsAReplacedDirectory(t *testing.T) {
	eachUser(t, func(t *testing.T, user string) {
		needTier(t, user, landlocked)
		w := repository(t, user)
		w.define("/bin/sh", "-c", "mv .git/hooks .git/x; mkdir .git/hooks; echo evil > .git/hooks/post-checkout")
		if r := w.call(landlocked, "foreign"); r.Outcome.Reason != "changed" {
			t.Fatal(r.ran)
		}
		if r := w.call(landlocked, "fs_create_file", "path=new", "content=x"); r.Outcome.Reason != "held" || !strings.Contains(r.Outcome.Message, ".git/hooks") {
			t.Errorf("writing calls are not held: %s", r.ran)
		}
	})
}
