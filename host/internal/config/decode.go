package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/ignore"
	"github.com/jptools/jptools/jptool/nearest"
	"github.com/jptools/jptools/jptool/strictjson"
	"github.com/jptools/jptools/jptool/wspath"
)

// fill sets the fields of a struct of keys.go from a table that the schema accepted, nil for
// one that nobody wrote. A field of type settings.Origin gets the place of the table, and HasX, where
// there is one, whether the key of X was written.
func fill(dst reflect.Value, v *settings.Value) {
	table := tables()[dst.Type()]
	for sf, f := range dst.Fields() {
		if !sf.IsExported() || sf.Type == reflect.TypeFor[Style]() {
			continue
		}
		if keys := ruleKeys[sf.Type]; keys != nil {
			rule := reflect.New(keys).Elem()
			fill(rule, v)
			f.Set(rule.Convert(sf.Type))
			continue
		}
		if o, ok := reflect.TypeAssert[*settings.Origin](f.Addr()); ok && v != nil {
			*o = v.Origin
		}
		key := sf.Tag.Get("toml")
		if key == "" {
			continue
		}
		child := v.Get(key)
		if has := dst.FieldByName("Has" + sf.Name); has.IsValid() {
			has.SetBool(child != nil)
		}
		if child == nil {
			child = table.field(key).initial
		}
		decodeField(f, sf.Tag.Get("as"), child)
	}
}

// decodeField sets a field from the value of its key, nil for one that is absent.
func decodeField(dst reflect.Value, as string, v *settings.Value) {
	if v == nil {
		if dst.Kind() == reflect.Struct {
			fill(dst, nil)
		}
		return
	}
	if f := formOf(as); f.decode != nil {
		dst.Set(reflect.ValueOf(f.decode(v)))
		return
	}
	switch dst.Kind() {
	case reflect.Pointer:
		dst.Set(reflect.New(dst.Type().Elem()))
		decodeField(dst.Elem(), "", v)
	case reflect.String, reflect.Bool, reflect.Int64, reflect.Uint16:
		dst.Set(reflect.ValueOf(v.Scalar).Convert(dst.Type()))
	case reflect.Interface:
		if x := v.Any(); x != nil {
			dst.Set(reflect.ValueOf(x))
		}
	case reflect.Struct:
		fill(dst, v)
	case reflect.Map:
		dst.Set(reflect.MakeMap(dst.Type()))
		for _, k := range v.Keys {
			elem := reflect.New(dst.Type().Elem()).Elem()
			decodeField(elem, "", v.Fields[k])
			dst.SetMapIndex(reflect.ValueOf(k), elem)
		}
	case reflect.Slice: // the items of a list, or the tables of a map in the order written, with their names
		dst.Set(reflect.MakeSlice(dst.Type(), len(v.Items)+len(v.Keys), len(v.Items)+len(v.Keys)))
		for i, item := range v.Items {
			decodeField(dst.Index(i), "", item)
		}
		for i, k := range v.Keys {
			decodeField(dst.Index(i), "", v.Fields[k])
			dst.Index(i).Elem().FieldByName("Name").SetString(k)
		}
	}
}

// decoder turns the merged tree, whose layers the schema accepted, into typed values and
// collects what only the whole can show to be wrong.
type decoder struct {
	settings.Problems
	roots    []string        // where absolute paths of rules may lie
	names    []string        // of all tools
	defaults *settings.Value // the table '*', or nil
	layers   []*settings.Value
	all      Access // the rules of '*'
}

func (c *Config) decode(o Options) error {
	tools := c.merged.At("conversation", "tools")
	d := &decoder{roots: []string{o.Root, o.GivenRoot}}
	d.read(c.layers)
	if tools != nil {
		d.names = slices.DeleteFunc(slices.Sorted(maps.Keys(tools.Fields)), func(k string) bool { return k == defaultsName })
		d.defaults = tools.Fields[defaultsName]
	}
	for _, name := range d.names {
		c.tools = append(c.tools, d.tool(name, tools.Fields[name]))
	}
	fill(reflect.ValueOf(&c.sandbox).Elem(), c.merged.Get("sandbox"))
	fill(reflect.ValueOf(&c.undo).Elem(), c.merged.At("conversation", "undo"))
	return d.Err()
}

// read takes the trees of layers, and the rules of '*' in them.
func (d *decoder) read(layers []LayerInfo) {
	for _, l := range layers {
		if l.tree != nil {
			d.layers = append(d.layers, l.tree)
		}
	}
	d.all = d.forAll()
}

func (d *decoder) tool(name string, v *settings.Value) *Tool {
	t := &Tool{Questions: map[string]Question{}, Options: map[string]any{}}
	all := d.withDefaults(v)
	fill(reflect.ValueOf(t).Elem(), all)
	t.Name, t.tree, t.defaults = name, v, d.defaults
	if t.Format == "" {
		t.Format = "ask"
		if t.Run == "unattended" {
			t.Format = "unattended"
		}
	}
	t.SensitivePaths, t.Deny = d.patterns(name, "sensitive_paths"), d.patterns(name, "deny")
	d.shared(t)
	for id, q := range t.Questions {
		if target := v.At("questions", id, "target"); target != nil && target.Kind == settings.Table {
			q.Assistant = target.Any().(map[string]any)
			t.Questions[id] = q
		}
	}
	d.judge(t)
	return t
}

