package policy

import (
	"cmp"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox"
)

// defaultCaps are the default of access.fs: all of the workspace, with execute, because scripts
// and built programs must keep working.
const defaultCaps = jptool.Read | jptool.Write | jptool.Execute

func (d *Declared) addDefault() {
	d.add(jptool.Placed{Caps: defaultCaps}, source{Rule: Rule{Origin: BuiltIn}})
}

// materialize writes the rules of the other types: the declared ones, or the default. An empty list would open the
// type when a rule of another type is added.
func (d *Declared) materialize(a *config.Access) {
	if declared := a.Policy(); declared != nil {
		d.Access.Net, d.Access.Env, d.Access.Commands = declared.Net, declared.Env, declared.Commands
	}
	if d.Access.Net == nil {
		d.Access.Net = []jptool.NetRule{{Host: "*", Origin: BuiltIn}}
	}
	d.Access.Env = slices.Concat(d.Access.Env, minimal(d.Access.Env, runtime.GOOS == "windows"))
	d.describe(a)
}

// minimal returns the minimal set of variables as rules, without the names that a declared rule decides: a rule
// with read = false takes away a variable of the minimal set too.
func minimal(declared []jptool.EnvRule, windows bool) []jptool.EnvRule {
	key := func(s string) string {
		if windows {
			return strings.ToUpper(s)
		}
		return s
	}
	var out []jptool.EnvRule
	for _, name := range sandbox.MinimalEnvironment(windows) {
		literal := key(strings.TrimSuffix(name, "*"))
		decided := slices.ContainsFunc(declared, func(r jptool.EnvRule) bool {
			prefix, open := strings.CutSuffix(key(r.Name), "*")
			return open && strings.HasPrefix(literal, prefix) || !open && prefix == literal && name == literal
		})
		if !decided {
			out = append(out, jptool.EnvRule{Name: name, Read: true, Origin: BuiltIn})
		}
	}
	return out
}

// describe says of each rule of net, env and commands where it comes from.
func (d *Declared) describe(a *config.Access) {
	if a == nil {
		a = &config.Access{}
	}
	add := func(r Rule, origin settings.Origin, wire string) {
		switch {
		case !origin.IsZero():
			r.Origin, r.Layer, r.Key = origin.String(), origin.Layer.String(), origin.Key
		default:
			r.Origin = cmp.Or(wire, Wire)
		}
		d.others = append(d.others, r)
	}
	for i := range d.Access.Net {
		var origin settings.Origin
		if i < len(a.Net) {
			origin = a.Net[i].At
		}
		n := &d.Access.Net[i]
		add(Rule{Type: "net", Index: i, Name: n.Host, Text: n.Text()}, origin, n.Origin)
	}
	for i := range d.Access.Env {
		var origin settings.Origin
		if i < len(a.Env) {
			origin = a.Env[i].At
		}
		e := &d.Access.Env[i]
		add(Rule{Type: "env", Index: i, Name: e.Name, Text: e.Text()}, origin, e.Origin)
	}
	for i, name := range slices.Sorted(maps.Keys(d.Access.Commands)) {
		add(Rule{Type: "command", Index: i, Name: name, Text: commandText(d.Access.Commands[name])}, a.Commands[name].At, "")
	}
}
