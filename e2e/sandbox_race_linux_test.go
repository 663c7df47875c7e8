package e2e

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// When somebody outside takes a mask away, by replacing or moving what it lies on, the call
// is ended at once, and says what was open until then.
func TestSandboxMaskUndone(t *testing.T) {
	eachUser(t, func(t *testing.T, user string) {
		needTier(t, user, namespaces)
		for _, c := range []struct {
			name string
			undo func(w *world) error
			says string // "" where nothing was undone
			done string // what the program may have done
		}{
			{"nothing happens", func(*world) error { return nil }, "", ""},
			{"something else changes", func(w *world) error {
				return os.Rename(w.root+"/good", w.root+"/better")
			}, "", ""},
			{"moved away", func(w *world) error {
				return os.Rename(w.root+"/src/private", w.root+"/src/public")
			}, "src/private", "read and changed"},
			{"replaced", func(w *world) error {
				if err := os.Rename(w.root+"/src/private", w.root+"/src/public"); err != nil {
					return err
				}
				return os.Mkdir(w.root+"/src/private", 0o755)
			}, "src/private", "read and changed"},
			{"deleted", func(w *world) error { return os.RemoveAll(w.root + "/src/private") }, "src/private", "read and changed"},
			{"ancestor moved", func(w *world) error { return os.Rename(w.root+"/src", w.root+"/moved") }, "src", "read and changed"},
			{"read-only moved", func(w *world) error { return os.Rename(w.root+"/docs", w.root+"/d") }, "docs", "changed"},
			{"moved and back", func(w *world) error {
				return errors.Join(os.Rename(w.root+"/docs", w.root+"/d"), os.Rename(w.root+"/d", w.root+"/docs"))
			}, "docs", "changed"},
		} {
			for _, way := range []string{"exec", "run"} {
				t.Run(strings.ReplaceAll(c.name, " ", "-")+"/"+way, func(t *testing.T) {
					w := newWorld(t, user)
					ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
					defer cancel()
					ready, seconds := w.root+"/good/ready", "60"
					if c.says == "" {
						seconds = "1"
					}
					attack := []string{attackPath(t), "wait", seconds, ready}
					argv := contain(namespaces, strings.Fields(withheld), attack...)
					if way == "run" {
						w.defineUnder(withheld, attack...)
						argv = []string{filepath.Join(bin, "jphost"), "run", "--no-input", "foreign"}
					}
					cmd := w.command(ctx, argv...)
					var stdout, stderr bytes.Buffer
					cmd.Stdout, cmd.Stderr = &stdout, &stderr
					if err := cmd.Start(); err != nil {
						t.Fatal(err)
					}
					awaitFile(t, ready)
					start := time.Now()
					if err := c.undo(w); err != nil {
						t.Fatal(err)
					}
					_ = cmd.Wait()
					took, code := time.Since(start), cmd.ProcessState.ExitCode()
					if c.says == "" {
						if code != 0 || !strings.Contains(stdout.String(), `"worked":true`) {
							t.Errorf("exit status %d\n%s%s", code, stdout.String(), stderr.String())
						}
						return
					}
					said := "until then the program may have " + c.done + " what stands there now"
					if code != 1 || took > 30*time.Second || strings.Contains(stdout.String(), `"worked":true`) || !strings.Contains(stderr.String(), c.says) || !strings.Contains(stderr.String(), said) {
						t.Errorf("exit status %d after %v; want 1 soon, naming %s, and that %s\n%s%s", code, took, c.says, said, stdout.String(), stderr.String())
					}
				})
			}
		}
	})
}

