package policy

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/jptools/jptools/host/internal/approval"
	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/jptool/wspath"
)

// Widening lists the settings of the repository's own layers that could widen access
// beyond RFD 075's defaults or beyond what the user's own files say (DESIGN 7, "Trust"),
// each in one canonical rendering. External rules are not among them: they go by approval
// alone. The list depends on files only, not on flags, environment or conversation, so
// that what was accepted once holds for all of these; and it holds settings that a higher
// layer replaces for now, too. A key that is not known here is taken to widen.
func Widening(cfg *config.Config) []approval.Setting {
	w := &widener{cfg: cfg}
	var root string
	for _, l := range cfg.Layers() {
		if l.Layer == config.LayerWorkspace {
			root = strings.TrimSuffix(filepath.ToSlash(l.File), "/"+config.WorkspaceFile)
		}
	}
	settings := cfg.FromRepository()
	for _, s := range settings {
		if parts := splitKey(s.Key); len(parts) > 3 && parts[3] == "command" {
			w.commands = append(w.commands, parts[2])
		}
	}
	var out []approval.Setting
	for _, s := range settings {
		if !w.widens(s) {
			continue
		}
		file := filepath.ToSlash(s.Origin.File)
		if rest, ok := wspath.WithinAbs(root, file); ok && root != "" {
			file = rest
		}
		// The index of a rule is where it stands now, not what it says.
		out = append(out, approval.Setting{Key: listKey(s.Key), Value: canonicalText(s.Value), File: file, Line: s.Origin.Line})
	}
	return out
}

// canonicalText renders equal values equally, whatever the order of their keys.
func canonicalText(v *config.Value) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v.Any()); err != nil {
		return v.String() // what JSON cannot say: no such value passes the schema
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// widener judges single settings.
type widener struct {
	cfg *config.Config
	// commands are the tools whose command the repository sets.
	commands []string
}

// harmless are keys of a tool that say something and grant nothing.
var harmless = []string{"summary", "description", "examples", "cancellation_response"}

func (w *widener) widens(s config.Setting) bool {
	parts := splitKey(s.Key)
	switch {
	case s.Value.Kind == config.Table && len(s.Value.Keys()) == 0 && (len(parts) < 5 || parts[4] != "commands"):
		return false // an empty table sets nothing, but that of a program allows any arguments
	case len(parts) == 0:
		return true
	case parts[0] == "inherit":
		return s.Value.Any() == false
	case parts[0] == "sandbox":
		return len(parts) != 2 || parts[1] != "mode" || !w.atMost(s, sandboxRank, "auto")
	case len(parts) < 4 || parts[0] != "conversation" || parts[1] != "tools":
		return true
	}
	tool, rest := parts[2], parts[3:]
	if slices.Contains(harmless, rest[0]) && len(rest) == 1 {
		return false
	}
	return w.toolKey(tool, rest[0], rest[1:], s)
}

// toolKey judges a key of a tool; rest is what follows it.
func (w *widener) toolKey(tool, key string, rest []string, s config.Setting) bool {
	switch key {
	case "source":
		was := w.before(s.Key)
		source, _ := s.Value.Any().(string)
		return was != nil && was.Any() != source && strings.HasPrefix(source, "local")
	case "enable":
		return w.enable(tool, rest, s)
	case "run":
		return !w.atMost(s, runRank, "ask")
	case "format":
		run := w.before(toolKey(tool) + ".run")
		if run != nil && run.Any() == "unattended" && w.before(s.Key) == nil {
			return false // then a preview is made before the question by default
		}
		return !w.atMost(s, runRank, "ask")
	case "result":
		return !w.atMost(s, runRank, "unattended")
	case "style":
		return w.style(rest, s)
	case "questions":
		return w.questions(rest, s)
	case "parameters":
		return w.parameters(tool, rest)
	case "options":
		return w.options(tool, rest, s)
	case "access":
		return w.access(tool, rest, s)
	case "needs":
		return w.needs(s)
	case "limits":
		return w.limits(rest, s)
	}
	return true // also command: whatever the repository runs is asked for
}

// runRank orders what may happen without a person; -1 for another word.
func runRank(word string) int {
	switch word {
	case "skip":
		return 0
	case "ask", "edit":
		return 1
	case "unattended":
		return 2
	}
	return -1
}

func sandboxRank(word string) int { return slices.Index([]string{"required", "auto", "off"}, word) }

// atMost reports whether a word is no more than what the lower layers say, or else the
// default.
func (w *widener) atMost(s config.Setting, rank func(string) int, def string) bool {
	if was := w.before(s.Key); was != nil {
		def, _ = was.Any().(string)
	}
	word, _ := s.Value.Any().(string)
	return rank(word) >= 0 && rank(word) <= rank(def)
}

// own are the layers below the repository's, persistent those of the user's files too
// that stand above it.
func own(l config.Layer) bool { return l == config.LayerDefault || l == config.LayerUserGlobal }

func persistent(l config.Layer) bool { return own(l) || l == config.LayerUserWorkspace }

// before is what the layers below the repository's say of a key, for a tool that they say
// nothing of what they say of all tools; nil when nothing.
func (w *widener) before(key string) *config.Value {
	parts := splitKey(key)
	keys := []string{key}
	if len(parts) > 3 && parts[0] == "conversation" && parts[2] != "*" {
		keys = append(keys, strings.Replace(key, toolKey(parts[2])+".", toolKey("*")+".", 1))
	}
	for _, k := range keys {
		var last *config.Value
		for _, s := range w.history(k) {
			if s.Key == k && own(s.Origin.Layer) {
				last = s.Value
			}
		}
		if last != nil {
			return last
		}
	}
	return nil
}

func (w *widener) history(key string) []config.Setting {
	list, err := w.cfg.History(key)
	if err != nil {
		return nil
	}
	return list
}

// declares reports whether a file of the user or the built-in layer sets anything at or
// below a key of a tool.
func (w *widener) declares(tool, key string) bool {
	return slices.ContainsFunc(w.history(toolKey(tool)+"."+key), func(s config.Setting) bool { return persistent(s.Origin.Layer) })
}

// foreign reports whether a tool is not the repository's own: then what it says of it
// changes something that somebody else set up.
func (w *widener) foreign(tool string) bool { return tool == "*" || w.declares(tool, "source") }

// listKey is the key of the list that a rule stands in.
func listKey(key string) string {
	if i := strings.LastIndexByte(key, '['); i > 0 && strings.HasSuffix(key, "]") {
		if _, err := strconv.Atoi(key[i+1 : len(key)-1]); err == nil {
			return key[:i]
		}
	}
	return key
}

// splitKey takes a key in TOML's notation apart, as config writes them.
func splitKey(key string) []string {
	key = listKey(key)
	var parts []string
	for key != "" {
		var part string
		switch key[0] {
		case '\'':
			end := strings.IndexByte(key[1:], '\'')
			if end < 0 {
				return append(parts, key)
			}
			part, key = key[1:end+1], key[end+2:]
		case '"':
			quoted, err := strconv.QuotedPrefix(key)
			if err != nil {
				return append(parts, key)
			}
			part, _ = strconv.Unquote(quoted)
			key = key[len(quoted):]
		default:
			end := strings.IndexByte(key, '.')
			if end < 0 {
				end = len(key)
			}
			part, key = key[:end], key[end:]
		}
		parts = append(parts, part)
		key = strings.TrimPrefix(key, ".")
	}
	return parts
}
