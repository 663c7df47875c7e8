package policy

import (
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/launch"
	"github.com/jptools/jptools/jptool"
)

// defaultFS is the default of access.fs: all of the workspace, with execute, because scripts
// and built programs must keep working.
func defaultFS() fsRule {
	const caps = jptool.Read | jptool.Write | jptool.Execute
	return fsRule{rule: Rule{Origin: BuiltIn, Caps: caps, Stated: caps}}
}

// materialize writes down the other types: what is declared, or the default. Adding
// a rule of one type must not open another, so none is left empty.
func (m *model) materialize(a *config.Access) {
	if declared := a.Policy(); declared != nil {
		m.net, m.env, m.commands = declared.Net, declared.Env, declared.Commands
	}
	if m.net == nil {
		m.net = []jptool.NetRule{{Host: "*", Origin: BuiltIn}}
	}
	m.env = append(m.env, minimal(m.env, runtime.GOOS == "windows")...)
	m.describe(a)
}

// minimal is the minimal set as rules, for the names that no declared rule decides: a rule
// with read = false also takes them away.
func minimal(declared []jptool.EnvRule, windows bool) []jptool.EnvRule {
	key := func(s string) string {
		if windows {
			return strings.ToUpper(s)
		}
		return s
	}
	var out []jptool.EnvRule
	for _, name := range launch.Minimal(windows) {
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
func (m *model) describe(a *config.Access) {
	if a == nil {
		a = &config.Access{}
	}
	place := func(r *Rule, at config.Origin, wire string) {
		switch {
		case !at.IsZero():
			r.Origin, r.Layer, r.Key = at.String(), at.Layer.String(), at.Key
		case wire != "":
			r.Origin = wire
		default:
			r.Origin = Wire
		}
	}
	for i := range m.net {
		r := Rule{Type: "net", Index: i, Name: m.net[i].Host, Text: netText(&m.net[i])}
		var at config.Origin
		if i < len(a.Net) {
			at = a.Net[i].At
		}
		place(&r, at, m.net[i].Origin)
		m.others = append(m.others, r)
	}
	for i := range m.env {
		r := Rule{Type: "env", Index: i, Name: m.env[i].Name, Text: envText(&m.env[i])}
		var at config.Origin
		if i < len(a.Env) {
			at = a.Env[i].At
		}
		place(&r, at, m.env[i].Origin)
		m.others = append(m.others, r)
	}
	for i, name := range slices.Sorted(maps.Keys(m.commands)) {
		r := Rule{Type: "command", Index: i, Name: name, Text: commandText(m.commands[name])}
		place(&r, a.Commands[name].At, "")
		m.others = append(m.others, r)
	}
}
