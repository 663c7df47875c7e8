package mount

import (
	"path"
	"strings"
	"testing"
)

// RFD D43, "--mount and --no-mount" and "Mode rules".
func TestSpecForms(t *testing.T) {
	for in, want := range map[string]Spec{
		"fork=~/code/forks/serde-yaml":          {"", "fork", "~/code/forks/serde-yaml", false},
		"fork=~/code/forks/serde-yaml:ro":       {"", "fork", "~/code/forks/serde-yaml", false},
		"fs_modify_file:fork=~/code/forks/x:rw": {"fs_modify_file", "fork", "~/code/forks/x", true},
		"fs_modify_file:fork=~/code/forks/x":    {"fs_modify_file", "fork", "~/code/forks/x", false},
		"a=/p1":                                 {"", "a", "/p1", false},
		"b=/p2:ro":                              {"", "b", "/p2", false},
		`fs_read_file:fork=C:\code\forks\x:ro`:  {"fs_read_file", "fork", `C:\code\forks\x`, false},
		`fork=C:\code\forks\x`:                  {"", "fork", `C:\code\forks\x`, false},
		"foo/bar/baz=~/x":                       {"", "foo/bar/baz", "~/x", false},
		"../qux/baz=~/x":                        {"", "../qux/baz", "~/x", false},
		"a=/p=q":                                {"", "a", "/p=q", false},
		"a=/p:ro:ro":                            {"", "a", "/p:ro", false},
		"a=/p:RW":                               {"", "a", "/p:RW", false},
		"_t1:n=/p:rw":                           {"_t1", "n", "/p", true},
		"t:na:me=/p":                            {"t", "na:me", "/p", false},
		"a=:rox":                                {"", "a", ":rox", false},
	} {
		got, err := ParseSpec(in)
		if err != nil || got != want {
			t.Errorf("ParseSpec(%q) = %+v, %v; want %+v", in, got, err, want)
		}
	}
}

func TestSpecErrorsSayWhatToWrite(t *testing.T) {
	for in, want := range map[string]string{
		"fork=~/x:rw":                       "`:rw` needs a tool\nname the one tool that may write: fs_modify_file:fork=~/x:rw",
		"fork":                              "there is no `=`\nwrite it as NAME=PATH",
		"fork=":                             "PATH is empty\nname what to mount after the `=`, such as fork=~/code/fork",
		"fork=:ro":                          "PATH is empty",
		"=/p":                               "NAME is empty",
		"t:=/p":                             "NAME is empty",
		"Tool:fork=/p":                      "Tool is no tool name\na tool name holds a-z, 0-9 and _",
		"1t:fork=/p":                        "1t is no tool name",
		":fork=/p":                          `"" is no tool name`,
		"/abs/fork=/p":                      "NAME is absolute\nwrite NAME relative to the current directory",
		"t:/abs=/p":                         "NAME is absolute",
		`C:\ws\fork=/p`:                     "NAME is absolute",
		`C:/ws/fork=/p`:                     "NAME is absolute",
		"~/fork=/p":                         "NAME starts in the home directory",
		"fo\nrk=/p":                         "NAME holds characters that do not print",
		"fork\u202e=/p":                     "NAME holds characters that do not print",
		"fo\x00rk=/p":                       "it is too long or not plain text",
		"fork=\xff":                         "it is too long or not plain text",
		"a=" + strings.Repeat("x", maxSpec): "it is too long",
	} {
		_, err := ParseSpec(in)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "--mount") || !strings.Contains(err.Error(), "\n") {
			t.Errorf("ParseSpec(%.60q): %v; want %q", in, err, want)
			continue
		}
		if strings.ContainsAny(err.Error(), "\x1b\x00\u202e") {
			t.Errorf("the message is not safe to show: %q", err)
		}
	}
}

