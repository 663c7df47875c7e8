package e2e

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
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
		secret  = "--rw . --deny vendor"
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

// A program opens no file by claiming that it is started by it.
func TestSandboxClaims(t *testing.T) {
	jptooltest.NotAnnounced(t)
	eachUser(t, func(t *testing.T, user string) {
		const hidden = "home/bin/deploy"
		// claims are programs that print the file named by {}, and say on their way that they need it.
		claims := map[string]string{
			"env, options in one word":   "#!/usr/bin/env -S -iu {} sh\ncat {}\n",
			"env, a shortened option":    "#!/usr/bin/env -S --uns {} sh\ncat {}\n",
			"env of the workspace":       "#!./env {}\n",
			"a file for another machine": "",
		}
		prepare := func(claim string) *world {
			w := newWorld(t, user)
			w.files(map[string]string{"ws/tool": strings.ReplaceAll(claims[claim], "{}", w.base+"/"+hidden)})
			w.program("/bin/true", hidden)
			w.files(map[string]string{hidden: "#!/bin/sh\n# " + w.secret + "\n"})
			w.program(attackPath(t), "ws/attack")
			if claim == "env of the workspace" {
				w.program("/bin/cat", "ws/env")
			}
			if claims[claim] == "" {
				w.elfFor32(attackPath(t), "ws/tool", w.base+"/"+hidden)
			}
			for _, name := range []string{"/ws/tool", "/" + hidden} {
				if err := os.Chmod(w.base+name, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			return w
		}
		for claim, text := range claims {
			t.Run(strings.ReplaceAll(claim, " ", "-"), func(t *testing.T) {
				try := func(tier string) (bool, ran) {
					w := prepare(claim)
					argv := []string{"./tool"}
					if text == "" {
						argv = append(argv, "read", w.base+"/"+hidden)
					}
					r := w.exec(tier, []string{"--rw", "."}, argv...)
					return strings.Contains(r.stdout, w.secret) || strings.Contains(r.stdout, `"worked":true`), r
				}
				if worked, r := try(uncontained); !worked {
					t.Fatalf("the control did not work: %s", r)
				}
				eachTier(t, user, func(t *testing.T, tier string) {
					if worked, r := try(tier); worked {
						t.Errorf("it worked: %s", r)
					}
				})
			})
		}
		t.Run("changed-meanwhile", func(t *testing.T) {
			eachTier(t, user, func(t *testing.T, tier string) {
				w := prepare("env, options in one word")
				secret := w.base + "/" + hidden
				harmless, claim := []byte("#!/bin/sh\ncat "+secret+" #"), []byte("#!"+secret+"\n")
				for len(claim) < len(harmless) {
					claim = append(claim, '\n')
				}
				if err := os.WriteFile(w.root+"/tool", harmless, 0o755); err != nil {
					t.Fatal(err)
				}
				over, done := make(chan struct{}), make(chan struct{})
				go func() {
					defer close(done)
					for n := 0; ; n++ {
						select {
						case <-over:
							return
						default:
							if f, err := os.OpenFile(w.root+"/tool", os.O_WRONLY, 0); err == nil { // the same file
								_, _ = f.WriteAt([][]byte{harmless, claim}[n%2], 0)
								_ = f.Close() // nothing is started that is open for writing
							}
							time.Sleep(time.Duration(n%7) * 500 * time.Microsecond)
						}
					}
				}()
				for range 60 {
					if r := w.exec(tier, []string{"--rw", "."}, "./tool"); strings.Contains(r.stdout, w.secret) {
						t.Errorf("it worked: %s", r)
						break
					}
				}
				close(over)
				<-done
			})
		})
	})
}

// elfFor32 copies a static Go program for this machine that says of itself, in a field that the kernel does
// not look at, that it is one for 32 bits, and in the headers of such a one that it needs a loader.
func (w *world) elfFor32(from, to, loader string) {
	w.t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		w.t.Fatal(err)
	}
	const at = 0x400 // in the padding before the code
	b[4] = 1
	// Where a header for 32 bits has its table of headers is the upper half of the entry point, 0; their size and
	// number are parts of where the table of sections is, which only linkers read.
	le := binary.LittleEndian
	le.PutUint16(b[42:], at)
	le.PutUint16(b[44:], 2)
	le.PutUint32(b[at:], 3) // PT_INTERP
	le.PutUint32(b[at+4:], at+32)
	le.PutUint32(b[at+16:], uint32(len(loader)+1))
	copy(b[at+32:], loader+"\x00")
	if err := os.WriteFile(filepath.Join(w.base, to), b, 0o755); err != nil {
		w.t.Fatal(err)
	}
	w.own()
}
