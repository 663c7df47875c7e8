package term

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jptools/jptools/host/internal/settings"
)

// ink says how a line looks on a terminal with colours: SGR codes for all of it, and the bytes that stand out. Only the
// host writes such codes: text of others has none left when it gets here. Colours mean nothing for what is allowed.
type ink struct {
	code  string
	marks []span
}

type span struct{ from, to int }

// The codes. They say nothing of the background, so that they are readable on dark and light ones.
const (
	inkAdded   = "32"
	inkRemoved = "31"
	inkHunk    = "35"
	inkHeader  = "1"
	inkKeys    = "2"
	inkBold    = "1"
)

// hunkHeader has the numbers of lines in the old and the new text as its groups, which are empty for one line.
var hunkHeader = settings.Pattern(`^@@ -[0-9]{1,9}(?:,([0-9]{1,9}))? \+[0-9]{1,9}(?:,([0-9]{1,9}))? @@`)

// paint finds the unified diffs among the lines of a text and says how they look. The header of a hunk says how many
// lines it has, so that a removed line `-- x` is not taken for a header.
func paint(lines []string) []ink {
	inks := make([]ink, len(lines))
	old, new := 0, 0
	for i, line := range lines {
		switch {
		case old+new > 0 && strings.HasPrefix(line, "+"):
			inks[i].code = inkAdded
			new--
		case old+new > 0 && strings.HasPrefix(line, "-"):
			inks[i].code = inkRemoved
			old--
		case old+new > 0 && strings.HasPrefix(line, " "):
			old, new = old-1, new-1
		case old+new > 0 && strings.HasPrefix(line, `\`):
		default:
			old, new = 0, 0
			if at := hunkHeader().FindStringSubmatch(line); at != nil {
				inks[i].code = inkHunk
				old, new = count(at[1]), count(at[2])
			} else if i+2 < len(lines) && strings.HasPrefix(line, "--- ") &&
				strings.HasPrefix(lines[i+1], "+++ ") && hunkHeader().MatchString(lines[i+2]) {
				inks[i].code = inkHeader
			} else if i > 0 && i+1 < len(lines) && inks[i-1].code == inkHeader && strings.HasPrefix(line, "+++ ") {
				inks[i].code = inkHeader
			}
		}
		old, new = max(old, 0), max(new, 0)
	}
	markWords(lines, inks)
	return inks
}

// count reads the number of lines of a hunk, of at most nine digits.
func count(s string) (n int) {
	if s == "" {
		return 1
	}
	for _, c := range s {
		n = 10*n + int(c-'0')
	}
	return n
}

// markWords marks the words that differ between removed lines and the added ones that follow them, one by one.
func markWords(lines []string, inks []ink) {
	for i := 0; i < len(lines); {
		removed := run(inks, i, inkRemoved)
		added := run(inks, i+removed, inkAdded)
		for j := range min(removed, added) {
			was, now := i+j, i+removed+j
			inks[was].marks, inks[now].marks = differing(lines[was], lines[now])
		}
		i += max(removed+added, 1)
	}
}

// run counts the lines from i on that have this code.
func run(inks []ink, i int, code string) (n int) {
	for i+n < len(inks) && inks[i+n].code == code {
		n++
	}
	return n
}

// maxWords bounds the words of a line that are compared: the work grows with the square.
const maxWords = 256

// differing returns what differs between two lines behind their signs; nothing if they have little in common, because
// then all of it does.
func differing(was, now string) (inWas, inNow []span) {
	a, b := words(was[1:]), words(now[1:])
	if len(a) > maxWords || len(b) > maxWords {
		return nil, nil
	}
	// longest[i][j] is how much a[i:] and b[j:] have in common, in bytes that are no blanks and in words.
	longest := make([][]int, len(a)+1)
	for i := range longest {
		longest[i] = make([]int, len(b)+1)
	}
	for i, x := range slices.Backward(a) {
		for j, y := range slices.Backward(b) {
			longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			if x == y {
				longest[i][j] = max(longest[i][j], longest[i+1][j+1]+weight(x))
			}
		}
	}
	if total := max(weighAll(a), weighAll(b)); 3*longest[0][0] < total {
		return nil, nil
	}
	atWas, atNow := 1, 1
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j] && longest[i][j] == longest[i+1][j+1]+weight(a[i]):
			atWas, atNow = atWas+len(a[i]), atNow+len(b[j])
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && longest[i+1][j] >= longest[i][j+1]:
			inWas = mark(inWas, atWas, len(a[i]))
			atWas += len(a[i])
			i++
		default:
			inNow = mark(inNow, atNow, len(b[j]))
			atNow += len(b[j])
			j++
		}
	}
	return inWas, inNow
}

// mark adds a span, or makes the last one longer.
func mark(list []span, at, n int) []span {
	if last := len(list) - 1; last >= 0 && list[last].to == at {
		list[last].to += n
		return list
	}
	return append(list, span{at, at + n})
}

// weight is what a word counts for: words with letters more than the signs between them.
func weight(word string) int {
	r, _ := utf8.DecodeRuneInString(word)
	switch {
	case r == ' ':
		return 1
	case unicode.IsLetter(r), unicode.IsDigit(r), r == '_':
		return 4 * utf8.RuneCountInString(word)
	}
	return 2
}

func weighAll(list []string) (n int) {
	for _, w := range list {
		n += weight(w)
	}
	return n
}

// words splits a line into words, runs of blanks, and single other characters with the marks on them.
func words(line string) (list []string) {
	kind := func(s string) int {
		r, _ := utf8.DecodeRuneInString(s)
		switch {
		case r == ' ':
			return 1
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '_':
			return 2
		}
		return 0
	}
	last := 0
	for line != "" {
		n, _ := cluster(line)
		word := line[:n]
		line = line[n:]
		if k := kind(word); k != 0 && k == last {
			list[len(list)-1] += word
		} else {
			list, last = append(list, word), k
		}
	}
	return list
}
