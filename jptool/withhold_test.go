package jptool_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/ignore"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// withholding opens a workspace whose policy has patterns.
func withholding(t testing.TB, root string, access jptool.AccessPolicy) *jptool.Workspace {
	t.Helper()
	ctx := jptool.Context{Root: root, Action: jptool.Run, Access: &access}
	ws, err := ctx.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	return ws
}

func TestWithheld(t *testing.T) {
	base := jptooltest.TempRoot(t)
	jptooltest.Tree(
		t, base, "file ws/.env x", "file ws/a/b/.env.local x", "file ws/a/x.key x", "file ws/a/b/y.key x", "file ws/secrets/in/z x",
		"file ws/deep/secrets/z x", "file ws/README.md x", "file ws/conf/real x", "symlink ws/link conf/real", "symlink ws/a/.env ../conf/real",
		"symlink ws/pub secrets/in", "symlink ws/secrets/out ../README.md", "symlink ws/l1 a/.env", "file ext/.env x", "file ext/secrets/k x",
		"file ext/f x", "symlink ws/fork $ROOT/ext", "symlink ws/in $ROOT/ext/secrets", "file ws/.ssh/id x", "file ws/.ssh/config x", "symlink ws/.env.d ../ext",
	)
	root := base + "/ws"
	all := rule(".", "read write execute")
	type checks []string
	for name, tt := range map[string]struct {
		access jptool.AccessPolicy
		want   checks
	}{
		"names": {
			jptool.AccessPolicy{FS: []jptool.FsRule{all, rule("a/b/.env.local", "read")}, Deny: []string{"**/.env", ".env.*"}},
			checks{
				"read .env access_denied", "read a/b/.env.local access_denied", "create b/.env access_denied", "delete .env access_denied",
				"read a/.env access_denied", "read l1 access_denied", "read conf/real allow", "read README.md allow", "create .envx allow",
				"create .env/x/y access_denied", "read a/../.env access_denied", "read ./.env access_denied", "read .//.env access_denied",
			},
		},
		"directories": {
			jptool.AccessPolicy{FS: []jptool.FsRule{all, rule("secrets/in", "read")}, Deny: []string{"secrets/"}},
			checks{
				"read secrets/in/z access_denied", "read secrets access_denied", "read deep/secrets/z access_denied", "read pub/z access_denied",
				"read secrets/out access_denied", "create new/secrets access_denied", "read README.md allow", "delete pub allow",
			},
		},
		"anchored": {
			jptool.AccessPolicy{FS: []jptool.FsRule{all}, Deny: []string{"/secrets", "a/*.key"}},
			checks{
				"read secrets/in/z access_denied", "read deep/secrets/z allow", "read a/x.key access_denied", "read a/b/y.key allow",
				"create a/new.key access_denied", "create b/new.key allow",
			},
		},
		"what is in it": {
			jptool.AccessPolicy{FS: []jptool.FsRule{all}, Deny: []string{"secrets/**"}},
			checks{"read secrets/in/z access_denied", "create secrets/new access_denied", "read secrets allow", "read deep/secrets/z allow"},
		},
		"below any directory": {
			jptool.AccessPolicy{FS: []jptool.FsRule{all}, Deny: []string{"**/b/*.key"}},
			checks{"read a/b/y.key access_denied", "read a/x.key allow", "create b/new.key access_denied"},
		},
		"absolute": {
			jptool.AccessPolicy{FS: []jptool.FsRule{all}, Deny: []string{"/" + base + "/ws/secrets", "/" + base + "/*/a/*.key", "//etc"}},
			checks{"read secrets/in/z access_denied", "read a/x.key access_denied", "read a/b/y.key allow", "read deep/secrets/z allow"},
		},
		"the workspace":       {jptool.AccessPolicy{FS: []jptool.FsRule{all}, Deny: []string{"/" + root}}, checks{"read README.md access_denied", "read . access_denied"}},
		"above the workspace": {jptool.AccessPolicy{FS: []jptool.FsRule{all}, Deny: []string{"/" + base}}, checks{"read README.md access_denied"}},
		"no rules":            {jptool.AccessPolicy{Deny: []string{".env"}}, checks{"read .env access_denied", "read a/x.key allow"}},
		"everything":          {jptool.AccessPolicy{FS: []jptool.FsRule{all}, Deny: []string{"*"}}, checks{"read README.md access_denied", "create x access_denied", "read . allow"}},
		"a mount": {
			jptool.AccessPolicy{FS: []jptool.FsRule{all, mount("fork", base+"/ext", "read write")}, Deny: []string{".env", "fork/secrets"}},
			checks{"read fork/.env access_denied", "read fork/secrets/k access_denied", "read fork/f allow", "create fork/a/.env access_denied"},
		},
		"a mount by any of its names": {
			jptool.AccessPolicy{
				FS: []jptool.FsRule{
					all, mount("fork", base+"/ext", "read write"), mount(".env.d", base+"/ext", "read write"),
					mount("in", base+"/ext/secrets", "read write"),
				},
				Deny: []string{".env.d/f*", "**/in/k", "fork/secrets/new?", "**/fork/*.key"},
			},
			checks{
				"read fork/f access_denied", "read .env.d/f access_denied", "read fork/secrets/k access_denied", "read in/k access_denied",
				"create in/new1 access_denied", "create in/old allow", "create fork/x.key access_denied", "create fork/a/x.key allow",
				"read .env.d/secrets/k access_denied", "read fork/.env allow",
			},
		},
		"a mount by one of its links": {
			jptool.AccessPolicy{
				FS:   []jptool.FsRule{all, mount("fork", base+"/ext", "read write"), mount(".env.d", base+"/ext", "read write")},
				Deny: []string{"fork"},
			},
			checks{"read fork/f access_denied", "read .env.d/f access_denied", "read README.md allow"},
		},
		"a mount by its link": {
			jptool.AccessPolicy{FS: []jptool.FsRule{all, mount("fork", base+"/ext", "read write")}, Deny: []string{"fork"}},
			checks{"read fork/f access_denied", "read fork access_denied"},
		},
		"taken out of the list": {
			jptool.AccessPolicy{
				FS: []jptool.FsRule{all}, Deny: []string{"a/x.key"},
				Secrets: []string{"!/secrets", "!a/x.key", "**/.env", "**/.env.*", "!**/.env.local", "secrets/", ".ssh"},
			},
			checks{
				"read a/b/.env.local allow", "read .env access_denied", "read b/.env.other access_denied", "read secrets/in/z allow",
				"read deep/secrets/z access_denied", "create .ssh/.env.local access_denied", "create secrets/.env access_denied",
				"read a/x.key access_denied", "read l1 access_denied", "read .ssh/config access_denied",
			},
		},
		"two mounts of one place": {
			jptool.AccessPolicy{FS: []jptool.FsRule{all, mount("fork", base+"/ext", "read"), mount(".env.d", base+"/ext", "read"), mount("in", base+"/ext/secrets", "read")}, Deny: []string{"fork/f*", "fork/secrets/k*"}},
			checks{
				"read fork/f access_denied", "read .env.d/f access_denied", "read fork/secrets/k access_denied", "read .env.d/secrets/k access_denied",
				"read in/k access_denied", "read fork/.env allow",
			},
		},
		"a mount by its place": {
			jptool.AccessPolicy{FS: []jptool.FsRule{all, mount("fork", base+"/ext", "read write")}, Deny: []string{"ext/"}},
			checks{"read fork/f access_denied", "read fork access_denied"},
		},
		"secrets": {
			jptool.AccessPolicy{FS: []jptool.FsRule{all}, Secrets: []string{"**/.env", "**/.env.*", "/" + root + "/.ssh"}},
			checks{"read .env access_denied", "read a/b/.env.local access_denied", "read l1 access_denied", "read .ssh/id access_denied", "read conf/real allow"},
		},
		"secrets that rules name": {
			jptool.AccessPolicy{
				FS:      []jptool.FsRule{all, rule(".env", "read"), rule("a/.env", "read"), rule(".ssh/config", "read"), mount(".env.d", base+"/ext", "read")},
				Secrets: []string{"**/.env", "**/.env.*", "/" + root + "/.ssh"},
			},
			checks{
				"read .env allow", "update .env access_denied", "read a/.env allow", "read a/b/.env.local access_denied", "read .ssh/config allow",
				"read .ssh/id access_denied", "read .ssh access_denied", "read .env.d/f allow", "read .env.d/.env access_denied", "read l1 allow",
			},
		},
		"deny beats a rule that names a secret": {
			jptool.AccessPolicy{FS: []jptool.FsRule{all, rule(".env", "read")}, Secrets: []string{".env"}, Deny: []string{".env"}},
			checks{"read .env access_denied"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, withholding(t, root, tt.access), tt.want...)
		})
	}
}

