package ignore

import (
	"errors"
	"strings"
)

// pattern is one compiled line.
type pattern struct {
	negated bool // "!x"
	dirOnly bool // "x/"

	// onName: the pattern has no slash, so it is held against the last element
	// of the path; otherwise against the path from the ignore file's directory.
	onName bool

	toks []token
}

// token is one step of a pattern with wildcards.
type token struct {
	kind tokenKind
	lit  string
	set  *byteSet
}

type tokenKind uint8

const (
	tokLit  tokenKind = iota // these bytes
	tokAny                   // "?": one byte but a slash
	tokSet                   // "[...]": one byte of the set, never a slash
	tokStar                  // "*": any bytes but slashes
	tokDirs                  // "**/": nothing, or anything up to and with a slash
	tokDeep                  // "**": anything
)

// compile parses one line from which trailing spaces are already gone. If strict, it refuses what is correct in an
// ignore file but hardly meant.
func compile(s string, strict bool) (pattern, error) {
	var p pattern
	s, p.negated = strings.CutPrefix(s, "!")
	// git looks at the last byte before it looks at escapes: `a\/` is the
	// directory-only pattern `a\`, which ends in a backslash.
	s, p.dirOnly = strings.CutSuffix(s, "/")
	p.onName = !strings.Contains(s, "/")
	s = strings.TrimPrefix(s, "/")
	if s == "" {
		return p, errors.New("it is empty")
	}
	var err error
	p.toks, err = tokenize(s, strict)
	return p, err
}

