package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A directory that its owner has closed cannot be looked through before a call, and the program, which has the same
// owner, could open it: what lies in it stays withheld and protected all the same.
func TestSandboxClosedDirectories(t *testing.T) {
	eachUser(t, func(t *testing.T, user string) {
		try := func(t *testing.T, tier string, mode os.FileMode, dir, script string, flags ...string) (r ran, hook string) {
			t.Helper()
			w := repository(t, user)
			w.files(map[string]string{"ws/sub/.env": w.secret, "ws/sub/denied": w.secret, "ws/denied": ""})
			w.own()
			at := filepath.Join(w.root, dir)
			if err := os.Chmod(at, mode); err != nil {
				t.Fatal(err)
			}
			r = w.run(contain(tier, flags, "/bin/sh", "-c", script)...)
			if err := os.Chmod(at, 0o755); err != nil {
				t.Fatal(err)
			}
			r.stdout = strings.ReplaceAll(r.stdout, w.secret, "SECRET")
			data, err := os.ReadFile(filepath.Join(w.root, ".git/hooks/pre-commit"))
			if err != nil {
				t.Fatal(err)
			}
			return r, string(data)
		}
		const reads, plants = "chmod 755 sub; cat sub/.env sub/denied", "chmod 755 .git; echo evil >> .git/hooks/pre-commit"
		for _, mode := range []os.FileMode{0, 0o600, 0o300, 0o100} {
			t.Run(fmt.Sprintf("%03o", mode), func(t *testing.T) {
				if r, _ := try(t, uncontained, mode, "sub", reads); r.stdout != "SECRETSECRET" {
					t.Fatalf("the control did not work: %s", r)
				}
				if _, hook := try(t, uncontained, mode, ".git", plants); !strings.Contains(hook, "evil") {
					t.Fatal("the control did not work")
				}
				eachTier(t, user, func(t *testing.T, tier string) {
					if r, _ := try(t, tier, mode, "sub", reads, "--rw", ".", "--deny", "denied"); strings.Contains(r.stdout, "SECRET") {
						t.Errorf("%s", r)
					}
					if r, hook := try(t, tier, mode, ".git", plants, "--rw", "."); strings.Contains(hook, "evil") && r.code != 1 {
						t.Errorf("changed without a word: %s", r)
					}
				})
			})
		}
	})
}
