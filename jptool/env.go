package jptool

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// EnvPolicy is a compiled list of environment variable rules (RFD 076, "Environment
// variable rules"). It is immutable and safe for concurrent use. The zero value denies
// everything.
//
// It decides by name alone. It does not stop a secret that stands in the value of a
// variable that may be read, and it knows nothing of the minimal set of variables that
// every tool gets: the host asks about those too, because a rule with read = false
// takes them away.
type EnvPolicy struct {
	unrestricted bool
	fold         bool
	rules        []EnvRule
	exact        map[string]int
	prefix       map[string]int
}

// CompileEnv checks and indexes rules. An empty list is a policy that restricts
// nothing. A name is exact, or a prefix with a trailing `*`; a `*` elsewhere, an empty
// name, `=` and NUL are errors with code invalid_policy that name the rule by its
// index. On Windows names compare case-insensitively, elsewhere as bytes.
func CompileEnv(rules []EnvRule) (*EnvPolicy, error) {
	return compileEnv(rules, runtime.GOOS == "windows")
}

// compileEnv takes the platform's habit as a parameter, so that tests force both.
func compileEnv(rules []EnvRule, fold bool) (*EnvPolicy, error) {
	p := &EnvPolicy{
		unrestricted: len(rules) == 0,
		fold:         fold,
		rules:        slices.Clone(rules),
		exact:        map[string]int{},
		prefix:       map[string]int{},
	}
	for i := range rules {
		name, isPrefix := strings.CutSuffix(p.key(rules[i].Name), "*")
		if err := checkEnvName(rules[i].Name, name); err != nil {
			return nil, Errorf(CodeInvalidPolicy, "%s: %w", envRuleName(i, rules[i].Origin), err)
		}
		// Equal names are equally specific, and then the last rule wins.
		if isPrefix {
			p.prefix[name] = i
		} else {
			p.exact[name] = i
		}
	}
	return p, nil
}

func checkEnvName(wire, literal string) error {
	switch {
	case wire == "":
		return errors.New("name is empty\nname the variable, or write name = \"*\" for all")
	case strings.Contains(literal, "*"):
		return fmt.Errorf("name %q: only a * at the end means anything\nwrite the literal start of the name, then one *", wire)
	case strings.ContainsAny(literal, "=\x00"):
		return fmt.Errorf("name %q: no variable is named so\nwrite the name without the value", wire)
	}
	return nil
}

func (p *EnvPolicy) key(name string) string {
	if p.fold {
		return strings.ToUpper(name)
	}
	return name
}

// Text is the rule as an inline table of TOML.
func (r *EnvRule) Text() string { return fmt.Sprintf("{ name = %q, read = %t }", r.Name, r.Read) }

// Declared reports whether there are rules, and so whether what no rule matches is
// withheld.
func (p *EnvPolicy) Declared() bool { return p == nil || !p.unrestricted }

// Evaluate decides whether the tool may read the variable with this name. The longest
// literal part wins, at the same length an exact rule beats a prefix, and then the last
// rule wins. Where rules are declared, a name that no variable can have (empty, or with
// NUL or `=`) is denied, whatever the rules are; this includes the hidden `=C:` of
// Windows.
func (p *EnvPolicy) Evaluate(name string) EnvDecision {
	if p == nil {
		p = &EnvPolicy{}
	}
	d := EnvDecision{Name: name, Rule: -1, policy: p, Allowed: p.unrestricted}
	if p.unrestricted || name == "" || strings.ContainsAny(name, "=\x00") {
		return d
	}
	key := p.key(name)
	// An exact rule is never shorter than a prefix that matches.
	i, ok := p.exact[key]
	for n := len(key); n >= 0 && !ok; n-- {
		i, ok = p.prefix[key[:n]]
	}
	if ok {
		d.Rule, d.Allowed = i, p.rules[i].Read
	}
	return d
}

// EnvDecision is what the env rules say about one variable. The zero value denies.
type EnvDecision struct {
	Allowed bool `json:"allowed"`
	// Rule is the index of the rule that decided, or -1 when none matched.
	Rule int    `json:"rule"`
	Name string `json:"name"`

	policy *EnvPolicy
}

// Explain says in one sentence which rule decided and, for a denial, what would have
// to change. It never holds a value.
func (d EnvDecision) Explain() string {
	switch {
	case !d.policy.Declared():
		return fmt.Sprintf("%q may be read because access.env has no rules", d.Name)
	case d.Name == "" || strings.ContainsAny(d.Name, "=\x00"):
		return fmt.Sprintf("%q is withheld because no variable can have this name", d.Name)
	case d.Allowed:
		return fmt.Sprintf("%q may be read by %s", d.Name, d.policy.describe(d.Rule))
	case d.Rule < 0:
		return fmt.Sprintf("%q is withheld: no rule of access.env matches%s; to allow it, add { name = %q, read = true }",
			d.Name, d.nearMiss(), d.Name)
	case strings.HasSuffix(d.policy.rules[d.Rule].Name, "*"):
		return fmt.Sprintf("%q is withheld by %s; to allow it, add { name = %q, read = true }",
			d.Name, d.policy.describe(d.Rule), d.Name)
	}
	return fmt.Sprintf("%q is withheld by %s; to allow it, change that rule, or add one with the same name and read = true after it",
		d.Name, d.policy.describe(d.Rule))
}

// nearMiss points at the exact rule that a person may have meant as a prefix, or at one
// that differs in case.
func (d EnvDecision) nearMiss() string {
	for i, r := range d.policy.rules {
		literal := strings.TrimSuffix(r.Name, "*")
		switch {
		case strings.EqualFold(r.Name, d.Name):
			return fmt.Sprintf(", %s differs in case", d.policy.describe(i))
		case literal == r.Name && strings.HasPrefix(d.policy.key(d.Name), d.policy.key(literal)):
			return fmt.Sprintf(", %s is exact and no prefix", d.policy.describe(i))
		}
	}
	return ""
}

func (p *EnvPolicy) describe(i int) string {
	return envRuleName(i, p.rules[i].Origin) + " " + p.rules[i].Text()
}

func envRuleName(index int, origin string) string {
	name := fmt.Sprintf("access.env[%d]", index)
	if origin != "" {
		name += " (" + origin + ")"
	}
	return name
}

// LookupEnv returns the value of a variable in environ (NAME=value), or "". Of several entries with one name the last
// counts, as it does for programs. On Windows names are equal whatever their case.
func LookupEnv(environ []string, name string) string {
	return lookupEnv(environ, name, runtime.GOOS == "windows")
}

// lookupEnv takes the platform's habit as a parameter, so that tests force both.
func lookupEnv(environ []string, name string, windows bool) string {
	for _, entry := range slices.Backward(environ) {
		if key, value, _ := strings.Cut(entry, "="); key == name || windows && strings.EqualFold(key, name) {
			return value
		}
	}
	return ""
}