// RFD D43, "NAME grammar": its five examples, then ours.
func TestNameGrammar(t *testing.T) {
	for _, c := range []struct{ cwd, name, want, err string }{
		{"", "foo/bar/baz", "foo/bar/baz", ""},
		{"foo", "baz", "foo/baz", ""},
		{"foo", "../qux/baz", "qux/baz", ""},
		{"foo", "../baz", "baz", ""},
		{"", "../baz", "", "path escapes the workspace"},
		{"foo", "../../baz", "", "path escapes the workspace"},
		{"foo", "../../ws/baz", "", "path escapes the workspace"},
		{"", "./a//b/./c/", "a/b/c", ""},
		{"", "..b", "..b", ""},
		{"", ".", "", "it is the workspace root itself"},
		{"foo", "..", "", "it is the workspace root itself"},
		{"", "/ws/fork", "", "absolute paths are not permitted"},
		{"", ".jp", "", ".jp is managed by the host"},
		{"", ".jp/tools/x", "", ".jp is managed by the host"},
		{"", ".JP/x", "", ".jp is managed by the host"},
		{"foo", "../.jp/x", "", ".jp is managed by the host"},
		{"foo", ".jp", "foo/.jp", ""},
		{"", ".jp.toml", "", ".jp.toml configures the host"},
		{"foo", ".jp.toml", "", ".jp.toml configures the host"},
		{"", ".jpx", ".jpx", ""},
		{"", ".git", "", ".git is managed by git"},
		{"", ".git/hooks/x", "", ".git is managed by git"},
		{"foo", "../.GIT/x", "", ".git is managed by git"},
		{"foo", ".git/x", "", ".git is managed by git"},
		{"", ".github/x", ".github/x", ""},
		{"/elsewhere", "fork", "fork", ""},
		{"/wsx", "a/fork", "a/fork", ""},
		{"/wsx", "../ws/fork", "", "path escapes the workspace"},
	} {
		cwd := c.cwd
		if !strings.HasPrefix(cwd, "/") {
			cwd = strings.TrimSuffix("/ws/"+cwd, "/")
		}
		got, err := ResolveName(c.name, cwd, "/ws")
		if got.Slash() != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("in %s, %q: %q, %v; want %q, %q", cwd, c.name, got.Slash(), err, c.want, c.err)
		}
	}
}

func FuzzParseSpec(f *testing.F) {
	for _, s := range []string{
		"fork=~/x", "fs_modify_file:fork=~/code/forks/x:rw", `fs_read_file:fork=C:\code:ro`, "../../x=/p", "a=/p:ro:rw",
		"t:../.jp/x=/p:rw", "a/../../b=/p", ".JP=/", "a\\..\\..\\b=/p", "x:y:z=a=b:ro",
	} {
		f.Add(s, "foo/bar")
	}
	f.Fuzz(func(t *testing.T, in, cwd string) {
		s, err := ParseSpec(in)
		if err != nil {
			if s != (Spec{}) || strings.ContainsAny(err.Error(), "\x1b\r\x00") {
				t.Fatalf("ParseSpec(%q) = %+v, %q", in, s, err)
			}
			return
		}
		if again, err := ParseSpec(s.String()); err != nil || again != s {
			t.Fatalf("%q became %q, which parses as %+v, %v", in, s, again, err)
		}
		if s.write && s.tool == "" {
			t.Fatalf("%q grants writing to every tool", in)
		}
		at := path.Clean("/ws/" + strings.Trim(cwd, "/"))
		rel, err := ResolveName(s.name, at, "/ws")
		if err != nil {
			return
		}
		// An independent reading: where the kernel would put it if nothing is a symlink.
		put := path.Join("/ws", rel.Slash())
		if !strings.HasPrefix(put, "/ws/") || strings.HasPrefix(strings.ToLower(put)+"/", "/ws/.jp/") {
			t.Fatalf("in %q, %q goes to %q", at, s.name, put)
		}
		if want := path.Join(at, s.name); want != put {
			t.Fatalf("in %q, %q goes to %q, not %q", at, s.name, put, want)
		}
	})
}
