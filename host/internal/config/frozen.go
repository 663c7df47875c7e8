package config

import "fmt"

// Frozen is the built-in layer after its reading: its tree, laid flat, each value before what it
// holds. As a literal it is laid out by the linker. Every call of a tool needs the layer, and to read,
// check and merge its TOML takes ten times as long as to set up the tree from this.
type Frozen []FrozenValue

// FrozenValue is one value of a Frozen.
type FrozenValue struct {
	Kind Kind
	// Name is the value's own in the table that it is in, Key the whole key.
	Name, Key    string
	Line, Column int
	// Text is that of a string.
	Text string
	// Number is an integer, 1 for true, or how many values a table or a list holds.
	Number int64
}

// builtIn is the name of the built-in layer as a file.
const builtIn = "built-in"

// Freeze reads a built-in layer. It takes the simple values that such a layer is made of: no lists of
// rules, nothing about how it merges, no floats or dates.
func Freeze(toml []byte) (Frozen, error) {
	tree, err := parseTOML(toml, LayerDefault, builtIn)
	if err != nil {
		return nil, err
	}
	if err := checkLayer(tree); err != nil {
		return nil, err
	}
	return freeze(nil, "", tree)
}

func freeze(f Frozen, name string, v *Value) (Frozen, error) {
	one := FrozenValue{Kind: v.Kind, Name: name, Key: v.Origin.Key, Line: v.Origin.Line, Column: v.Origin.Column}
	if v.rules || v.how != nil {
		return nil, fmt.Errorf("%s: %s cannot stand in the built-in layer", v.Origin, v.Origin.Key)
	}
	switch v.Kind {
	case Bool:
		if v.flag {
			one.Number = 1
		}
	case Integer:
		one.Number = v.integer
	case String:
		one.Text = v.text
	case List:
		one.Number = int64(len(v.items))
	case Table:
		one.Number = int64(len(v.keys))
	default:
		return nil, fmt.Errorf("%s: %s cannot stand in the built-in layer, being %s", v.Origin, v.Origin.Key, v.Kind)
	}
	f = append(f, one)
	var err error
	for _, item := range v.items {
		if f, err = freeze(f, "", item); err != nil {
			return nil, err
		}
	}
	for _, k := range v.keys {
		if f, err = freeze(f, k, v.fields[k]); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// tree sets up the tree.
func (f Frozen) tree() *Value {
	if len(f) == 0 {
		return newTable(Origin{Layer: LayerDefault, File: builtIn})
	}
	values := make([]Value, len(f))
	i := -1
	var thaw func() *Value
	thaw = func() *Value {
		i++
		one, v := &f[i], &values[i]
		v.Kind = one.Kind
		v.Origin = Origin{Layer: LayerDefault, File: builtIn, Line: one.Line, Column: one.Column, Key: one.Key}
		switch one.Kind {
		case Bool:
			v.flag = one.Number == 1
		case Integer:
			v.integer = one.Number
		case String:
			v.text = one.Text
		case List:
			for range one.Number {
				v.items = append(v.items, thaw())
			}
		case Table:
			v.keys, v.fields = make([]string, 0, one.Number), make(map[string]*Value, one.Number)
			for range one.Number {
				name := f[i+1].Name
				v.set(name, thaw())
			}
		}
		return v
	}
	return thaw()
}
