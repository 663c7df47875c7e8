package jptool_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// TestEvaluationMatchesDefinition holds the trie to the words of RFD 076: of the rules
// whose path is the target or above it, the one with the most components wins, and of
// equals the last.
func TestEvaluationMatchesDefinition(t *testing.T) {
	root := jptooltest.TempRoot(t)
	part := rapid.SampledFrom([]string{"a", "b", "ab", "a.b"})
	path := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(part, 0, 4).Draw(t, "parts"), "/")
	})
	rapid.Check(t, func(t *rapid.T) {
		var rules []jptool.FsRule
		for range rapid.IntRange(1, 8).Draw(t, "rules") {
			caps := rapid.SampledFrom([]string{"", "read", "read write", "write -delete", "create", "execute"}).Draw(t, "caps")
			rules = append(rules, jptooltest.Rule(path.Draw(t, "rule"), caps))
		}
		ctx := jptool.Context{Root: root, Action: jptool.Run, Access: &jptool.AccessPolicy{FS: rules}}
		ws, err := ctx.Open()
		if err != nil {
			t.Fatal(err)
		}
		defer ws.Close()
		target := path.Draw(t, "target")
		got, err := ws.CheckContent(target, 0)
		if err != nil {
			t.Fatal(err)
		}
		var want jptool.Caps
		best := -1
		for i := range rules {
			under := rules[i].Path == "" || target == rules[i].Path || strings.HasPrefix(target, rules[i].Path+"/")
			if depth := strings.Count("/"+rules[i].Path, "/"); under && (rules[i].Path == "" && best <= 0 || rules[i].Path != "" && depth >= best) {
				if rules[i].Path == "" {
					depth = 0
				}
				best, want = depth, rules[i].Caps()
			}
		}
		if got.Granted() != want {
			t.Fatalf("target %q: granted %s, want %s", target, got.Granted(), want)
		}
		// The cursor of a walk agrees with the lookup of the whole path.
		at, _ := ws.CheckContent("", 0)
		cur := at.Cursor()
		for name := range strings.SplitSeq(target, "/") {
			if name != "" {
				cur = cur.Child(name)
			}
		}
		if cur.Caps() != want {
			t.Fatalf("target %q: cursor has %s, want %s", target, cur.Caps(), want)
		}
	})
}

func BenchmarkEvaluate(b *testing.B) {
	root := jptooltest.TempRoot(b)
	for _, n := range []int{10, 10_000} {
		rules := []jptool.FsRule{jptooltest.Rule(".", "read")}
		for i := range n {
			rules = append(rules, jptooltest.Rule(fmt.Sprintf("pkg%d/sub%d/gen", i%97, i), "read write"))
		}
		ws := jptooltest.Open(b, root, rules...)
		target, err := ws.CheckContent("pkg3/sub3/gen/a/b/c/d/e.go", 0)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !target.Granted().Has(jptool.Read) {
					b.Fatal("not granted")
				}
			}
		})
	}
}