func tokenize(s string, strict bool) ([]token, error) {
	var toks []token
	var lit []byte
	flush := func() {
		if len(lit) > 0 {
			toks = append(toks, token{kind: tokLit, lit: string(lit)})
			lit = nil
		}
	}
	firstSpecial := strings.IndexAny(s, `*?[\`)
	for i := 0; i < len(s); {
		switch s[i] {
		case '\\':
			if i+1 == len(s) {
				return nil, errors.New("it ends in a backslash")
			}
			lit = append(lit, s[i+1])
			i += 2
		case '?':
			flush()
			toks = append(toks, token{kind: tokAny})
			i++
		case '[':
			set, end, err := parseBracket(s, i, strict)
			if err != nil {
				return nil, err
			}
			flush()
			toks = append(toks, token{kind: tokSet, set: set})
			i = end
		case '*':
			end := i + 1
			for end < len(s) && s[end] == '*' {
				end++
			}
			flush()
			kind := tokStar
			// git compares the part before the first special character on its
			// own and looks at the rest as if it were a whole pattern, hence
			// "foo**/bar" is a double star although "*foo**/bar" is not.
			opens := i == firstSpecial || s[i-1] == '/'
			if end-i >= 2 && opens {
				switch rest := s[end:]; {
				case rest == "" || strings.HasPrefix(rest, `\/`):
					kind = tokDeep
				case rest[0] == '/':
					kind = tokDirs
					end++
				}
			}
			toks = append(toks, token{kind: kind})
			i = end
		default:
			if strict && (s[i] == '{' || s[i] == '}') {
				return nil, errors.New(`braces are not part of the syntax; give each alternative an entry of its own, and write \{ and \} for the characters`)
			}
			lit = append(lit, s[i])
			i++
		}
	}
	flush()
	return toks, nil
}

// match reports whether the pattern fits the path rel, whose last element is name.
func (p *pattern) match(rel, name string) bool {
	text := rel
	if p.onName {
		text = name
	}
	// Nearly all patterns end in a literal in which the path does not: no more has to be compared then.
	if last := &p.toks[len(p.toks)-1]; last.kind == tokLit && !strings.HasSuffix(text, last.lit) {
		return false
	}
	return matchAll(p.toks, text)
}

var errBracket = errors.New("a bracket is never closed")

// byteSet is the set of bytes a bracket matches.
type byteSet [256]bool

func (s *byteSet) addRange(from, to byte) {
	for c := int(from); c <= int(to); c++ {
		s[c] = true
	}
}

// parseBracket parses the bracket that opens at s[i]. It returns the bytes that it matches, of which a slash is never
// one, and the index after its "]".
func parseBracket(s string, i int, strict bool) (set *byteSet, end int, err error) {
	set = new(byteSet)
	i++
	negated := i < len(s) && (s[i] == '!' || s[i] == '^')
	if negated {
		i++
	}
	// A "]" in the first place is a member. rangeFrom is the byte that a
	// following "-" would start a range from; a range and a class leave none.
	rangeFrom := -1
	for first := true; ; first = false {
		if i >= len(s) {
			return nil, 0, errBracket
		}
		c := s[i]
		if c == ']' && !first {
			break
		}
		switch {
		case c == '-' && rangeFrom >= 0 && i+1 < len(s) && s[i+1] != ']':
			to, next, err := bracketByte(s, i+1)
			if err != nil {
				return nil, 0, err
			}
			if strict && int(to) < rangeFrom { // only the first byte counts then
				return nil, 0, errors.New("a range in it goes backwards")
			}
			set.addRange(byte(rangeFrom), to)
			rangeFrom, i = -1, next
		case strings.HasPrefix(s[i:], "[:"):
			// The class reaches to the next "]", wherever that is; if no colon
			// stands before it, the "[" was an ordinary member.
			length := strings.IndexByte(s[i+2:], ']')
			if length < 0 {
				return nil, 0, errBracket
			}
			name, isClass := strings.CutSuffix(s[i+2:i+2+length], ":")
			if !isClass {
				set['['] = true
				rangeFrom = '['
				i++
				continue
			}
			ranges, exists := classes[name]
			if !exists {
				return nil, 0, errors.New("a [:class:] in it does not exist")
			}
			for k := 0; k < len(ranges); k += 2 {
				set.addRange(ranges[k], ranges[k+1])
			}
			rangeFrom = -1
			i += 2 + length + 1
		default:
			c, next, err := bracketByte(s, i)
			if err != nil {
				return nil, 0, err
			}
			set[c] = true
			rangeFrom, i = int(c), next
		}
	}
	if negated {
		for c := range set {
			set[c] = !set[c]
		}
	}
	set['/'] = false
	if strict && *set == (byteSet{}) {
		return nil, 0, errors.New("a bracket in it matches no character")
	}
	return set, i + 1, nil
}

// bracketByte reads the possibly escaped byte at s[i].
func bracketByte(s string, i int) (c byte, next int, err error) {
	if s[i] != '\\' {
		return s[i], i + 1, nil
	}
	if i+1 == len(s) {
		return 0, 0, errBracket
	}
	return s[i+1], i + 2, nil
}

// classes are the POSIX classes in the C locale, as pairs of the first and the last byte of a range. As in git,
// space is without vertical tab and form feed.
var classes = map[string]string{
	"alnum":  "09AZaz",
	"alpha":  "AZaz",
	"blank":  "  \t\t",
	"cntrl":  "\x00\x1f\x7f\x7f",
	"digit":  "09",
	"graph":  "!~",
	"lower":  "az",
	"print":  " ~",
	"punct":  "!/:@[`{~",
	"space":  "  \t\n\r\r",
	"upper":  "AZ",
	"xdigit": "09AFaf",
}

// matchAll reports whether toks match the whole of text.
//
// On a mismatch it goes back to the last "*", or, where that has reached its
// slash, to the last double star. Going back further is never needed: what
// stands between two stars of a kind is best matched as early as possible,
// because the later star can take up whatever the earlier one leaves. The time
// is therefore polynomial for every pattern, however many stars it has.
func matchAll(toks []token, text string) bool {
	var (
		tok, pos = 0, 0

		star, starPos = -1, 0 // token after the last "*", and where it was tried
		deep, deepPos = -1, 0 // the same for the last double star
		deepDirs      = false
	)
	for {
		matched := false
		if tok == len(toks) {
			if pos == len(text) {
				return true
			}
		} else {
			t := &toks[tok]
			switch t.kind {
			case tokLit:
				if matched = strings.HasPrefix(text[pos:], t.lit); matched {
					pos += len(t.lit)
				}
			case tokAny:
				if matched = pos < len(text) && text[pos] != '/'; matched {
					pos++
				}
			case tokSet:
				if matched = pos < len(text) && t.set[text[pos]]; matched {
					pos++
				}
			case tokStar:
				if tok+1 == len(toks) {
					if strings.IndexByte(text[pos:], '/') < 0 {
						return true
					}
				} else if pos = starEnd(toks[tok+1], text, pos); pos >= 0 {
					star, starPos = tok+1, pos
					matched = true
				} else {
					star = -1
				}
			case tokDirs, tokDeep:
				if tok+1 == len(toks) && t.kind == tokDeep {
					return true
				}
				deep, deepPos, deepDirs = tok+1, pos, t.kind == tokDirs
				star = -1
				matched = true
			}
		}
		if matched {
			tok++
			continue
		}
		if star >= 0 && starPos < len(text) && text[starPos] != '/' {
			if starPos = starEnd(toks[star], text, starPos+1); starPos >= 0 {
				tok, pos = star, starPos
				continue
			}
		}
		if deep < 0 || deepPos == len(text) {
			return false
		}
		star = -1
		if deepDirs {
			slash := strings.IndexByte(text[deepPos:], '/')
			if slash < 0 {
				return false
			}
			deepPos += slash
		}
		deepPos++
		tok, pos = deep, deepPos
	}
}

// starEnd returns the first place from pos on where a "*" may end because next can
// start there, or -1 if the element ends before.
func starEnd(next token, text string, pos int) int {
	if next.kind != tokLit {
		return pos
	}
	i := strings.Index(text[pos:], next.lit)
	if i < 0 || strings.IndexByte(text[pos:pos+i], '/') >= 0 {
		return -1
	}
	return pos + i
}
