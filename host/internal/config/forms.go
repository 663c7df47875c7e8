package config

import (
	"cmp"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jptools/jptools/host/internal/preset"
	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/nearest"
)

// form is a value that can be written in several ways, or whose Go type does not tell how.
type form struct {
	// node is what the value may be.
	node func(tagReader) *node
	// decode reads it; nil if the Go type tells how.
	decode func(*settings.Value) any
}

// formOf is the form that the tag `as` names; "" names one that the Go type tells all of.
func formOf(as string) form {
	switch as {
	case "":
		return form{}
	case "source":
		return form{
			func(tagReader) *node { return text(checkSource) },
			func(v *settings.Value) any { s, _ := parseSource(v.Text()); return s },
		}
	case "switch":
		return form{
			func(tagReader) *node { return union(&node{kind: nodeBool}, enum("on", "off")) },
			func(v *settings.Value) any { return v.Text() == "on" },
		}
	case "enable":
		return form{node: func(r tagReader) *node {
			words := enum("on", "off", "always", "explicit")
			n := union(&node{kind: nodeBool}, words, r.table(reflect.TypeFor[Enable]()))
			n.normal = normalEnable
			return n
		}}
	case "command":
		return form{func(r tagReader) *node {
			n := union(text(checkCommandLine), r.table(reflect.TypeFor[Command]()))
			n.whole = true
			return n
		}, func(v *settings.Value) any { return ParseCommand(v) }}
	case "types":
		return form{func(tagReader) *node {
			types := enum("string", "number", "integer", "boolean", "array", "object", "null")
			return union(types, &node{kind: nodeList, elem: types, check: checkTypes})
		}, func(v *settings.Value) any { return v.Strings() }}
	case "target":
		return form{func(tagReader) *node {
			return union(enum("user", "assistant"), &node{kind: nodeMap, elem: &node{kind: nodeFree}})
		}, func(v *settings.Value) any {
			if v.Kind == settings.Table {
				return "assistant"
			}
			return v.Text()
		}}
	case "lines":
		return form{func(tagReader) *node { return union(enum("off", "full"), whole("lines")) }, nil}
	case "needs":
		return form{func(r tagReader) *node { return r.table(reflect.TypeFor[needs]()) }, decodeNeeds}
	case "presets":
		return form{
			func(tagReader) *node { return &node{kind: nodeList, elem: enum(preset.Words()...)} },
			func(v *settings.Value) any { return v.Strings() },
		}
	case "duration":
		return form{func(tagReader) *node { return union(number(), text(checkDuration)) }, decodeDuration}
	case "seconds":
		return form{func(tagReader) *node { return number() }, decodeDuration}
	case "size":
		return form{func(tagReader) *node { return union(whole("bytes"), text(checkSize)) }, decodeSize}
	}
	panic("config: no form is called " + as)
}

func text(check checkFunc) *node { return &node{kind: nodeString, check: check} }

// number is a number of seconds.
func number() *node { return &node{kind: nodeNumber, check: checkSeconds} }

// whole is a positive number of something.
func whole(what string) *node { return &node{kind: nodeInt, check: positive(what)} }

func union(alts ...*node) *node { return &node{kind: nodeUnion, alts: alts} }

func enum(words ...string) *node { return &node{kind: nodeString, enum: words} }

func decodeNeeds(v *settings.Value) any {
	list := v.Get("fs")
	if list == nil {
		return (*jptool.Caps)(nil)
	}
	return new(ParseCaps(list))
}

func decodeDuration(v *settings.Value) any {
	if v.Kind == settings.String {
		t, _ := time.ParseDuration(v.Text())
		return t
	}
	// Rounded up, because 0 means that there is no limit.
	return max(1, time.Duration(v.Number()*float64(time.Second)))
}

func decodeSize(v *settings.Value) any {
	if v.Kind == settings.String {
		n, _ := ParseSize(v.Text())
		return n
	}
	return v.Scalar
}

// ParseCommand is the command that a value stands for, nil if it stands for none. In a list of settings
// the keys of a command's table stand one by one.
func ParseCommand(v *settings.Value) *Command {
	switch {
	case v == nil || v.Kind != settings.String && v.Kind != settings.Table:
		return nil
	case v.Kind == settings.Table:
		return &Command{
			Program: v.Get("program").Text(), Args: v.Get("args").Strings(),
			Shell: v.Get("shell").Any() == true, Origin: v.Origin,
		}
	}
	words, err := splitWords(v.Text())
	if err != nil || len(words) == 0 {
		return nil // cannot be: the layer's check refused it
	}
	return &Command{Program: words[0], Args: words[1:], Origin: v.Origin}
}

