package ignore

import (
	"bytes"
	"math/rand/v2"
	"strings"
)

// node is an entry of a random tree.
type node struct {
	name     string
	link     bool
	children []*node // nil for a file
	ignore   []byte  // content of the directory's .gitignore, nil without one
}

func (n *node) isDir() bool { return n.children != nil }

// Most names come from few, so that patterns often hit; the others are what
// patterns like to trip over.
var (
	commonNames = []string{"a", "b", "ab", "a.o", "foo"}
	oddNames    = []string{
		"ba", "aa", "A", "b.o", "a.c.o", ".a", "a.", ".o", "o", "foobar", "bar", "foo.bar", "[a]", "a b",
		"a ", "#a", "!a", "a-", "-", "]", "\\", "a\\b", "*", "**", "?", "é", "\xff", "a\r", "a\t",
	}
)

func randomName(r *rand.Rand) string {
	if r.IntN(3) > 0 {
		return pick(r, commonNames)
	}
	return pick(r, oddNames)
}

func randomDir(r *rand.Rand, name string, depth int) *node {
	n := &node{name: name, children: []*node{}}
	if depth == 0 || r.IntN(3) == 0 {
		n.ignore = randomIgnore(r)
	}
	used := map[string]bool{}
	for range 2 + r.IntN(4) {
		name := randomName(r)
		if used[name] {
			continue
		}
		used[name] = true
		switch k := r.IntN(10); {
		case k < 4 && depth < 3:
			n.children = append(n.children, randomDir(r, name, depth+1))
		case k == 9:
			n.children = append(n.children, &node{name: name, link: true})
		default:
			n.children = append(n.children, &node{name: name})
		}
	}
	if n.ignore != nil {
		n.children = append(n.children, &node{name: ".gitignore"})
	}
	return n
}

// randomPath returns a path of which about half the elements are those of a line
// of the ignore file, without its wildcards.
func randomPath(r *rand.Rand, ignore []byte) string {
	line := pick(r, strings.Split(string(ignore), "\n"))
	line = strings.TrimRight(strings.Trim(line, "/"), " \r")
	var elements []string
	if r.IntN(3) == 0 {
		elements = append(elements, randomName(r))
	}
	for e := range strings.SplitSeq(line, "/") {
		e = strings.Map(func(c rune) rune {
			if strings.ContainsRune("!*?[]^\\\x00", c) && r.IntN(4) > 0 || c == 0 {
				return -1
			}
			return c
		}, e)
		if e == "" || e == "." || e == ".." || r.IntN(4) == 0 {
			e = randomName(r)
		}
		elements = append(elements, e)
		if r.IntN(5) == 0 {
			elements = append(elements, randomName(r))
		}
	}
	return strings.Join(elements, "/")
}

func randomIgnore(r *rand.Rand) []byte {
	var b bytes.Buffer
	if r.IntN(10) == 0 {
		b.WriteString("\xef\xbb\xbf")
	}
	for range 1 + r.IntN(6) {
		b.WriteString(randomPattern(r))
		b.WriteString(pick(r, []string{"", "", "", "", "", "", " ", "  ", "\t", "\\ ", "\\  ", "\\\\ ", "\x00x"}))
		b.WriteString(pick(r, []string{"\n", "\n", "\n", "\n", "\n", "\r\n", "\r\n", "\n\n", "\r\r\n", "\r"}))
	}
	if r.IntN(4) == 0 {
		b.WriteString(randomPattern(r))
	}
	return b.Bytes()
}

func randomPattern(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString(pick(r, []string{"", "", "", "", "!", "!", "!", "#", "\\", "!!"}))
	if r.IntN(4) == 0 {
		const alphabet = `abo.f/**??[]!^-\\ :é`
		for range 1 + r.IntN(8) {
			b.WriteByte(alphabet[r.IntN(len(alphabet))])
		}
		return b.String()
	}
	b.WriteString(pick(r, []string{"", "", "", "/", "/", "**/", "//", "./"}))
	for i := range 1 + r.IntN(3) {
		if i > 0 {
			b.WriteString(pick(r, []string{"/", "/", "/", "/", "/**/", "/**/", "**/", "/**", "/*/", `\/`, "//", `/**\/`, "[/]", "/?", "?", "*", "/*?"}))
		}
		b.WriteString(randomElement(r))
	}
	b.WriteString(pick(r, []string{"", "", "", "/", "/", "/*", "/**", "**", "//"}))
	return b.String()
}

// randomElement returns a name or one with some bytes turned into wildcards.
func randomElement(r *rand.Rand) string {
	if r.IntN(4) == 0 {
		return pick(r, []string{"*", "**", "***", "?", "??", "*.o", "*.*", "a*", "*a", ".*", "*o*", "a*b", "f*r", "*.c.*", "?*", "*?"})
	}
	var b strings.Builder
	mutate := r.IntN(2) == 0
	for _, c := range []byte(randomName(r)) {
		if !mutate || r.IntN(3) > 0 {
			b.WriteByte(c)
			continue
		}
		switch r.IntN(8) {
		case 0:
			b.WriteByte('?')
		case 1:
			b.WriteByte('*')
		case 2:
			b.WriteString("**")
		case 3:
			b.WriteString("[" + pick(r, []string{"", "!", "^"}) + string([]byte{c}) + "]")
		case 4:
			b.WriteString(pick(r, []string{"[a-c]", "[!a-c]", "[[:alpha:]]", "[^[:alnum:]]", "[]a]", `[\]]`, "[a-]", "[[:x:]]", "[a"}))
		case 5:
			b.WriteString("*" + string([]byte{c}))
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return b.String()
}

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }
