package trust

import (
	"math"
	"slices"
	"time"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/settings"
)

func (w *widener) enable(tool string, rest []string, s config.Setting) bool {
	was := w.before(s.Key)
	if len(rest) != 1 || rest[0] != "state" {
		return was != nil && was.Any() != s.Value.Any()
	}
	return s.Value.Any() == "on" && (was != nil && was.Any() == "off" || w.commands[tool])
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
	switch kind {
	case "net":
		return s.Value.Get("allow").Any() == true
	case "env":
		return s.Value.Get("read").Any() == true
	}
	if w.mounts.widens(tool, s.Origin) {
		return true
	}
	rule := config.ParseFsRule(s.Value)
	return rule.Caps() != 0 && !rule.External && w.declares(s, tool, "access", "fs")
}

// needs narrow; they widen only where a lower layer said less. Those of a program of the
// repository's are part of what was said of it.
func (w *widener) needs(tool string, s config.Setting) bool {
	was := w.before(s.Key)
	return w.commands[tool] || was != nil && config.ParseCaps(s.Value)&^config.ParseCaps(was) != 0
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
func amount(v *settings.Value) (float64, bool) {
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
