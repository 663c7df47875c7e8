package ignore

import (
	"errors"
	"strings"
)

// Glob is one pattern that withholds paths: that of an ignore file, without negation. It is immutable and safe for
// concurrent use.
type Glob struct {
	p       pattern
	literal string
	first   byte
}

// NewGlob compiles a pattern as strictly as [ParseGlobs] does. A negated one ("!x") is an error too: whatever was
// withheld by one list could be given back by another.
func NewGlob(s string) (*Glob, error) {
	if strings.HasPrefix(s, "!") {
		return nil, errors.New(`a pattern that begins with "!" would give back what others withhold; remove it, or write \! for the character`)
	}
	// "**/x" means "x" at any depth, and that is what "x" means by itself.
	short := s
	for strings.HasPrefix(short, "**/") {
		short = short[len("**/"):]
	}
	if short != s && short != "" && !strings.Contains(strings.TrimSuffix(short, "/"), "/") {
		s = short
	}
	p, err := compileStrict(s)
	if err != nil {
		return nil, err
	}
	g := &Glob{p: p}
	if t := p.toks[0]; t.kind == tokLit {
		g.first = t.lit[0]
		if len(p.toks) == 1 {
			g.literal = t.lit
		}
	}
	return g, nil
}

// OnName reports whether the pattern covers a name wherever it is, so that [Glob.MatchName] decides.
func (g *Glob) OnName() bool { return g.p.onName }

// Literal returns the only path or name that the pattern covers, "" if it covers several.
func (g *Glob) Literal() string { return g.literal }

// First returns the byte that everything the pattern covers begins with, 0 if there are several.
func (g *Glob) First() byte { return g.first }

// MatchName reports whether the pattern covers an entry of this name, in any directory. It is for patterns on names.
func (g *Glob) MatchName(name string) bool { return g.p.match(name, name) }

// MatchPath reports whether the pattern covers exactly this path, its parents aside. Whatever is there counts as a
// directory, so that "x/" covers a file or a link of that name too: what is there may change.
func (g *Glob) MatchPath(path string) bool {
	return g.p.match(path, path[strings.LastIndexByte(path, '/')+1:])
}

// Deep reports whether a pattern on paths begins with "**/", so that it means the same below any directory.
func (g *Glob) Deep() bool { return g.p.toks[0].kind == tokDirs || g.p.toks[0].kind == tokDeep }

// escapes makes a pattern of a path that covers nothing else. A line break, which a pattern cannot hold, becomes a
// wildcard for one byte.
var escapes = strings.NewReplacer("\n", "?", "\r", "?", "\\", "\\\\", "*", `\*`, "?", `\?`,
	"[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`, " ", `\ `, "!", `\!`)

// Escape returns a pattern, without a slash at its beginning, that covers this path only.
func Escape(path string) string { return escapes.Replace(path) }
