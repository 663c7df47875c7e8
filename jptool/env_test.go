package jptool

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// envRulesOf reads "NAME" (allowed) and "!NAME" (withheld), separated by spaces.
func envRulesOf(s string) []EnvRule {
	var rules []EnvRule
	for _, w := range strings.Fields(s) {
		name, deny := strings.CutPrefix(w, "!")
		rules = append(rules, EnvRule{Name: name, Read: !deny})
	}
	return rules
}

func mustEnv(t testing.TB, fold bool, rules ...EnvRule) *EnvPolicy {
	t.Helper()
	p, err := compileEnv(rules, fold)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestEnvEvaluate(t *testing.T) {
	const rfd = "GITHUB_TOKEN AWS_* !AWS_SECRET_ACCESS_KEY"
	for _, c := range []struct {
		rules, name string
		allowed     bool
		rule        int
	}{
		// RFD 076, "Environment variable rules", literally.
		{rfd, "GITHUB_TOKEN", true, 0},
		{rfd, "GITHUB_TOKEN_LOG", false, -1},
		{rfd, "AWS_REGION", true, 1},
		{rfd, "AWS_SECRET_ACCESS_KEY", false, 2},
		{rfd, "HOME", false, -1},
		{"AWS_TOKEN !AWS_TOKEN*", "AWS_TOKEN", true, 0},
		{"!AWS_TOKEN* AWS_TOKEN", "AWS_TOKEN", true, 1},
		{"AWS_TOKEN !AWS_TOKEN*", "AWS_TOKEN_LOG", false, 1},
		{"!AWS_SEC* AWS_SECRET_*", "AWS_SECRET_KEY", true, 1},
		{"AWS_SECRET_* !AWS_SEC*", "AWS_SECRET_KEY", true, 0},
		{"AWS_SECRET_* !AWS_SEC*", "AWS_SEC", false, 1},

		{rfd, "AWS_", true, 1},
		{rfd, "AWS", false, -1},
		{rfd, "aws_region", false, -1},
		{"*", "HOME", true, 0},
		{"* !HOME", "HOME", false, 1},
		{"!*", "HOME", false, 0},
		{"A !A", "A", false, 1},
		{"!A A", "A", true, 1},
		{"A* !A*", "AB", false, 1},
		{"É", "\u00c9", true, 0},
		{"É", "E\u0301", false, -1},

		// No variable is called so, and so no rule allows it.
		{"*", "", false, -1},
		{"*", "A=B", false, -1},
		{"*", "=C:", false, -1},
		{"*", "A\x00B", false, -1},
		{"*", "A*", true, 0},
	} {
		d := mustEnv(t, false, envRulesOf(c.rules)...).Evaluate(c.name)
		if d.Allowed != c.allowed || d.Rule != c.rule {
			t.Errorf("[%s] %q: allowed %t by %d, want %t by %d", c.rules, c.name, d.Allowed, d.Rule, c.allowed, c.rule)
		}
	}
}

func TestEnvOnWindows(t *testing.T) {
	for _, c := range []struct {
		rules, name string
		allowed     bool
		rule        int
	}{
		{"Path", "PATH", true, 0},
		{"Path !PATH", "path", false, 1},
		{"aws_* !Aws_Secret", "AWS_SECRET", false, 1},
		{"aws_* !AWS_*", "Aws_x", false, 1},
		{"!clé", "CLÉ", false, 0},
	} {
		d := mustEnv(t, true, envRulesOf(c.rules)...).Evaluate(c.name)
		if d.Allowed != c.allowed || d.Rule != c.rule {
			t.Errorf("[%s] %q: allowed %t by %d, want %t by %d", c.rules, c.name, d.Allowed, d.Rule, c.allowed, c.rule)
		}
	}
}

func TestEnvUndeclared(t *testing.T) {
	for _, rules := range [][]EnvRule{nil, {}} {
		p, err := CompileEnv(rules)
		if d := p.Evaluate("HOME"); err != nil || !d.Allowed || d.Rule != -1 || p.Declared() || !strings.Contains(d.Explain(), "no rules") {
			t.Errorf("%+v, %v: %s", d, err, d.Explain())
		}
	}
	for _, p := range []*EnvPolicy{nil, {}} {
		if d := p.Evaluate("HOME"); d.Allowed || d.Rule != -1 || !p.Declared() || d.Explain() == "" {
			t.Errorf("a policy nobody compiled: %+v", d)
		}
	}
	if (EnvDecision{Rule: -1}).Explain() == "" {
		t.Error("no explanation")
	}
}

func TestCompileEnvErrors(t *testing.T) {
	for _, name := range []string{"", "**", "A*B", "*A", "A**", "A=B", "=", "A\x00", "A=*"} {
		for _, fold := range []bool{false, true} {
			_, err := compileEnv([]EnvRule{{Name: "OK"}, {Name: name, Origin: "x.toml:7"}}, fold)
			if err == nil || CodeOf(err) != CodeInvalidPolicy || !strings.HasPrefix(err.Error(), "access.env[1] (x.toml:7): ") ||
				!strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: %v", name, err)
			}
		}
	}
}

