package jptool

import (
	"github.com/jptools/jptools/jptool/netrule"
	"github.com/jptools/jptools/jptool/wspath"
)

// Policy is an AccessPolicy compiled for one workspace, ready to be asked. It is immutable and safe for concurrent
// use.
type Policy struct {
	rules  *Rules
	staged []stagedAt

	// Net, Env and Commands are the other resource types of the policy.
	Net      *netrule.Policy
	Env      *EnvPolicy
	Commands *CommandPolicy
}

type stagedAt struct {
	place Place
	fd    int
}

// compilePolicy compiles access for the workspace at the canonical path root, held as
// dir. writtenRoot is the root as the host wrote it. A nil access gives the policy that is unrestricted inside the
// workspace. Errors carry CodeInvalidPolicy and name the rule.
func compilePolicy(access *AccessPolicy, dir *wspath.Dir, root, writtenRoot string) (*Policy, error) {
	if access == nil {
		access = &AccessPolicy{}
	}
	c := Compiler{Site: Site{Root: root, dir: dir}, Written: writtenRoot}
	rules, err := c.FS(access.FS)
	if err != nil {
		return nil, Errorf(CodeInvalidPolicy, "%w", err)
	}
	p := &Policy{rules: rules}
	if err := rules.PinPaths(access.Pinned, writtenRoot); err != nil {
		return nil, err
	}
	for i, s := range access.Staged {
		rel, err := RulePath(s.Path, root, writtenRoot)
		if err != nil {
			return nil, Errorf(CodeInvalidPolicy, "access.staged[%d]: path %q: %w", i, s.Path, err)
		}
		to, err := rules.Resolve(rel, false)
		if err != nil {
			return nil, Errorf(CodeInvalidPolicy, "access.staged[%d]: path %q: %w", i, s.Path, err)
		}
		rules.pinHops(to.Hops)
		p.staged = append(p.staged, stagedAt{to.Place, s.FD})
	}
	if p.Net, err = CompileNet(access.Net); err != nil {
		return nil, err
	}
	if p.Env, err = CompileEnv(access.Env); err != nil {
		return nil, err
	}
	if p.Commands, err = CompileCommands(access.Commands); err != nil {
		return nil, err
	}
	return p, nil
}

// Warnings lists what was narrowed while compiling, for people.
func (p *Policy) Warnings() []string {
	var list []string
	for i := range p.rules.Placed {
		if r := &p.rules.Placed[i]; r.Lost != "" && !r.Ahead {
			list = append(list, r.where()+": "+r.Lost+"; nothing below it is granted")
		}
	}
	return list
}

// Declared reports whether filesystem access is restricted by rules at all.
func (p *Policy) Declared() bool { return p.rules.Restricted }

// CompileNet is [netrule.Compile]; the error carries CodeInvalidPolicy.
func CompileNet(rules []NetRule) (*netrule.Policy, error) {
	p, err := netrule.Compile(rules)
	if err != nil {
		return nil, Errorf(CodeInvalidPolicy, "%w", err)
	}
	return p, nil
}
