package policy

import (
	"fmt"
	"strings"

	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/jptool"
)

// FsRule is a rule of the wire that grants exactly caps, without the alias `write`.
func FsRule(path string, caps jptool.Caps) jptool.FsRule {
	on := func(c jptool.Caps) *bool {
		if !caps.Has(c) {
			return nil
		}
		yes := true
		return &yes
	}
	return jptool.FsRule{
		Path: path,
		Read: on(jptool.Read), Create: on(jptool.Create), Update: on(jptool.Update),
		Delete: on(jptool.Delete), Execute: on(jptool.Execute),
	}
}

// FsText writes a rule as an inline table of TOML.
func FsText(r *jptool.FsRule) string {
	var b strings.Builder
	fmt.Fprintf(&b, "{ path = %q", dotted(r.Path))
	if r.External {
		b.WriteString(", external = true")
	}
	if text := grantText(r.Caps()); text != "" {
		b.WriteString(", " + text)
	}
	return b.String() + " }"
}

// grantText writes capabilities as keys of a rule, `write` for create, update and delete.
func grantText(caps jptool.Caps) string {
	var keys []string
	if caps.Has(jptool.Write) {
		caps &^= jptool.Write
		if caps.Has(jptool.Read) {
			keys = append(keys, "read = true")
			caps &^= jptool.Read
		}
		keys = append(keys, "write = true")
	}
	for _, name := range caps.Names() {
		keys = append(keys, name+" = true")
	}
	return strings.Join(keys, ", ")
}

func netText(r *jptool.NetRule) string {
	var b strings.Builder
	fmt.Fprintf(&b, "{ host = %q", r.Host)
	if r.Scheme != nil {
		fmt.Fprintf(&b, ", scheme = %q", *r.Scheme)
	}
	if r.Port != nil {
		fmt.Fprintf(&b, ", port = %d", *r.Port)
	}
	if r.PathPrefix != nil {
		fmt.Fprintf(&b, ", path_prefix = %q", *r.PathPrefix)
	}
	fmt.Fprintf(&b, ", allow = %t }", r.Allow)
	return b.String()
}

func envText(r *jptool.EnvRule) string {
	return fmt.Sprintf("{ name = %q, read = %t }", r.Name, r.Read)
}

func commandText(r jptool.CommandRule) string {
	var parts []string
	if r.Args != nil {
		lists := make([]string, len(r.Args))
		for i, args := range r.Args {
			lists[i] = quoted(args)
		}
		parts = append(parts, "args = ["+strings.Join(lists, ", ")+"]")
	}
	if len(r.Envs) > 0 {
		parts = append(parts, "envs = "+quoted(r.Envs))
	}
	if len(parts) == 0 {
		return "{}"
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}

func quoted(words []string) string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = fmt.Sprintf("%q", w)
	}
	return "[" + strings.Join(list, ", ") + "]"
}

// shellWord quotes a path for a command line that a person may copy.
func shellWord(s string) string {
	if strings.HasPrefix(s, "-") {
		s = "./" + s
	}
	return show.Word(s)
}
