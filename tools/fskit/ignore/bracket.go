package ignore

import (
	"errors"
	"strings"
)

var (
	errBracket = errors.New("a bracket is never closed")
	errClass   = errors.New("a [:class:] in it does not exist")
)

// byteSet is the set of bytes a bracket matches.
type byteSet [256]bool

func (s *byteSet) addRange(from, to byte) {
	for c := int(from); c <= int(to); c++ {
		s[c] = true
	}
}

// bracket is a parsed "[...]".
type bracket struct {
	set      *byteSet // without the slash, which no bracket matches
	end      int      // index after the "]"
	reversed bool     // it has a range like "z-a", of which only the "z" counts
}

// parseBracket parses the bracket that opens at s[i].
func parseBracket(s string, i int) (bracket, error) {
	var (
		set      = new(byteSet)
		reversed = false
	)
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
			return bracket{}, errBracket
		}
		c := s[i]
		if c == ']' && !first {
			break
		}
		switch {
		case c == '-' && rangeFrom >= 0 && i+1 < len(s) && s[i+1] != ']':
			to, next, err := bracketByte(s, i+1)
			if err != nil {
				return bracket{}, err
			}
			set.addRange(byte(rangeFrom), to)
			reversed = reversed || int(to) < rangeFrom
			rangeFrom, i = -1, next
		case strings.HasPrefix(s[i:], "[:"):
			// The class reaches to the next "]", wherever that is; if no colon
			// stands before it, the "[" was an ordinary member.
			length := strings.IndexByte(s[i+2:], ']')
			if length < 0 {
				return bracket{}, errBracket
			}
			name, isClass := strings.CutSuffix(s[i+2:i+2+length], ":")
			if !isClass {
				set['['] = true
				rangeFrom = '['
				i++
				continue
			}
			if !set.addClass(name) {
				return bracket{}, errClass
			}
			rangeFrom = -1
			i += 2 + length + 1
		default:
			c, next, err := bracketByte(s, i)
			if err != nil {
				return bracket{}, err
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
	return bracket{set: set, end: i + 1, reversed: reversed}, nil
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

// addClass adds the members of a class and reports whether the class exists.
func (s *byteSet) addClass(name string) bool {
	ranges, ok := classes[name]
	for i := 0; i < len(ranges); i += 2 {
		s.addRange(ranges[i], ranges[i+1])
	}
	return ok
}
