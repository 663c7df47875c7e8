package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/jptools/jptools/host/internal/cli"
	"github.com/jptools/jptools/host/internal/exit"
)

// wrongTools are the tools that internal/config/testdata/wrong.txt takes for granted; there
// they are the built-in layer, here the user's own file.
const wrongTools = `
[conversation.tools.x]
source = "local"
command = "sh"

[conversation.tools.clock]
source = "builtin"

[conversation.tools.issues]
source = "mcp.github.list_issues"
`

var update = flag.Bool("update", false, "write what is said into testdata/wrong.txt; read every word before sending it")

// bench is a machine of its own for one case: a workspace, what lies outside, and the user's files.
type bench struct {
	t       *testing.T
	ws, ext string
	user    string
	env     []string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, ws: filepath.Join(dir, "ws"), ext: filepath.Join(dir, "ext"), user: filepath.Join(dir, "conf", "jphost", "config.toml")}
	b.env = []string{
		"HOME=" + dir, "XDG_DATA_HOME=" + filepath.Join(dir, "data"), "XDG_CONFIG_HOME=" + filepath.Join(dir, "conf"),
		"JPHOST_SESSION=wrong", "PATH=" + os.Getenv("PATH"),
	}
	for _, d := range []string{filepath.Join(b.ws, ".jp"), filepath.Join(b.ext, "x"), filepath.Dir(b.user)} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b.write(b.user, wrongTools)
	return b
}

func (b *bench) write(name, content string) {
	b.t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// jphost runs a command line; the paths of the bench are $WS, $EXT and $USER in what it says.
func (b *bench) jphost(args ...string) (exit.Code, string) {
	b.t.Helper()
	code, _, said := b.output(args...)
	return code, strings.NewReplacer(b.ws, "$WS", b.ext, "$EXT", b.user, "$USER").Replace(said)
}

// output is jphost with what it printed and said, as it is.
func (b *bench) output(args ...string) (code exit.Code, stdout, stderr string) {
	b.t.Helper()
	var out, said bytes.Buffer
	err := cli.Run(b.t.Context(), b.env, strings.NewReader(""), &out, &said, append([]string{"-C", b.ws}, args...))
	return exit.Of(err), out.String(), said.String()
}

// blocks splits a table: `=== name`, then parts separated by `---`.
func blocks(t *testing.T, name string, parts int) [][]string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var list [][]string
	for block := range strings.SplitSeq("\n"+string(data), "\n=== ") {
		title, rest, ok := strings.Cut(block, "\n")
		if !ok || title == "" {
			continue
		}
		fields := append([]string{title}, strings.Split("\n"+strings.TrimSuffix(rest, "\n"), "\n---\n")...)
		if len(fields) != parts+1 {
			t.Fatalf("%s: %s has %d parts, want %d", name, title, len(fields)-1, parts)
		}
		list = append(list, fields)
	}
	return list
}

// placed is a problem as it must begin: a file and line, or the flag or variable; then a key.
var placed = regexp.MustCompile(`^jphost: (\S+:\d+:\d+|--cfg .*|JP_CFG_\w+): (not valid TOML: |[a-z]\S*('[^']*')?: |values are |tables are )`)

// Every wrong configuration that the loader knows is refused by `config check`, with the
// loader's own words: file, line, key, and on the next line what to do.
func TestConfigCheckRefusesWrongConfigs(t *testing.T) {
	cases := blocks(t, filepath.Join("internal", "config", "testdata", "wrong.txt"), 2)
	if len(cases) < 40 {
		t.Fatalf("%d cases; want at least 40", len(cases))
	}
	// A source that the loader's own test has built in stands in the user's file here.
	source := regexp.MustCompile(`\((built-in|\$USER):\d+:\d+\)`)
	for _, c := range cases {
		t.Run(c[0], func(t *testing.T) {
			b := newBench(t)
			b.write(filepath.Join(b.ws, ".jp", "config.toml"), strings.TrimPrefix(c[1], "\n")+"\n")
			code, said := b.jphost("config", "check")
			want := regexp.MustCompile(`(?m)^/ws/`).ReplaceAllString(c[2], "jphost: $$WS/")
			want = strings.ReplaceAll(want, "(/ws/", "($WS/")
			said, want = source.ReplaceAllString(said, "(SOURCE)"), source.ReplaceAllString(want, "(SOURCE)")
			if code != exit.Usage || said != want+"\n" {
				t.Errorf("exit status %d, said\n%s\nwant\n%s", code, said, want)
			}
			wellFormed(t, said)
		})
	}
}

