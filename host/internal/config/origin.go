package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
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

var layerNames = [...]string{
	"built-in", "user", "workspace", "directory", "user-workspace", "environment", "conversation", "argument", "flag",
}

// String returns a word for people and for JSON output; it is stable.
func (l Layer) String() string { return layerNames[l] }

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
		s += ":" + strconv.Itoa(o.Line) + ":" + strconv.Itoa(o.Column)
	}
	return s
}

// IsZero reports whether o names no place.
func (o Origin) IsZero() bool { return o.File == "" }

// unprintable also covers the characters that reorder text on a terminal.
func unprintable(r rune) bool { return !unicode.IsPrint(r) }

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
	var b strings.Builder
	if where := p.Origin.String(); where != "" {
		b.WriteString(where + ": ")
	}
	if p.Origin.Key != "" {
		b.WriteString(p.Origin.Key + ": ")
	}
	b.WriteString(p.Message)
	if p.Help != "" {
		b.WriteString("\n  " + strings.ReplaceAll(p.Help, "\n", "\n  "))
	}
	return b.String()
}

// Errors is every problem that was found; Load returns it for a configuration that can
// be read but not used. It is never empty when it is returned as an error.
type Errors []*Problem

// fail is an error of one problem.
func fail(o Origin, message, help string) error { return Errors{{o, message, help}} }

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

// problems collects what is wrong while a layer is checked.
type problems struct {
	list Errors
	// count includes the problems that are not listed.
	count int
}

// maxProblems are listed, and for maxGuesses of them a similar name is looked for. A file may
// have a hundred thousand problems, and a person repairs the first ones first.
const (
	maxProblems = 100
	maxGuesses  = 10
)

func (p *problems) add(o Origin, message, help string) {
	if p.count++; p.count <= maxProblems {
		p.list = append(p.list, &Problem{o, message, help})
	}
}

// err returns nil as a plain nil, so that callers can compare.
func (p *problems) err() error {
	if p.count == 0 {
		return nil
	}
	if more := p.count - len(p.list); more > 0 {
		return append(slices.Clone(p.list), &Problem{Message: fmt.Sprintf("%d more problems are not listed", more)})
	}
	return p.list
}

// JoinKey writes a key in TOML's notation, as SplitKey reads it.
func JoinKey(parts ...string) (key string) {
	for _, part := range parts {
		key = joinKey(key, part)
	}
	return key
}

// joinKey appends one part to a key in TOML's notation.
func joinKey(key, part string) string {
	if key == "" {
		return quoteKey(part)
	}
	return key + "." + quoteKey(part)
}

func quoteKey(part string) string {
	switch {
	case isBareKey(part):
		return part
	case !strings.ContainsFunc(part, func(r rune) bool { return r == '\'' || unprintable(r) }):
		return "'" + part + "'"
	}
	return quoteTOML(part)
}

var bareKey = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func isBareKey(s string) bool { return bareKey.MatchString(s) }

// show quotes a value for a message, cut so that a line stays a line.
func show(s string) string {
	return strconv.Quote(shorten(s, 60))
}

func shorten(s string, limit int) string {
	if r := []rune(s); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return s
}
