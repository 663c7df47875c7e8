package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/sandbox"
)

// The test binary is the host and its supervisor, which does not end by os.Exit: that takes a second
// under the race detector.
func TestMain(m *testing.M) {
	sandbox.Main()
	os.Exit(m.Run())
}

// runCommand runs a command line in a new directory with nothing configured but files.
func runCommand(t *testing.T, files map[string]string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	return commandWith(t, files, "", args...)
}

// commandWith is runCommand with something on standard input.
func commandWith(t *testing.T, files map[string]string, stdin string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws := filepath.Join(top, "ws")
	if err := os.MkdirAll(filepath.Join(ws, ".jp"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(ws, filepath.FromSlash(name)), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(ws)
	environ := []string{
		"HOME=" + filepath.Join(top, "home"), "XDG_DATA_HOME=" + filepath.Join(top, "data"),
		"XDG_CONFIG_HOME=" + filepath.Join(top, "conf"), "PATH=" + os.Getenv("PATH"),
	}
	var out, errs bytes.Buffer
	err = Run(t.Context(), environ, strings.NewReader(stdin), &out, &errs, args)
	return out.String(), errs.String(), err
}

// What goes wrong is said on standard error, with what to do on a second line, and with
// --json also as one object on standard output.
func TestErrors(t *testing.T) {
	broken := map[string]string{".jp/config.toml": "x = ["}
	unknown := map[string]string{".jp/config.toml": "[conversation.tools.fs_read_file]\nrnu = 'ask'\n"}
	for _, c := range []struct {
		args   string
		files  map[string]string
		status exit.Code
		want   string
		// report: the object is that of `run`.
		report bool
	}{
		{"", nil, exit.OK, "", false},
		{"frobnicate", nil, exit.Usage, "there is no command frobnicate\nsee: jphost --help", false},
		{"config get", nil, exit.Usage, "there is no command config get\nsee: jphost config --help", false},
		{"mounts get", nil, exit.Usage, "unexpected argument get\nsee: jphost mounts --help", false},
		{"run fs_read_file {", nil, exit.Usage, "the JSON ends too early\nits arguments are ", true},
		{"rn", nil, exit.Usage, `did you mean run?`, false},
		{"--frob tools", nil, exit.Usage, "unknown flag --frob\nsee: jphost --help", false},
		{"run", nil, exit.Usage, "<tool> is missing\nsee: jphost run --help", false},
		{"run fs_read_file --dry path=a", nil, exit.Usage, "unknown flag --dry, did you mean --dry-run?\nsee: jphost run --help", false},
		{"run fs_read_file --frob path=a", nil, exit.Usage, "unknown flag --frob\narguments of the tool have no dashes: frob=VALUE\nsee: jphost run --help", false},
		{"run fs_read_file --frob 5", nil, exit.Usage, "unknown flag --frob\narguments of the tool have no dashes: frob=5\nsee: jphost run --help", false},
		{"run fs_read_file --frob", nil, exit.Usage, "unknown flag --frob\narguments of the tool have no dashes: frob=VALUE\nsee: jphost run --help", false},
		{"run fs_read_file --path x", nil, exit.Usage, "arguments of the tool have no dashes: path=x\n", false},
		{"run fs_read_file --path=x", nil, exit.Usage, "arguments of the tool have no dashes: path=x\n", false},
		{"run fs_read_fil path=a", nil, exit.Usage, "there is no tool fs_read_fil\ndid you mean fs_read_file?", true},
		{"run fs_read_file", nil, exit.Usage, "`path`: is missing", true},
		{"run fs_read_file a", nil, exit.Usage, "did you mean path=a?", true},
		{"run fs_read_file path=a --answer x", nil, exit.Usage, "--answer x is not ID=VALUE", true},
		{"run fs_read_file path=a --answer x=1 --answer x=2", nil, exit.Usage, "--answer x was given twice", true},
		{"run fs_read_file path=a --cfg conversation.tools.fs_read_file.run=ask", nil, exit.Refused, "there is no terminal to ask on", true},
		{"run fs_read_file path=a", broken, exit.Usage, ".jp/config.toml:1:", true},
		{"tools", broken, exit.Usage, ".jp/config.toml:1:", false},
		{"tools", unknown, exit.Usage, ".jp/config.toml:2:1: conversation.tools.fs_read_file.rnu: unknown key\n  did you mean run?", false},
		{"tools fs_read_fil", nil, exit.Usage, "did you mean fs_read_file?", false},
		{"policy", nil, exit.Usage, "there is neither a tool nor --policy FILE", false},
		{"policy fs_read_file --root .", nil, exit.Usage, "-C DIR", false},
		{"policy --policy absent.json", nil, exit.Usage, "absent.json", false},
		{"explain", nil, exit.Usage, "there is no tool", false},
		{"explain fs_read_file", nil, exit.Usage, "there is no question", false},
		{"explain fs_read_file fly a", nil, exit.Usage, `"fly" is not a capability`, false},
		{"mount", nil, exit.Usage, "<spec> ... is missing", false},
		{"mount x", nil, exit.Usage, "mount: x: there is no `=`\nwrite it as NAME=PATH", false},
		{"mount x=absent", nil, exit.Usage, "mount: x=absent:ro: the target absent does not exist", false},
		{"mount fs_read_file:a=/usr fs_read_file:a/b=/usr", nil, exit.Usage, "mount: a/b lies below a", false},
		{"run fs_read_file path=a --mount x", nil, exit.Usage, "--mount: x: there is no `=`", true},
		{"run fs_read_file path=a --mount x=absent", nil, exit.Usage, "--mount: x=absent:ro: the target absent does not exist", true},
		{"unmount x", nil, exit.Usage, "unmount: x: no external rule names it", false},
		{"run fs_read_file path=a --no-mount=x", nil, exit.Usage, "--no-mount: x: no external rule names it", true},
		{"approvals approve x", nil, exit.Usage, "x leads nowhere", false},
		{"approvals revoke x", nil, exit.Usage, "none of these is approved", false},
		{"trust accept --digest x", map[string]string{".jp/config.toml": "[conversation.tools.fs_delete_file]\nrun = 'unattended'\n"}, exit.Refused, "another digest", false},
		{"trust accept", map[string]string{".jp/config.toml": "[conversation.tools.fs_delete_file]\nrun = 'unattended'\n"}, exit.Refused, "terminal", false},
		{"config", nil, exit.Usage, "see: jphost config --help", false},
		{"config show nosuch", nil, exit.Usage, "nosuch: unknown key\nknown keys here: ", false},
		{"config show conversation.tool", nil, exit.Usage, "conversation.tool: unknown key\ndid you mean tools?", false},
		{"config show conversation.tools.fs_read_fil.run", nil, exit.Usage, "there is no tool fs_read_fil\ndid you mean fs_read_file?", false},
		{"session forget fs_read_fil", nil, exit.Usage, "there is no tool fs_read_fil\ndid you mean fs_read_file?", false},
		{"config check", broken, exit.Usage, "not valid TOML", false},
		{"config init", broken, exit.Usage, "is there already", false},
		{"completion tcsh", nil, exit.Usage, `<shell> must be one of "bash","zsh","fish"`, false},
		{"tools -C absent", nil, exit.Usage, "name an existing directory", false},
		{"tools --conversation ../x", nil, exit.Usage, "is not a usable id", false},
		{"tools --cfg x", nil, exit.Usage, "write KEY=VALUE", false},
		{"tools --format xml", nil, exit.Usage, `--format must be one of "text","json"`, false},
	} {
		stdout, stderr, err := runCommand(t, c.files, strings.Fields(c.args)...)
		if got := exit.Of(err); got != c.status {
			t.Errorf("%s: status %d: %v", c.args, got, err)
		}
		if c.status == exit.OK {
			continue
		}
		if stdout != "" {
			t.Errorf("%s: standard output: %s", c.args, stdout)
		}
		said := strings.ReplaceAll(c.want, "\n", "\n  ")
		if !strings.Contains(stderr, "jphost: ") || !strings.Contains(stderr, strings.ReplaceAll(said, "\n    ", "\n  ")) {
			t.Errorf("%s: standard error: %s", c.args, stderr)
		}
		for _, flags := range [][]string{{"--json"}, {"--format", "json"}, {"--format=json"}} {
			args := append(flags, strings.Fields(c.args)...)
			if strings.Contains(c.args, "--format") {
				args = append([]string{"--json"}, strings.Fields(c.args)...)
			}
			stdout, _, _ := runCommand(t, c.files, args...)
			var v struct {
				Message string
				Code    string
				Exit    *int
				Status  *int
				Outcome struct{ Type, Message string }
			}
			dec := json.NewDecoder(strings.NewReader(stdout))
			if err := dec.Decode(&v); err != nil || dec.More() {
				t.Errorf("%s %s: not one object: %s", flags, c.args, stdout)
				continue
			}
			status, message := v.Exit, v.Message
			if c.report {
				status, message = v.Status, v.Outcome.Message
			} else if v.Code != c.status.String() {
				t.Errorf("%s %s: code %q", flags, c.args, v.Code)
			}
			if status == nil || *status != int(c.status) || !strings.Contains(message, c.want) {
				t.Errorf("%s %s: %s", flags, c.args, stdout)
			}
		}
	}
}

// Where a command prints its value, a failure adds nothing to it.
func TestOneValue(t *testing.T) {
	stdout, _, err := runCommand(t, nil, "explain", "fs_read_file", "write", "a", "--json")
	if exit.Of(err) != exit.Refused || strings.Count(stdout, "\n") != 1 || !strings.Contains(stdout, `"allowed":false`) {
		t.Errorf("%v: %s", err, stdout)
	}
	stdout, _, err = runCommand(t, nil, "tools", "--names", "--json")
	var names []string
	if json.Unmarshal([]byte(stdout), &names) != nil || len(names) != 7 {
		t.Errorf("%v: %s", err, stdout)
	}
}

// The format of an error is what the line asks for before the word that is wrong.
func TestFormatOfErrors(t *testing.T) {
	for args, want := range map[string]bool{
		"frob": false, "--json frob": true, "--format json frob": true, "--format=json run t --frob": true, "run --json": true,
		"--format text frob": false, "frob --json": false, "run json": false, "run t --json --frob": true,
		"--cfg=--json frob": false, "--json=false frob": false, "sandbox exec --frob -- x --json": false,
	} {
		stdout, stderr, err := runCommand(t, nil, strings.Fields(args)...)
		if got := strings.HasPrefix(stdout, `{"message":`); exit.Of(err) != exit.Usage || got != want || stderr == "" {
			t.Errorf("%s: %v: %s%s", args, err, stdout, stderr)
		}
	}
}