// wellFormed checks that each problem has its place and key, and a remedy below it.
func wellFormed(t *testing.T, said string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(said, "\n"), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "  ") {
			continue
		}
		if !placed.MatchString(line) {
			t.Errorf("no place and key: %s", line)
		}
		if i+1 == len(lines) || !strings.HasPrefix(lines[i+1], "  ") {
			t.Errorf("no remedy after: %s", line)
		}
	}
}

// What is wrong only together with the tree, or with other layers, is refused by `config check`
// too. Each case of testdata/wrong.txt has a tree and other layers, the workspace's file, and
// all that is said; it starts with the exit status.
func TestConfigCheckRefusesWrongTrees(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symlinks need a privilege on Windows")
	}
	cases := blocks(t, filepath.Join("testdata", "wrong.txt"), 3)
	if len(cases) < 15 {
		t.Fatalf("%d cases; want at least 15", len(cases))
	}
	var out strings.Builder
	for _, c := range cases {
		t.Run(c[0], func(t *testing.T) {
			b := newBench(t)
			args := b.tree(c[1])
			b.write(filepath.Join(b.ws, ".jp", "config.toml"), c[2]+"\n")
			for _, words := range args[1:] {
				if code, said := b.jphost(words...); code != exit.OK {
					t.Fatalf("jphost %q: %d %s", words, code, said)
				}
			}
			code, said := b.jphost(append(args[0], "config", "check")...)
			status, want, _ := strings.Cut(c[3], "\n")
			got := map[exit.Code]string{exit.OK: "accepted", exit.Usage: "refused"}[code]
			said = strings.TrimSuffix(said, "\n")
			if (got != status || said != want) && !*update {
				t.Errorf("%s (%d), said\n%s\nwant %s\n%s", got, code, said, status, want)
			}
			out.WriteString("=== " + strings.Join([]string{c[0] + c[1], c[2], strings.TrimSuffix(got+"\n"+said, "\n")}, "\n---\n") + "\n")
			if status == "refused" {
				wellFormed(t, said)
			}
		})
	}
	if *update {
		if err := os.WriteFile(filepath.Join("testdata", "wrong.txt"), []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// tree makes what the lines say:
//
//	dir PATH, file PATH, link PATH TARGET
//	layer PATH CONTENT     a file of configuration, \n for line ends
//	env NAME=VALUE         a variable
//	cfg SETTING            a --cfg of the check
//	run WORDS              a command line of jphost before the check
//
// The first of the result are the flags of the check, the rest are the command lines.
func (b *bench) tree(lines string) [][]string {
	b.t.Helper()
	expand := strings.NewReplacer("$WS", b.ws, "$EXT", b.ext, "$USER", b.user, `\n`, "\n").Replace
	args := [][]string{nil}
	for line := range strings.SplitSeq(strings.TrimSpace(lines), "\n") {
		verb, rest, _ := strings.Cut(line, " ")
		rest = expand(rest)
		first, second, _ := strings.Cut(rest, " ")
		var err error
		switch verb {
		case "":
		case "dir":
			err = os.MkdirAll(filepath.Join(b.ws, first), 0o755)
		case "file":
			b.write(filepath.Join(b.ws, first), "")
		case "link":
			err = os.Symlink(second, filepath.Join(b.ws, first))
		case "layer":
			b.write(first, second)
		case "env":
			b.env = append(b.env, rest)
		case "cfg":
			args[0] = append(args[0], "--cfg", rest)
		case "run":
			args = append(args, strings.Fields(rest))
		default:
			b.t.Fatalf("%s: no such line", line)
		}
		if err != nil {
			b.t.Fatal(err)
		}
	}
	return args
}
