package template

import "strings"

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

	simple // of ( frames
}

const (
	opened = 1 // prev after $(: another ( makes it arithmetic
	pid    = 2 // prev after $$
)

func newScanner() *scanner { return &scanner{frames: []frame{{kind: '('}}} }

func (s *scanner) top() *frame { return &s.frames[len(s.frames)-1] }

// command is the simple command that the next byte belongs to: double quotes are part of it.
func (s *scanner) command() *frame {
	f := s.top()
	if f.kind == '"' {
		f = &s.frames[len(s.frames)-2]
	}
	return f
}

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
		if s.single = c != '\''; s.single {
			s.command().part(c)
		}
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
			s.command().quote()
			s.command().part(c)
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
	case c == '$' && prev != '$':
		s.command().expand(s.top().kind == '"')
		return false
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
	switch {
	case s.dollar(c, prev):
	case c == '"':
		s.pop()
		s.prev = 0
	default:
		s.command().part(c)
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
		s.single = true
		f.quote()
	case c == '"':
		f.quote()
		s.push('"')
		s.prev = 0
	case strings.IndexByte(" \t\n;|&<>", c) < 0:
		f.part(c)
	}
}
