package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/defaults"
)

func TestArguments(t *testing.T) {
	cfg, err := config.Load(config.Options{Defaults: defaults.Layer})
	if err != nil {
		t.Fatal(err)
	}
	tool, _ := cfg.Tool("fs_read_file")
	for _, c := range []struct {
		words, want string
	}{
		{"", `{}`},
		{"path=a.txt", `{"path":"a.txt"}`},
		{"path=", `{"path":""}`},
		{"path=a=b", `{"path":"a=b"}`},
		{"path:=[1,2]", `{"path":[1,2]}`},
		{"path=a path=b", `{"path":["a","b"]}`},
		{"path=a path:=2 path=c", `{"path":["a",2,"c"]}`},
		{`path="q"`, `{"path":"\"q\""}`},
		{`{"a":1}`, `{"a":1}`},
		{"-", `{"from":"stdin"}`},
		{"path", "error: the argument path is not KEY=VALUE\ndid you mean path=path?"},
		{"=x", "error: the argument =x is not KEY=VALUE\ndid you mean path==x?"},
		{"path:={", "error: the value of path: is not JSON: {\nwrite path=TEXT for a text"},
		{"path=\xff", "error: the argument \"path=\\xff\" is not valid UTF-8\nJSON has no other text, so no tool can be given it"},
		{"a=1 -", "error: - and other arguments do not go together\ngive one JSON object, or only KEY=VALUE"},
	} {
		got, err := arguments(strings.Fields(c.words), tool, strings.NewReader(`{"from":"stdin"}`))
		text := string(got)
		if err != nil {
			text = "error: " + err.Error()
		} else if !json.Valid(got) {
			t.Errorf("%s: no JSON", c.words)
		}
		if text != c.want {
			t.Errorf("%s: got %s, want %s", c.words, text, c.want)
		}
	}
}

func TestReorder(t *testing.T) {
	var g grammar
	parser, err := newParser(&g, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"run t a=1 --json b=2", "run --json -- t a=1 b=2"},
		{"run t --format json a=1 -", "run --format json -- t a=1 -"},
		{"--conversation run run t", "--conversation run run -- t"},
		{"-C explain run t", "-C explain run -- t"},
		{"run t --no-mount fork a=1", "run --no-mount=fork -- t a=1"},
		{"run t --no-mount a=1", "run --no-mount -- t a=1"},
		{"run --no-mount t a=1", "run --no-mount -- t a=1"},
		{"run t --no-mount", "run --no-mount -- t"},
		{"run t -- --json", "run -- t --json"},
		{"explain t read x --json", "explain --json -- t read x"},
		{"explain t command ls --json -l", "explain -- t command ls --json -l"},
		{"explain --policy f command ls -l", "explain --policy f -- command ls -l"},
		{"explain t read command --json", "explain --json -- t read command"},
		{"tools run --json", "tools run --json"},
		{"--help", "--help"},
	} {
		if got := strings.Join(reorder(parser.Model, strings.Fields(c.args)), " "); got != c.want {
			t.Errorf("%s: got %s, want %s", c.args, got, c.want)
		}
	}
}

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
	if os.Geteuid() == 0 {
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
		rel, err := filepath.Rel(top, findRoot(at(cwd), at("home")))
		if err != nil {
			t.Fatal(err)
		}
		got[cwd] = filepath.ToSlash(rel)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Every command teaches: it has a help text, and those that take arguments have examples.
func TestEveryCommandHasHelp(t *testing.T) {
	var g grammar
	parser, err := newParser(&g, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range collect(parser.Model.Node, "") {
		for _, s := range append(w.subs, w.flags...) {
			if s.help == "" {
				t.Errorf("%s %s has no help", w.path, s.name)
			}
		}
		node := parser.Model.Node
		for part := range strings.FieldsSeq(w.path) {
			for _, child := range node.Children {
				if child.Name == part {
					node = child
					break
				}
			}
		}
		if len(node.Positional) > 0 && !strings.Contains(node.Detail, "jphost "+w.path) {
			t.Errorf("the help of %q has no example", w.path)
		}
	}
}
