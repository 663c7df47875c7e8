package walk

import (
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
)

// The bounds of globs, together. A glob without braces takes polynomial time, but every pair
// of braces multiplies.
const (
	maxGlobBytes    = 64 << 10
	maxAlternatives = 256 // without braces
)

// Filter selects files by their names. It is safe for concurrent use.
type Filter struct {
	suffixes []string // with the dot
	globs    []glob
}

// glob is a glob without braces.
type glob struct {
	pattern string
	// base is the directory that everything the pattern matches lies in.
	base string
	// onName: the pattern has no slash and is compared with the last component.
	onName bool
}

// NewFilter makes a filter of extensions, with or without their dot, and of globs in the
// syntax of doublestar (`**`, `{a,b}`, `[a-z]`); braces are replaced by their alternatives
// first, as in a shell. A file must have one of the extensions and match one of the globs;
// an empty list selects every file. A name without a dot in it, or with only a leading one,
// has no extension. A glob is compared with the workspace-relative path, or with the name
// alone if it has no slash. Globs that stand for more than 256 alternatives or for 64 KiB
// together are refused. Errors carry CodeInvalidArguments.
func NewFilter(extensions, globs []string) (*Filter, error) {
	f := &Filter{}
	for _, e := range extensions {
		e = strings.TrimPrefix(e, "*")
		e = strings.TrimPrefix(e, ".")
		switch {
		case strings.ContainsAny(e, "/*?[]{}"):
			return nil, jptool.Errorf(jptool.CodeInvalidArguments, "argument `extensions`: %q is not an extension; for patterns use `glob`", e)
		case strings.Contains(e, ","):
			return nil, jptool.Errorf(jptool.CodeInvalidArguments, "argument `extensions`: %q is not one extension; give each as an item of its own (in JSON [\"js\", \"html\"], as flags --extensions js --extensions html); for one with a comma in it use `glob`", e)
		case e != "":
			f.suffixes = append(f.suffixes, "."+e)
		}
	}
	size := 0
	for _, pattern := range globs {
		if pattern == "" {
			continue
		}
		list, err := newGlobs(pattern, maxAlternatives-len(f.globs))
		if err != nil {
			return nil, err
		}
		for _, g := range list {
			size += len(g.pattern)
		}
		if f.globs = append(f.globs, list...); size > maxGlobBytes {
			return nil, badGlob(pattern, tooManyGlobs)
		}
	}
	if f.suffixes == nil && f.globs == nil {
		return nil, nil
	}
	return f, nil
}

const tooManyGlobs = "is too much: with braces expanded, all globs together may be 256 globs of 64 KiB; use fewer alternatives, or name directories"

func badGlob(pattern, why string) error {
	if len(pattern) > 100 {
		pattern = strings.ToValidUTF8(pattern[:100], "") + "…"
	}
	return jptool.Errorf(jptool.CodeInvalidArguments, "argument `glob`: %q %s", pattern, why)
}

// newGlobs makes at most most globs of a pattern.
func newGlobs(pattern string, most int) ([]glob, error) {
	for strings.HasPrefix(pattern, "./") {
		pattern = strings.TrimLeft(pattern[1:], "/")
	}
	fail := func(why string) ([]glob, error) { return nil, badGlob(pattern, why) }
	switch {
	case len(pattern) > maxGlobBytes:
		return fail(tooManyGlobs)
	case strings.HasPrefix(pattern, "!"):
		return fail("is negated, which is not supported")
	case !doublestar.ValidatePattern(pattern):
		return fail("is not a valid glob")
	}
	var alternatives []string
	ok := strings.Count(pattern, "{") <= maxAlternatives // of one each they would only take time
	if ok {
		alternatives, ok = expandBraces(nil, "", globToken.FindAllString(pattern, -1), most)
	}
	if !ok {
		return fail(tooManyGlobs)
	}
	onName := !strings.Contains(pattern, "/")
	var list []glob
	for _, a := range alternatives {
		if strings.HasPrefix(a, "/") {
			return fail("is absolute; globs are relative to the workspace")
		}
		for part := range strings.SplitSeq(strings.TrimSuffix(a, "/"), "/") {
			if part == ".." || part == "." || part == "" && strings.Contains(a, "/") {
				return fail("has an empty, `.` or `..` component, which no path has")
			}
		}
		if strings.HasSuffix(a, "/") {
			a += "**" // a directory: what is in it
		}
		list = append(list, glob{pattern: a, base: baseOf(a), onName: onName})
	}
	return list, nil
}

// baseOf is the directory that everything a glob without braces matches lies in, "" when
// there is none to tell: a name is looked up in the file system, so it must be one.
func baseOf(pattern string) string {
	base, _ := doublestar.SplitPattern(pattern)
	rel, err := wspath.Parse(base)
	// An escaped character makes the base differ from the path it stands for.
	if err != nil || rel.Slash() != base || base == "." || strings.Contains(pattern[:min(len(pattern), len(base)+1)], `\`) {
		return ""
	}
	return base
}

// globToken is what counts as one character in a glob: one that is escaped, and a class, never stand for a brace.
var globToken = regexp.MustCompile(`(?s)\\.|\[(?:\\.|[^\]\\])*\]|.`)

// expandBraces appends to list what head and tokens stand for, with each alternative of
// all braces in tokens, or reports false where list would get longer than most.
func expandBraces(list []string, head string, tokens []string, most int) ([]string, bool) {
	from := slices.Index(tokens, "{")
	if from < 0 {
		return append(list, head+strings.Join(tokens, "")), len(list) < most
	}
	head += strings.Join(tokens[:from], "")
	start, depth := from+1, 0
	var alternatives [][]string
	var rest []string
	for i := from; i < len(tokens); i++ {
		if tokens[i] == "{" {
			depth++
		} else if tokens[i] == "}" {
			depth--
		}
		if depth == 0 || depth == 1 && tokens[i] == "," {
			alternatives = append(alternatives, tokens[start:i])
			start = i + 1
		}
		if depth == 0 {
			rest = tokens[start:]
			break
		}
	}
	ok := true
	for _, a := range alternatives {
		if list, ok = expandBraces(list, head, slices.Concat(a, rest), most); !ok {
			break
		}
	}
	return list, ok
}

// selects reports whether the file at path is selected; f may be nil.
func (f *Filter) selects(path string) bool {
	if f == nil {
		return true
	}
	name := baseName(path)
	hasSuffix := func(s string) bool { return len(name) > len(s) && strings.HasSuffix(name, s) }
	matches := func(g glob) bool {
		if g.onName {
			return doublestar.MatchUnvalidated(g.pattern, name)
		}
		return doublestar.MatchUnvalidated(g.pattern, path)
	}
	return (f.suffixes == nil || slices.ContainsFunc(f.suffixes, hasSuffix)) &&
		(f.globs == nil || slices.ContainsFunc(f.globs, matches))
}

// bases are the directories that everything selected lies in, nil for anywhere.
func (f *Filter) bases() []string {
	if f == nil {
		return nil
	}
	var list []string
	for _, g := range f.globs {
		if g.base == "" {
			return nil
		}
		list = append(list, g.base)
	}
	return list
}
