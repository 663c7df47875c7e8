package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What `sandbox exec` is read with says and takes the same as the whole grammar.
func TestCommands(t *testing.T) {
	for _, line := range []string{
		"sandbox exec", "sandbox exec --help", "sandbox exec --rw . --net -C / --json -- true --rw x", "sandbox exec --rw . true -x",
		"sandbox exec --no-such -- true", "sandbox exec --tier none -- true", "sandbox exec --ro", "sandbox exec --help -- true", "sandbox exec --format x -- true",
	} {
		args := strings.Fields(line)
		small, _ := commands(args)
		if _, ok := small.(*execGrammar); !ok {
			t.Fatalf("%s: %T", line, small)
		}
		all := &grammar{}
		type read struct {
			Said, Error string
			Command     sandboxExecCmd
			Globals     globals
		}
		by := func(g any, command *sandboxExecCmd, global *globals) read {
			var said bytes.Buffer
			parser, err := newParser(g, &said, &said)
			if err != nil {
				t.Fatal(err)
			}
			r := read{}
			if _, err = parse(parser, args); err != nil {
				r.Error = err.Error()
			}
			r.Said, r.Command, r.Globals = said.String(), *command, *global
			return r
		}
		exec := small.(*execGrammar)
		got, want := by(small, &exec.Sandbox.Exec, &exec.globals), by(all, &all.Sandbox.Exec, &all.globals)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(sandboxExecCmd{})); diff != "" {
			t.Errorf("%s: -whole +small\n%s", line, diff)
		}
		if strings.Contains(line, "help") != (got.Said != "") || got.Said == "" && got.Error == "" && len(got.Command.Command) == 0 {
			t.Errorf("%s: %+v", line, got)
		}
	}
	for _, line := range []string{"", "run x", "sandbox", "sandbox plan", "sandbox --help", "--json sandbox exec"} {
		if g, _ := commands(strings.Fields(line)); g == nil {
			t.Error(line)
		} else if _, ok := g.(*grammar); !ok {
			t.Errorf("%s: %T", line, g)
		}
	}
}
