// Package trust finds what the configuration of a repository could widen: the settings, and the
// files that its commands name, that a person must accept before they take effect ([Widening]).
//
// It only finds and describes them. Asking the person, and remembering the answer, is the work of
// package consent.
package trust

import (
	"context"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/mount"
	"github.com/jptools/jptools/host/internal/preset"
	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/sandbox"
)

// Widening lists the settings of the repository's own layers that could widen access
// beyond RFD 075's defaults or beyond what the user's own layers say (docs/decisions.md),
// each in one canonical rendering, and the files that the repository's commands name. It holds
// settings that a higher layer replaces for now, too. Environment, conversation and --cfg are
// only looked at for what they restrict: a rule of the repository that would open more again
// is in the list then. A key that is not known here is taken to widen. External rules go by
// approval alone, but where the user mounted something at the same path. root is the canonical
// workspace. The only error is that of ctx.
func Widening(ctx context.Context, cfg *config.Config, root string) ([]consent.Setting, error) {
	root = filepath.ToSlash(root)
	w := newWidener(cfg, root)
	var out []consent.Setting
	for _, s := range w.repository {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if w.widens(s) {
			// The index of a rule is where it stands now, not what it says.
			out = append(out, consent.Setting{Key: listKey(s.Key), Value: s.Value.JSON(), File: within(root, s.Origin.File), Line: s.Origin.Line})
		}
	}
	return append(out, namedFiles(root, w.repository)...), ctx.Err()
}

// within is a file of the workspace for people, and the same wherever the workspace lies.
func within(root, file string) string {
	file = filepath.ToSlash(file)
	if rest, ok := wspath.WithinAbs(root, file); ok && root != "" {
		return rest
	}
	return file
}

// widener judges single settings. What it needs of all layers is gathered once: looking every
// setting up in all of them would cost the square of their number.
type widener struct {
	repository []config.Setting
	// commands are the tools whose command the repository sets.
	commands map[string]bool
	// own is what the layers below the repository's say last of a key.
	own map[string]*settings.Value
	// files and calls are the keys, and those above them, that the user's files and the
	// built-in layer set, and those that environment, conversation and --cfg set.
	files, calls map[string]bool
	// builtIn are the tools of the built-in layer.
	builtIn map[string]bool
	mounts  *userMounts
}

// deepest is how many parts of a key anything is looked up by.
const deepest = 5

func newWidener(cfg *config.Config, root string) *widener {
	w := &widener{
		commands: map[string]bool{}, own: map[string]*settings.Value{}, files: map[string]bool{}, calls: map[string]bool{},
		builtIn: map[string]bool{},
		mounts:  newUserMounts(cfg, root),
	}
	all, _ := cfg.History("") // all keys are known
	for _, s := range all {
		parts := splitKey(s.Key)
		layer := s.Origin.Layer
		if layer.Repository() {
			w.repository = append(w.repository, s)
			if len(parts) > 3 && parts[3] == "command" {
				w.commands[parts[2]] = true
			}
			continue
		}
		if below(layer) {
			w.own[s.Key] = s.Value
		}
		if layer == settings.LayerDefault && len(parts) == 4 && parts[3] == "source" {
			w.builtIn[parts[2]] = true
		}
		set := w.files
		switch {
		case mountRow(parts, s):
			continue
		case !below(layer) && layer != settings.LayerUserWorkspace:
			set = w.calls
		}
		for n := 1; n <= min(len(parts), deepest); n++ {
			set[settings.JoinKey(parts[:n]...)] = true
		}
	}
	return w
}

// below: the layers below the repository's.
func below(l settings.Layer) bool { return l == settings.LayerDefault || l == settings.LayerUserGlobal }

// mountRow reports whether a setting is one of the rules that a mount stores in the conversation. They
// restrict nothing: beside the mount itself there is only what keeps the access of before.
func mountRow(parts []string, s config.Setting) bool {
	if s.Origin.Layer != settings.LayerConversation || len(parts) != 5 || parts[3] != "access" || parts[4] != "fs" || s.Value.Kind != settings.Table {
		return false
	}
	rule := config.ParseFsRule(s.Value)
	return rule.External || mount.Preserves(rule)
}

func (w *widener) widens(s config.Setting) bool {
	parts := splitKey(s.Key)
	switch {
	case s.Value.Kind == settings.Table && len(s.Value.Keys) == 0 && (len(parts) < 5 || parts[4] != "commands"):
		return false // an empty table sets nothing, but that of a program allows any arguments
	case len(parts) == 0:
		return true
	}
	switch config.RepositoryMay(parts...) {
	case config.Free:
		return false
	case config.Own:
		// The model takes what is said of a tool for the word of whoever set the tool up.
		return w.foreign(s, parts[2])
	case config.Judged:
	default:
		return true
	}
	switch {
	case parts[0] == "inherit":
		return s.Value.Any() == false
	case parts[0] == "sandbox":
		return len(parts) != 2 || parts[1] != "mode" || !w.atMost(s, sandboxOrder, "auto")
	case len(parts) < 4 || parts[0] != "conversation" || parts[1] != "tools":
		return true
	}
	return w.widensTool(parts[2], parts[3], parts[4:], s)
}

