package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// read is what became of a command line.
type read struct {
	Said, Error string
	Exec        sandboxExecCmd
	Run         runCmd
	Globals     globals
}

// with reads a command line with a grammar.
func with(t *testing.T, args []string, g any) read {
	t.Helper()
	var said bytes.Buffer
	parser, err := newParser(g, &said, &said)
	if err != nil {
		t.Fatal(err)
	}
	r := read{}
	if _, err = parse(parser, reorder(parser.Model, args)); err != nil {
		r.Error = err.Error()
	}
	r.Said = said.String()
	switch g := g.(type) {
	case *grammar:
		// Defaults are filled in for all other commands, too.
		if r.Globals = g.globals; args[0] == "run" {
			r.Run = g.Run
		} else {
			r.Exec = g.Sandbox.Exec
		}
	case *execGrammar:
		r.Exec, r.Globals = g.Sandbox.Exec, g.globals
	case *runGrammar:
		r.Run, r.Globals = g.Run, g.globals
	}
	return r
}

// What `run` and `sandbox exec` are read with says and takes the same as the whole grammar.
func TestCommands(t *testing.T) {
	for _, line := range []string{
		"sandbox exec", "sandbox exec --help", "sandbox exec --rw . --net -C / --json -- true --rw x", "sandbox exec --rw . true -x",
		"sandbox exec --no-such -- true", "sandbox exec --tier none -- true", "sandbox exec --ro", "sandbox exec --help -- true", "sandbox exec --format x -- true",
		"run", "run --help", "run t a=1 --json b:=2 -C / c=3", "run t --no-mount x a=1 --mount t:x=/y:rw --answer q=1 --answer q.token=2", "run t --no-mount",
		"run t --no-such", "run t --format x", "run t -- --json", "run --cfg a=b t - --dry-run --preview --allow-sensitive --no-input", "run t --conversation",
	} {
		args := strings.Fields(line)
		small, _ := commands(args)
		if _, all := small.(*grammar); all {
			t.Fatalf("%s: %T", line, small)
		}
		got, want := with(t, args, small), with(t, args, &grammar{})
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(sandboxExecCmd{})); diff != "" {
			t.Errorf("%s: -whole +small\n%s", line, diff)
		}
		if strings.Contains(line, "help") != (got.Said != "") || got.Said == "" && got.Error == "" && len(got.Exec.Command) == 0 && got.Run.Tool == "" {
			t.Errorf("%s: %+v", line, got)
		}
	}
	for _, line := range []string{"", "tools run", "sandbox", "sandbox plan", "sandbox --help", "--json sandbox exec", "--json run x"} {
		if g, _ := commands(strings.Fields(line)); g == nil {
			t.Error(line)
		} else if _, ok := g.(*grammar); !ok {
			t.Errorf("%s: %T", line, g)
		}
	}
}