func TestWithheldErrors(t *testing.T) {
	root := jptooltest.TempRoot(t)
	for _, bad := range []string{"!.env", "!!.env", "", "/", "~", "~/.netrc", "[", "a//b", "../x", "{a,b}", `x\`} {
		for _, access := range []*jptool.AccessPolicy{{Deny: []string{"x", bad}}, {Secrets: []string{bad}}} {
			if bad == "!.env" && access.Secrets != nil {
				continue
			}
			ctx := jptool.Context{Root: root, Action: jptool.Run, Access: access}
			if _, err := ctx.Open(); jptool.CodeOf(err) != jptool.CodeInvalidPolicy {
				t.Errorf("%q: %v", bad, err)
			}
		}
		if jptool.CheckGlob(bad) == nil {
			t.Errorf("%q is a pattern", bad)
		}
	}
}

// A refusal names the pattern and the place, also where nothing is there.
func TestWithheldMessage(t *testing.T) {
	root := jptooltest.TempRoot(t)
	ws := withholding(t, root, jptool.AccessPolicy{FS: []jptool.FsRule{rule(".", "read")}, Deny: []string{"keys/"}, Secrets: []string{"**/.env"}})
	for path, want := range map[string]string{
		"a/.env":     `access denied: cannot read a/.env: it is a place of secrets ("**/.env"), and no rule names it. If this is needed, ask the user to allow it: a rule that names a/.env does.`,
		"a/keys/b/c": `access denied: cannot read a/keys/b/c: ` + "`deny`" + ` ("keys/") withholds it, whatever the rules grant.`,
	} {
		_, err := ws.CheckRead(path)
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	_, err := ws.CheckRead("a/.env/b")
	if e, ok := err.(*jptool.DeniedError); !ok || e.At != "a/.env" || e.Covered != jptool.Read || !e.Withheld.Secret {
		t.Errorf("%+v", err)
	}
}

// TestWithheldMatchesGit holds the patterns to those of ignore files: what those would ignore is withheld.
func TestWithheldMatchesGit(t *testing.T) {
	root := jptooltest.TempRoot(t)
	part := rapid.SampledFrom([]string{"a", "b", ".env", "x.key"})
	segment := rapid.SampledFrom([]string{"a", "b", ".env", "*.key", "*", "**", ".e*", "[ab]"})
	rapid.Check(t, func(t *rapid.T) {
		var deny []string
		for range rapid.IntRange(1, 4).Draw(t, "patterns") {
			p := strings.Join(rapid.SliceOfN(segment, 1, 3).Draw(t, "segments"), "/")
			p = rapid.SampledFrom([]string{"", "", "/"}).Draw(t, "before") + p + rapid.SampledFrom([]string{"", "", "/"}).Draw(t, "after")
			deny = append(deny, p)
		}
		want, err := ignore.ParseGlobs(deny)
		if err != nil {
			t.Skip(err)
		}
		ctx := jptool.Context{Root: root, Action: jptool.Run, Access: &jptool.AccessPolicy{Deny: deny}}
		ws, err := ctx.Open()
		if err != nil {
			t.Fatal(err)
		}
		defer ws.Close()
		path := strings.Join(rapid.SliceOfN(part, 1, 4).Draw(t, "path"), "/")
		at, err := ws.CheckContent(path, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := at.Granted() == 0; got != want.Match(path) {
			t.Fatalf("%q withhold %q: %v, want %v", deny, path, got, want.Match(path))
		}
		top, _ := ws.CheckContent("", 0)
		c := top.Cursor()
		for name := range strings.SplitSeq(path, "/") {
			c = c.Child(name)
		}
		if c.Caps() != at.Granted() {
			t.Fatalf("%q, %q: a walk is granted %s, a check %s", deny, path, c.Caps(), at.Granted())
		}
	})
}

// A directory is moved only if nothing in it is withheld, and nothing would be under its new name.
func TestMoveWithheld(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file d/e/.env x", "file f/x.key x", "file g/y x", "dir keys")
	ws := withholding(t, root, jptool.AccessPolicy{FS: []jptool.FsRule{rule(".", "read write")}, Deny: []string{"keys/*.key"}, Secrets: []string{".env"}})
	for _, tt := range []struct {
		source, target string
		ok             bool
	}{{"d", "x", false}, {"d/e", "x", false}, {"f", "keys/f", true}, {"f", "x", true}, {"g", "x", true}, {"g", "y/z", true}} {
		source, err := ws.CheckDelete(tt.source)
		if err != nil {
			t.Fatal(err)
		}
		target, err := ws.CheckCreate(tt.target)
		if err != nil {
			t.Fatal(err)
		}
		err = ws.CheckMove(source, target, true)
		if (err == nil) != tt.ok {
			t.Errorf("%s to %s: %v", tt.source, tt.target, err)
		}
		// What is withheld is not named: "d/e/.env" may be a name that nobody knows.
		if err != nil && (!strings.Contains(err.Error(), "cannot delete "+tt.source+": something in it is withheld") || strings.Contains(err.Error(), "e/.env")) {
			t.Error(err)
		}
	}
	if _, err := ws.CheckCreate("keys/n.key"); jptool.CodeOf(err) != jptool.CodeAccessDenied {
		t.Error(err)
	}
	// A directory does not become one in which something in it would be withheld.
	other := withholding(t, root, jptool.AccessPolicy{Deny: []string{"k/*.key"}})
	source, err := other.CheckDelete("f")
	if err != nil {
		t.Fatal(err)
	}
	target, err := other.CheckCreate("k")
	if err != nil {
		t.Fatal(err)
	}
	if err := other.CheckMove(source, target, true); err == nil {
		t.Error("a directory was moved to where something in it is withheld")
	}
}
