package config

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Render writes the effective configuration as TOML or JSON. With origins, TOML has a comment at
// each value, and JSON is a list of {key, value, layer, origin}, one for each setting and
// each rule. Lists are shown merged and without their strategies, so that what TOML
// shows can be read back as one layer.
func (c *Config) Render(w io.Writer, asJSON, origins bool) error {
	switch {
	case !asJSON:
		_, err := w.Write(appendTOML(nil, c.merged, origins))
		return err
	case origins:
		type setting struct {
			Key    string `json:"key"`
			Value  any    `json:"value"`
			Layer  string `json:"layer"`
			Origin string `json:"origin"`
		}
		list := []setting{}
		for _, s := range c.Effective() {
			list = append(list, setting{s.Key, s.Value.Any(), s.Origin.Layer.String(), s.Origin.String()})
		}
		return writeJSON(w, list)
	}
	return writeJSON(w, c.merged.Any())
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// appendTOML writes the table v as a document; reading it gives an equal tree.
func appendTOML(b []byte, v *Value, origins bool) []byte {
	if v == nil {
		return b
	}
	w := tomlWriter{b: b, origins: origins}
	w.table(nil, v)
	return w.b
}

type tomlWriter struct {
	b       []byte
	origins bool
}

func (w *tomlWriter) line(s string, origin Origin) {
	w.b = append(w.b, s...)
	if w.origins && !origin.IsZero() {
		w.b = append(w.b, "  # "+origin.Layer.String()+" "+origin.String()...)
	}
	w.b = append(w.b, '\n')
}

// table writes what has no header first, because everything after a header belongs to it.
func (w *tomlWriter) table(path []string, v *Value) {
	for _, k := range v.keys {
		if f := v.fields[k]; !hasHeader(f) && f.Kind != Null {
			w.keyValue(k, f)
		}
	}
	for _, k := range v.keys {
		f := v.fields[k]
		if !hasHeader(f) {
			continue
		}
		sub := append(slices.Clone(path), k)
		name := JoinKey(sub...)
		if f.Kind == List {
			for _, item := range f.items {
				w.blank()
				w.line("[["+name+"]]", item.Origin)
				w.table(sub, item)
			}
			continue
		}
		if needsHeader(f) {
			w.blank()
			w.b = append(w.b, "["+name+"]\n"...)
		}
		w.table(sub, f)
	}
}

func (w *tomlWriter) blank() {
	if len(w.b) > 0 {
		w.b = append(w.b, '\n')
	}
}

// keyValue puts the items of a long list on lines of their own when each has an origin.
func (w *tomlWriter) keyValue(k string, f *Value) {
	if w.origins && f.Kind == List && len(f.items) > 1 {
		w.b = append(w.b, quoteKey(k)+" = [\n"...)
		for _, item := range f.items {
			w.line("  "+item.String()+",", item.Origin)
		}
		w.b = append(w.b, "]\n"...)
		return
	}
	w.line(quoteKey(k)+" = "+f.String(), f.Origin)
}

// hasHeader reports whether a value is written under a [header] of its own.
func hasHeader(v *Value) bool {
	switch v.Kind {
	case Table:
		return true
	case List:
		return len(v.items) > 0 && !slices.ContainsFunc(v.items, func(i *Value) bool { return i.Kind != Table })
	}
	return false
}

// needsHeader is false for a table that only holds other tables: theirs imply it.
func needsHeader(v *Value) bool {
	for _, k := range v.keys {
		if f := v.fields[k]; !hasHeader(f) && f.Kind != Null {
			return true
		}
	}
	return !slices.ContainsFunc(v.keys, func(k string) bool { return hasHeader(v.fields[k]) })
}

// appendInline writes a value on one line. Null has no form in TOML: it is left out of
// tables, and the schema keeps it out of lists; here it shows as null, for messages.
func appendInline(b []byte, v *Value) []byte {
	switch v.Kind {
	case Null:
		return append(b, "null"...)
	case Bool, Integer, DateTime:
		return fmt.Append(b, v.scalar)
	case Float:
		return append(b, formatFloat(v.number())...)
	case String:
		return append(b, quoteTOML(v.text())...)
	case List:
		b = append(b, '[')
		for i, item := range v.items {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = appendInline(b, item)
		}
		return append(b, ']')
	}
	sep := "{ "
	for _, k := range v.keys {
		if v.fields[k].Kind == Null {
			continue
		}
		b = append(append(b, sep...), quoteKey(k)+" = "...)
		b = appendInline(b, v.fields[k])
		sep = ", "
	}
	if sep == "{ " {
		return append(b, "{}"...)
	}
	return append(b, " }"...)
}

func formatFloat(f float64) string {
	s := strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(f, 'g', -1, 64), "+"))
	if !strings.ContainsAny(s, ".en") { // neither a fraction, nor an exponent, nor nan or inf
		s += ".0"
	}
	return s
}

// quoteTOML writes a basic string; what a terminal would act on is escaped.
func quoteTOML(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case strings.ContainsRune("\"\\\n\t\r", r):
			escaped := strconv.Quote(string(r))
			b.WriteString(escaped[1 : len(escaped)-1])
		case unprintable(r) && r > 0xffff:
			fmt.Fprintf(&b, `\U%08X`, r)
		case unprintable(r):
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
