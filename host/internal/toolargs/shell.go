package toolargs

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jptools/jptools/host/internal/settings"
	"mvdan.cc/sh/v3/syntax"
)

const withoutShell = "write it without shell = true: program = \"sh\", args = [\"-c\", \"… \\\"$1\\\" …\", \"sh\", \"{{…}}\"], " +
	"with the value as \"$1\""

// The bounds of a script that takes values: the parser recurses into each bracket, and a repository writes the script.
const (
	maxScript = 16 << 10
	maxDepth  = 200 // of the syntax tree
)

// misread finds what the parser reads otherwise than shells do. They join lines before they look for operators, do not
// join the line after a comment, look for the end of a here document after joining, and take a carriage return for a part of the word.
var misread = settings.Pattern("\\$\\\\\n|[(){<>&|;`](\\\\\n)+[(){<>&|;]|#[^\n]*\\\\\n|<<(?s:.*)\\\\\n|\r|\x00")

// references finds references, with the quotes that they need.
var references = settings.Pattern(`('?")?\$\{__jp[0-9]+\}("'?)?`)

// slot is a place of the script that refers to a value.
type slot struct {
	// source is the placeholder as it is written, or the name of an appended argument.
	source string
	offset int
	// appended: it is one of `args`, and must be a word of its own.
	appended bool
	place
}

// place is where a slot stands in the syntax tree.
type place struct {
	// path leads to it from the root of the syntax tree; it is empty where the shell sees no reference.
	path []syntax.Node
	// before and after are the quotes that it needs around it to stand in double quotes.
	before, after string
	comment       bool
}

func (s slot) refused(why, instead string) error {
	return fmt.Errorf("%s %s\n%s", s.source, why, instead)
}

// variable is the shell variable that holds the value of a slot.
func variable(i int) string { return "__jp" + strconv.Itoa(i+1) }

func reference(i int) string { return "${" + variable(i) + "}" }

// compileShell turns a script into one without placeholders, and into the parameters that it is run
// with: one for each placeholder. The nargs arguments follow them, and are words at the script's end.
//
// A value never becomes part of the script. It is a parameter, which the script assigns to a variable and then
// refers to. So it is enough that each reference is quoted, and stands where the shell takes a word as
// data: that is what the syntax tree of the script, with bare references in it, tells.
func compileShell(program text, nargs int) (script string, params []text, err error) {
	var b strings.Builder
	var slots []slot
	add := func(source string, appended bool) {
		slots = append(slots, slot{source: source, offset: b.Len(), appended: appended})
		b.WriteString(reference(len(slots) - 1))
	}
	for i, p := range program {
		switch {
		case p.path != nil:
			add(p.source, false)
			params = append(params, text{p})
		case i == len(program)-1 && nargs > 0:
			// After the end of the line the first argument would be a command.
			b.WriteString(strings.TrimRight(p.literal, " \t\r\n"))
		default:
			b.WriteString(p.literal)
		}
	}
	for i := range nargs {
		b.WriteByte(' ')
		add(fmt.Sprintf("args[%d]", i), true)
	}
	if len(slots) == 0 {
		return b.String(), nil, nil
	}
	body, err := quoteReferences(b.String(), slots)
	if err != nil {
		return "", nil, err
	}
	// Variables, because functions have positional parameters of their own, and the script's own $1 and $@
	// must be empty. On the first line, because the shell counts lines in its messages.
	head := ""
	for i := range slots {
		head += fmt.Sprintf("%s=${%d} ", variable(i), i+1)
	}
	return fmt.Sprintf("%s; shift %d; %s", strings.TrimSuffix(head, " "), len(slots), body), params, nil
}

