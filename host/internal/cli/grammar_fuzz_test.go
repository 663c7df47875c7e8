package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/jptools/jptools/host/internal/exit"
)

// Whatever the words are: reading them ends with a command, with help or with an error of usage; words after -- stay as
// they are; and a flag of every command before them changes nothing but itself.
func FuzzRead(f *testing.F) {
	for _, s := range []string{
		"run t a=1 --json b=2", "run t --no-mount fork -- -x", "sandbox exec -qx -- true", "sandbox plan --ro . -- make -j", "explain t command ls --json",
		"-é", "--", "-", "--=", "-C", "-Cq run", "help help", "--help=x trust", "--version --json", "trust --yes", "run t --cfg --json", "\xff -\xff --\xff",
		"tools -- a b c d e f g h i", "trust -- a b c d e f g h i", "approvals approve a -- b c d e f g h i j k", "help -- a b c d e f g h i j", "version --",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		words := strings.Split(text, " ")
		long := append(slices.Clone(words), strings.Split("-a -- b --json c -d e f -C g", " ")...)
		for _, line := range [][]string{words, long} {
			l, err := read(line)
			if l == nil || err == nil && l.run == nil || err != nil && err != errHelp && exit.Of(err) != exit.Usage {
				t.Fatalf("%q: %+v, %v", line, l, err)
			}
		}
		l, err := read(append([]string{"run", "t", "--"}, words...))
		if c, ok := l.run.(*runCmd); err != nil || !ok || !slices.Equal(c.Args, words) {
			t.Fatalf("%q: %v, %+v", words, err, l.run)
		}
		l, err = read(append([]string{"sandbox", "exec", "--"}, words...))
		if c, ok := l.run.(*sandboxExecCmd); err != nil || !ok || !slices.Equal(c.Command, words) {
			t.Fatalf("%q: %v, %+v", words, err, l.run)
		}
		l, err = read(append([]string{"sandbox", "plan", "t", "--"}, long...))
		if c, ok := l.run.(*sandboxPlanCmd); err != nil || !ok || c.program || !slices.Equal(c.Command, long) {
			t.Fatalf("%q: %v, %+v", long, err, l.run)
		}
		l, err = read(append([]string{"sandbox", "exec", "p"}, long...))
		if c, ok := l.run.(*sandboxExecCmd); err != nil || !ok || c.dashed || !slices.Equal(c.Command[1:], long) {
			t.Fatalf("%q: %v, %+v", long, err, l.run)
		}
		first, err1 := read(append([]string{"--no-input"}, words...))
		second, err2 := read(words)
		if (err1 == nil) != (err2 == nil) && len(words) > 0 {
			t.Fatalf("%q: %v, and behind --no-input: %v", words, err2, err1)
		}
		if _, version := first.run.(*versionCmd); !version && err1 == nil && (!first.NoInput || first.node().Path() != second.node().Path()) {
			t.Fatalf("%q: %s, and behind --no-input: %s", words, second.node().Path(), first.node().Path())
		}
	})
}