// A directory that somebody outside moves out of the workspace, while a program is in it, stays open to that
// program in the namespace tier, with what is in it and nothing else (docs/known-differences.md).
func TestSandboxDirectoryMovedAway(t *testing.T) {
	eachUser(t, func(t *testing.T, user string) {
		eachTier(t, user, func(t *testing.T, tier string) {
			w := newWorld(t, user)
			w.files(map[string]string{"ws/sub/f": ""})
			script := `cd sub; : > ../inside; until [ -e moved ]; do sleep 0.02; done
				read a < moved && echo got "$a"; echo > made; read b < ../victim.txt && echo leaked; read b < ` + w.outside + `/victim.txt && echo leaked; echo over`
			ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
			defer cancel()
			cmd := w.command(ctx, contain(tier, []string{"--rw", "."}, "/bin/sh", "-c", script)...)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			awaitFile(t, w.root+"/inside")
			if err := os.Rename(w.root+"/sub", w.outside+"/sub"); err != nil {
				t.Fatal(err)
			}
			w.files(map[string]string{"outside/sub/moved": "this\n"})
			_ = cmd.Wait()
			_, err := os.Stat(w.outside + "/sub/made")
			made, got, want := err == nil, stdout.String(), "over\n"
			if tier == namespaces {
				want = "got this\nover\n"
			}
			if got != want || made != (tier == namespaces) {
				t.Errorf("said %q, want %q; made a file there: %v\n%s", got, want, made, stderr.String())
			}
		})
	})
}

// Links and directories that somebody outside swaps all the time lead no program out of its
// grants.
func TestSandboxSwapsFromOutside(t *testing.T) {
	eachUser(t, func(t *testing.T, user string) {
		try := func(t *testing.T, tier string) attempt {
			w := newWorld(t, user)
			w.files(map[string]string{"ws/good/victim.txt": "harmless\n"})
			if err := os.Symlink(w.outside, w.root+"/bad"); err != nil {
				t.Fatal(err)
			}
			w.own()
			ctx, cancel := context.WithCancel(context.Background())
			stopped := make(chan struct{})
			go func() { // the same swaps as the attack makes itself, but from outside
				defer close(stopped)
				for ctx.Err() == nil {
					_ = exchange(w.root+"/good", w.root+"/bad")
				}
			}()
			defer func() { cancel(); <-stopped }()
			rounds := "3000"
			if tier == uncontained { // it ends as soon as it works
				rounds = "500000"
			}
			return w.attackMayDie(tier, []string{"--rw", "."}, "peek", w.root+"/good/victim.txt", "harmless", rounds)
		}
		if v := try(t, uncontained); !v.Worked {
			t.Fatalf("the control did not work: %s", v)
		}
		eachTier(t, user, func(t *testing.T, tier string) {
			if v := try(t, tier); v.Worked || !v.came {
				t.Errorf("it worked, or proves nothing: %s", v)
			}
		})
	})
}

// A directory that a program swaps with a link while a command looks at it is used as what it was found to be, or not at
// all: what the link leads to never becomes the workspace.
func TestWorkspaceSwappedWithALink(t *testing.T) {
	eachUser(t, func(t *testing.T, user string) {
		needTier(t, user, landlocked)
		w := repository(t, user)
		w.files(map[string]string{"ws/build/f": "harmless\n"})
		if err := os.Symlink(w.outside+"/dir", w.root+"/bad"); err != nil {
			t.Fatal(err)
		}
		w.own()
		before := state(t, w.outside)
		ctx, cancel := context.WithCancel(context.Background())
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			for n := 1; ctx.Err() == nil; n++ {
				_ = exchange(w.root+"/build", w.root+"/bad")
				if n%51 == 0 { // odd, so that it rests in both states
					rest := 4 * time.Millisecond
					if n/51%4 < 2 { // in both states, too: long enough for a call to come to its end
						rest = 40 * time.Millisecond
					}
					time.Sleep(rest)
				}
			}
		}()
		defer func() { cancel(); <-stopped }()
		jphost, script := filepath.Join(bin, "jphost"), "cat "+w.outside+"/dir/f; echo x > "+w.outside+"/dir/written"
		used := 0
		for range 60 {
			for _, argv := range [][]string{
				contain(landlocked, []string{"-C", "build", "--quiet"}, "sh", "-c", script),
				contain(landlocked, []string{"--root", "build", "--quiet"}, "sh", "-c", script),
				{jphost, "run", "-C", "build", "--no-input", "fs_read_file", "path=f"},
				{jphost, "-C", "build", "config", "init"},
			} {
				r := w.run(argv...)
				if strings.Contains(r.stdout, w.secret) {
					t.Fatalf("%q read what the link leads to: %s", argv, r)
				}
				if strings.Contains(r.stdout, "harmless") {
					used++
				}
			}
		}
		if used == 0 {
			t.Error("the directory itself was never used, which proves nothing")
		}
		if d := differs(before, state(t, w.outside)); d != nil {
			t.Errorf("changed: %q", d)
		}
	})
}

func exchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}
