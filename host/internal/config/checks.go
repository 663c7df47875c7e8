package config

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/jptools/jptools/jptool/nearest"
)

// checkFunc checks a single value. It returns what is wrong and what to write instead, or
// two empty strings.
type checkFunc func(v *Value) (message, help string)

// checks are those that tags name.
var checks = map[string]checkFunc{
	"program":      notEmpty("program"),
	"pattern":      checkSensitivePath,
	"port":         checkPort,
	"processes":    positive("processes"),
	"enum":         checkEnum,
	"options":      checkOptions,
	"sandbox_path": checkSandboxPath,
}

func checkToolName(name string) (string, string) {
	if name == defaultsName || isBareKey(name) && len(name) <= 64 {
		return "", ""
	}
	return "is not the name of a tool", "use at most 64 letters, digits, _ and -; '*' is the table of defaults"
}

func checkSource(v *Value) (string, string) {
	if _, ok := parseSource(v.text()); ok {
		return "", ""
	}
	help := `write "local", "builtin", "mcp.SERVER" or "mcp.SERVER.TOOL"`
	if v.text() == "mcp" || strings.HasPrefix(v.text(), "mcp.") {
		return show(v.text()) + " names no server", `write "mcp.SERVER" or "mcp.SERVER.TOOL"`
	}
	kind, _, _ := strings.Cut(v.text(), ".")
	if near := nearest.Word(kind, []string{"local", "builtin", "mcp"}); near != "" && near != kind {
		help = "did you mean " + quoteTOML(near+strings.TrimPrefix(v.text(), kind)) + "?"
	}
	return show(v.text()) + " is not a source", help
}

// parseSource splits builtin[.x], local[.x] and mcp.<server>[.<tool>].
func parseSource(s string) (Source, bool) {
	kind, rest, dotted := strings.Cut(s, ".")
	switch {
	case dotted && rest == "":
		return Source{}, false
	case kind == "builtin" || kind == "local":
		return Source{Kind: SourceKind(kind), Name: rest}, true
	case kind == "mcp" && dotted:
		server, tool, more := strings.Cut(rest, ".")
		return Source{Kind: SourceMCP, Server: server, Name: tool}, server != "" && (tool != "" || !more)
	}
	return Source{}, false
}

func checkCommandLine(v *Value) (string, string) {
	words, err := splitWords(v.text())
	switch {
	case err != nil:
		return err.Error(), "close the quote, or write { program = …, args = [ … ] }"
	case len(words) == 0 || words[0] == "":
		return "names no program", `write the program and its arguments, such as "my-tool --json"`
	}
	return "", ""
}

func notEmpty(what string) checkFunc {
	return func(v *Value) (string, string) {
		if v.text() == "" {
			return "is empty", "write the " + what + ", or leave the key out"
		}
		return "", ""
	}
}

func checkSensitivePath(v *Value) (string, string) {
	if !doublestar.ValidatePattern(filepath.ToSlash(v.text())) {
		return show(v.text()) + " is not a pattern", `close the bracket or brace, or write \ before it`
	}
	return notEmpty("path")(v)
}

func positive(what string) checkFunc {
	return func(v *Value) (string, string) {
		if v.number() <= 0 {
			return "must be positive, not " + v.String(), "write the number of " + what + ", or leave the key out"
		}
		return "", ""
	}
}

func checkPort(v *Value) (string, string) {
	if n := v.number(); n < 1 || n > 65535 {
		return v.String() + " is not a port", "write 1 to 65535, or leave port out for the scheme's default"
	}
	return "", ""
}

// maxSeconds keeps a limit far from the end of time.Duration.
const maxSeconds = 1e9

func checkSeconds(v *Value) (string, string) {
	if n := v.number(); !(n > 0 && n <= maxSeconds) {
		return "must be positive and at most 1000000000, not " + v.String(), "write seconds"
	}
	return "", ""
}

func checkDuration(v *Value) (string, string) {
	d, err := time.ParseDuration(v.text())
	switch {
	case err != nil:
		return show(v.text()) + " is not a duration", `write seconds as a number, or a duration such as "90s" or "2m"`
	case d <= 0 || d.Seconds() > maxSeconds:
		return "must be positive and at most 1000000000 seconds, not " + show(v.text()), `write a duration such as "90s" or "2m"`
	}
	return "", ""
}

func checkSize(v *Value) (string, string) {
	if _, ok := ParseSize(v.text()); !ok {
		return show(v.text()) + " is not a size", `write bytes as a number, or a size such as "64KiB", "10MiB" or "1GiB"`
	}
	return "", ""
}

// ParseSize reads a positive number of bytes with a binary unit: `64KiB`.
func ParseSize(s string) (int64, bool) {
	for i, unit := range []string{"KiB", "MiB", "GiB", "TiB"} {
		digits, ok := strings.CutSuffix(s, unit)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSpace(digits), 10, 20)
		return int64(n) << (10 * (i + 1)), err == nil && n > 0
	}
	return 0, false
}

func checkSandboxPath(v *Value) (string, string) {
	switch p := v.text(); {
	case strings.ContainsRune(p, 0):
		return "holds a NUL byte", "write it without"
	case p == "~" || strings.HasPrefix(p, "~/"):
	case !filepath.IsAbs(p):
		return show(p) + " is neither absolute nor below ~/", "paths in the workspace are granted by access.fs of a tool"
	case slices.Contains(strings.Split(filepath.ToSlash(p), "/"), ".."):
		return show(p) + " has a .. component", "write the path without"
	}
	return "", ""
}

func checkTypes(v *Value) (string, string) {
	seen := map[string]bool{}
	for _, t := range v.items {
		if seen[t.text()] {
			return "names " + show(t.text()) + " twice", "name each type once"
		}
		seen[t.text()] = true
	}
	if len(seen) == 0 {
		return "is an empty list", `name a type, such as "string"`
	}
	return "", ""
}

func checkEnum(v *Value) (string, string) {
	if len(v.items) == 0 {
		return "is an empty list, which allows nothing", "list the values, or leave enum out"
	}
	return "", ""
}

func checkOptions(v *Value) (string, string) {
	if value, _ := annotatedFree(v); value.Kind != Table {
		return "must be a table, not " + value.Kind.String(), "write options = { NAME = VALUE }"
	}
	return "", ""
}
