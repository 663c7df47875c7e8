package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// What the flags of `sandbox exec` say, and what it says of flags that are misunderstood.
func TestSandboxFlags(t *testing.T) {
	jptooltest.NotAnnounced(t)
	const user = "ordinary"
	eachTier(t, user, func(t *testing.T, tier string) {
		prepare := func() *world {
			w := newWorld(t, user)
			w.files(map[string]string{"ws/.env": "TOKEN=" + w.secret + "\n", "ws/sub/here": "in a directory\n"})
			return w
		}
		t.Run("withholding-alone-leaves-the-rest", func(t *testing.T) {
			w := prepare()
			r := w.exec(tier, []string{"--deny", "src/a.txt", "--deny", ".env"}, "sh", "-c", "cat docs/guide && echo new > made; cat .env")
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
			r := w.exec(tier, []string{"--ro", "docs", "--deny", "docs/guide"}, "sh", "-c", "ls docs; cat src/a.txt; cat docs/guide")
			if strings.Contains(r.stdout, "content") || strings.Contains(r.stdout, "read me") {
				t.Errorf("%s", r)
			}
		})
		t.Run("withholding-alone-grants-no-home-directory", func(t *testing.T) {
			w := prepare()
			w.env = append(w.env, "HOME="+w.root)
			if r := w.exec(tier, []string{"--deny", ".env"}, "true"); r.code != 2 || !strings.Contains(r.stderr, "nothing says what the program may do") {
				t.Errorf("%s", r)
			}
		})
		t.Run("denying-by-pattern", func(t *testing.T) {
			w := prepare()
			w.files(map[string]string{"ws/[id].js": w.secret, "ws/sub/deep/.env": w.secret, "ws/sub/keys/a.pem": w.secret, "ws/sub/b.pem": "public\n"})
			for _, tt := range []struct {
				deny, reads string
				ok          bool
			}{
				{".env", "sub/deep/.env", false},
				{"**/.env", ".env", false},
				{"[id].js", "[id].js", false}, // a name, however it looks, if something has it
				{"keys/", "sub/keys/a.pem", false},
				{"sub/*/*.pem", "sub/keys/a.pem", false},
				{"sub/*/*.pem", "sub/b.pem", true},
				{"./sub/keys", "sub/keys/a.pem", false},
				{w.root + "/sub/keys/", "sub/keys/a.pem", false},
				{"../ws/sub/keys", "sub/keys/a.pem", false},
				{"sub/../sub//keys", "sub/keys/a.pem", false},
			} {
				r := w.exec(tier, []string{"--ro", ".", "--ro", ".env", "--ro", "sub/deep/.env", "--deny", tt.deny}, "cat", tt.reads)
				if (r.code == 0) != tt.ok || strings.Contains(r.stdout, w.secret) {
					t.Errorf("--deny %s: %s", tt.deny, r)
				}
			}
			for _, wrong := range []string{".evn", "sub/*.key", "!.env", "{a,b}", "/none/of/it", "[", "~"} {
				if r := w.exec(tier, []string{"--deny", wrong}, "cat", "docs/guide"); r.code != 2 || strings.Contains(r.stdout, "read me") {
					t.Errorf("--deny %s: %s", wrong, r)
				}
			}
			// What one pattern covers in what another one covers is there, and no slip.
			if r := w.exec(tier, []string{"--deny", "keys", "--deny", "a.pem"}, "cat", "docs/guide"); r.code != 0 {
				t.Errorf("%s", r)
			}
			if r := w.exec(tier, []string{"-C", "sub", "--deny", "keys/a.pem"}, "cat", "keys/a.pem", "b.pem"); r.code != 1 || r.stdout != "public\n" {
				t.Errorf("from -C on: %s", r)
			}
		})
		t.Run("places-of-secrets", func(t *testing.T) {
			w := prepare()
			w.files(map[string]string{"ws/sub/deep/.env.local": w.secret, "other/.env": w.secret, "other/f": "beside\n", "home/.ssh/id": w.secret, "home/notes": "mine\n"})
			for _, tt := range []struct {
				grants []string
				reads  string
				ok     bool
			}{
				{nil, ".env", false},
				{nil, "sub/deep/.env.local", false},
				{[]string{"--rw", "."}, ".env", false},
				{[]string{"--ro", ".", "--ro", ".env"}, ".env", true},
				{[]string{"--ro", ".", "--ro", ".env"}, "sub/deep/.env.local", false},
				{[]string{"--ro", ".", "--ro", ".env", "--deny", ".env"}, ".env", false},
				{[]string{"--rw", ".", "--rw", w.base + "/other"}, w.base + "/other/f", true},
				{[]string{"--rw", ".", "--rw", w.base + "/other"}, w.base + "/other/.env", false},
				{[]string{"--rw", ".", "--rw", w.base + "/other", "--ro", w.base + "/other/.env"}, w.base + "/other/.env", true},
				{[]string{"--rw", ".", "--rw", w.home}, w.home + "/notes", true},
				{[]string{"--rw", ".", "--rw", w.home}, w.home + "/.ssh/id", false},
				{[]string{"--rw", ".", "--ro", w.home + "/.ssh"}, w.home + "/.ssh/id", true},
			} {
				r := w.exec(tier, tt.grants, "cat", tt.reads)
				if tier != namespaces && len(tt.grants) > 2 && strings.HasPrefix(tt.reads, "/") && r.code != 0 {
					// What is granted outside cannot be split there: nothing is started.
					if tt.ok && !strings.Contains(r.stderr, "what has to be withheld") {
						t.Errorf("%q: %s", tt.grants, r)
					}
					continue
				}
				if (r.code == 0) != tt.ok || !tt.ok && strings.Contains(r.stdout, w.secret) {
					t.Errorf("%q, cat %s: %s", tt.grants, tt.reads, r)
				}
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
			if r := w.run(jphost, "sandbox", "exec", "--grant", "path=.env", "--", "true"); r.code != 2 || !strings.Contains(r.stderr, "--deny .env") {
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
