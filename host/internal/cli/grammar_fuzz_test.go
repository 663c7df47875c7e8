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
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		words := strings.Split(text, " ")
		l, err := read(words)
		if l == nil || err == nil && l.run == nil || err != nil && err != errHelp && exit.Of(err) != exit.Usage {
			t.Fatalf("%q: %+v, %v", words, l, err)
		}
		l, err = read(append([]string{"run", "t", "--"}, words...))
		if c, ok := l.run.(*runCmd); err != nil || !ok || !slices.Equal(c.Args, words) {
			t.Fatalf("%q: %v, %+v", words, err, l.run)
		}
		l, err = read(append([]string{"sandbox", "exec", "--"}, words...))
		if c, ok := l.run.(*sandboxExecCmd); err != nil || !ok || !slices.Equal(c.Command, words) {
			t.Fatalf("%q: %v, %+v", words, err, l.run)
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