// quoteReferences puts each reference in the double quotes that it needs, or says why no value may stand there. The
// result is parsed once more, for a POSIX shell and for bash, since `sh` may be either: both must find each
// reference in double quotes, in a word that is data.
func quoteReferences(bare string, slots []slot) (body string, err error) {
	if _, err := locate(bare, syntax.LangPOSIX, slots); err != nil {
		return "", slots[0].refused(err.Error(), withoutShell)
	}
	end := 0
	for i := range slots {
		s := &slots[i]
		if why, instead := s.refuseAround(); why != "" {
			return "", s.refused(why, instead)
		}
		body += bare[end:s.offset] + s.before
		end = s.offset + len(reference(i))
		s.offset = len(body)
		if s.comment {
			body += variable(i) // a comment has no use for the value
		} else {
			body += reference(i) + s.after
		}
	}
	body += bare[end:]
	for _, shell := range []syntax.LangVariant{syntax.LangPOSIX, syntax.LangBash} {
		unlike, err := locate(body, shell, slots)
		if err != nil {
			return "", slots[0].refused(err.Error(), withoutShell)
		}
		for _, s := range slots {
			if why, instead := s.refuse(body[:s.offset]); why != "" {
				return "", s.refused(why, instead)
			}
		}
		if unlike != "" {
			line, _, _ := strings.Cut(references().ReplaceAllString(unlike, "{{…}}"), "\n")
			return "", slots[0].refused("is in a script with "+shorten(line, "\n")+", which shells do not all read alike", withoutShell)
		}
	}
	return body, nil
}

// locate parses a script and finds the places of its slots in the syntax tree. unlike is the text of something in it that
// is not read alike everywhere.
func locate(script string, shell syntax.LangVariant, slots []slot) (unlike string, err error) {
	if len(script) > maxScript {
		return "", fmt.Errorf("is in a script of more than %d KiB", maxScript>>10)
	}
	file, err := syntax.NewParser(syntax.Variant(shell), syntax.KeepComments(true)).Parse(strings.NewReader(script), "")
	if err != nil {
		return "", unreadable(shell, err)
	}
	for i := range slots {
		slots[i].place = place{}
	}
	unlike = misread().FindString(script)
	var path []syntax.Node
	syntax.Walk(file, func(n syntax.Node) bool {
		if n == nil {
			path = path[:len(path)-1]
			return true
		}
		path = append(path, n)
		text := script
		if from, end := n.Pos().Offset(), n.End().Offset(); from < end && end <= uint(len(script)) { // an empty node may have no end
			text = script[from:end]
		}
		if unlike == "" && (len(path) > maxDepth || !portable(path, text)) {
			unlike = text
		}
		if len(path) <= maxDepth {
			enter(path, slots)
		}
		return true
	})
	return unlike, nil
}

// unreadable leaves the column out: it counts references, and not the placeholders that people wrote.
func unreadable(shell syntax.LangVariant, err error) error {
	name := "a POSIX shell"
	if shell == syntax.LangBash {
		name = "bash"
	}
	why := err.Error()
	if wrong := (syntax.ParseError{}); errors.As(err, &wrong) {
		why = fmt.Sprintf("line %d: %s", wrong.Pos.Line(), wrong.Text)
	} else if unknown := (syntax.LangError{}); errors.As(err, &unknown) {
		why = fmt.Sprintf("line %d: it does not know %s", unknown.Pos.Line(), unknown.Feature)
	}
	return fmt.Errorf("is in a script that %s cannot read: %s", name, why)
}

// enter notes the path to the slots that its last node holds.
func enter(path []syntax.Node, slots []slot) {
	node := path[len(path)-1]
	from, end := int(node.Pos().Offset()), int(node.End().Offset())
	first, _ := slices.BinarySearchFunc(slots, from, func(s slot, offset int) int { return s.offset - offset })
	for i := first; i < len(slots) && slots[i].offset < end; i++ {
		p := place{path: slices.Clone(path)}
		switch n := node.(type) {
		case *syntax.Comment:
			p.comment = true
		case *syntax.SglQuoted:
			p.before, p.after = `'"`, `"'`
		case *syntax.ParamExp:
			if from != slots[i].offset || n.Short || n.Param.Value != variable(i) {
				return
			}
			if _, inQuotes := path[len(path)-2].(*syntax.DblQuoted); !inQuotes {
				p.before, p.after = `"`, `"`
			}
		default:
			return
		}
		slots[i].place = p
	}
}

