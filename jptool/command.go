package jptool

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// CommandPolicy says which programs a tool may start, and with which arguments (RFD
// 075, "Extending AccessPolicy with CommandRule"). It is immutable and safe for
// concurrent use. The zero value denies everything.
//
// It compares text. It does not stop what an allowed program does with an allowed
// argument (a shell with `-c`, a build tool that runs a script), and it reads no option
// syntax: `--file=x`, `--file x` and `-fx` are different tokens to it.
type CommandPolicy struct {
	unrestricted bool
	programs     map[string]CommandRule
}

// restOfArgs stands for any further arguments, also none, at the end of a list.
const restOfArgs = "**"

// CompileCommands checks and copies the rules. A nil map restricts nothing; any other,
// also an empty one, allows only the programs in it. In a rule, nil Args allow any
// arguments; an empty list of lists allows no arguments at all, not even none, because
// it names nothing that is allowed. An empty list inside allows exactly no arguments.
// The error has code invalid_policy and names the program.
func CompileCommands(m map[string]CommandRule) (*CommandPolicy, error) {
	p := &CommandPolicy{unrestricted: m == nil, programs: make(map[string]CommandRule, len(m))}
	for _, program := range slices.Sorted(maps.Keys(m)) {
		rule := m[program]
		if err := checkCommand(program, rule); err != nil {
			return nil, Errorf(CodeInvalidPolicy, "access.commands[%q]: %w", program, err)
		}
		c := CommandRule{Args: slices.Clone(rule.Args), Envs: slices.Clone(rule.Envs)}
		for i := range c.Args {
			c.Args[i] = slices.Clone(c.Args[i])
		}
		p.programs[program] = c
	}
	return p, nil
}

func checkCommand(program string, rule CommandRule) error {
	switch {
	case program == "":
		return errors.New("the name is empty\nname the program")
	case strings.ContainsAny(program, "*\x00"):
		return errors.New("a program name is no pattern\nname each program")
	}
	for i, prefix := range rule.Args {
		for j, token := range prefix {
			switch {
			case token == restOfArgs && j != len(prefix)-1:
				return fmt.Errorf("args[%d]: ** is not the last token\nput ** at the end, where it stands for any rest", i)
			case strings.Contains(token, "\x00"):
				return fmt.Errorf("args[%d]: token %q has a NUL, which no argument can\nwrite it without", i, token)
			}
		}
	}
	for _, name := range rule.Envs {
		if name == "" || strings.ContainsAny(name, "*=\x00") {
			return fmt.Errorf("envs: %q is not the name of a variable\nlist each variable by its exact name", name)
		}
	}
	return nil
}

// Declared reports whether programs are restricted at all.
func (p *CommandPolicy) Declared() bool { return p == nil || !p.unrestricted }

// Evaluate decides whether program may be started with args, which do not include the
// program itself. program is compared with the names of the rules byte by byte: `cargo`
// does not match `/usr/bin/cargo` or `./cargo`, nor the other way round. Whoever starts
// the program passes the name as the tool gave it, and finds a bare name on a search
// path of its own, never on the tool's.
func (p *CommandPolicy) Evaluate(program string, args []string) CommandDecision {
	if p == nil {
		p = &CommandPolicy{}
	}
	rule, listed := p.programs[program]
	d := CommandDecision{Program: program, Prefix: -1, policy: p, Listed: listed || p.unrestricted}
	if d.Allowed = d.Listed && rule.Args == nil; !d.Allowed {
		d.Prefix = slices.IndexFunc(rule.Args, func(prefix []string) bool { return matchArgs(prefix, args) })
		d.Allowed = d.Prefix >= 0
	}
	return d
}

func matchArgs(prefix, args []string) bool {
	if n := len(prefix) - 1; n >= 0 && prefix[n] == restOfArgs {
		return len(args) >= n && slices.Equal(prefix[:n], args[:n])
	}
	return slices.Equal(prefix, args)
}

// CommandDecision is what the command rules say about one command line. The zero value
// denies.
type CommandDecision struct {
	Allowed bool   `json:"allowed"`
	Program string `json:"program"`
	// Listed says that the program has a rule, so that a denial is about arguments.
	Listed bool `json:"listed"`
	// Prefix is the index of the argument list that matched, or -1.
	Prefix int `json:"prefix"`

	policy *CommandPolicy
}

// Explain says in one sentence which rule decided and, for a denial, what would have to
// change. It holds no argument of the command line, only those of the rules.
func (d CommandDecision) Explain() string {
	if !d.policy.Declared() {
		return fmt.Sprintf("%q may be started because access.commands is not set", d.Program)
	}
	if !d.Listed {
		listed := "access.commands lists no program"
		if len(d.policy.programs) > 0 {
			listed = "access.commands lists only " + quoteList(slices.Sorted(maps.Keys(d.policy.programs)))
		}
		return fmt.Sprintf("%q may not be started: %s; to allow it, add access.commands.%q", d.Program, listed, d.Program)
	}
	where := fmt.Sprintf("access.commands.%q", d.Program)
	rule := d.policy.programs[d.Program]
	switch {
	case d.Allowed && d.Prefix < 0:
		return fmt.Sprintf("%q may be started with any arguments by %s", d.Program, where)
	case d.Allowed:
		return fmt.Sprintf("%q may be started so by %s args[%d] = [%s]", d.Program, where, d.Prefix, quoteList(rule.Args[d.Prefix]))
	case len(rule.Args) == 0:
		return fmt.Sprintf("%q may not be started: the args of %s are an empty list; leave args out for any arguments, or list what is allowed",
			d.Program, where)
	}
	var lists []string
	for _, prefix := range rule.Args {
		lists = append(lists, "["+quoteList(prefix)+"]")
	}
	return fmt.Sprintf("%q may not be started with these arguments: %s allows only %s; to allow them, add a list to its args",
		d.Program, where, strings.Join(lists, " and "))
}

func quoteList(words []string) string {
	var quoted []string
	for _, w := range words {
		quoted = append(quoted, fmt.Sprintf("%q", w))
	}
	return strings.Join(quoted, ", ")
}
