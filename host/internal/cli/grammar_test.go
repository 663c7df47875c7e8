package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// heard is what became of a command line.
type heard struct {
	Said, Error string
	Run         runCmd
	Globals     globals
}

// with reads a command line with a grammar.
func with(t *testing.T, args []string, g any) heard {
	t.Helper()
	var said bytes.Buffer
	parser, err := newParser(g, &said, &said)
	if err != nil {
		t.Fatal(err)
	}
	r := heard{}
	if _, err = parse(parser, reorder(parser.Model, args)); err != nil {
		r.Error = err.Error()
	}
	r.Said = said.String()
	switch g := g.(type) {
	case *grammar:
		// Defaults are filled in for all other commands, too.
		r.Run, r.Globals = g.Run, g.globals
	case *runGrammar:
		r.Run, r.Globals = g.Run, g.globals
	}
	return r
}

// What `run` is read with says and takes the same as the whole grammar.
func TestCommands(t *testing.T) {
	for _, line := range []string{
		"run", "run --help", "run t a=1 --json b:=2 -C / c=3", "run t --no-mount x a=1 --mount t:x=/y:rw --answer q=1 --answer q.token=2", "run t --no-mount",
		"run t --no-such", "run t --format x", "run t -- --json", "run --cfg a=b t - --dry-run --preview --allow-sensitive --no-input", "run t --conversation",
	} {
		args := strings.Fields(line)
		small, _ := commands(args)
		if _, all := small.(*grammar); all {
			t.Fatalf("%s: %T", line, small)
		}
		got, want := with(t, args, small), with(t, args, &grammar{})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -whole +small\n%s", line, diff)
		}
		if strings.Contains(line, "help") != (got.Said != "") || got.Said == "" && got.Error == "" && got.Run.Tool == "" {
			t.Errorf("%s: %+v", line, got)
		}
	}
	for _, line := range []string{"", "tools run", "sandbox exec -- x", "sandbox plan", "sandbox --help", "--json sandbox exec", "--json run x"} {
		if g, _ := commands(strings.Fields(line)); g == nil {
			t.Error(line)
		} else if _, ok := g.(*grammar); !ok {
			t.Errorf("%s: %T", line, g)
		}
	}
}
