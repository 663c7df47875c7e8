package edit

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2"

	"github.com/jptools/jptools/jptool"
)

const (
	// backtrackTime bounds all searches of one pattern in one file together, and once
	// more the last of them.
	backtrackTime = 3 * time.Second
	// backtrackMost bounds the content, which the engine needs as runes.
	backtrackMost = 16 << 20
	// backtrackSource and backtrackDepth bound the pattern, in bytes and in parentheses
	// within each other: the engine's compiler has no bounds of its own.
	backtrackSource = 8 << 10
	backtrackDepth  = 1000
)

// backtracker runs a pattern that RE2 has no syntax for. It stops by a deadline; the memory
// that a match in progress takes is bounded by the engine's own limits.
type backtracker struct {
	re     *regexp2.Regexp
	groups int
}

func newBacktracker(source string, fold bool) (*backtracker, error) {
	if len(source) > backtrackSource {
		return nil, fmt.Errorf("it is longer than %d KiB", backtrackSource>>10)
	}
	if nesting(source) > backtrackDepth {
		return nil, fmt.Errorf("it has more than %d parentheses within each other", backtrackDepth)
	}
	options := regexp2.RE2 | regexp2.Multiline
	if fold {
		options |= regexp2.IgnoreCase
	}
	re, err := regexp2.Compile(source, options, regexp2.OptionMaintainCaptureOrder())
	if err != nil {
		return nil, err
	}
	if re.RightToLeft() {
		return nil, errors.New("matching from right to left is not supported")
	}
	re.MatchTimeout = backtrackTime
	b := &backtracker{re: re}
	for _, n := range re.GetGroupNumbers() {
		b.groups = max(b.groups, n+1)
	}
	return b, nil
}

// nesting is how deep parentheses are nested, or more where some stand for themselves.
func nesting(source string) int {
	depth, most := 0, 0
	for i := 0; i < len(source); i++ {
		switch source[i] {
		case '\\':
			i++
		case '(':
			depth++
			most = max(most, depth)
		case ')':
			depth = max(0, depth-1)
		}
	}
	return most
}

// find returns the byte offsets of the first groups, of all matches in text. An invalid
// byte is a character of its own, which only a class or a dot matches.
func (b *backtracker) find(ctx context.Context, text []byte, groups int) ([][]int, error) {
	if len(text) > backtrackMost {
		return nil, ErrTooLarge
	}
	runes, offsets := runesOf(text)
	most := min(MaxMatches, maxOffsets/(2*groups))
	deadline := time.Now().Add(backtrackTime)
	var list [][]int
	var stopped error
	err := b.re.FindRunesMatches(runes, 0, func(m regexp2.MatchView) bool {
		found := make([]int, 0, 2*groups)
		for n := range groups {
			at, size, ok := m.GroupRange(n)
			if !ok {
				found = append(found, -1, -1)
				continue
			}
			found = append(found, int(offsets[at]), int(offsets[at+size]))
		}
		if n := len(list); n > 0 && found[1] == list[n-1][1] {
			return true // empty, right after a match: none for RE2, so none here
		}
		// No engine should return to text already matched; if one does, stop rather
		// than write at a wrong place.
		if n := len(list); n > 0 && found[0] < list[n-1][1] {
			stopped = jptool.Errorf(jptool.CodeInvalidArguments, "its matches overlap")
			return false
		}
		list = append(list, found)
		switch {
		case len(list) > most && most < MaxMatches:
			stopped = ErrTooManyGroups
		case len(list) > MaxMatches:
			stopped = ErrTooMany
		case time.Now().After(deadline):
			stopped = ErrDeadline
		default:
			stopped = ctx.Err()
		}
		return stopped == nil
	})
	if stopped == nil && err != nil {
		// The engine gives up for its time or its stack; both mean the same here.
		stopped = ErrDeadline
	}
	return list, stopped
}

// runesOf decodes text, an invalid byte b as the surrogate U+DC00+b, which valid text
// never holds, and returns the byte offset of every rune and of the end.
func runesOf(text []byte) ([]rune, []int32) {
	n := utf8.RuneCount(text)
	runes, offsets := make([]rune, 0, n), make([]int32, 0, n+1)
	for i := 0; i < len(text); {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			if r, size = utf8.DecodeRune(text[i:]); r == utf8.RuneError && size == 1 {
				r = 0xDC00 + rune(text[i])
			}
		}
		runes, offsets = append(runes, r), append(offsets, int32(i))
		i += size
	}
	return runes, append(offsets, int32(len(text)))
}
