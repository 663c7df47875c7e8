package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// Presets as root and as an ordinary user, on this machine and on one without namespaces: what they open, and that a link
// of another user in the place of a cache opens nothing.
func TestPresetsOfUsers(t *testing.T) {
	bin := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", filepath.Join(bin, "jphost"), ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	users := map[string]*syscall.Credential{"as this user": nil}
	if jptooltest.Root(t) {
		users["as an ordinary user"] = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	for name, user := range users {
		for _, limit := range []string{"", "namespaces=no"} {
			t.Run(name+" "+limit, func(t *testing.T) {
				l := newLesserBench(t, bin, user)
				home := filepath.Join(l.dir, "home")
				confined := func(script string) string {
					stdout, stderr, code := l.jphost(t, "s", limit, "sandbox", "exec", "--preset", "go,git", "--", "sh", "-c", script)
					if code != 0 {
						t.Errorf("%s: %d\n%s", script, code, stderr)
					}
					return stdout + stderr
				}
				write := func(file string) {
					if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(file, []byte("KEY\n"), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				write(filepath.Join(home, ".ssh/id"))
				write(filepath.Join(home, ".gitconfig"))
				got := confined(`echo x > "$GOCACHE/new" && cat ~/.gitconfig; cat ~/.ssh/id || echo no keys`)
				if !strings.HasPrefix(got, "KEY\nno keys\n") {
					t.Errorf("%s", got)
				}
				found, _ := filepath.Glob(filepath.Join(home, ".cache/jphost/*/go-build"))
				if len(found) != 1 {
					t.Fatalf("caches: %q", found)
				}
				cache := found[0]
				if fi, err := os.Stat(cache); err != nil || fi.Mode().Perm() != 0o700 {
					t.Errorf("%v, %v", fi, err)
				}
				if _, err := os.Stat(cache + "/new"); err != nil {
					t.Error(err)
				}
				// The link of somebody else, to what this user may read.
				if err := os.Rename(cache, cache+".old"); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(filepath.Join(l.dir, "data"), cache); err != nil {
					t.Fatal(err)
				}
				if jptooltest.Root(t) {
					if err := os.Lchown(cache, 61234, 61234); err != nil {
						t.Fatal(err)
					}
				}
				write(filepath.Join(l.dir, "data/key"))
				got = confined(`cat ` + cache + `/key || echo no key; echo x > ` + cache + `/new || echo not written; echo "cache=$GOCACHE"`)
				if !strings.HasPrefix(got, "no key\nnot written\ncache=\n") || !strings.Contains(got, "is a symlink that a program or another user may have made") {
					t.Errorf("%s", got)
				}
				if _, err := os.Stat(filepath.Join(l.dir, "data/new")); err == nil {
					t.Error("something was written through the link")
				}
				// The control: named by the person the place is open.
				stdout, stderr, _ := l.jphost(t, "s", limit, "sandbox", "exec", "--rw", filepath.Join(l.dir, "data"), "--", "cat", filepath.Join(l.dir, "data/key"))
				if stdout != "KEY\n" {
					t.Errorf("%s%s", stdout, stderr)
				}
			})
		}
	}
}
