package config

import (
	"maps"
	"reflect"
	"slices"
)

// fill sets the fields of a struct of keys.go from a table that the schema accepted, nil for
// one that nobody wrote. A field of type Origin gets the place of the table, and HasX, where
// there is one, whether the key of X was written.
func fill(dst reflect.Value, v *Value) {
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
		if o, ok := reflect.TypeAssert[*Origin](f.Addr()); ok && v != nil {
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
func decodeField(dst reflect.Value, as string, v *Value) {
	switch {
	case v == nil && dst.Kind() == reflect.Struct:
		fill(dst, nil)
		return
	case v == nil:
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
		dst.Set(reflect.ValueOf(v.scalar).Convert(dst.Type()))
	case reflect.Interface:
		if x := v.Any(); x != nil {
			dst.Set(reflect.ValueOf(x))
		}
	case reflect.Struct:
		fill(dst, v)
	case reflect.Map:
		dst.Set(reflect.MakeMap(dst.Type()))
		for _, k := range v.keys {
			elem := reflect.New(dst.Type().Elem()).Elem()
			decodeField(elem, "", v.fields[k])
			dst.SetMapIndex(reflect.ValueOf(k), elem)
		}
	case reflect.Slice:
		decodeSlice(dst, v)
	}
}

// decodeSlice takes the items of a list, or the tables of a map in the order written; those
// get their names.
func decodeSlice(dst reflect.Value, v *Value) {
	items := v.items
	for _, k := range v.keys {
		items = append(items, v.fields[k])
	}
	dst.Set(reflect.MakeSlice(dst.Type(), len(items), len(items)))
	for i, item := range items {
		decodeField(dst.Index(i), "", item)
		if v.Kind == Table {
			dst.Index(i).Elem().FieldByName("Name").SetString(v.keys[i])
		}
	}
}

// decoder turns the merged tree, whose layers the schema accepted, into typed values and
// collects what only the whole can show to be wrong.
type decoder struct {
	problems
	roots    []string // where absolute paths of rules may lie
	names    []string // of all tools
	defaults *Value   // the table '*', or nil
}

func (c *Config) decode(o Options) error {
	tools := c.merged.At("conversation", "tools")
	d := &decoder{roots: []string{o.Root, o.GivenRoot}}
	if tools != nil {
		d.names = slices.DeleteFunc(slices.Sorted(maps.Keys(tools.fields)), func(k string) bool { return k == defaultsName })
		d.defaults = tools.fields[defaultsName]
	}
	for _, name := range d.names {
		c.tools = append(c.tools, d.tool(name, tools.fields[name]))
	}
	fill(reflect.ValueOf(&c.sandbox).Elem(), c.merged.Get("sandbox"))
	return d.err()
}

func (d *decoder) tool(name string, v *Value) *Tool {
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
	t.SensitivePaths = append(d.defaults.At("access", "sensitive_paths").Strings(), v.At("access", "sensitive_paths").Strings()...)
	for id, q := range t.Questions {
		if target := v.At("questions", id, "target"); target != nil && target.Kind == Table {
			q.Assistant = target.Any().(map[string]any)
			t.Questions[id] = q
		}
	}
	d.judge(t)
	return t
}

// withDefaults fills up the table of a tool from '*', key by key; but only its own access
// is one.
func (d *decoder) withDefaults(v *Value) *Value {
	if d.defaults == nil {
		return v
	}
	tool := schema().field("conversation").node.field("tools").node.elem
	all := newTable(v.Origin)
	for _, k := range v.keys {
		all.set(k, v.fields[k])
	}
	for _, k := range d.defaults.keys {
		if k == "access" || k == "style" {
			continue
		}
		all.set(k, merge(tool.field(k).node, d.defaults.fields[k], v.fields[k]))
	}
	return all
}
