package trust

import (
	"slices"
	"strings"
	"testing"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/consent"
)

func TestScripts(t *testing.T) {
	for _, c := range []struct {
		command string // words at blanks, or a shell script behind sh:
		want    string // the scripts; ? if every word may be one
	}{
		{"./x.sh data.txt", "./x.sh"},
		{"x data.txt", ""},
		{"sh x.sh data.txt", "x.sh"},
		{"bash -eu x.sh data.txt", "-eu x.sh"},
		{"bash -o pipefail x.sh data.txt", "-o pipefail x.sh"},
		{"python3 -u x.py data.txt", "-u x.py data.txt"}, // -u could have a value, so the next word may be the script too
		{"sh -- x.sh data.txt", "x.sh"},
		{".venv/bin/python -m pytest -q test_m.py", ".venv/bin/python"},
		{"python3.11 -W ignore x.py", "-W ignore x.py"},
		{"python -c code x.py", ""},
		{"node --require=./a.js -r ./b.js main.js data", "--require=./a.js ./a.js -r ./b.js main.js"},
		{"perl -Mfeature x.pl", "-Mfeature x.pl ?"},
		{"perl -ne code data", ""},
		{"env A=1 python x.py data", "x.py"},
		{"timeout 5 nice ./x.sh data", "./x.sh"},
		{"xargs -n 1 sh x.sh", "x.sh"},
		{"uv run x/y.py", "x/y.py"},
		{"uv run tool.py data.txt", "tool.py"},
		{"timeout 5 wc -l TODO.md", ""},
		{"make -f build.mk all", "build.mk"},
		{"make all", ""},
		{"awk -f p.awk data", "p.awk"},
		{"awk program data", ""},
		{"go run main.go", "main.go"},
		{"wc -l TODO.md", ""},
		{"sh:printf x >>TODO.md; wc -l TODO.md", ""},
		{"sh:cd a && ./x.sh | sort -o out", "./x.sh"},
		{"sh:sh <x.sh", "x.sh"},
		{"sh:cat x.sh | sh", "?"},
		{"sh:. ./env.sh; source more.sh", "./env.sh more.sh"},
		{"sh:$X y", "?"},
		{"sh:$X sh x.sh", "x.sh ?"},
		{"sh:S=x.sh; sh $S", "?"},
		{"sh:sh \"$D/x.sh\" data", "?"},
		{"sh:sh x.sh $D data", "x.sh"},
		{"sh:python \"$@\"", "?"},
		{"sh:sh -c \"$C\"", "?"},
		{"sh:. $E", "?"},
		{"sh:env $X", "?"},
		{"sh:timeout $T sh x.sh", "x.sh ?"},
		{"sh:wc -l $F", ""},
		{"sh:env A=$B sh x.sh data", "x.sh"},
		{"sh:awk program $F data", ""},
		{"sh:awk -f $P data", "?"},
		{"sh:eval \"sh x.sh\"", "?"},
		{"sh:if ./a; then python3 'b c.py' d; fi", "./a b c.py"},
		{"sh:sh -c './x.sh y'", "./x.sh"},
		{"sh:'", "?"},
		{"sh:\"./x\"y z", "./xy"},
	} {
		var command config.Command
		if script, ok := strings.CutPrefix(c.command, "sh:"); ok {
			command = config.Command{Program: script, Shell: true}
		} else {
			words := strings.Fields(c.command)
			command = config.Command{Program: words[0], Args: words[1:]}
		}
		list, sure := scripts(command)
		var got []string
		for _, n := range list {
			if n.script && !slices.Contains(got, n.word) {
				got = append(got, n.word)
			}
		}
		if !sure {
			got = append(got, "?")
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", c.command, got, c.want)
		}
	}
}

// A file that can be executed is a script wherever a command names it; one that becomes data is not one any more, which is
// a change.
func TestExecutableFilesAreScripts(t *testing.T) {
	w := newWorld(t).repo(`conversation.tools.t = { source = "local", command = "wrap deploy.sh notes.txt --hook=hook" }`)
	w.write("deploy.sh", "#!/bin/sh\n").write("notes.txt", "x").write("hook", "#!x")
	var runs []string
	for _, s := range w.widening() {
		if s.Runs != "" {
			runs = append(runs, s.Runs)
		}
	}
	if strings.Join(runs, " ") != "deploy.sh hook" {
		t.Errorf("%q", runs)
	}
}

// Where it is not known what a command runs, every file that it names counts, also in its arguments.
func TestEveryFileOfWhatIsNotUnderstood(t *testing.T) {
	for _, command := range []string{
		`{ program = "zsh", args = ["-fc", ". ./lint.sh"] }`,
		`{ program = "S=lint.sh; sh $S", shell = true }`,
		`{ program = "sh", args = ["-c", "for f in lint.sh; do . $f; done"] }`,
	} {
		w := newWorld(t).repo("conversation.tools.t = { source = 'local', command = "+command+" }").write("lint.sh", "true")
		if !slices.ContainsFunc(w.widening(), func(s consent.Setting) bool { return s.Runs == "lint.sh" }) {
			t.Errorf("%s: the script is not part of it", command)
		}
	}
}
