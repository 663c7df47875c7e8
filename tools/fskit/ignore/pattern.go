package ignore

import (
	"errors"
	"strings"
)

var (
	errEmpty     = errors.New("it is empty")
	errBackslash = errors.New("it ends in a backslash")
)

// pattern is one compiled line.
type pattern struct {
	negated bool // "!x"
	dirOnly bool // "x/"

	// onName: the pattern has no slash, so it is held against the last element
	// of the path; otherwise against the path from the ignore file's directory.
	onName bool

	toks []token
	next int // the number of the pattern before this one in the same chain
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

// compile parses one line from which trailing spaces are already gone.
func compile(s string) (pattern, error) {
	var p pattern
	s, p.negated = strings.CutPrefix(s, "!")
	// git looks at the last byte before it looks at escapes: `a\/` is the
	// directory-only pattern `a\`, which ends in a backslash.
	s, p.dirOnly = strings.CutSuffix(s, "/")
	p.onName = !strings.Contains(s, "/")
	s = strings.TrimPrefix(s, "/")
	if s == "" {
		return p, errEmpty
	}
	toks, err := tokenize(s)
	if err != nil {
		return p, err
	}
	// "**/x" says the same as "x", which is cheaper to match.
	if toks[0].kind == tokDirs && withinElement(toks[1:]) {
		p.onName = true
		toks = toks[1:]
	}
	p.toks = toks
	return p, nil
}

func tokenize(s string) ([]token, error) {
	var (
		toks []token
		lit  []byte
	)
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
				return nil, errBackslash
			}
			lit = append(lit, s[i+1])
			i += 2
		case '?':
			flush()
			toks = append(toks, token{kind: tokAny})
			i++
		case '[':
			b, err := parseBracket(s, i)
			if err != nil {
				return nil, err
			}
			flush()
			toks = append(toks, token{kind: tokSet, set: b.set})
			i = b.end
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
			lit = append(lit, s[i])
			i++
		}
	}
	flush()
	return toks, nil
}

// withinElement reports whether toks, of which there is at least one, can match
// only inside one path element.
func withinElement(toks []token) bool {
	for _, t := range toks {
		if t.kind == tokDirs || t.kind == tokDeep || strings.Contains(t.lit, "/") {
			return false
		}
	}
	return len(toks) > 0
}

// match reports whether the pattern, which fits the type of t, fits its path.
func (p *pattern) match(t *target) bool {
	text := t.rel
	if p.onName {
		text = t.name
	}
	return matchAll(p.toks, text)
}

type chainKind uint8

const (
	byRest chainKind = iota
	byName
	byExt
)

// chain names a chain: the patterns that match only paths with one name or one
// extension, or all the others.
type chain struct {
	kind chainKind
	text string
}

// chain returns the chain the pattern belongs to.
func (p *pattern) chain() chain {
	last := len(p.toks) - 1
	if p.toks[last].kind != tokLit {
		return chain{byRest, ""}
	}
	tail, wholeElement := p.toks[last].lit, startsElement(p.toks[:last])
	if slash := strings.LastIndexByte(tail, '/'); slash >= 0 {
		tail, wholeElement = tail[slash+1:], true
	}
	if wholeElement {
		return chain{byName, tail}
	}
	if dot := strings.LastIndexByte(tail, '.'); dot >= 0 {
		return chain{byExt, tail[dot:]}
	}
	return chain{byRest, ""}
}

// startsElement reports whether what follows toks always starts a path element.
// After "foo**/" it need not: "foo**/bar" matches "foobar".
func startsElement(toks []token) bool {
	n := len(toks)
	for n > 0 && toks[n-1].kind == tokDirs {
		n--
	}
	return n == 0 || strings.HasSuffix(toks[n-1].lit, "/")
}