// widensTool judges a key of a tool; rest is what follows it.
func (w *widener) widensTool(tool, key string, rest []string, s config.Setting) bool {
	switch key {
	case "source":
		was := w.before(s.Key)
		source, _ := s.Value.Any().(string)
		return was != nil && was.Any() != source && strings.HasPrefix(source, "local")
	case "enable":
		was := w.before(s.Key)
		if len(rest) != 1 || rest[0] != "state" {
			return was != nil && was.Any() != s.Value.Any()
		}
		return s.Value.Any() == "on" && (was != nil && was.Any() == "off" || w.commands[tool])
	case "run":
		return !w.atMost(s, runOrder, "ask")
	case "format":
		run := w.before(toolKey(tool, "run"))
		if run != nil && run.Any() == "unattended" && w.before(s.Key) == nil {
			return false // then a preview is made before the question by default
		}
		return !w.atMost(s, runOrder, "ask")
	case "result":
		return !w.atMost(s, runOrder, "unattended")
	case "style":
		// It widens where it runs a program, or keeps from a person what a call does.
		return len(rest) != 1 || rest[0] == "parameters" && s.Value.Any() != "json" && s.Value.Any() != "function_call" ||
			rest[0] == "hidden" && s.Value.Any() != false
	case "questions":
		// They widen when nobody is asked, or not the user.
		return len(rest) != 2 || rest[1] != "target" || s.Value.Any() != "user"
	case "parameters":
		return w.parameters(tool, rest, s)
	case "options":
		return w.options(tool, rest, s)
	case "access":
		return w.access(tool, rest, s)
	case "needs":
		// They narrow, and widen only where a lower layer said less. Those of a program of the repository's are part
		// of what was said of it.
		was := w.before(s.Key)
		return w.commands[tool] || was != nil && config.ParseCaps(s.Value)&^config.ParseCaps(was) != 0
	case "limits":
		return w.limits(rest, s)
	case "preset":
		// A preset grants places outside of the workspace. Less than the user's own layers say widens nothing.
		granted := w.before(s.Key).Strings()
		return slices.ContainsFunc(s.Value.Strings(), func(name string) bool {
			return !slices.Contains(granted, name) && !slices.Contains(granted, name+preset.NetSuffix)
		})
	}
	return true
}

// The orders of what may happen without a person, and of how a sandbox is insisted on, low to high;
// `edit` hands over what a person leaves in an editor.
var (
	runOrder     = []string{"skip", "ask", "edit", "unattended"}
	sandboxOrder = []string{"required", "auto", "off"}
)

// atMost reports whether a word is no more than what the lower layers say, or else the
// default.
func (w *widener) atMost(s config.Setting, order []string, def string) bool {
	if was := w.before(s.Key); was != nil {
		def, _ = was.Any().(string)
	}
	word, _ := s.Value.Any().(string)
	return slices.Contains(order, word) && slices.Index(order, word) <= slices.Index(order, def)
}

// before is what the layers below the repository's say of a key, for a tool that they say
// nothing of what they say of all tools; nil when nothing.
func (w *widener) before(key string) *settings.Value {
	parts := splitKey(key)
	if w.own[key] == nil && len(parts) > 3 && parts[0] == "conversation" {
		key = toolKey("*", parts[3:]...)
	}
	return w.own[key]
}

// declares reports whether somebody else sets anything at or below a key of a tool: a file
// of the user, the built-in layer, or what was given with the call, if the setting s of the
// repository still counts beside that.
func (w *widener) declares(s config.Setting, tool string, key ...string) bool {
	full := toolKey(tool, key...)
	return w.files[full] || s.Effective && w.calls[full]
}

// foreign reports whether a tool is not the repository's own: then what it says of it
// changes something that somebody else set up.
func (w *widener) foreign(s config.Setting, tool string) bool {
	return tool == "*" || w.declares(s, tool, "source")
}

var index = settings.Pattern(`\[\d+\]$`)

// listKey is the key of the list that a rule stands in.
func listKey(key string) string { return index().ReplaceAllString(key, "") }

// splitKey takes a key apart, as config writes it. What cannot be read is one part, which
// nothing knows.
func splitKey(key string) []string {
	parts, err := settings.SplitKey(listKey(key))
	if err != nil {
		return []string{key}
	}
	return parts
}

// toolKey is the key of a tool, or one below it.
func toolKey(tool string, below ...string) string {
	return settings.JoinKey(append([]string{"conversation", "tools", tool}, below...)...)
}

// parameters widen what the model may hand to a tool that is not the repository's own. A program of the repository's gets
// any value from the model, whatever their types and texts say; only a default is part of what it runs.
func (w *widener) parameters(tool string, rest []string, s config.Setting) bool {
	foreign := w.foreign(s, tool)
	if !w.commands[tool] && !foreign {
		return false
	}
	for i := 1; i < len(rest); {
		switch rest[i] {
		case "items":
			i++
		case "properties":
			i += 2
		default:
			return foreign || rest[i] == "default"
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
	case "commands": // an empty table of them allows nothing
		return len(rest) > 1 && w.declares(s, tool, "access", "commands")
	case "fs", "net", "env":
	default:
		return true
	}
	if len(rest) > 1 {
		drops := rest[1] == "strategy" && s.Value.Any() == "replace" || rest[1] == "discard_when_merged" && s.Value.Any() == true
		return drops && w.files[toolKey(tool, "access", kind)]
	}
	switch kind {
	case "net":
		return s.Value.Get("allow").Any() == true
	case "env": // what every tool gets anyway widens nothing, unless the user's own rules say less
		name, _ := s.Value.Get("name").Any().(string)
		return s.Value.Get("read").Any() == true && (!minimal(name) || w.declares(s, tool, "access", "env"))
	}
	if w.mounts.widens(tool, s.Origin) {
		return true
	}
	rule := config.ParseFsRule(s.Value)
	return rule.Caps() != 0 && !rule.External && w.declares(s, tool, "access", "fs")
}

// minimal reports whether every tool gets the variables of a rule on this name.
func minimal(name string) bool {
	return slices.ContainsFunc(sandbox.MinimalEnvironment(runtime.GOOS == "windows"), func(own string) bool {
		prefix, wide := strings.CutSuffix(own, "*")
		return name == own || wide && strings.HasPrefix(name, prefix)
	})
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
