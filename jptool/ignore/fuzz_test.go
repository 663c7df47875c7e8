package ignore

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// slowDecide is a reference: no compiled form, no index, no fast path, and a
// matcher that tries everything. It shares with the package only the parser of
// brackets, which is held against git byte by byte.
func slowDecide(data, path string, isDir bool) Decision {
	d := None
	for line := range strings.SplitSeq(strings.TrimPrefix(data, "\xef\xbb\xbf"), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		line, _, _ = strings.Cut(strings.TrimSuffix(line, "\r"), "\x00")
		line, negated := strings.CutPrefix(trimTrailingSpaces(line), "!")
		line, dirOnly := strings.CutSuffix(line, "/")
		text := path
		if !strings.Contains(line, "/") {
			text = path[strings.LastIndexByte(path, '/')+1:]
		}
		line = strings.TrimPrefix(line, "/")
		literal := line
		if i := strings.IndexAny(line, `*?[\`); i >= 0 {
			literal = line[:i]
		}
		rest, ok := strings.CutPrefix(text, literal)
		m := slowMatcher{memo: map[[3]int]bool{}}
		switch {
		case line == "" || dirOnly && !isDir || !ok || !m.match(line[len(literal):], rest, true):
		case negated:
			d = Include
		default:
			d = Ignore
		}
	}
	return d
}

type slowMatcher struct {
	memo map[[3]int]bool
}

// match reports whether p matches all of text; opens says whether a double star
// at the start of p counts as one.
func (m slowMatcher) match(p, text string, opens bool) bool {
	key := [3]int{len(p), len(text), 0}
	if opens {
		key[2] = 1
	}
	result, ok := m.memo[key]
	if !ok {
		result = m.try(p, text, opens)
		m.memo[key] = result
	}
	return result
}

func (m slowMatcher) try(p, text string, opens bool) bool {
	if p == "" {
		return text == ""
	}
	if p[0] == '*' {
		rest := strings.TrimLeft(p, "*")
		deep := opens && len(p)-len(rest) >= 2 && (rest == "" || rest[0] == '/' || strings.HasPrefix(rest, `\/`))
		if deep && rest != "" && rest[0] == '/' && m.match(rest[1:], text, true) {
			return true
		}
		for i := 0; ; i++ {
			if m.match(rest, text[i:], false) {
				return true
			}
			if i == len(text) || !deep && text[i] == '/' {
				return false
			}
		}
	}
	if text == "" {
		return false
	}
	switch p[0] {
	case '?':
		return text[0] != '/' && m.match(p[1:], text[1:], false)
	case '[':
		set, end, err := parseBracket(p, 0, false)
		return err == nil && set[text[0]] && m.match(p[end:], text[1:], false)
	case '\\':
		if len(p) == 1 {
			return false
		}
		p = p[1:]
	}
	return p[0] == text[0] && m.match(p[1:], text[1:], p[0] == '/')
}

// checkAgainstReference fails if any way to ask about path gives another answer
// than the reference.
func checkAgainstReference(t *testing.T, data, path string, isDir bool) {
	t.Helper()
	var s *Stack
	s = s.Push("", Parse([]byte(data)))
	want := slowDecide(data, path, isDir)
	for range 2 {
		if got := s.Match(path, isDir); got != want {
			t.Fatalf("%q: Match(%q, %v) = %v, reference %v", data, path, isDir, got, want)
		}
	}
	var below *Stack
	below = below.Push("some/dir", Parse([]byte(data)))
	if got := below.Match("some/dir/"+path, isDir); got != want {
		t.Fatalf("%q: Match(%q, %v) = %v below a directory, reference %v", data, path, isDir, got, want)
	}

	ignored := want == Ignore
	for parent := range parents(path) {
		ignored = ignored || slowDecide(data, parent, true) == Ignore
	}
	if got := s.MatchWithParents(path, isDir); got != ignored {
		t.Fatalf("%q: MatchWithParents(%q, %v) = %v, reference %v", data, path, isDir, got, ignored)
	}

	// What is accepted as a glob means the same as the line of a file.
	if g, err := ParseGlobs([]string{data}); err == nil && !strings.HasPrefix(data, "#") && !strings.HasPrefix(data, "\xef\xbb\xbf") {
		if got, want := g.MatchEntry(path), slowDecide(data, path, true) == Ignore; got != want {
			t.Fatalf("glob %q: MatchEntry(%q) = %v, reference %v", data, path, got, want)
		}
	}
}

func TestAgainstReference(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	for range 8000 {
		data := []byte(randomPattern(r))
		if r.IntN(4) == 0 {
			data = randomIgnore(r)
		}
		for range 5 {
			checkAgainstReference(t, string(data), randomPath(r, data), r.IntN(2) == 0)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []struct{ data, path string }{
		{"*.o\n!keep.o\n/build/\n", "a/keep.o"},
		{"a/**/b\n**/c/d\nfoo**/bar\n", "a/x/y/b"},
		{"[[:alpha:]-]*[!a-c]\\ \r\n", "ab/zz"},
		{"\xef\xbb\xbf#c\n\\#d\x00e\n", "#d"},
		{"*a*b**\\/c?\n", "aab/c"},
		{"[\\]]x\n[a", "]x"},
	} {
		f.Add(seed.data, seed.path, true)
		f.Add(seed.data, seed.path, false)
	}
	f.Fuzz(func(t *testing.T, data, path string, isDir bool) {
		if len(data) > 300 || len(path) > 100 || strings.Contains(path, "\x00") {
			t.Skip()
		}
		for e := range strings.SplitSeq(path, "/") {
			if e == "" || e == "." || e == ".." {
				t.Skip()
			}
		}
		checkAgainstReference(t, data, path, isDir)
	})
}
