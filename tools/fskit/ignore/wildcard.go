package ignore

import "strings"

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
		switch {
		case deep < 0 || deepPos == len(text):
			return false
		default:
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