// patterns are the patterns of a list, for all tools and for this one. They are taken from the layers and not from
// what these were merged to, so that a table that a layer replaces or takes away keeps them.
func (d *decoder) patterns(tool, key string) (list []Pattern) {
	seen := map[string]bool{}
	for _, tree := range d.layers {
		for _, name := range []string{defaultsName, tool} {
			v := tree.At("conversation", "tools", name, "access", key)
			if v == nil || v.Kind != settings.List {
				continue
			}
			for _, item := range v.Items {
				if text := item.Text(); !seen[text] {
					seen[text] = true
					list = append(list, Pattern{text, item.Origin})
				}
			}
		}
	}
	return list
}

// shared adds the rules for all tools, which only take away, to those of a tool. One on a path becomes a pattern, since
// any rule on paths would put the default for the workspace out of force.
func (d *decoder) shared(t *Tool) {
	all := d.all
	t.Deny = append(t.Deny, d.pathRules()...)
	if len(all.Env) > 0 && t.Access == nil {
		t.Access = &Access{}
	}
	// Last, so that they decide over rules of the tool that are as specific.
	if t.Access == nil || t.Access.Net == nil {
		t.NetForAll = all.Net
	} else {
		t.Access.Net = append(slices.Clone(t.Access.Net), all.Net...)
	}
	if len(all.Env) > 0 {
		t.Access.Env = append(slices.Clone(t.Access.Env), all.Env...)
	}
}

// pathRules are the rules of '*' on paths, as patterns.
func (d *decoder) pathRules() (list []Pattern) {
	for _, r := range d.all.FS {
		p := Pattern{"/" + ignore.Escape(r.Path), r.At}
		if r.Path == "" {
			p.Text = "*"
		}
		list = append(list, p)
	}
	return list
}

// forAll returns the rules of the table '*', of all layers.
func (d *decoder) forAll() (all Access) {
	for _, tree := range d.layers {
		access := tree.At("conversation", "tools", defaultsName, "access")
		for _, key := range []string{"fs", "net", "env"} {
			if v := access.Get(key); v != nil && v.Kind == settings.List {
				one := settings.NewTable(access.Origin)
				one.Set(key, v)
				var a Access
				fill(reflect.ValueOf(&a).Elem(), one)
				d.judgeAccess(&a, one)
				all.FS, all.Net, all.Env = append(all.FS, a.FS...), append(all.Net, a.Net...), append(all.Env, a.Env...)
			}
		}
	}
	return all
}

// withDefaults fills up the table of a tool from '*', key by key; but only its own access
// is one.
func (d *decoder) withDefaults(v *settings.Value) *settings.Value {
	if d.defaults == nil {
		return v
	}
	tool := schema().field("conversation").node.field("tools").node.elem
	all := settings.NewTable(v.Origin)
	for _, k := range v.Keys {
		all.Set(k, v.Fields[k])
	}
	for _, k := range d.defaults.Keys {
		if k == "access" || k == "style" {
			continue
		}
		all.Set(k, merge(tool.field(k).node, d.defaults.Fields[k], v.Fields[k]))
	}
	return all
}

// judge reports what can only be seen in the merged tool (RFD 076, "Configuration").
func (d *decoder) judge(t *Tool) {
	for _, p := range t.Parameters {
		d.judgeParameter(p, t.tree.At("parameters", p.Name))
	}
	if t.Access != nil {
		d.judgeAccess(t.Access, t.tree.Get("access"))
	}
	d.judgeUnattended(t)
	source := t.tree.Get("source")
	if source == nil {
		const maxGuesses = 10 // each costs a look at all names
		help := `add source = "local" and the command, or remove the table`
		if d.Count < maxGuesses {
			others := slices.DeleteFunc(slices.Clone(d.names), func(n string) bool { return n == t.Name })
			if near := nearest.Word(t.Name, others); near != "" {
				help = "did you mean " + settings.QuoteKey(near) + "? otherwise " + help
			}
		}
		d.Add(t.tree.Origin, "no layer gives this tool a source", help)
		return
	}
	if t.Source.Kind != SourceLocal {
		t.Command = nil
		for _, key := range []string{"access", "command"} {
			// Whoever gives the tool another source need not remove the command of a lower
			// layer. An access is an error in any layer, because somebody relies on it.
			if v := t.tree.Get(key); v != nil && (key == "access" || v.Origin.Layer >= source.Origin.Layer) {
				d.Add(v.Origin, fmt.Sprintf("tool %s has source %s (%s), and only local tools have %s",
					settings.Show(t.Name), settings.Quote(source.Text()), source.Origin, key), "remove "+key+`, or set source = "local"`)
			}
		}
		return
	}
	if t.Command == nil {
		d.Add(source.Origin, "tool "+settings.Show(t.Name)+" is local and has no command", "add command = \"…\" to it")
	}
}

