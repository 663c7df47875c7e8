package cli

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// reorder puts the flags of `run` and `explain` before the words, because kong takes the words of
// a list only up to the next flag: `run TOOL a=1 --json b=2` is to work. Of
// `explain … command PROGRAM …` everything after is words, also what looks like a flag.
func reorder(model *kong.Application, args []string) []string {
	at, global := 0, byName(model.Node)
	for ; at < len(args) && strings.HasPrefix(args[at], "-"); at++ {
		if f := global[args[at]]; f != nil && !f.IsBool() {
			at++
		}
	}
	if at >= len(args) || args[at] != "run" && args[at] != "explain" {
		return args
	}
	i := slices.IndexFunc(model.Children, func(n *kong.Node) bool { return n.Name == args[at] })
	known := byName(model.Children[i])
	out, words := slices.Clone(args[:at+1]), []string{}
	rest := args[at+1:]
	for i := 0; i < len(rest); i++ {
		arg := rest[i]
		f := known[arg]
		switch {
		case arg == "--":
			words, i = append(words, rest[i+1:]...), len(rest)
		case args[at] == "explain" && len(words) > 0 && len(words) <= 2 && words[len(words)-1] == "command":
			words, i = append(words, rest[i:]...), len(rest)
		case arg == "-" || !strings.HasPrefix(arg, "-"):
			words = append(words, arg)
		case f == nil || f.IsBool() || i+1 == len(rest):
			out = append(out, arg)
		case f.Name == "no-mount":
			if isName(rest[i+1]) && len(words) > 0 {
				i++
				arg += "=" + rest[i]
			}
			out = append(out, arg)
		default:
			i++
			out = append(out, arg, rest[i])
		}
	}
	return append(append(out, "--"), words...)
}

// isName reports whether the word after --no-mount is its value, not an argument.
func isName(s string) bool {
	return s != "" && !strings.HasPrefix(s, "-") && !strings.HasPrefix(s, "{") && !strings.Contains(s, "=")
}

// byName are the flags of a command as they are written, with those above it.
func byName(n *kong.Node) map[string]*kong.Flag {
	known := map[string]*kong.Flag{}
	for _, group := range n.AllFlags(false) {
		for _, f := range group {
			known["--"+f.Name] = f
			if f.Short != 0 {
				known["-"+string(f.Short)] = f
			}
		}
	}
	return known
}
