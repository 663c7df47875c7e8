package policy

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/jptool"
)

func (w *widener) enable(tool string, rest []string, s config.Setting) bool {
	was := w.before(s.Key)
	if len(rest) != 1 || rest[0] != "state" {
		return was != nil && was.Any() != s.Value.Any()
	}
	return s.Value.Any() == "on" && (was != nil && was.Any() == "off" || slices.Contains(w.commands, tool))
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
	return !slices.Contains([]string{"inline_results", "results_file_link", "error"}, rest[0])
}

// questions widen when nobody is asked, or not the user.
func (w *widener) questions(rest []string, s config.Setting) bool {
	return len(rest) != 2 || rest[1] != "target" || s.Value.Any() != "user"
}

// parameters widen what the model may hand to a tool that is not the repository's own.
func (w *widener) parameters(tool string, rest []string) bool {
	if !w.foreign(tool) {
		return false
	}
	for i := 1; i < len(rest); {
		switch rest[i] {
		case "items":
			i++
		case "properties":
			i += 2
		default:
			return !slices.Contains([]string{"summary", "description", "examples"}, rest[i])
		}
	}
	return true
}

// plainOptions are options of the file tools that say how much is shown.
var plainOptions = []string{"deadline", "max_lines", "max_bytes", "max_line_bytes"}

// options are behaviour that the user sets and the model cannot: of a tool that is not the
// repository's own, all count but those that are known to protect nothing or protect more.
func (w *widener) options(tool string, rest []string, s config.Setting) bool {
	if !w.foreign(tool) {
		return false
	}
	builtIn := slices.ContainsFunc(w.history(toolKey(tool)+".source"), func(s config.Setting) bool { return s.Origin.Layer == config.LayerDefault })
	if !builtIn || len(rest) != 1 || w.declares(tool, "options."+rest[0]) {
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
	case "sensitive_paths":
		return false
	case "commands":
		if len(rest) == 1 {
			return false // an empty table allows nothing
		}
		return w.declares(tool, "access.commands")
	case "fs", "net", "env":
	default:
		return true
	}
	if len(rest) > 1 {
		return rest[1] == "strategy" && s.Value.Any() == "replace" && w.declares(tool, "access."+kind)
	}
	rule, _ := s.Value.Any().(map[string]any)
	yes := func(key string) bool { return rule[key] == true }
	switch kind {
	case "net":
		return yes("allow")
	case "env":
		return yes("read")
	}
	grants := yes("read") || yes("execute")
	for _, key := range []string{"create", "update", "delete"} {
		set, written := rule[key]
		grants = grants || set == true || !written && yes("write")
	}
	return grants && !yes("external") && w.declares(tool, "access.fs")
}

// needs narrow; they widen only where a lower layer said less.
func (w *widener) needs(s config.Setting) bool {
	was := w.before(s.Key)
	return was != nil && capsOf(s.Value)&^capsOf(was) != 0
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

// limits widen where they are raised; without one, only time has a limit.
func (w *widener) limits(rest []string, s config.Setting) bool {
	if len(rest) != 1 {
		return true
	}
	now, ok := amount(s.Value)
	if !ok {
		return true
	}
	most := 0.0
	if rest[0] == "time" {
		most = 120
	}
	if was := w.before(s.Key); was != nil {
		if most, ok = amount(was); !ok {
			return true
		}
	}
	return most > 0 && now > most
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
		for i, unit := range []string{"KiB", "MiB", "GiB", "TiB"} {
			if digits, ok := strings.CutSuffix(x, unit); ok {
				n, err := strconv.ParseUint(strings.TrimSpace(digits), 10, 20)
				return float64(n << (10 * (i + 1))), err == nil
			}
		}
	}
	return 0, false
}