// ParseFsRule is a rule of access.fs as it stands in its layer.
func ParseFsRule(v *settings.Value) jptool.FsRule {
	var r FsRule
	if v.Kind == settings.Table {
		fill(reflect.ValueOf(&r).Elem(), v)
	}
	return r.FsRule
}

// ParseCaps are the capabilities that a list of words names.
func ParseCaps(v *settings.Value) jptool.Caps {
	var caps jptool.Caps
	for _, word := range v.Strings() {
		one, _ := jptool.ParseCapability(word)
		caps |= one
	}
	return caps
}

// normalEnable writes the short forms of enable as the table that they stand for. `on`
// and `off` leave allow_toggle to lower layers.
func normalEnable(v *settings.Value) {
	onOff := map[any]string{true: "on", false: "off"}
	if v.Kind == settings.Table {
		if s := v.Get("state"); s != nil && s.Kind == settings.Bool {
			s.Kind, s.Scalar = settings.String, onOff[s.Scalar]
		}
		return
	}
	keys := []string{"state", "allow_toggle"}
	words := []string{cmp.Or(v.Text(), onOff[v.Scalar])}
	switch words[0] {
	case "always":
		words = []string{"on", "never"}
	case "explicit":
		words = []string{"off", "if_named"}
	}
	*v = *settings.NewTable(v.Origin)
	for i, word := range words {
		v.Set(keys[i], &settings.Value{Kind: settings.String, Origin: v.Origin.Child(keys[i]), Scalar: word})
	}
}

// wordPiece is what a command line begins with: space, a quoted text, an escaped character, a placeholder, or
// other characters.
var wordPiece = settings.Pattern(`(?s)^(?:([ \t\r\n]+)|'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|(\{\{.*?\}\}|\{|[^'"\\{ \t\r\n]+))`)

// wordEscape is a character that a backslash escapes within double quotes.
var wordEscape = settings.Pattern("(?s)\\\\([$`\"\\\\\n])")

// splitWords splits a command line into words by the quoting rules of a POSIX shell. It
// expands nothing: $, *, ~, |, ; and # are characters like any other. An unquoted
// `{{ … }}` is never split, so that a placeholder may hold spaces and quotes.
func splitWords(s string) ([]string, error) {
	if strings.ContainsRune(s, 0) {
		return nil, errors.New("holds a NUL byte")
	}
	const continued = "\\\n" // the line goes on in the next one
	var words []string
	inWord := false
	for s != "" {
		m := wordPiece().FindStringSubmatch(s)
		switch {
		case m == nil && s[0] == '\\':
			return nil, errors.New("ends in a backslash")
		case m == nil:
			return nil, errors.New("has a " + s[:1] + " that is never closed")
		}
		s = s[len(m[0]):]
		if m[1] != "" || m[0] == continued {
			inWord = inWord && m[1] == ""
			continue
		}
		if !inWord {
			words, inWord = append(words, ""), true
		}
		quoted := wordEscape().ReplaceAllStringFunc(m[3], func(e string) string { return strings.TrimSuffix(e[1:], "\n") })
		words[len(words)-1] += m[2] + quoted + m[4] + m[5]
	}
	return words, nil
}

// checkFunc checks a single value. It returns what is wrong and what to write instead, or
// two empty strings.
type checkFunc func(v *settings.Value) (message, help string)

// checks are those that tags name.
var checks = map[string]checkFunc{
	"program":      notEmpty("program"),
	"pattern":      checkPattern,
	"port":         checkPort,
	"processes":    positive("processes"),
	"days":         positive("days"),
	"enum":         checkEnum,
	"options":      checkOptions,
	"sandbox_path": checkSandboxPath,
}

func checkToolName(name string) (string, string) {
	if name == defaultsName || settings.IsBareKey(name) && len(name) <= 64 {
		return "", ""
	}
	return "is not the name of a tool", "use at most 64 letters, digits, _ and -; '*' is the table of defaults"
}

