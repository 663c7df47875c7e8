package template

import (
	"slices"
	"strings"
)

// scanner follows a script as far as is needed to know in what quotes a placeholder
// stands, and whether as a command. What it does not follow it notices, and then takes
// no more placeholders.
type scanner struct {
	frames  []frame // never empty; the first is the script
	single  bool    // in single quotes
	comment bool
	escaped bool // after a backslash
	// prev is the byte before, 0 if it means nothing together with the next. A
	// backslash with a line end does not count.
	prev byte
	// lost says since which construct the scanner no longer knows where it is.
	lost string
}

// frame is a construct that is open.
type frame struct {
	// kind is ( for the script, a subshell or a command substitution, " for double
	// quotes, { for ${…}, and + for arithmetic.
	kind byte

	// Of a simple command in ( frames:
	word     []byte // the unquoted text of the word so far
	inWord   bool
	command  bool   // the command's name has been read
	redirect bool   // the word is the target of a redirection
	prefix   string // the last of the prefixes
	reads    string // a builtin that takes its words for code or names
}

const (
	opened = 1 // prev after $(: another ( makes it arithmetic
	pid    = 2 // prev after $$
)

func newScanner() *scanner { return &scanner{frames: []frame{{kind: '('}}} }

func (s *scanner) top() *frame { return &s.frames[len(s.frames)-1] }

func (s *scanner) push(kind byte) { s.frames = append(s.frames, frame{kind: kind}) }

func (s *scanner) pop() { s.frames = s.frames[:len(s.frames)-1] }

func (s *scanner) lose(construct string) {
	if s.lost == "" {
		s.lost = construct
	}
}

// feed reads one byte of the script.
func (s *scanner) feed(c byte) {
	switch {
	case s.single:
		s.single = c != '\''
		s.prev = 0
		return
	case s.comment:
		if c != '\n' {
			return
		}
		s.comment = false
	case s.escaped:
		s.escaped = false
		if c != '\n' {
			s.prev = 0
			s.top().part(c)
		}
		return
	}
	prev := s.prev
	s.prev = c
	switch s.top().kind {
	case '{':
		if c == '}' {
			s.pop()
		} else if strings.IndexByte("\"'\\$`{", c) >= 0 {
			s.lose("a ${…} with more inside than a name")
		}
	case '+':
		s.arithmetic(c)
	case '"':
		s.doubleQuoted(c, prev)
	default:
		s.unquoted(c, prev)
	}
}

func (s *scanner) arithmetic(c byte) {
	switch c {
	case '(':
		s.push('+')
	case ')':
		s.pop()
		s.prev = 0
	case '"', '\'', '\\', '`', '#', '{', '[':
		s.lose("arithmetic with more than numbers and names")
	}
}

// dollar reads what is the same in and outside of double quotes, and reports whether
// it was that.
func (s *scanner) dollar(c, prev byte) bool {
	switch {
	case c == '`':
		s.lose("a backquote")
	case c == '\\': // with a line end it is nothing at all, so it begins no word yet
		s.escaped, s.prev = true, prev
	case prev == pid && strings.IndexByte("({['", c) >= 0:
		s.lose("a $$ before a bracket") // which $ it belongs to is for each shell to say
	case prev != '$':
		return false
	case c == '$':
		s.prev = pid
	case c == '(':
		s.push('(')
		s.prev = opened
	case c == '{':
		s.push('{')
	case c == '[':
		s.lose("a $[")
	default:
		return false
	}
	return true
}

func (s *scanner) doubleQuoted(c, prev byte) {
	if !s.dollar(c, prev) && c == '"' {
		s.pop()
		s.prev = 0
	}
}

func (s *scanner) unquoted(c, prev byte) {
	at := len(s.frames) - 1
	if strings.IndexByte(" \t\n;|&()<>", c) >= 0 && (c != '(' || prev != '$' && prev != opened && prev != '(') {
		s.separate(c, prev)
	}
	f := &s.frames[at]
	switch {
	case c == '(' && prev == opened:
		f.kind = '+'
		s.push('+')
	case c == '(' && prev == '(':
		s.lose("a ((")
	case s.dollar(c, prev):
		s.frames[at].inWord = s.frames[at].inWord || c != '\\'
	case c == '(':
		s.push('(')
	case c == ')':
		if at > 0 { // else it ends a pattern of case
			s.pop()
		}
	case c == '<' && prev == '<':
		s.lose("a here document")
	case c == '#' && !f.inWord:
		s.comment = true
	case c == '\'':
		if prev == '$' {
			s.lose("a $'")
		}
		s.single, f.inWord = true, true
	case c == '"':
		f.inWord = true
		s.push('"')
		s.prev = 0
	case strings.IndexByte(" \t\n;|&<>", c) < 0:
		f.part(c)
	}
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
	case angle, (c == '&' || c == '|') && (prev == '<' || prev == '>'): // also >& and >|
		f.redirect = true
	case c != ' ' && c != '\t':
		*f = frame{kind: f.kind}
	}
}

func (f *frame) part(c byte) {
	if f.kind == '(' {
		f.word, f.inWord = append(f.word, c), true
	}
}

var (
	// After these the next word is a command's name still.
	prefixes = strings.Fields("! { } if then elif else while until do done fi esac time exec command builtin coproc")
	// These take words for code, or for the names of things that are run later.
	evaluators = strings.Fields("eval . source trap alias let unset read getopts mapfile readarray")
	// These do so with words that are no assignment: bash runs what is in the brackets
	// of a name.
	declarers = strings.Fields("declare typeset local readonly export")
)

// endWord counts the word that ends here, if there is one.
func (s *scanner) endWord(f *frame) {
	word := string(f.word)
	if !f.inWord {
		return
	}
	f.word, f.inWord = f.word[:0], false
	switch {
	case f.redirect:
		f.redirect = false
	case word == "case" && len(s.frames) > 1:
		s.lose("a case in parentheses")
	case f.command:
	case word == "[[" || word == "function":
		s.lose("a " + word)
	case slices.Contains(evaluators, word) || slices.Contains(declarers, word):
		f.reads, f.command = word, true
	case slices.Contains(prefixes, word):
		f.prefix = word
	case f.prefix == "exec" && strings.HasPrefix(word, "-"):
		f.reads = "exec" // with options that may have words of their own
	case strings.HasPrefix(word, "-") && slices.Contains([]string{"time", "command", "builtin"}, f.prefix):
	case !assigns(word):
		f.command = true
	}
}

// assigns reports whether a word begins with NAME=.
func assigns(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && name[0] > '9' && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == ""
}
