package cli

import "strings"

// quick reads a command line of `sandbox exec` in its usual form. To learn even a small grammar,
// kong needs as long as everything else up to the start of the program: too long for what starts
// programs again and again. Whatever is not plainly right is left to kong, which says what is wrong
// with it: nil means that. What is read here, kong reads the same.
func quick(args []string) (*sandboxExecCmd, *globals) {
	if len(args) < 3 || args[0] != "sandbox" || args[1] != "exec" {
		return nil, nil
	}
	c, g := &sandboxExecCmd{}, &globals{Format: "text"}
	c.Tier = "auto"
	seen := map[string]bool{}
	for i := 2; i < len(args); i++ {
		if args[i] == "--" || !strings.HasPrefix(args[i], "-") {
			c.Command = args[i:]
			return c, g
		}
		flag, value, valued := strings.Cut(args[i], "=")
		if on := c.toggle(g, flag); on != nil && !valued {
			*on = true
			continue
		}
		many, one := c.list(g, flag), c.single(g, flag)
		if many == nil && one == nil {
			return nil, nil
		}
		if !valued && i+1 < len(args) {
			i++
			value = args[i]
		}
		if value == "" || value[0] == '-' || one != nil && seen[flag] {
			return nil, nil
		}
		if many != nil {
			*many = append(*many, value)
			continue
		}
		*one, seen[flag] = value, true
		if g.Format != "text" && g.Format != "json" || c.Tier != "auto" && c.Tier != "landlock" && c.Tier != "namespace" {
			return nil, nil
		}
	}
	return nil, nil
}

// toggle is where a flag without a value is kept.
func (c *sandboxExecCmd) toggle(g *globals, flag string) *bool {
	switch flag {
	case "-q", "--quiet":
		return &c.Quiet
	case "--explain-denials":
		return &c.ExplainDenials
	case "--net":
		return &c.Net
	case "--required":
		return &c.Required
	case "--json":
		return &g.JSON
	case "--no-input":
		return &g.NoInput
	}
	return nil
}

// list is where the values of a flag are kept that can be repeated.
func (c *sandboxExecCmd) list(g *globals, flag string) *[]string {
	switch flag {
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
	case "--cfg":
		return &g.Cfg
	}
	return nil
}

// single is where the value of any other flag is kept.
func (c *sandboxExecCmd) single(g *globals, flag string) *string {
	switch flag {
	case "--policy":
		return &c.Policy
	case "--root":
		return &c.Root
	case "--tier":
		return &c.Tier
	case "--report":
		return &c.Report
	case "--workspace":
		return &g.Workspace
	case "--conversation":
		return &g.Conversation
	case "--format":
		return &g.Format
	}
	return nil
}