func checkSource(v *settings.Value) (string, string) {
	if _, ok := parseSource(v.Text()); ok {
		return "", ""
	}
	help := `write "local", "builtin", "mcp.SERVER" or "mcp.SERVER.TOOL"`
	if v.Text() == "mcp" || strings.HasPrefix(v.Text(), "mcp.") {
		return settings.Show(v.Text()) + " names no server", `write "mcp.SERVER" or "mcp.SERVER.TOOL"`
	}
	kind, _, _ := strings.Cut(v.Text(), ".")
	if near := nearest.Word(kind, []string{"local", "builtin", "mcp"}); near != "" && near != kind {
		help = "did you mean " + settings.Quote(near+strings.TrimPrefix(v.Text(), kind)) + "?"
	}
	return settings.Show(v.Text()) + " is not a source", help
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

func checkCommandLine(v *settings.Value) (string, string) {
	words, err := splitWords(v.Text())
	switch {
	case err != nil:
		return err.Error(), "close the quote, or write { program = …, args = [ … ] }"
	case len(words) == 0 || words[0] == "":
		return "names no program", `write the program and its arguments, such as "my-tool --json"`
	}
	return "", ""
}

func notEmpty(what string) checkFunc {
	return func(v *settings.Value) (string, string) {
		if v.Text() == "" {
			return "is empty", "write the " + what + ", or leave the key out"
		}
		return "", ""
	}
}

// checkPattern checks a pattern of paths. What is below the home directory is absolute by the time it is used.
func checkPattern(v *settings.Value) (string, string) {
	text := v.Text()
	if rest, ok := strings.CutPrefix(text, "~/"); ok {
		text = "//home/" + rest
	}
	if err := jptool.CheckGlob(text); err != nil {
		return settings.Show(v.Text()) + " cannot be a pattern: " + err.Error(), `patterns are those of .gitignore without "!", such as ".env", "**/*.pem", "secrets/", "/build/keys" or "~/.netrc"`
	}
	return "", ""
}

// checkTakesAway checks a rule of the table '*'.
func checkTakesAway(v *settings.Value) (string, string) {
	for _, k := range []string{"read", "write", "create", "update", "delete", "execute", "allow"} {
		if v.Get(k).Any() == true {
			return "grants something to all tools at once, and rules of '*' only take away", "write it below conversation.tools.NAME of each tool that needs it"
		}
	}
	return "", ""
}

func positive(what string) checkFunc {
	return func(v *settings.Value) (string, string) {
		if v.Number() <= 0 {
			return "must be positive, not " + v.String(), "write the number of " + what + ", or leave the key out"
		}
		return "", ""
	}
}

func checkPort(v *settings.Value) (string, string) {
	if n := v.Number(); n < 1 || n > 65535 {
		return v.String() + " is not a port", "write 1 to 65535, or leave port out for the scheme's default"
	}
	return "", ""
}

// maxSeconds keeps a limit far from the end of time.Duration.
const maxSeconds = 1e9

func checkSeconds(v *settings.Value) (string, string) {
	if n := v.Number(); !(n > 0 && n <= maxSeconds) {
		return "must be positive and at most 1000000000, not " + v.String(), "write seconds"
	}
	return "", ""
}

func checkDuration(v *settings.Value) (string, string) {
	d, err := time.ParseDuration(v.Text())
	switch {
	case err != nil:
		return settings.Show(v.Text()) + " is not a duration", `write seconds as a number, or a duration such as "90s" or "2m"`
	case d <= 0 || d.Seconds() > maxSeconds:
		return "must be positive and at most 1000000000 seconds, not " + settings.Show(v.Text()), `write a duration such as "90s" or "2m"`
	}
	return "", ""
}

func checkSize(v *settings.Value) (string, string) {
	if _, ok := ParseSize(v.Text()); !ok {
		return settings.Show(v.Text()) + " is not a size", `write bytes as a number, or a size such as "64KiB", "10MiB" or "1GiB"`
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

func checkSandboxPath(v *settings.Value) (string, string) {
	switch p := v.Text(); {
	case strings.ContainsRune(p, 0):
		return "holds a NUL byte", "write it without"
	case p == "~" || strings.HasPrefix(p, "~/"):
	case !filepath.IsAbs(p):
		return settings.Show(p) + " is neither absolute nor below ~/", "paths in the workspace are granted by access.fs of a tool"
	case slices.Contains(strings.Split(filepath.ToSlash(p), "/"), ".."):
		return settings.Show(p) + " has a .. component", "write the path without"
	}
	return "", ""
}

func checkTypes(v *settings.Value) (string, string) {
	seen := map[string]bool{}
	for _, t := range v.Items {
		if seen[t.Text()] {
			return "names " + settings.Show(t.Text()) + " twice", "name each type once"
		}
		seen[t.Text()] = true
	}
	if len(seen) == 0 {
		return "is an empty list", `name a type, such as "string"`
	}
	return "", ""
}

func checkEnum(v *settings.Value) (string, string) {
	if len(v.Items) == 0 {
		return "is an empty list, which allows nothing", "list the values, or leave enum out"
	}
	return "", ""
}

func checkOptions(v *settings.Value) (string, string) {
	if value, _ := annotatedFree(v); value.Kind != settings.Table {
		return "must be a table, not " + value.Kind.String(), "write options = { NAME = VALUE }"
	}
	return "", ""
}
