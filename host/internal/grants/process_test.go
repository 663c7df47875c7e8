package grants

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

func TestFindRoot(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(p string) string { return filepath.Join(top, filepath.FromSlash(p)) }
	for _, dir := range []string{
		"home/.jp", "home/jp/.jp", "home/jp/sub/.git", "home/jp/sub/deep", "home/git/.git", "home/git/sub",
		"home/toml/sub/sub", "home/plain/sub", "home/open/.jp", "home/open/sub", "home/theirs/.jp", "home/theirs/sub", "home/linked/sub", "home/shared/.jp", "home/shared/sub",
	} {
		if err := os.MkdirAll(at(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"home/toml/.jp.toml", "home/toml/sub/.jp.toml"} {
		if err := os.WriteFile(at(file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(at("home/jp/.jp"), at("home/linked/.jp")); err != nil {
		t.Fatal(err)
	}
	for _, open := range []string{"home/open", "home/theirs", "home/linked", "home/shared"} {
		if err := os.Chmod(at(open), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]string{}
	want := map[string]string{
		"home/jp/sub/deep": "home/jp", "home/git/sub": "home/git", "home/toml/sub/sub": "home/toml",
		"home/plain/sub": "home/plain/sub", "home": "home",
		// What a tool makes of a directory's mode does not take its rules away.
		"home/open/sub": "home/open", "home/open": "home/open",
	}
	// Anybody could have put the mark into a directory that anybody may write to.
	if jptooltest.Root(t) {
		for _, mark := range []string{"home/theirs/.jp", "home/linked/.jp", "home/shared"} {
			if err := os.Lchown(at(mark), 1, 1); err != nil {
				t.Fatal(err)
			}
		}
		want["home/theirs/sub"], want["home/theirs"] = "home/theirs/sub", "home/theirs"
		want["home/linked/sub"], want["home/shared/sub"] = "home/linked/sub", "home/shared/sub"
	} else {
		t.Log("not tried, as this is not root: a mark of another user")
	}
	for cwd := range want {
		rel, err := filepath.Rel(top, FindRoot(at(cwd), at("home")))
		if err != nil {
			t.Fatal(err)
		}
		got[cwd] = filepath.ToSlash(rel)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
