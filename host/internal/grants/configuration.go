package grants

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/jptools/jptools/host/internal/preset"
	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/jptool"
)

// configuration is a tool that is started with the flags, as TOML. Places outside are granted to all tools, because the
// configuration has no others.
func (g *Flags) configuration(m *merged, argv []string) string {
	var b strings.Builder
	name := toolName(argv[0])
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("[conversation.tools.%s]", name)
	line(`source = "local"`)
	line("command = { program = %s, args = %s }", settings.Quote(argv[0]), list(argv[1:]))
	if words := presetWords(g.Preset); len(words) > 0 {
		line("preset = %s", list(words))
	}
	if len(g.Limit) > 0 {
		var limits []string
		for _, spec := range g.Limit {
			key, value, _ := strings.Cut(spec, "=")
			if strings.Trim(value, "0123456789") != "" {
				value = settings.Quote(value)
			}
			limits = append(limits, key+" = "+value)
		}
		line("limits = { %s }", strings.Join(limits, ", "))
	}
	if len(m.deny) > 0 {
		var patterns []string
		for _, p := range m.deny {
			patterns = append(patterns, p.Text)
		}
		line("[conversation.tools.%s.access]\ndeny = %s", name, list(patterns))
	}
	for i := range m.declared.Rules {
		// What the flags grant in the workspace; the default needs no words.
		if r := &m.declared.Rules[i]; r.Type == "fs" && r.Origin != "self-protection" && (g.narrows() || r.Name != ".") {
			line("[[conversation.tools.%s.access.fs]]", name)
			line("path = %s", settings.Quote(r.Name))
			for _, word := range capWords(r.Caps) {
				line("%s = true", word)
			}
		}
	}
	for _, variable := range g.Env {
		line("[[conversation.tools.%s.access.env]]\nname = %s\nread = true", name, settings.Quote(variable))
	}
	if g.Net {
		for _, port := range []int{21, 80, 443} {
			line("[[conversation.tools.%s.access.net]]\nhost = \"*\"\nport = %d\nallow = true", name, port)
		}
	}
	for _, e := range m.extra {
		if strings.HasPrefix(e.Origin, "preset ") {
			continue
		}
		line("\n[[sandbox.paths]] # for every tool\npath = %s", settings.Quote(e.Path))
		for _, word := range capWords(e.Caps) {
			line("%s = true", word)
		}
	}
	return b.String()
}

// capWords are the keys that grant capabilities; `write` stands for three.
func capWords(caps jptool.Caps) (words []string) {
	for _, name := range caps.Names() {
		c, _ := jptool.ParseCapability(name)
		switch {
		case c&jptool.Write == 0 || !caps.Has(jptool.Write):
			words = append(words, name)
		case c == jptool.Update:
			words = append(words, "write")
		}
	}
	return words
}

// narrows reports whether the flags say something of the workspace.
func (g *Flags) narrows() bool {
	return len(g.RO)+len(g.RW)+len(g.Grant) > 0
}

func presetWords(texts []string) (words []string) {
	choices, _ := preset.Parse(texts) // they were read before
	for _, c := range choices {
		words = append(words, c.Word())
	}
	return words
}

// list is a list of texts in TOML.
func list(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = settings.Quote(w)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// toolName makes a name for a tool of that of its program.
func toolName(program string) string {
	name := strings.Map(func(r rune) rune {
		if settings.IsBareKey(string(r)) {
			return r
		}
		return '_'
	}, filepath.Base(program))
	return strings.TrimRight(settings.Shorten(name, 60), "…")
}
