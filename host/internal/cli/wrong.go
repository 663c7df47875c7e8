package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/jptool/nearest"
)

// oneOf is what kong says of a value that is none of those that a flag or argument may have.
var oneOf = settings.Pattern(`must be one of (".*") but got "([^"]*)"$`)

// wrong says of a line that kong cannot read what is wrong with it.
func (l *line) wrong(err error) error {
	node := l.node()
	if m := oneOf().FindStringSubmatch(err.Error()); m != nil {
		if near := nearest.Word(m[2], strings.Split(strings.Trim(m[1], `"`), `","`)); near != "" {
			return fmt.Errorf("%w, did you mean %s?", err, near)
		}
	}
	if l.ctx.Error != nil {
		rest := l.ctx.Path[len(l.ctx.Path)-1].Remainder()
		if rest[0] != l.ctx.Args[len(l.ctx.Args)-len(rest)] {
			rest[0] = "-" + rest[0][:1] // one of several letters after a dash
		}
		return l.unread(node, rest, err)
	}
	for _, p := range node.Positional {
		if p.Required && !p.Set {
			return fmt.Errorf("%s is missing", p.Summary())
		}
	}
	switch {
	case node.Leaf():
		return err
	case node.Parent == nil:
		return errors.New("<command> is missing")
	}
	return errors.New("<command> is missing: " + strings.Join(commandNames(node), ", "))
}

func commandNames(group *kong.Node) (names []string) {
	for _, c := range group.Children {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	return names
}

// unread says what is wrong with the first of the words that kong did not read; its own word for it is err.
func (l *line) unread(node *kong.Node, words []string, err error) error {
	word := words[0]
	if word == "--" && len(words) > 1 {
		word = words[1]
	}
	written, _, valued := strings.Cut(word, "=")
	isFlag := len(word) > 1 && word[0] == '-' && words[0] != "--"
	switch {
	case isFlag && l.flag(written) != nil && len(words) == 1 && !valued:
		return fmt.Errorf("%s is without its value", written)
	case isFlag && l.flag(written) != nil:
		return err
	case isFlag:
		return l.unknownFlag(node, written, words)
	case node.Leaf():
		return errors.New("unexpected argument " + show.Name(word))
	}
	text := "there is no command " + strings.TrimPrefix(node.Path()+" "+show.Name(word), " ")
	if near := l.nearCommand(node, word); near != "" {
		text += ", did you mean " + near + "?"
	}
	return errors.New(text)
}

// elsewhere are commands that people look for under another name.
var elsewhere = map[string]string{
	"sandbox run": "sandbox exec", "sandbox start": "sandbox exec", "ls": "tools", "list": "tools",
}

// nearCommand is the command that was probably meant by a word in a group: one of the group, else one of another, with
// its group; "" if there is none.
func (l *line) nearCommand(group *kong.Node, word string) string {
	if instead := elsewhere[strings.TrimPrefix(group.Path()+" "+word, " ")]; instead != "" {
		return instead
	}
	if near := nearest.Name(word, commandNames(group)); near != "" {
		return near
	}
	var leaves, paths []string
	for _, g := range l.ctx.Model.Children {
		for _, name := range commandNames(g) {
			leaves, paths = append(leaves, name), append(paths, g.Name+" "+name)
		}
	}
	near := nearest.Word(word, leaves)
	if near == "" || len(word) < 4 {
		return ""
	}
	return paths[slices.Index(leaves, near)]
}

func (l *line) unknownFlag(node *kong.Node, written string, words []string) error {
	text := "unknown flag " + show.Name(written)
	if c, ok := node.Target.Addr().Interface().(interface{ Instead(flag string) string }); ok && c.Instead(written) != "" {
		return errors.New(text + "\n" + c.Instead(written))
	}
	var known []string
	for _, f := range l.ctx.Flags() {
		known = append(known, "--"+f.Name)
	}
	for _, f := range l.ctx.Flags() { // the other case of a letter
		if short := "-" + string(f.Short); f.Short != 0 && strings.EqualFold(written, short) {
			return errors.New(text + ", did you mean " + short + "?")
		}
	}
	near := nearest.Name(written, known)
	if _, isRun := l.node().Target.Addr().Interface().(*runCmd); isRun && near == "" && strings.HasPrefix(written, "--") {
		_, value, ok := strings.Cut(words[0], "=")
		if !ok && len(words) > 1 && !strings.HasPrefix(words[1], "-") && !strings.Contains(words[1], "=") {
			value = words[1]
		}
		argument := strings.ReplaceAll(written[2:], "-", "_") + "=" + cmp.Or(value, "VALUE")
		return errors.New(text + "\narguments of the tool have no dashes: " + show.Word(argument))
	}
	if near == "" || !strings.HasPrefix(written, "--") || written == "--no-"+near[len("--"):] { // the opposite
		return errors.New(text)
	}
	return errors.New(text + ", did you mean " + near + "?")
}
