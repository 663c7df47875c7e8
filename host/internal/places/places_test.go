package places

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// The list of RFD 075, which no setting makes shorter, without examples.
func TestWithheld(t *testing.T) {
	const want = "~/.ssh ~/.gnupg ~/.gpg ~/.aws/credentials ~/.config/gcloud ~/.kube/config ~/.docker/config.json **/.env **/.env.* " +
		"!**/.env.example !**/.env.sample !**/.env.template !**/.env.dist !**/.env.defaults"
	if got := strings.Join(Withheld(), " "); got != want {
		t.Error(got)
	}
}

// Each place of the list is judged by all that use it: what is withheld or closed is never granted, what is obeyed or
// installed never for writing, and mounts warn of all that is not just installed.
func TestEveryPlace(t *testing.T) {
	home := jptooltest.TempRoot(t)
	here := Here{Root: home + "/ws", Home: home}
	seen := map[string]bool{}
	for _, p := range list() {
		if seen[p.path] {
			t.Errorf("%s stands there twice", p.path)
		}
		seen[p.path] = true
		rest, below := strings.CutPrefix(p.path, "~/")
		if strings.HasPrefix(p.path, "**/") {
			if err := jptool.CheckGlob(p.path); err != nil || p.kind != withheld && p.kind != open {
				t.Errorf("%s, %s: %v", p.path, p.kind, err)
			}
			continue
		}
		abs := p.in(home)
		secret := p.kind == withheld || p.kind == closed
		if Never(abs, true, true, home) == "" || (Never(abs, false, true, home) != "") != secret {
			t.Errorf("%s, %s: read %q, write %q", p.path, p.kind, Never(abs, false, true, home), Never(abs, true, true, home))
		}
		if !below {
			if !strings.HasPrefix(p.path, "/") && p.path != "C:/Windows" {
				t.Errorf("%s is not absolute", p.path)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Join(home, filepath.FromSlash(rest)), 0o755); err != nil {
			t.Fatal(err)
		}
		if got := here.Caution(abs); strings.Contains(got, abs+" ("+p.what+")") == (p.kind == installed) {
			t.Errorf("%s, %s: %q", p.path, p.kind, got)
		}
	}
	if len(seen) < 100 {
		t.Errorf("only %d places", len(seen))
	}
	// Of what lies in one of them, that one is enough.
	if got := here.Caution(home + "/.aws"); got != "The target is, or reaches:\n  "+home+"/.aws (cloud credentials)\n" {
		t.Error(got)
	}
}

func TestNever(t *testing.T) {
	const home = "/home/u"
	for at, want := range map[string][3]bool{ // to read, to write, to read the entry alone
		"/":                               {false, false, false},
		"/home":                           {false, false, false},
		home:                              {false, false, false},
		home + "/.ssh":                    {false, false, false},
		home + "/.ssh/keys":               {false, false, false},
		home + "/x/../.ssh":               {false, false, false},
		home + "/.config":                 {false, false, true},
		home + "/.config/gh":              {false, false, false},
		home + "/.config/git":             {false, false, true},
		home + "/.config/git/config":      {true, false, true},
		home + "/.config/git/credentials": {false, false, false},
		home + "/.config/tool":            {true, true, true},
		home + "/.gitconfig":              {true, false, true},
		home + "/.cargo":                  {false, false, true},
		home + "/.cargo/bin":              {true, false, true},
		home + "/.cargo/registry":         {true, true, true},
		home + "/.cargo/credentials.toml": {false, false, false},
		home + "/.npm/_npx/x":             {true, false, true},
		home + "/.npm/_cacache":           {true, true, true},
		home + "/.npmrc":                  {false, false, false},
		home + "/go":                      {true, false, true},
		home + "/go/bin":                  {true, false, true},
		home + "/go/pkg/mod":              {true, true, true},
		home + "/.local/bin":              {true, false, true},
		home + "/.sshx":                   {true, true, true},
		"/root/x":                         {false, false, false},
		"/etc":                            {false, false, true},
		"/etc/hosts":                      {true, false, true},
		"/etc/shadow":                     {false, false, false},
		"/usr/lib/jvm":                    {true, false, true},
		"/srv/cache":                      {true, true, true},
		"/opt/tool":                       {true, false, true},
		"/run/user/0":                     {false, false, false},
	} {
		got := [3]bool{Never(at, false, false, home) == "", Never(at, true, false, home) == "", Never(at, false, true, home) == ""}
		if got != want {
			t.Errorf("%s: %v, want %v", at, got, want)
		}
	}
	// Of other people's home directories the same is said.
	was := others
	others = func() []string { return []string{"/srv/people/o"} }
	t.Cleanup(func() { others = was })
	for at, want := range map[string][2]bool{ // to read, to write
		"/srv/people/o/.ssh/id":      {false, false},
		"/srv/people/o/.bashrc":      {true, false},
		"/srv/people/o/project":      {true, true},
		"/home/someone/.ssh":         {false, false},
		"/home/someone/.vault-pass":  {false, false},
		"/home/someone/.config/Code": {true, false},
		"/home/someone/project":      {true, true},
	} {
		for _, home := range []string{home, "/root"} {
			if got := [2]bool{Never(at, false, true, home) == "", Never(at, true, true, home) == ""}; got != want {
				t.Errorf("%s of %s: %v, want %v", at, home, got, want)
			}
		}
	}
	// The home directory of the administrator lies in a place of secrets, and is judged by what is in it.
	if why := Never("/root/.cache/go-build", true, false, "/root"); why != "" {
		t.Error(why)
	}
	if why := Never("/root/.ssh", false, true, "/root"); why == "" {
		t.Error("the keys of root")
	}
}