// portable reports whether all shells read the last node of a path alike. text is how it is written.
func portable(path []syntax.Node, text string) bool {
	above := path[:len(path)-1]
	switch n := path[len(path)-1].(type) {
	case *syntax.File, *syntax.Comment, *syntax.Stmt, *syntax.BinaryCmd, *syntax.Block, *syntax.Subshell, *syntax.IfClause,
		*syntax.WhileClause, *syntax.ForClause, *syntax.WordIter, *syntax.CaseItem, *syntax.Assign, *syntax.Word, *syntax.Lit,
		*syntax.BinaryArithm, *syntax.UnaryArithm, *syntax.ParenArithm:
		return true
	case *syntax.TimeClause, *syntax.DeclClause, *syntax.LetClause:
		return true // as bash reads it: for a POSIX shell these are commands, and refuseArgument knows their names
	case *syntax.CallExpr:
		return !changesReading(spell(n.Args))
	case *syntax.Redirect:
		return n.Hdoc == nil || len(n.Hdoc.Parts) == 0 || isPlain(n.Hdoc)
	case *syntax.CmdSubst:
		return !isWithin[*syntax.ArithmExp](above) && !(n.Backquotes && strings.Contains(text, `\`))
	case *syntax.SglQuoted:
		return !isWithin[*syntax.ArithmExp](above) && !n.Dollar
	case *syntax.DblQuoted:
		return !isWithin[*syntax.ArithmExp](above) && !n.Dollar
	case *syntax.ParamExp: // what quotes in ${…} mean differs
		return n.Index == nil && (n.Exp == nil || n.Exp.Word == nil || isPlain(n.Exp.Word))
	case *syntax.ArithmExp:
		return !n.Bracket
	case *syntax.CaseClause: // old shells end the parentheses at the first pattern
		return !isWithin[*syntax.CmdSubst](above)
	case *syntax.FuncDecl:
		return !n.RsrvWord
	}
	return false
}

// isPlain reports whether a word has neither quotes nor backslashes nor expansions.
func isPlain(w *syntax.Word) bool { return w.Lit() != "" && !strings.Contains(w.Lit(), `\`) }

func isWithin[T syntax.Node](path []syntax.Node) bool {
	return slices.ContainsFunc(path, func(n syntax.Node) bool { _, ok := n.(T); return ok })
}

// refuseAround says why nothing may stand inside of something that is around a slot, and what to write instead.
func (s slot) refuseAround() (why, instead string) {
	for i, n := range s.path {
		switch n := n.(type) {
		case *syntax.ArithmExp:
			return "stands in arithmetic, which would run what is in the value", "assign it to a variable after checking that it is a number"
		case *syntax.CmdSubst:
			if n.Backquotes {
				return "stands in backquotes", "write $(…) for them"
			}
		case *syntax.ParamExp:
			if i < len(s.path)-1 {
				return "stands inside of ${…}", withoutShell
			}
		case *syntax.Redirect:
			switch n.Op {
			case syntax.Hdoc, syntax.DashHdoc:
				return "stands in a here document", withoutShell
			case syntax.DplIn, syntax.DplOut:
				return "stands after >& or <&, where bash reads a value twice", "write: > {{…}} 2>&1"
			}
		}
	}
	return "", ""
}

// refuse says why no value may stand at a slot, and what to write instead. What is not known to be safe is refused.
// before is the text before the reference. An argument that was appended must be a word of a command.
func (s slot) refuse(before string) (why, instead string) {
	if why, instead = s.refuseAround(); why != "" {
		return why, instead
	}
	// word is the word that has the reference in double quotes, and holder what has this word.
	var word *syntax.Word
	var holder syntax.Node
	if n := len(s.path); n > 3 && s.before == "" {
		if word, _ = s.path[n-3].(*syntax.Word); word != nil {
			holder = s.path[n-4]
		}
	}
	_, isArgument := holder.(*syntax.CallExpr)
	switch {
	case s.appended && (!isArgument || len(word.Parts) != 1):
		return "would be no word of a command: the script ends in a comment, a redirection or a backslash", "put the arguments into the script as {{…}}"
	case s.comment:
		return "", ""
	case len(s.path) == 0 && strings.HasSuffix(before, `\`):
		return "stands right after a backslash", "leave the backslash out: the value needs none"
	case len(s.path) == 0 && strings.HasSuffix(before, "$"):
		return "stands right after a $", "put a space or a quote between them"
	}
	switch n := holder.(type) {
	case *syntax.CallExpr:
		return refuseArgument(spell(n.Args), slices.Index(n.Args, word))
	case *syntax.Assign:
		if n.Name != nil {
			return refuseAssigned(n.Name.Value)
		}
	case *syntax.WordIter:
		return refuseAssigned(n.Name.Value)
	case *syntax.CaseClause, *syntax.CaseItem, *syntax.Redirect:
		return "", ""
	}
	return "stands where the shell takes no value", withoutShell
}

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
