package config

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/nearest"
	"github.com/jptools/jptools/jptool/wspath"
)

// judge reports what can only be seen in the merged tool (RFD 076, "Configuration").
func (d *decoder) judge(t *Tool) {
	d.judgeParameters(t.Parameters, t.tree.Get("parameters"))
	d.judgeAccess(t.Access, t.tree.Get("access"))
	source := t.tree.Get("source")
	if source == nil {
		help := `add source = "local" and the command, or remove the table`
		if d.count < maxGuesses {
			if near := nearest.Word(t.Name, slices.DeleteFunc(slices.Clone(d.names), func(n string) bool { return n == t.Name })); near != "" {
				help = "did you mean " + quoteKey(near) + "? otherwise " + help
			}
		}
		d.add(t.tree.Origin, "no layer gives this tool a source", help)
		return
	}
	if t.Source.Kind != SourceLocal {
		t.Command = nil
		for _, key := range []string{"access", "command"} {
			// Whoever gives the tool another source need not remove the command of a lower
			// layer. An access is an error in any layer, because somebody relies on it.
			if v := t.tree.Get(key); v != nil && (key == "access" || v.Origin.Layer >= source.Origin.Layer) {
				d.add(v.Origin, fmt.Sprintf("tool %s has source %s (%s), and only local tools have %s",
					show(t.Name), quoteTOML(source.text()), source.Origin, key), "remove "+key+`, or set source = "local"`)
			}
		}
		return
	}
	if t.Command == nil {
		d.add(source.Origin, "tool "+show(t.Name)+" is local and has no command", "add command = \"…\" to it")
	}
}

// judgeAccess checks each rule by itself, and brings paths into their normal form.
func (d *decoder) judgeAccess(a *Access, v *Value) {
	if a == nil {
		return
	}
	for i := range a.FS {
		d.judgeFsRule(&a.FS[i], v.At("fs").items[i])
	}
	for i := range a.Net {
		r := &a.Net[i]
		_, err := jptool.CompileNet([]jptool.NetRule{r.NetRule})
		d.compiled(r.At, err, "access.net[0]: ")
		r.Origin = r.At.String()
	}
	for i := range a.Env {
		r := &a.Env[i]
		_, err := jptool.CompileEnv([]jptool.EnvRule{r.EnvRule})
		d.compiled(r.At, err, "access.env[0]: ")
		r.Origin = r.At.String()
	}
	for _, name := range v.Get("commands").Keys() {
		r := a.Commands[name]
		_, err := jptool.CompileCommands(map[string]jptool.CommandRule{name: r.CommandRule})
		d.compiled(r.At, err, fmt.Sprintf("access.commands[%q]: ", name))
	}
}

func (d *decoder) judgeFsRule(r *FsRule, v *Value) {
	written, origin := r.Path, v.fields["path"].Origin
	rel, err := jptool.RulePath(written, d.roots...)
	switch {
	case errors.Is(err, wspath.ErrAbsolute):
		d.add(origin, show(written)+" is absolute and not below the workspace",
			"write it relative to the workspace; for what lies outside, a rule with external = true on a link")
	case errors.Is(err, wspath.ErrEscape):
		d.add(origin, show(written)+" leaves the workspace",
			"write a path below it; for what lies outside, a rule with external = true on a link")
	case err != nil:
		d.add(origin, show(written)+" is "+err.Error(), "write a path that a file can have")
	case written == "":
		d.add(origin, "is empty", `write path = "." for the whole workspace`)
	case rel.IsRoot() && r.External:
		d.add(origin, "the workspace itself cannot be external",
			"declare a rule on the link that leads outside instead, such as path = \"fork\"")
	}
	r.Dir = strings.HasSuffix(filepath.ToSlash(written), "/")
	r.Path, r.Origin = rel.Slash(), r.At.String()
}

// compiled reports what the library says of one rule: the first line is what is wrong,
// the next what to do.
func (d *decoder) compiled(origin Origin, err error, prefix string) {
	if err == nil {
		return
	}
	message, help, _ := strings.Cut(strings.TrimPrefix(err.Error(), prefix), "\n")
	d.add(origin, message, help)
}

func (d *decoder) judgeParameters(list []*Parameter, v *Value) {
	for _, p := range list {
		d.judgeParameter(p, v.Get(p.Name))
	}
}

// judgeParameter checks a node of a schema, and those in it, against itself.
func (d *decoder) judgeParameter(p *Parameter, v *Value) {
	d.judgeParameters(p.Properties, v.Get("properties"))
	if p.Items != nil {
		d.judgeParameter(p.Items, v.Get("items"))
	}
	if len(p.Types) == 0 {
		d.add(v.Origin, "has no type", `add type = "string", or another JSON type`)
		return
	}
	if f := v.Get("items"); f != nil && !slices.Contains(p.Types, "array") {
		d.add(f.Origin, "only an array has items", `set type = "array", or remove items`)
	}
	if f := v.Get("properties"); f != nil && !slices.Contains(p.Types, "object") {
		d.add(f.Origin, "only an object has properties", `set type = "object", or remove properties`)
	}
	fits := func(f *Value) {
		if !slices.ContainsFunc(p.Types, f.isJSONType) {
			d.add(f.Origin, f.String()+" is not of type "+strings.Join(p.Types, " or "), "write a value of the type, or change the type")
		}
	}
	def, enum := v.Get("default"), v.Get("enum")
	if def != nil {
		fits(def)
	}
	if enum != nil {
		for _, item := range enum.items {
			fits(item)
		}
		if def != nil && !slices.ContainsFunc(enum.items, def.Equal) {
			d.add(def.Origin, def.String()+" is not in enum", "write one of "+enum.String())
		}
	}
}

func (v *Value) isJSONType(name string) bool {
	switch v.Kind {
	case Bool:
		return name == "boolean"
	case Integer:
		return name == "integer" || name == "number"
	case Float:
		return name == "number" || name == "integer" && v.number() == math.Trunc(v.number())
	case String, DateTime:
		return name == "string"
	case List:
		return name == "array"
	case Table:
		return name == "object"
	}
	return name == "null"
}
