package jptool

import (
	"strings"
	"testing"
)

func mustCommands(t testing.TB, m map[string]CommandRule) *CommandPolicy {
	t.Helper()
	p, err := CompileCommands(m)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestCommandEvaluate(t *testing.T) {
	p := mustCommands(t, map[string]CommandRule{
		// RFD 075, "Extending AccessPolicy with CommandRule", literally.
		"cargo":  {Args: [][]string{{"check", "**"}}},
		"git":    {Args: [][]string{{"status"}, {"log", "--oneline", "**"}, {"show", "HEAD"}}},
		"any":    {},
		"none":   {Args: [][]string{}},
		"bare":   {Args: [][]string{{}}},
		"all":    {Args: [][]string{{"**"}}},
		"/bin/x": {},
	})
	for _, c := range []struct {
		line    string
		allowed bool
		prefix  int
	}{
		{"cargo check", true, 0},
		{"cargo check --all-targets -v", true, 0},
		{"cargo", false, -1},
		{"cargo build", false, -1},
		{"cargo --config x check", false, -1},
		{"cargo checker", false, -1},
		{"cargo CHECK", false, -1},
		{"git status", true, 0},
		{"git status -s", false, -1},
		{"git log --oneline", true, 1},
		{"git log --oneline -3", true, 1},
		{"git log", false, -1},
		{"git log -3 --oneline", false, -1},
		{"git show HEAD", true, 2},
		{"git show HEAD~1", false, -1},
		{"git show", false, -1},
		{"git", false, -1},
		{"any", true, -1},
		{"any thing at all", true, -1},
		{"none", false, -1},
		{"none x", false, -1},
		{"bare", true, 0},
		{"bare x", false, -1},
		{"all", true, 0},
		{"all x y", true, 0},
		{"all **", true, 0},

		// Names compare literally.
		{"/usr/bin/cargo check", false, -1},
		{"./cargo check", false, -1},
		{"Cargo check", false, -1},
		{"cargo.exe check", false, -1},
		{"/bin/x", true, -1},
		{"/bin/../bin/x", false, -1},
		{"x", false, -1},
		{"sh -c cargo", false, -1},
	} {
		words := strings.Fields(c.line)
		d := p.Evaluate(words[0], words[1:])
		if d.Allowed != c.allowed || d.Prefix != c.prefix {
			t.Errorf("%q: allowed %t by %d, want %t by %d", c.line, d.Allowed, d.Prefix, c.allowed, c.prefix)
		}
		if d.Explain() == "" || strings.Contains(d.Explain(), "may not") == c.allowed {
			t.Errorf("%q: %s", c.line, d.Explain())
		}
	}
	if d := p.Evaluate("", nil); d.Allowed {
		t.Error("the empty name is allowed")
	}
	// An argument with spaces is one token, and never split.
	if p.Evaluate("git", []string{"log --oneline"}).Allowed {
		t.Error("an argument was split")
	}
	if p.Evaluate("git", []string{""}).Allowed || !p.Evaluate("all", []string{""}).Allowed {
		t.Error("an empty argument is an argument")
	}
}

func TestCommandsUndeclared(t *testing.T) {
	p := mustCommands(t, nil)
	d := p.Evaluate("rm", []string{"-rf"})
	if !d.Allowed || p.Declared() || !strings.Contains(d.Explain(), "not set") {
		t.Errorf("nil map: %+v", d)
	}
	for _, p := range []*CommandPolicy{mustCommands(t, map[string]CommandRule{}), {}, nil} {
		d := p.Evaluate("true", nil)
		if d.Allowed || !p.Declared() || !strings.Contains(d.Explain(), "no program") {
			t.Errorf("%+v: %s", d, d.Explain())
		}
	}
}

func TestCompileCommandsErrors(t *testing.T) {
	for name, c := range map[string]struct {
		program string
		rule    CommandRule
		want    string
	}{
		"empty name":  {"", CommandRule{}, "name is empty"},
		"pattern":     {"car*", CommandRule{}, "no pattern"},
		"NUL in name": {"a\x00b", CommandRule{}, "no pattern"},
		"rest first":  {"x", CommandRule{Args: [][]string{{"a"}, {"**", "b"}}}, "args[1]"},
		"rest twice":  {"x", CommandRule{Args: [][]string{{"**", "**"}}}, "not the last"},
		"NUL in arg":  {"x", CommandRule{Args: [][]string{{"a\x00"}}}, "NUL"},
		"env pattern": {"x", CommandRule{Envs: []string{"AWS_*"}}, "exact name"},
		"env empty":   {"x", CommandRule{Envs: []string{""}}, "exact name"},
		"env value":   {"x", CommandRule{Envs: []string{"A=b"}}, "exact name"},
	} {
		_, err := CompileCommands(map[string]CommandRule{c.program: c.rule})
		if err == nil || CodeOf(err) != CodeInvalidPolicy || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCommandPolicyIsItsOwn(t *testing.T) {
	m := map[string]CommandRule{"a": {Args: [][]string{{"x"}}}}
	p := mustCommands(t, m)
	m["a"].Args[0][0] = "y"
	if !p.Evaluate("a", []string{"x"}).Allowed || p.Evaluate("a", []string{"y"}).Allowed {
		t.Error("a caller changed the policy")
	}
}

func TestCommandExplain(t *testing.T) {
	p := mustCommands(t, map[string]CommandRule{"a": {Args: [][]string{{"x", "**"}, {"y"}}}, "b": {Args: [][]string{}}, "c": {}})
	for _, c := range []struct{ line, want string }{
		{"a x secret", `access.commands."a" args[0] = ["x", "**"]`},
		{"a secret", `allows only ["x", "**"] and ["y"]`},
		{"b secret", "are an empty list"},
		{"c secret", "with any arguments"},
		{"d secret", `lists only "a", "b", "c"`},
	} {
		words := strings.Fields(c.line)
		if got := p.Evaluate(words[0], words[1:]).Explain(); !strings.Contains(got, c.want) || strings.Contains(got, "secret") {
			t.Errorf("%q: %s; want %q", c.line, got, c.want)
		}
	}
}