// judgeUnattended checks the calls that need nobody, and brings paths into their normal form.
func (d *decoder) judgeUnattended(t *Tool) {
	for i := range t.Unattended {
		u := &t.Unattended[i]
		switch {
		case u.HasPath == (u.Arguments != ""):
			d.Add(u.At, "an entry of unattended has either path or arguments", `write { path = "src/a.go", yes_to = ["apply_changes"] }`)
		case u.HasPath:
			rel, err := wspath.Parse(u.Path)
			if err != nil {
				d.Add(u.At, "path of unattended: "+err.Error(), "write it relative to the workspace")
				continue
			}
			u.Directory = strings.HasSuffix(u.Path, "/") || rel.Slash() == ""
			u.Path = rel.Slash()
		default:
			if _, err := strictjson.ParseObject([]byte(u.Arguments)); err != nil {
				d.Add(u.At, "arguments of unattended: "+err.Error(), "write one JSON object in a string")
			}
		}
	}
}

// judgeAccess checks each rule by itself, and brings paths into their normal form.
func (d *decoder) judgeAccess(a *Access, v *settings.Value) {
	for i := range a.FS {
		d.judgeFsRule(&a.FS[i], v.At("fs").Items[i])
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
	for _, name := range cmp.Or(v.Get("commands"), &settings.Value{}).Keys {
		r := a.Commands[name]
		_, err := jptool.CompileCommands(map[string]jptool.CommandRule{name: r.CommandRule})
		d.compiled(r.At, err, fmt.Sprintf("access.commands[%q]: ", name))
	}
}

func (d *decoder) judgeFsRule(r *FsRule, v *settings.Value) {
	written, origin := r.Path, v.Fields["path"].Origin
	rel, err := jptool.RulePath(written, d.roots...)
	switch {
	case errors.Is(err, wspath.ErrAbsolute):
		d.Add(origin, settings.Show(written)+" is absolute and not below the workspace",
			"write it relative to the workspace; for what lies outside, a rule with external = true on a link")
	case errors.Is(err, wspath.ErrEscape):
		d.Add(origin, settings.Show(written)+" leaves the workspace",
			"write a path below it; for what lies outside, a rule with external = true on a link")
	case err != nil:
		d.Add(origin, settings.Show(written)+" is "+err.Error(), "write a path that a file can have")
	case written == "":
		d.Add(origin, "is empty", `write path = "." for the whole workspace`)
	case rel.IsRoot() && r.External:
		d.Add(origin, "the workspace itself cannot be external",
			"declare a rule on the link that leads outside instead, such as path = \"fork\"")
	}
	r.Dir = strings.HasSuffix(filepath.ToSlash(written), "/")
	r.Path, r.Origin = rel.Slash(), r.At.String()
}

// compiled reports what the library says of one rule: the first line is what is wrong,
// the next what to do.
func (d *decoder) compiled(origin settings.Origin, err error, prefix string) {
	if err != nil {
		message, help, _ := strings.Cut(strings.TrimPrefix(err.Error(), prefix), "\n")
		d.Add(origin, message, help)
	}
}

// judgeParameter checks a node of a schema, and those in it, against itself.
func (d *decoder) judgeParameter(p *Parameter, v *settings.Value) {
	for _, q := range p.Properties {
		d.judgeParameter(q, v.At("properties", q.Name))
	}
	if p.Items != nil {
		d.judgeParameter(p.Items, v.Get("items"))
	}
	if len(p.Types) == 0 {
		d.Add(v.Origin, "has no type", `add type = "string", or another JSON type`)
		return
	}
	if f := v.Get("items"); f != nil && !slices.Contains(p.Types, "array") {
		d.Add(f.Origin, "only an array has items", `set type = "array", or remove items`)
	}
	if f := v.Get("properties"); f != nil && !slices.Contains(p.Types, "object") {
		d.Add(f.Origin, "only an object has properties", `set type = "object", or remove properties`)
	}
	fits := func(f *settings.Value) {
		is := func(name string) bool {
			return slices.Contains(jsonTypes[f.Kind], name) ||
				name == "integer" && f.Kind == settings.Float && f.Number() == math.Trunc(f.Number())
		}
		if !slices.ContainsFunc(p.Types, is) {
			d.Add(f.Origin, f.String()+" is not of type "+strings.Join(p.Types, " or "), "write a value of the type, or change the type")
		}
	}
	def, enum := v.Get("default"), v.Get("enum")
	if def != nil {
		fits(def)
	}
	if enum != nil {
		for _, item := range enum.Items {
			fits(item)
		}
		if def != nil && !slices.ContainsFunc(enum.Items, def.Equal) {
			d.Add(def.Origin, def.String()+" is not in enum", "write one of "+enum.String())
		}
	}
}

// jsonTypes are the types that JSON has for each kind.
var jsonTypes = [...][]string{
	settings.Null: {"null"}, settings.Bool: {"boolean"}, settings.Integer: {"integer", "number"}, settings.Float: {"number"},
	settings.String: {"string"}, settings.DateTime: {"string"}, settings.List: {"array"}, settings.Table: {"object"},
}