func TestEnvExplain(t *testing.T) {
	for _, c := range []struct{ rules, name, want string }{
		{"AWS_*", "AWS_X", `"AWS_X" may be read by access.env[0] { name = "AWS_*", read = true }`},
		{"!X", "X", "change that rule"},
		{"!X*", "XY", `withheld by access.env[0] { name = "X*", read = false }; to allow it, add { name = "XY", read = true }`},
		{"A", "B", `no rule of access.env matches; to allow it, add { name = "B", read = true }`},
		{"TOKEN", "TOKEN_LOG", "is exact and no prefix"},
		{"Token", "TOKEN", "differs in case"},
		{"*", "A=secret", "no variable can have this name"},
	} {
		if got := mustEnv(t, false, envRulesOf(c.rules)...).Evaluate(c.name).Explain(); !strings.Contains(got, c.want) {
			t.Errorf("[%s] %q: %s; want %q", c.rules, c.name, got, c.want)
		}
	}
}

// Random rules against the definition, and: one more deny rule never opens anything.
func TestEnvProperties(t *testing.T) {
	const seed, runs = 11, 3000
	r := rand.New(rand.NewPCG(seed, seed))
	word := func() string {
		b := make([]byte, 1+r.IntN(3))
		for i := range b {
			b[i] = "AB"[r.IntN(2)]
		}
		return string(b)
	}
	allowed := 0
	for range runs {
		var rules []EnvRule
		for range 1 + r.IntN(6) {
			rules = append(rules, EnvRule{Name: word() + []string{"", "*"}[r.IntN(2)], Read: r.IntN(2) == 0})
		}
		p := mustEnv(t, false, rules...)
		stricter := mustEnv(t, false, slices.Insert(slices.Clone(rules), r.IntN(len(rules)+1), EnvRule{Name: word() + "*"})...)
		for range 8 {
			name := word()
			winner, best := -1, -1
			for i, rule := range rules {
				literal, prefix := strings.CutSuffix(rule.Name, "*")
				score := 2 * len(literal)
				if !prefix {
					score++
				}
				if (prefix && strings.HasPrefix(name, literal) || !prefix && name == literal) && score >= best {
					winner, best = i, score
				}
			}
			d := p.Evaluate(name)
			if d.Rule != winner || d.Allowed != (winner >= 0 && rules[winner].Read) {
				t.Fatalf("seed %d: %v, %q: rule %d, want %d", seed, rules, name, d.Rule, winner)
			}
			if stricter.Evaluate(name).Allowed && !d.Allowed {
				t.Fatalf("seed %d: %v, %q: one more deny opened it", seed, rules, name)
			}
			if d.Allowed {
				allowed++
			}
		}
	}
	if allowed < runs || allowed > runs*7 {
		t.Errorf("seed %d: %d of %d were allowed, too one-sided to mean anything", seed, allowed, runs*8)
	}
}

func TestEnvEvaluateAllocatesNothing(t *testing.T) {
	rules := make([]EnvRule, 0, 1000)
	for i := range cap(rules) {
		rules = append(rules, EnvRule{Name: fmt.Sprintf("PREFIX_%d_*", i)})
	}
	p := mustEnv(t, false, rules...)
	if n := testing.AllocsPerRun(100, func() { p.Evaluate("PREFIX_7_X") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// On Windows LocalAppData stands as LOCALAPPDATA in the environment, and PATH as Path.
func TestLookupEnv(t *testing.T) {
	environ := []string{"PATH=/old", "LOCALAPPDATA=/l", "PATH=/new", "EMPTY=", "noequals"}
	for _, c := range []struct {
		name, exact, folded string
	}{
		{"PATH", "/new", "/new"},
		{"Path", "", "/new"},
		{"LocalAppData", "", "/l"},
		{"EMPTY", "", ""},
		{"none", "", ""},
	} {
		if got := lookupEnv(environ, c.name, false); got != c.exact {
			t.Errorf("%s: %q, want %q", c.name, got, c.exact)
		}
		if got := lookupEnv(environ, c.name, true); got != c.folded {
			t.Errorf("%s on Windows: %q, want %q", c.name, got, c.folded)
		}
	}
}
