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
			_, err = parse(parser, reorder(parser.Model, args))
		}
		if err != nil {
			t.Fatalf("%q is taken, and kong says: %v", args, err)
		}
		read := runner(&want.Run)
		if args[0] == "sandbox" {
			read = &want.Sandbox.Exec
		}
		if diff := cmp.Diff(read, c, cmp.AllowUnexported(sandboxExecCmd{})); diff != "" {
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
		"sandbox exec -C x -- true": true, "sandbox exec -C=x -- true": false, "sandbox exec -C x --workspace y true": false, "sandbox exec --rw= -- x": false, "sandbox exec --no-such -- x": false, "sandbox exec --format x -- y": false, "sandbox exec -qq x": false,
		"run t": true, "run t a=1 b:=2": true, "run t a=1 --json b=2 -": true, "run t -- --json -x": true, "run -- t a,b": true, "run - -": true, `run t {"a":1}`: true,
		"run -C d t --format=json --answer q=1 --answer q.token=2 --cfg a=b --mount t:x=/y:rw --conversation c": true,
		"run t --preview --dry-run --allow-sensitive --explain-denials --no-input":                              true,
		"run": false, "run --": false, "run --json": false, "run t --help": false, "run t --no-mount": false, "run t --no-mount x": false, "run t --format x": false, "run t --cfg": false,
		"run t --answer -x": false, "run t --json=true": false, "run t --no-such": false, "run t -Cx": false, "run t --format json --format text": false, "--json run t": false,
		"explain t read x": false, "": false,
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
	for _, name := range []string{"run", "sandbox exec"} {
		i := slices.IndexFunc(parser.Model.Leaves(false), func(n *kong.Node) bool { return n.Name == strings.Fields(name)[len(strings.Fields(name))-1] })
		var flags []string
		for _, group := range parser.Model.Leaves(false)[i].AllFlags(false) {
			for _, f := range group {
				flags = append(flags, "--"+f.Name)
				line := append(strings.Fields(name), "--"+f.Name)
				if f.Enum != "" {
					word, _, _ := strings.Cut(f.Enum, ",")
					line = append(line, word)
				} else if !f.IsBool() {
					line = append(line, "x")
				}
				if line = append(line, "--", "true"); f.Name != "help" && f.Name != "no-mount" && !same(t, line) {
					t.Errorf("%q is left to kong", line)
				}
			}
		}
		if len(flags) < 10 {
			t.Errorf("%s has only the flags %q", name, flags)
		}
		word := rapid.OneOf(rapid.SampledFrom(append(flags, "-q", "-C", "-h", "--", "x", "a=1", "a,b", "", "-", "json", "landlock", "--tier=auto", "--rw=a", "--cfg=a=b", "--net=false", "--json=true", "--rw=-x", "=", "--=", "-=")), rapid.String())
		rapid.Check(t, func(t *rapid.T) {
			same(t, append(strings.Fields(name), rapid.SliceOfN(word, 0, 6).Draw(t, "words")...))
		})
	}
}
