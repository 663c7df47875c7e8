package cli

import (
	"slices"
	"strings"
)

// runner is a command whose flags have been read.
type runner interface{ Run(*app) error }

// quick reads a command line of `run` or `sandbox exec` in its usual form. To learn even a small
// grammar, kong needs as long as everything else up to the start of the program: too long for what
// starts programs again and again. Whatever is not plainly right is left to kong, which says what is
// wrong with it: nil means that. What is read here, kong reads the same.
func quick(args []string) (runner, *globals) {
	g := &globals{Format: "text"}
	switch {
	case len(args) > 1 && args[0] == "run":
		c := &runCmd{}
		words, ok := flags(args[1:], false, c.flag, g.flag)
		if !ok || len(words) == 0 || slices.Contains(words, "") || !g.plain() {
			return nil, nil
		}
		c.Tool = words[0]
		if len(words) > 1 {
			c.Args = words[1:]
		}
		return c, g
	case len(args) > 2 && args[0] == "sandbox" && args[1] == "exec":
		c := &sandboxExecCmd{}
		c.Tier = "auto"
		words, ok := flags(args[2:], true, c.flag, g.flag)
		if !ok || !g.plain() || c.Tier != "auto" && c.Tier != "landlock" && c.Tier != "namespace" {
			return nil, nil
		}
		c.Command = words
		return c, g
	}
	return nil, nil
}

// flags reads flags, in whatever order with the words, or up to the first word or `--` where the words
// are the command line of somebody else. Each of at returns where the value of a flag is kept: a *bool
// that takes none, a *string, or a *[]string of one that can be repeated; or nil. It reports whether it
// knew everything.
func flags(args []string, others bool, at ...func(flag string) any) (words []string, ok bool) {
	var given []*string
	for i := 0; i < len(args); i++ {
		arg := args[i]
		word := !strings.HasPrefix(arg, "-")
		switch {
		case others && (word || arg == "--"):
			return args[i:], true
		case arg == "--":
			return append(words, args[i+1:]...), true
		case word || arg == "-" && !others:
			words = append(words, arg)
			continue
		}
		flag, value, valued := strings.Cut(arg, "=")
		var to any
		for _, find := range at {
			if to == nil {
				to = find(flag)
			}
		}
		if on, is := to.(*bool); is && !valued {
			*on = true
			continue
		}
		if !valued && i+1 < len(args) {
			i++
			value = args[i]
		}
		if value == "" || value[0] == '-' || valued && !strings.HasPrefix(flag, "--") {
			return nil, false
		}
		switch to := to.(type) {
		case *[]string:
			*to = append(*to, value)
		case *string:
			if slices.Contains(given, to) {
				return nil, false
			}
			*to, given = value, append(given, to)
		default:
			return nil, false
		}
	}
	return words, !others
}

func (g *globals) flag(name string) any {
	switch name {
	case "-C", "--workspace":
		return &g.Workspace
	case "--conversation":
		return &g.Conversation
	case "--cfg":
		return &g.Cfg
	case "--format":
		return &g.Format
	case "--json":
		return &g.JSON
	case "--no-input":
		return &g.NoInput
	}
	return nil
}

func (g *globals) plain() bool { return g.Format == "text" || g.Format == "json" }

func (c *runCmd) flag(name string) any {
	switch name {
	case "--mount":
		return &c.Mount
	case "--answer":
		return &c.Answer
	case "--allow-sensitive":
		return &c.AllowSensitive
	case "--explain-denials":
		return &c.ExplainDenials
	case "--preview":
		return &c.Preview
	case "--dry-run":
		return &c.DryRun
	}
	return nil // --no-mount has a value or none
}

func (c *sandboxExecCmd) flag(name string) any {
	switch name {
	case "-q", "--quiet":
		return &c.Quiet
	case "--explain-denials":
		return &c.ExplainDenials
	case "--net":
		return &c.Net
	case "--required":
		return &c.Required
	case "--ro":
		return &c.RO
	case "--rw":
		return &c.RW
	case "--grant":
		return &c.Grant
	case "--env":
		return &c.Env
	case "--limit":
		return &c.Limit
	case "--policy":
		return &c.Policy
	case "--root":
		return &c.Root
	case "--tier":
		return &c.Tier
	case "--report":
		return &c.Report
	}
	return nil
}
