package ignore

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The tests in this file compare the package with the git that is installed. Two
// variables change their size:
//
//	FSKIT_IGNORE_GIT_CASES=20000  random trees to compare, default 110, and four
//	                              times as many ignore files against paths
//	FSKIT_IGNORE_GIT_SEED=7       first seed, default 1
const (
	casesVariable = "FSKIT_IGNORE_GIT_CASES"
	seedVariable  = "FSKIT_IGNORE_GIT_SEED"

	defaultCases = 110
)

// TestAgainstGit compares what a walk shows with "git ls-files -o", and the answer
// for every single path with "git check-ignore".
func TestAgainstGit(t *testing.T) {
	g := newGit(t)
	cases := envInt(t, casesVariable, defaultCases)
	seed := uint64(envInt(t, seedVariable, 1))

	// Starting git costs more than anything it does here, so most trees share a
	// repository, each in a directory of its own. One in eleven has it for itself,
	// to test patterns at the root and .git/info/exclude.
	const shared = 50
	done := 0
	for done < cases {
		done += g.compare(t, seed, shared)
		seed++
		for range shared / 10 {
			done += g.compare(t, seed, 1)
			seed++
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d trees, %d paths (%d of them ignored), %d wrong", done, g.paths, g.ignored, g.wrong)
	if g.ignored == 0 || g.ignored == g.paths {
		t.Errorf("the trees test nothing: %d of %d paths are ignored", g.ignored, g.paths)
	}
}

// compare checks n trees in one repository and returns n.
func (g *git) compare(t *testing.T, seed uint64, n int) int {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	root := &node{children: []*node{}}
	var stack *Stack
	repo := g.init(t)
	if n == 1 {
		root = randomDir(r, "", 0)
		exclude := randomIgnore(r)
		writeFile(t, filepath.Join(repo, ".git", "info", "exclude"), exclude)
		stack = stack.Push("", Parse(exclude))
	} else {
		for i := range n {
			root.children = append(root.children, randomDir(r, fmt.Sprintf("c%02d", i), 0))
		}
	}
	create(t, repo, root)

	var shown, all []string
	got := map[string]bool{} // ignored paths
	var visit func(n *node, path string, s *Stack, pruned bool)
	visit = func(n *node, path string, s *Stack, pruned bool) {
		if n.ignore != nil {
			s = s.Push(path, Parse(n.ignore))
		}
		for _, c := range n.children {
			p := join(path, c.name)
			all = append(all, p)
			if s.MatchWithParents(p, c.isDir()) {
				got[p] = true
			}
			skip := pruned || s.Match(p, c.isDir()) == Ignore
			if skip != got[p] {
				t.Errorf("seed %d: %q: the walk says %v, MatchWithParents %v", seed, p, skip, got[p])
			}
			if c.isDir() {
				visit(c, p, s, skip)
			} else if !skip {
				shown = append(shown, p)
			}
		}
	}
	visit(root, "", stack, false)

	wantShown := g.lines(t, repo, "", "ls-files", "-o", "--exclude-standard", "-z")
	wantIgnored := g.lines(t, repo, strings.Join(all, "\x00")+"\x00", "check-ignore", "--no-index", "--stdin", "-z")
	g.paths += len(all)
	g.ignored += len(wantIgnored)
	g.report(t, seed, root, "shown by a walk", shown, wantShown)
	g.report(t, seed, root, "ignored", slices.Collect(maps.Keys(got)), wantIgnored)
	if err := os.RemoveAll(repo); err != nil {
		t.Error(err)
	}
	return n
}

func (g *git) report(t *testing.T, seed uint64, root *node, what string, got, want []string) {
	t.Helper()
	wanted := map[string]bool{}
	for _, p := range want {
		wanted[p] = true
	}
	for _, p := range got {
		if !wanted[p] {
			g.wrong++
			t.Errorf("seed %d: %q is %s, but not in git\n%s", seed, p, what, ignoreFiles(root, "", p))
		}
		delete(wanted, p)
	}
	for p := range wanted {
		g.wrong++
		t.Errorf("seed %d: %q is not %s, but is in git\n%s", seed, p, what, ignoreFiles(root, "", p))
	}
}

// ignoreFiles lists the ignore files that concern path, for a failure message.
func ignoreFiles(n *node, at, path string) string {
	var b strings.Builder
	if n.ignore != nil {
		fmt.Fprintf(&b, "  %s: %q\n", join(at, ".gitignore"), n.ignore)
	}
	for _, c := range n.children {
		if p := join(at, c.name); c.isDir() && strings.HasPrefix(path, p+"/") {
			b.WriteString(ignoreFiles(c, p, path))
		}
	}
	return b.String()
}

// TestPathsAgainstGit asks about paths that do not exist, for which git takes all
// but the last element for directories. That is cheap enough for many more
// patterns than the trees can have.
func TestPathsAgainstGit(t *testing.T) {
	g := newGit(t)
	cases := 4 * envInt(t, casesVariable, defaultCases)
	r := rand.New(rand.NewPCG(uint64(envInt(t, seedVariable, 1)), 2))
	for cases > 0 {
		n := min(cases, 2000)
		cases -= n
		root := &node{children: []*node{}}
		var paths, got []string
		files := map[string][]byte{}
		for i := range n {
			dir := fmt.Sprintf("d%04d", i)
			content := []byte(randomPattern(r) + "\n")
			if r.IntN(3) == 0 {
				content = randomIgnore(r)
			}
			files[dir] = content
			root.children = append(root.children, &node{name: dir, children: []*node{}, ignore: content})
			var s *Stack
			s = s.Push(dir, Parse(content))
			for range 100 {
				p := dir + "/" + randomPath(r, content)
				paths = append(paths, p)
				if s.MatchWithParents(p, false) {
					got = append(got, p)
				}
			}
		}
		repo := g.init(t)
		create(t, repo, root)
		want := g.lines(t, repo, strings.Join(paths, "\x00")+"\x00", "check-ignore", "--no-index", "--stdin", "-z")
		g.paths += len(paths)
		g.ignored += len(want)
		for _, p := range symmetricDifference(got, want) {
			g.wrong++
			t.Errorf("%q: wrong for %q", files[p[:5]], p[6:])
		}
		if err := os.RemoveAll(repo); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d paths (%d of them ignored), %d wrong", g.paths, g.ignored, g.wrong)
	if g.ignored == 0 {
		t.Error("git ignores nothing: the test tests nothing")
	}
}

// TestBracketsAgainstGit holds every byte that a name can have against brackets
// of every kind.
func TestBracketsAgainstGit(t *testing.T) {
	g := newGit(t)
	brackets := []string{
		"[]]", "[!]]", "[^]]", "[]-a]", "[!]-a]", "[a-]", "[-a]", "[--0]", "[a-c]", "[c-a]", "[a-a]", "[^a-c-e]",
		`[\]]`, `[\]`, `[\\]`, `[a\-z]`, `[\a-\c]`, `[a-\]`, "[/]", "[!/]", "[.-0]", "[ -~]", "[\x80-\xff]", "[é]",
		"[[]", "[[a]", "[[:]", "[[:a]", "[[:alpha]", "[[:alpha:]", "[[:nope:]]", "[[::]]", "[[:ALPHA:]]", "[a[:digit:]b]",
		"[![:space:]]", "[[:digit:]-z]", "[a-[:digit:]]", "[[:alpha:][:digit:]]", "[[:alpha:]-]", "[[.a.]]", "[[=a=]]",
		"[!!]", "[^^]", "[!^]", "[a!]", "[a^]", "[", "[]", "[!]", "[^]", "[!", "[a", "[*]", "[?]", "[[:alpha:", "[:alpha:]",
	}
	for _, c := range strings.Fields("alnum alpha blank cntrl digit graph lower print punct space upper xdigit") {
		brackets = append(brackets, "[[:"+c+":]]", "[^[:"+c+":]]")
	}
	repo := g.init(t)
	var paths, got []string
	for i, bracket := range brackets {
		dir := fmt.Sprintf("d%02d", i)
		// The second line tells "[...]" in a path from "[...]" in a name.
		content := []byte("x" + bracket + "\n/y/y" + bracket + "\n")
		create(t, repo, &node{children: []*node{{name: dir, children: []*node{}, ignore: content}}})
		var s *Stack
		s = s.Push(dir, Parse(content))
		for c := 1; c < 256; c++ {
			for _, prefix := range []string{"/x", "/y/y"} {
				if c == '/' {
					continue
				}
				p := dir + prefix + string([]byte{byte(c)})
				paths = append(paths, p)
				if s.MatchWithParents(p, false) {
					got = append(got, p)
				}
			}
		}
	}
	want := g.lines(t, repo, strings.Join(paths, "\x00")+"\x00", "check-ignore", "--no-index", "--stdin", "-z")
	for _, p := range symmetricDifference(got, want) {
		i, _ := strconv.Atoi(p[1:3])
		t.Errorf("%s: wrong for %q", brackets[i], p[3:])
	}
	t.Logf("%d brackets, %d paths, %d ignored", len(brackets), len(paths), len(want))
	if len(want) == 0 {
		t.Error("git ignores nothing: the test tests nothing")
	}
}

func symmetricDifference(a, b []string) []string {
	count := map[string]int{}
	for _, s := range a {
		count[s]++
	}
	for _, s := range b {
		count[s]--
	}
	var diff []string
	for s, n := range count {
		if n != 0 {
			diff = append(diff, s)
		}
	}
	slices.Sort(diff)
	return diff
}

// MatchWithParents reports whether path is ignored, be it by a pattern of its own
// or because one of its parent directories is: nothing in an ignored directory
// can be included again. The stack holds the files of all parent directories.
func (s *Stack) MatchWithParents(path string, isDir bool) bool {
	if s == nil {
		return false
	}
	for parent := range parents(path) {
		if s.Match(parent, true) == Ignore {
			return true
		}
	}
	return s.Match(path, isDir) == Ignore
}

// String returns "none", "ignore" or "include".
func (d Decision) String() string {
	switch d {
	case Ignore:
		return "ignore"
	case Include:
		return "include"
	}
	return "none"
}
