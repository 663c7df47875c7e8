package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Whatever is read without kong is read the same by it, and the usual forms are.
func TestQuick(t *testing.T) {
	same := func(t rapid.TB, args []string) bool {
		c, g := quick(args)
		if c == nil {
			return false
		}
		want := &grammar{}
		parser, err := newParser(want, nil, nil)
		if err == nil {
			_, err = parse(parser, args)
		}
		if err != nil {
			t.Fatalf("%q is taken, and kong says: %v", args, err)
		}
		if diff := cmp.Diff(want.Sandbox.Exec, *c, cmp.AllowUnexported(sandboxExecCmd{})); diff != "" {
			t.Fatalf("%q: -kong +quick\n%s", args, diff)
		}
		if diff := cmp.Diff(want.globals, *g); diff != "" {
			t.Fatalf("%q: -kong +quick\n%s", args, diff)
		}
		return true
	}
	for line, taken := range map[string]bool{
		"sandbox exec -- true": true, "sandbox exec true": true, "sandbox exec -- -- -x": true, "sandbox exec true -- --rw x": true,
		"sandbox exec -q --tier namespace --rw . --rw=x --ro a=b --env GO* --limit memory=1 --net --required -- true -q":                                                             true,
		"sandbox exec --policy p --root r --report=o --format json --json --no-input --cfg a=b --cfg=c:=1 --workspace w --conversation c --explain-denials --grant path=x,read -- y": true,
		"sandbox exec": false, "sandbox exec --": true, "sandbox plan -- x": false, "sandbox exec --rw": false, "sandbox exec --rw -- true": false,
		"sandbox exec --tier x -- true": false, "sandbox exec --help -- true": false, "sandbox exec --net=true -- true": false, "sandbox exec --root a --root b -- true": false,
		"sandbox exec -C x -- true": false, "sandbox exec --rw= -- x": false, "sandbox exec --no-such -- x": false, "sandbox exec --format x -- y": false, "sandbox exec -qq x": false,
	} {
		if same(t, strings.Fields(line)) != taken {
			t.Errorf("%s: read at once: %v", line, !taken)
		}
	}
	// Each flag that there is, with a value or without.
	parser, err := newParser(&grammar{}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var flags []string
	i := slices.IndexFunc(parser.Model.Leaves(false), func(n *kong.Node) bool { return n.Path() == "sandbox exec" })
	for _, group := range parser.Model.Leaves(false)[i].AllFlags(false) {
		for _, f := range group {
			flags = append(flags, "--"+f.Name)
			line := []string{"sandbox", "exec", "--" + f.Name, "x", "--", "true"}
			if f.IsBool() {
				line = []string{"sandbox", "exec", "--" + f.Name, "--", "true"}
			} else if f.Enum != "" {
				line[3], _, _ = strings.Cut(f.Enum, ",")
			}
			if f.Name != "help" && !same(t, line) {
				t.Errorf("%q is left to kong", line)
			}
		}
	}
	word := rapid.OneOf(rapid.SampledFrom(append(flags, "-q", "-C", "-h", "--", "x", "", "-", "json", "landlock", "--tier=auto", "--rw=a", "--net=false", "--json=true", "--rw=-x", "=", "--=")), rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		same(t, append([]string{"sandbox", "exec"}, rapid.SliceOfN(word, 0, 6).Draw(t, "words")...))
	})
}
