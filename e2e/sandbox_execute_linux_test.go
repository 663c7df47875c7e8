package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// program copies a program into the world.
func (w *world) program(from, to string) {
	w.t.Helper()
	content, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(filepath.Join(w.base, to)), 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(w.base, to), content, 0o755)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.own()
}

// loader is the dynamic loader of the system's programs.
func loader(t *testing.T) string {
	t.Helper()
	for _, pattern := range []string{"/lib64/ld-linux-*", "/lib/ld-linux-*", "/lib/ld-musl-*"} {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return found[0]
		}
	}
	t.Skip("not run: there is no dynamic loader (/lib*/ld-*)")
	return ""
}

// What may not be executed is not executed, by whatever way.
func TestSandboxExecute(t *testing.T) {
	ld := loader(t)
	const (
		without = "--grant path=.,read,write"
		within  = "--rw . --grant path=vendor,read,write"
		secret  = "--rw . --grant path=vendor"
	)
	eachUser(t, func(t *testing.T, user string) {
		for _, c := range []struct {
			name, grants string
			args         []string
			// works: where the attack is expected to work all the same.
			works string
		}{
			{"no execute", without, []string{"exec", "vendor/tool"}, ""},
			{"execute taken", within, []string{"exec", "vendor/tool"}, ""},
			{"execute taken, by a link", within, []string{"exec", "./l"}, ""},
			{"execute taken, by /proc", within, []string{"exec", "/proc/self/cwd/vendor/tool"}, ""},
			{"nothing left", secret, []string{"exec", "vendor/tool"}, ""},
			{"execute taken, by the loader", within, []string{"/bin/sh", "-c", ld + " vendor/true && echo ran"}, landlocked},
			{"nothing left, by the loader", secret, []string{"/bin/sh", "-c", ld + " vendor/true && echo ran"}, ""},
			{"nothing left, from memory", secret, []string{"memfd-exec", "vendor/tool"}, ""},
			// A rule on execution is one on a place. What may be read may be copied, and run
			// from memory or from the private temporary directory, with the same rights.
			{"execute taken, from memory", within, []string{"memfd-exec", "vendor/tool"}, landlocked + " " + namespaces},
			{"execute taken, from a copy", within, []string{"copy-exec", "vendor/tool"}, landlocked + " " + namespaces},
		} {
			t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
				prepare := func() *world {
					w := newWorld(t, user)
					w.program(attackPath(t), "ws/vendor/tool")
					w.program("/bin/true", "ws/vendor/true")
					if err := os.Symlink("vendor/tool", w.root+"/l"); err != nil {
						t.Fatal(err)
					}
					return w
				}
				try := func(tier string) attempt {
					if c.args[0] != "/bin/sh" {
						return prepare().attack(tier, strings.Fields(c.grants), c.args...)
					}
					// A shell has the loader among what it needs to start.
					r := prepare().exec(tier, strings.Fields(c.grants), c.args...)
					return attempt{Worked: r.stdout == "ran\n", ran: r}
				}
				if v := try(uncontained); !v.Worked {
					t.Fatalf("the control did not work: %s", v)
				}
				eachTier(t, user, func(t *testing.T, tier string) {
					v := try(tier)
					if want := strings.Contains(c.works, tier); v.Worked != want {
						t.Errorf("it worked is %v, want %v: %s", v.Worked, want, v)
					}
				})
			})
		}
	})
}
