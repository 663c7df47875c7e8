package trust

import (
	"math"
	"slices"
	"time"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/jptool"
)

func (w *widener) enable(tool string, rest []string, s config.Setting) bool {
	was := w.before(s.Key)
	if len(rest) != 1 || rest[0] != "state" {
		return was != nil && was.Any() != s.Value.Any()
	}
	return s.Value.Any() == "on" && (was != nil && was.Any() == "off" || w.commands[tool])
}

// style widens where it runs a program, or keeps from a person what a call does.
func (w *widener) style(rest []string, s config.Setting) bool {
	switch {
	case len(rest) == 0:
		return true
	case rest[0] == "parameters":
		return len(rest) > 1 || s.Value.Any() != "json" && s.Value.Any() != "function_call"
	case rest[0] == "hidden":
		return s.Value.Any() != false
	}
	return true
}

// questions widen when nobody is asked, or not the user.
func (w *widener) questions(rest []string, s config.Setting) bool {
	return len(rest) != 2 || rest[1] != "target" || s.Value.Any() != "user"
}

// parameters widen what the model may hand to a tool that is not the repository's own; those of
// a program of the repository's are part of what it runs.
func (w *widener) parameters(tool string, rest []string, s config.Setting) bool {
	if !w.commands[tool] && !w.foreign(s, tool) {
		return false
	}
	for i := 1; i < len(rest); {
		switch rest[i] {
		case "items":
			i++
		case "properties":
			i += 2
		default:
			return !slices.Contains([]string{"summary", "description", "examples"}, rest[i]) || w.foreign(s, tool)
		}
	}
	return true
}

// plainOptions are options of the file tools that say how much is shown.
var plainOptions = []string{"deadline", "max_lines", "max_bytes", "max_line_bytes"}

// options are behaviour that the user sets and the model cannot: those of a program of the
// repository's are part of what it runs, since its command line may hold them. Of a tool that is
// not the repository's own all count but those that are known to protect nothing or protect more.
func (w *widener) options(tool string, rest []string, s config.Setting) bool {
	switch {
	case w.commands[tool]:
		return true
	case !w.foreign(s, tool):
		return false
	case !w.builtIn[tool] || len(rest) != 1 || w.declares(s, tool, "options", rest[0]):
		return true
	}
	switch rest[0] {
	case "suppress":
		return false
	case "gitignore":
		return s.Value.Any() != true
	case "apply_changes_trigger":
		return s.Value.Any() != "always"
	}
	return !slices.Contains(plainOptions, rest[0])
}

// access: less than the defaults needs no question, unless the user's own files say less still.
func (w *widener) access(tool string, rest []string, s config.Setting) bool {
	if len(rest) == 0 {
		return true
	}
	kind := rest[0]
	switch kind {
	case "commands":
		if len(rest) == 1 {
			return false // an empty table allows nothing
		}
		return w.declares(s, tool, "access", "commands")
	case "fs", "net", "env":
	default:
		return true
	}
	if len(rest) > 1 {
		drops := rest[1] == "strategy" && s.Value.Any() == "replace" || rest[1] == "discard_when_merged" && s.Value.Any() == true
		return drops && w.declaresInFiles(tool, "access", kind)
	}
	rule, _ := s.Value.Any().(map[string]any)
	yes := func(key string) bool { return rule[key] == true }
	switch kind {
	case "net":
		return yes("allow")
	case "env":
		return yes("read")
	}
	if w.mounts.widens(s.Origin) {
		return true
	}
	grant := ruleOf(rule)
	return grant.Caps() != 0 && !yes("external") && w.declares(s, tool, "access", "fs")
}

// needs narrow; they widen only where a lower layer said less. Those of a program of the
// repository's are part of what was said of it.
func (w *widener) needs(tool string, s config.Setting) bool {
	was := w.before(s.Key)
	return w.commands[tool] || was != nil && capsOf(s.Value)&^capsOf(was) != 0
}

func capsOf(v *config.Value) jptool.Caps {
	var caps jptool.Caps
	for _, item := range v.Items() {
		word, _ := item.Any().(string)
		one, _ := jptool.ParseCapability(word)
		caps |= one
	}
	return caps
}

// limits widen where they are raised. What nobody set has the default of calls, not no limit;
// some have none at all.
func (w *widener) limits(rest []string, s config.Setting) bool {
	if len(rest) != 1 {
		return true
	}
	most := math.Inf(1)
	switch rest[0] {
	case "time":
		most = config.DefaultTime.Seconds()
	case "output":
		most = float64(config.DefaultOutput)
	}
	now, ok := amount(s.Value)
	if was := w.before(s.Key); was != nil && ok {
		most, ok = amount(was)
	}
	return !ok || now > most
}

// amount is a limit as a number of seconds or bytes.
func amount(v *config.Value) (float64, bool) {
	switch x := v.Any().(type) {
	case int64:
		return float64(x), true
	case float64:
		return x, true
	case string:
		if d, err := time.ParseDuration(x); err == nil {
			return d.Seconds(), true
		}
		n, ok := config.ParseSize(x)
		return float64(n), ok
	}
	return 0, false
}
