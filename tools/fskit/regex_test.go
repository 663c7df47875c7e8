package fskit

import (
	"regexp/syntax"
	"strings"
	"testing"
)

func TestRegexSize(t *testing.T) {
	for _, source := range []string{"", "a", "abc", "a|b", "(a)(b)?", "a{3}", "a{2,}", "(?:a{2}b){3,4}", "[a-z]+x*", "(a?){100}", `\pL{0,50}`, "(?:(?:a|b|cd){5}){6}", "^$"} {
		tree, err := syntax.Parse(source, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		prog, err := syntax.Compile(tree.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		size, err := RegexSize(source, syntax.Perl)
		if made := len(prog.Inst); err != nil || size > 3*made || 3*size < made-5 {
			t.Errorf("%q: estimated %d, made %d (%v)", source, size, made, err)
		}
	}
	for _, source := range []string{strings.Repeat("a", 70_000), strings.Repeat("a{1000}", 300), "((a?){10}){100}" + strings.Repeat("(b?){1000}", 250)} {
		if _, err := RegexSize(source, syntax.Perl); err == nil {
			t.Errorf("%.20s… was taken", source)
		}
	}
	if _, err := RegexSize("(", syntax.Perl); err != nil {
		t.Errorf("what does not parse: %v", err)
	}
}
