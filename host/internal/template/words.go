package template

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// The shell's own commands, those of bash too, by what they do with their words. A program is free to do anything
// with them.
var (
	// prefixes are commands whose words are a command.
	prefixes = []string{"time", "exec", "command", "builtin"}
	// evaluators take words for code, or for the names of things that are run or set later.
	evaluators = []string{
		"eval", ".", "source", "trap", "let", "unset", "read", "getopts", "mapfile", "readarray", "wait", "compgen",
		"complete", "compopt", "bind", "enable", "hash", "jobs", "fc", "integer", "nameref",
	}
	// declarers do so with words that are no assignment: bash runs what is in the brackets of a name.
	declarers = []string{"declare", "typeset", "local", "readonly", "export"}
	// specials are variables whose value is run, or decides what is run.
	specials = []string{
		"PATH", "IFS", "ENV", "BASH_ENV", "SHELLOPTS", "BASHOPTS", "PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS4",
		"OPTIND", "RANDOM", "SRANDOM", "SECONDS", "LINENO", "HISTCMD",
	}
)

const callProgram = "call a program with it instead"

// refuseArgument says why no value may stand in word at of a command, and what to write instead.
func refuseArgument(words []spelling, at int) (why, instead string) {
	asCode := func(command, instead string) (string, string) {
		return "stands after " + command + ", which would take the value for code", instead
	}
	name := commandName(words[:at+1])
	if name == at {
		return "stands for the name of a command, so the value would choose what is run", "name the program, or write it without shell = true"
	}
	command, before, own := words[name], words[name+1:at], words[at]
	quoted := strconv.Quote(command.text)
	switch {
	case command.expands && (command.splits || !strings.Contains(command.text, "/")):
		return asCode("a command that an expansion names", "write the name of the command, or a quoted path with a / in it")
	case slices.Contains(evaluators, command.text):
		return asCode(quoted, callProgram)
	case name > 0 && strings.HasPrefix(command.text, "-"):
		return asCode(`"exec" with options`, callProgram)
	case command.text != "[" && strings.ContainsAny(command.text, "{}[]*?="):
		// A pattern, or an assignment that only bash knows: then the next word is the command.
		return asCode(quoted, "put it on a line of its own, before the command")
	case slices.Contains(declarers, command.text):
		if own.assigns == "" {
			return asCode(quoted, callProgram)
		}
		return refuseAssigned(own.assigns)
	case command.text == "printf" && !hasFormat(words[name+1:at+1]):
		return asCode(`"printf" without a format before it`, `write it as: printf '%s\n' {{…}}`)
	case command.text == "set" && !slices.ContainsFunc(before, func(w spelling) bool { return w.text == "--" && !w.expands }):
		return asCode(`"set" without --`, "write it as: set -- {{…}}")
	case command.text != "test" && command.text != "[":
		return "", ""
	}
	// After -v and -R, bash runs what is in the brackets of a name.
	for _, w := range before {
		if w.text == "-v" || w.text == "-R" {
			return asCode(strconv.Quote(command.text+" "+w.text), "compare it as a text: [ {{…}} = … ]")
		}
	}
	if len(before) > 0 && before[len(before)-1].expands {
		return asCode(quoted+" and a value or expansion that could be -v", "put a literal operator between them")
	}
	return "", ""
}

// commandName is the index of the word that names what is run: after prefixes and their options. Those of exec may have
// words of their own, so its first option counts as the name.
func commandName(words []spelling) int {
	i := 0
	for i < len(words)-1 && slices.Contains(prefixes, words[i].text) {
		prefix := words[i].text
		for i++; i < len(words)-1 && prefix != "exec" && strings.HasPrefix(words[i].text, "-"); i++ {
		}
	}
	return i
}

// hasFormat reports whether the last of the words of printf follows its format, or stands in it. What comes earlier may
// be -v and a name, in whose brackets bash runs commands.
func hasFormat(words []spelling) bool {
	named := false // the word before is -v
	for _, w := range words {
		switch option := strings.HasPrefix(w.start, "-"); {
		case w.expands && (named || option || w.start == ""):
			return false
		case !named && !option:
			return true
		}
		named = !named && w.text == "-v"
	}
	return false
}

func refuseAssigned(name string) (why, instead string) {
	if slices.Contains(specials, name) {
		return "stands for the value of " + name + ", which decides what is run", callProgram
	}
	return "", ""
}

// changesReading reports whether words mean something else than they seem to after a command: after alias, and after
// a variable got arithmetic, names or lists for values, which are read as code.
func changesReading(words []spelling) bool {
	if len(words) == 0 {
		return false
	}
	i := commandName(words)
	if !slices.Contains(declarers, words[i].text) {
		return words[i].text == "alias"
	}
	return slices.ContainsFunc(words[i+1:], func(w spelling) bool {
		if !strings.HasPrefix(w.start, "-") {
			return w.start == "" && w.expands // could be an option
		}
		return w.expands || strings.Trim(w.text[1:], "rxgpf") != ""
	})
}

// spelling is what is known of a word before it is expanded.
type spelling struct {
	// text is the word without quotes, backslashes and expansions; start is its part before the first expansion.
	text, start string
	// assigns is NAME in a word that begins with NAME=, unquoted.
	assigns string
	// expands: the word holds an expansion. splits: one stands outside of double quotes.
	expands, splits bool
}

func spell(words []*syntax.Word) []spelling {
	list := make([]spelling, len(words))
	for i, w := range words {
		list[i].add(w.Parts, false)
		if first, ok := w.Parts[0].(*syntax.Lit); ok {
			if name, _, found := strings.Cut(first.Value, "="); found && syntax.ValidName(name) {
				list[i].assigns = name
			}
		}
	}
	return list
}

func (s *spelling) add(parts []syntax.WordPart, quoted bool) {
	for _, part := range parts {
		var text string
		switch p := part.(type) {
		case *syntax.Lit:
			text = strings.ReplaceAll(p.Value, `\`, "")
		case *syntax.SglQuoted:
			text = p.Value
		case *syntax.DblQuoted:
			s.add(p.Parts, true)
		default:
			s.expands, s.splits = true, s.splits || !quoted
		}
		s.text += text
		if !s.expands {
			s.start += text
		}
	}
}
