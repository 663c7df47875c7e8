package settings

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// Layer is where in the order of layers a value stands; a higher one is merged later.
type Layer uint8

// The layers, low to high.
const (
	LayerDefault       Layer = iota // built into the host
	LayerUserGlobal                 // the user's own file for all workspaces
	LayerWorkspace                  // .jp/config.toml
	LayerDirectory                  // .jp.toml, from the root down to the working directory
	LayerUserWorkspace              // the user's own file for this workspace
	LayerEnv                        // JP_CFG_*
	LayerConversation               // what was added to the conversation
	LayerArgument                   // --cfg
	LayerFlag                       // flags that are rules themselves, of jphost sandbox
)

// String returns a word for people and for JSON output; it is stable.
func (l Layer) String() string {
	return [...]string{
		"built-in", "user", "workspace", "directory", "user-workspace", "environment", "conversation", "argument", "flag",
	}[l]
}

// Repository reports whether the layer's content comes with the repository, which is
// not trusted to widen access.
func (l Layer) Repository() bool { return l == LayerWorkspace || l == LayerDirectory }

// Origin is where a value was written. The zero value stands for no place at all.
type Origin struct {
	Layer Layer
	// File is the absolute path of a file, the name of an environment variable, or the
	// flag with its argument.
	File string
	// Line and Column count from 1, columns in characters; 0 where there are no lines.
	Line, Column int
	// Key is the full key in TOML's notation; items of lists end in their index within
	// that layer, as in `conversation.tools.x.access.fs[0]`.
	Key string
}

// String is the place without the key, as `file:line:column`, safe to print: control
// characters, which the names of directories may hold, come out quoted.
func (o Origin) String() string {
	s := o.File
	if strings.ContainsFunc(s, unprintable) {
		s = strconv.Quote(s)
	}
	if o.Line > 0 {
		s += fmt.Sprintf(":%d:%d", o.Line, o.Column)
	}
	return s
}

// IsZero reports whether o names no place.
func (o Origin) IsZero() bool { return o.File == "" }

// Child is the origin of the key part below o, in the same place.
func (o Origin) Child(part string) Origin {
	if o.Key != "" {
		o.Key += "."
	}
	o.Key += QuoteKey(part)
	return o
}

// Item is the origin of the i-th item of the list at o, in the same place.
func (o Origin) Item(i int) Origin {
	o.Key += "[" + strconv.Itoa(i) + "]"
	return o
}

// unprintable also covers the characters that reorder text on a terminal.
func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// Printable puts a ? for each character that does not print.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unprintable(r) {
			return '?'
		}
		return r
	}, s)
}

// Problem is one thing that is wrong in a configuration.
type Problem struct {
	Origin  Origin
	Message string
	// Help says what to do; it is printed on its own line.
	Help string
}

// Error returns `file:line:column: key: message`, and the remedy on the next line,
// indented by two spaces.
func (p *Problem) Error() string {
	s := p.Message
	if p.Origin.Key != "" {
		s = p.Origin.Key + ": " + s
	}
	if where := p.Origin.String(); where != "" {
		s = where + ": " + s
	}
	if p.Help != "" {
		s += "\n  " + strings.ReplaceAll(p.Help, "\n", "\n  ")
	}
	return s
}

// Errors is every problem that was found in a configuration that can be read but not used. It
// is never empty when it is returned as an error.
type Errors []*Problem

// Fail is an error of one problem.
func Fail(o Origin, message, help string) error { return Errors{{o, message, help}} }

// Error lists the problems one after the other.
func (e Errors) Error() string { return errors.Join(e.Unwrap()...).Error() }

// Unwrap makes the problems visible to errors.As.
func (e Errors) Unwrap() []error {
	list := make([]error, len(e))
	for i, p := range e {
		list[i] = p
	}
	return list
}

// Problems collects what is wrong while a layer is checked.
type Problems struct {
	List Errors
	// Count includes the problems that are not listed.
	Count int
}

// MaxProblems are listed. A file may have a hundred thousand problems, and a person repairs the first ones first.
const MaxProblems = 100

// Add adds a problem.
func (p *Problems) Add(o Origin, message, help string) {
	if p.Count++; p.Count <= MaxProblems {
		p.List = append(p.List, &Problem{o, message, help})
	}
}

// Err is the problems as an error, nil if there are none.
func (p *Problems) Err() error {
	if p.Count == 0 {
		return nil
	}
	if more := p.Count - len(p.List); more > 0 {
		return append(slices.Clone(p.List), &Problem{Message: fmt.Sprintf("%d more problems are not listed", more)})
	}
	return p.List
}

// JoinKey writes a key in TOML's notation, as SplitKey reads it.
func JoinKey(parts ...string) string {
	var o Origin
	for _, part := range parts {
		o = o.Child(part)
	}
	return o.Key
}

// QuoteKey writes one part of a key in TOML's notation.
func QuoteKey(part string) string {
	switch {
	case IsBareKey(part):
		return part
	case !strings.ContainsFunc(part, func(r rune) bool { return r == '\'' || unprintable(r) }):
		return "'" + part + "'"
	}
	return Quote(part)
}

const bare = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

// IsBareKey reports whether TOML takes a part of a key without quotes.
func IsBareKey(s string) bool { return s != "" && strings.Trim(s, bare) == "" }

// SplitKey splits a key in TOML's notation, without the index of an item; a bare * is a part
// too. The error says where it cannot be read.
func SplitKey(s string) ([]string, error) {
	parts, rest, err := ScanKey(s)
	if err == nil && rest != "" {
		err = fmt.Errorf("the key %s cannot be read at %s", Show(s), Show(rest))
	}
	return parts, err
}

// Pattern compiles an expression at its first use: every process pays for what is compiled before main, and one call takes
// three of this program.
func Pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// keyText is one part of a key: within single or double quotes, or bare.
var keyText = Pattern(`^(?:'([^']*)'|("(?:[^"\\]|\\.)*")|([A-Za-z0-9_*-]+))`)

// ScanKey reads a key up to the first character that cannot belong to it.
func ScanKey(s string) (parts []string, rest string, err error) {
	for more := s != ""; more; {
		m := keyText().FindStringSubmatch(s)
		unquoted := ""
		if m != nil && m[2] != "" {
			if unquoted, err = strconv.Unquote(m[2]); err != nil {
				m = nil
			}
		}
		switch {
		case m == nil && strings.IndexAny(s, `'"`) == 0:
			return nil, s, errors.New("a quote in the key is never closed")
		case m == nil:
			return nil, s, errors.New("the key has an empty part")
		}
		parts = append(parts, m[1]+unquoted+m[3])
		s, more = strings.CutPrefix(s[len(m[0]):], ".")
	}
	return parts, s, nil
}

// Show quotes a value for a message, cut so that a line stays a line.
func Show(s string) string { return strconv.Quote(Shorten(s, 60)) }

// Shorten cuts a text to so many characters.
func Shorten(s string, limit int) string {
	if r := []rune(s); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return s
}
