package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What the flags of `sandbox exec` say, and what it says of flags that are misunderstood.
func TestSandboxFlags(t *testing.T) {
	const user = "ordinary"
	eachTier(t, user, func(t *testing.T, tier string) {
		prepare := func() *world {
			w := newWorld(t, user)
			w.files(map[string]string{"ws/.env": "TOKEN=" + w.secret + "\n", "ws/sub/here": "in a directory\n"})
			return w
		}
		t.Run("withholding-alone-leaves-the-rest", func(t *testing.T) {
			w := prepare()
			r := w.exec(tier, []string{"--grant", "path=.env"}, "sh", "-c", "cat docs/guide && echo new > made; cat .env")
			if !strings.HasPrefix(r.stdout, "read me\n") || strings.Contains(r.stdout, w.secret) || r.code == 0 {
				t.Errorf("%s", r)
			}
			if tier == namespaces { // without namespaces nothing new is possible beside what is withheld
				if _, err := os.Stat(w.root + "/made"); err != nil {
					t.Error(err)
				}
			}
		})
		t.Run("withholding-from-what-is-granted", func(t *testing.T) {
			w := prepare()
			r := w.exec(tier, []string{"--ro", "docs", "--grant", "path=docs/guide"}, "sh", "-c", "ls docs; cat src/a.txt; cat docs/guide")
			if strings.Contains(r.stdout, "content") || strings.Contains(r.stdout, "read me") {
				t.Errorf("%s", r)
			}
		})
		t.Run("withholding-alone-grants-no-home-directory", func(t *testing.T) {
			w := prepare()
			w.env = append(w.env, "HOME="+w.root)
			if r := w.exec(tier, []string{"--grant", "path=.env"}, "true"); r.code != 2 || !strings.Contains(r.stderr, "nothing says what the program may do") {
				t.Errorf("%s", r)
			}
		})
		t.Run("a-glob-is-no-path", func(t *testing.T) {
			w := prepare()
			if r := w.exec(tier, []string{"--rw", ".", "--grant", "path=**/.env"}, "cat", ".env"); r.code != 2 || !strings.Contains(r.stderr, "a glob is not a path") || strings.Contains(r.stdout, w.secret) {
				t.Errorf("%s", r)
			}
			w.files(map[string]string{"ws/[id].js": w.secret}) // a name, however it looks
			if r := w.exec(tier, []string{"--rw", ".", "--grant", "path=[id].js"}, "cat", "[id].js"); r.code != 1 || strings.Contains(r.stdout, w.secret) {
				t.Errorf("%s", r)
			}
		})
		t.Run("C-is-where-it-starts", func(t *testing.T) {
			w := prepare()
			if r := w.exec(tier, []string{"-C", "sub"}, "sh", "-c", "pwd; cat here; cat ../docs/guide"); !strings.HasPrefix(r.stdout, w.root+"/sub\nin a directory\n") || strings.Contains(r.stdout, "read me") {
				t.Errorf("%s", r)
			}
			if r := w.exec(tier, []string{"-C", "sub", "--ro", "."}, "sh", "-c", "cat here; echo > new"); !strings.HasPrefix(r.stdout, "in a directory\n") || r.code == 0 {
				t.Errorf("paths are relative to it: %s", r)
			}
			if r := w.exec(tier, []string{"--root", "sub"}, "pwd"); r.stdout == w.root+"/sub\n" {
				t.Errorf("--root names the workspace alone: %s", r)
			}
			if r := w.exec(tier, []string{"-C", "sub", "--root", "docs"}, "pwd"); r.code != 2 || !strings.Contains(r.stderr, "-C and --root both name the workspace") {
				t.Errorf("-C was left aside: %s", r)
			}
		})
		t.Run("flags-after-the-program", func(t *testing.T) {
			w := prepare()
			jphost := filepath.Join(bin, "jphost")
			if r := w.run(jphost, "sandbox", "exec", "--tier", tier, "ls", "-la", "--ro", "."); r.code == 0 || !strings.Contains(r.stderr, "--ro stood after the program") {
				t.Errorf("%s", r)
			}
			if r := w.exec(tier, nil, "ls", "--ro"); strings.Contains(r.stderr, "stood after") { // said to be the program's
				t.Errorf("%s", r)
			}
			if r := w.run(jphost, "sandbox", "exec", "--deny", ".env", "--", "true"); r.code != 2 || !strings.Contains(r.stderr, "--grant path=PATH") || strings.Contains(r.stderr, "--env") {
				t.Errorf("%s", r)
			}
			if r := w.run(jphost, "sandbox", "exec", "--help"); !strings.HasPrefix(r.stdout, "Usage: jphost sandbox exec [flags] [--] <command> ...\n") {
				t.Errorf("%s", r)
			}
		})
	})
}

// Where many files of a directory were refused the directory is proposed, so that one comes to an end.
func TestRemediesNameDirectories(t *testing.T) {
	eachTier(t, "ordinary", func(t *testing.T, tier string) {
		w := newWorld(t, "ordinary")
		w.files(map[string]string{
			"home/.cache/build/1/a": "a", "home/.cache/build/2/b": "b", "home/.cache/build/3/c": "c", "home/.cache/build/4/d": "d",
			"home/.keys/a": "a", "home/.keys/b": "b", "home/.keys/c": "c",
		})
		remedies := func(grants []string, script string) (all []string) {
			_, d := w.explained(tier, append([]string{"--rw", "."}, grants...), script)
			for _, x := range d.Observed.Outside {
				if strings.HasPrefix(x.Path, w.home) && x.Operation == "read" {
					all = append(all, strings.TrimPrefix(x.Remedy, "add "))
				}
			}
			return all
		}
		got := remedies(nil, "for f in 1/a 2/b 3/c; do cat "+w.home+"/.cache/build/$f; done")
		want := "--grant path=" + w.home + "/.cache/build,read"
		if len(got) == 0 || got[0] != want {
			t.Fatalf("%q, want %q", got, want)
		}
		if got := remedies(strings.Fields(got[0]), "for f in 1/a 4/d; do cat "+w.home+"/.cache/build/$f; done"); len(got) > 0 {
			t.Errorf("with that, %q", got)
		}
		for _, remedy := range remedies(nil, "for f in a b c; do cat "+w.home+"/.keys/$f; done") {
			if strings.HasPrefix(remedy, "--grant path="+w.home+"/.keys,") {
				t.Errorf("all that lies directly in the home directory is not proposed: %q", remedy)
			}
		}
	})
}
