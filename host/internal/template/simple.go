package template

import (
	"slices"
	"strconv"
	"strings"
)

// simple is a simple command: assignments, a name, arguments, redirections.
type simple struct {
	word   []byte // the text of the word so far, without its quotes
	inWord bool
	// quoted is where in the word something was quoted first, counted from 1; 0 if nothing was.
	quoted int
	// expands says that an expansion or a value is in the word, splits that an unquoted one is.
	expands, splits bool

	name     string // of the command, when it has been read
	named    bool
	redirect bool   // the word is the target of a redirection
	both     bool   // of one that may be of two streams: bash reads its target twice
	prefix   string // the last of the prefixes
	// reads says what would take a value that comes next for code, and instead what to do about it.
	reads, instead string
}

func (f *frame) part(c byte) {
	if f.kind == '(' {
		f.word, f.inWord = append(f.word, c), true
	}
}

// quote begins quotes.
func (f *frame) quote() {
	if f.inWord = true; f.quoted == 0 {
		f.quoted = len(f.word) + 1
	}
}

func (f *frame) expand(quoted bool) {
	f.expands, f.splits = true, f.splits || !quoted
}

// separate ends the word at a space or operator, and the command at most operators.
func (s *scanner) separate(c, prev byte) {
	f := s.top()
	angle := c == '<' || c == '>'
	if angle && f.inWord && len(f.word) > 0 && strings.Trim(string(f.word), "0123456789") == "" {
		f.word, f.inWord = f.word[:0], false // 2> is one operator
	}
	s.endWord(f)
	switch {
	case angle:
		f.redirect, f.both = true, f.both || prev == '&'
	case c == '&' && (prev == '<' || prev == '>'):
		f.both = true
	case c == '|' && prev == '>':
	case c != ' ' && c != '\t':
		*f = frame{kind: f.kind}
	}
}

var (
	// After these the next word is a command's name still.
	prefixes = []string{"!", "{", "}", "if", "then", "elif", "else", "while", "until", "do", "done", "fi", "esac", "time", "exec", "command", "builtin"}
	// These take words for code, or for the names of things that are run or set later.
	evaluators = []string{"eval", ".", "source", "trap", "let", "unset", "read", "getopts", "mapfile", "readarray", "wait", "compgen", "complete", "compopt", "bind", "enable", "jobs", "fc", "integer", "nameref"}
	// These do so with words that are no assignment: bash runs what is in the brackets
	// of a name.
	declarers = []string{"declare", "typeset", "local", "readonly", "export"}
	// A value in these decides what is run, or is run.
	specials = []string{"PATH", "IFS", "ENV", "BASH_ENV", "SHELLOPTS", "BASHOPTS", "PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS4", "OPTIND", "RANDOM", "SRANDOM", "SECONDS", "LINENO", "HISTCMD"}
)

const callProgram = "call a program with it instead"

// endWord counts the word that ends here, if there is one.
func (s *scanner) endWord(f *frame) {
	if !f.inWord {
		return
	}
	word, expands, splits, assigned := string(f.word), f.expands, f.splits, f.assigns() != ""
	f.word, f.inWord, f.quoted, f.expands, f.splits = f.word[:0], false, 0, false, false
	switch {
	case f.redirect:
		f.redirect, f.both = false, false
	case word == "case" && len(s.frames) > 1:
		s.lose("a case in parentheses")
	case f.named:
		s.argument(f, word, expands, assigned)
	case word == "[[" || word == "function" || word == "coproc" || word == "alias":
		s.lose("a " + word)
	case expands && (splits || !strings.Contains(word, "/")) && !assigned:
		f.named, f.reads, f.instead = true, "a command that an expansion names", "write the name of the command, or a quoted path with a / in it"
	case slices.Contains(prefixes, word):
		f.prefix = word
	case f.prefix == "exec" && strings.HasPrefix(word, "-"):
		f.named, f.reads, f.instead = true, `"exec"`, callProgram // with options that may have words of their own
	case strings.HasPrefix(word, "-") && slices.Contains([]string{"time", "command", "builtin"}, f.prefix):
	case !assigned:
		f.begin(word)
	}
}

// begin takes a word for the name of the command.
func (f *frame) begin(word string) {
	f.name, f.named = word, true
	switch {
	case slices.Contains(evaluators, word), slices.Contains(declarers, word):
		f.reads, f.instead = strconv.Quote(word), callProgram
	case word == "printf":
		f.reads, f.instead = `"printf" without a format before it`, `write it as: printf '%s\n' {{…}}`
	case word == "set":
		f.reads, f.instead = `"set" without --`, "write it as: set -- {{…}}"
	case word != "[" && strings.ContainsAny(word, "{}[]*?="): // a pattern, or an assignment of some other kind
		f.reads, f.instead = strconv.Quote(word), "put it on a line of its own, before the command"
	}
}

// argument counts a word of a command that has its name.
func (s *scanner) argument(f *frame, word string, expands, assigned bool) {
	switch {
	case (f.name == "for" || f.name == "select") && word == "do":
		*f = frame{kind: f.kind}
	case slices.Contains(declarers, f.name):
		// A variable may get arithmetic, names or lists for values, and they are read as code.
		if expands && !assigned || strings.HasPrefix(word, "-") && strings.Trim(word[1:], "rxgpf") != "" {
			s.lose("a " + f.name + " with such options")
		}
	case f.name == "printf" && f.reads != "" && !expands && !strings.HasPrefix(word, "-"),
		f.name == "set" && f.reads != "" && word == "--":
		f.reads = ""
	case f.name != "test" && f.name != "[":
	case word == "-v" || word == "-R":
		f.name, f.reads, f.instead = "", strconv.Quote(f.name+" "+word), "compare it as a text: [ {{…}} = … ]"
	case expands:
		f.reads, f.instead = strconv.Quote(f.name)+" and a value or expansion that could be -v", "put a literal operator between them"
	default:
		f.reads = ""
	}
}

// refuses says why a value cannot be a word of the command here, and what to do instead. It looks at the
// word so far, too.
func (f *frame) refuses() (why, instead string) {
	assigned := f.assigns()
	switch {
	case f.redirect && f.both:
		return "stands after >&, <& or &>, where bash reads a value twice", "write: > {{…}} 2>&1"
	case f.redirect:
	case slices.Contains(specials, assigned) && (!f.named || f.reads != ""):
		return "stands for the value of " + assigned + ", which decides what is run", "call a program with it instead"
	case assigned != "" && (!f.named || slices.Contains(declarers, f.name)):
	case f.name == "printf" && f.inWord && !f.expands && len(f.word) > 0 && f.word[0] != '-':
	case f.reads != "":
		return "stands after " + f.reads + ", which would take the value for code", f.instead
	case !f.named:
		return "stands for the name of a command, so the value would choose what is run", "name the program, or write it without shell = true"
	}
	return "", ""
}

// assigns returns the name that the word begins with if it begins with NAME=, unquoted.
func (f *frame) assigns() string {
	word := f.word
	if f.quoted > 0 {
		word = word[:f.quoted-1]
	}
	name, _, ok := strings.Cut(string(word), "=")
	if !ok || name == "" || name[0] <= '9' || strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return ""
	}
	return name
}
