package settings

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// TOML writes the table v, or nothing for nil, as a document; reading it gives an equal tree. With origins
// each value has a comment that says who wrote it.
func (v *Value) TOML(origins bool) []byte {
	w := tomlWriter{origins: origins}
	if v != nil {
		w.table("", v)
	}
	return w.Bytes()
}

type tomlWriter struct {
	bytes.Buffer
	origins bool
}

func (w *tomlWriter) line(s string, origin Origin) {
	w.WriteString(s)
	if w.origins && !origin.IsZero() {
		fmt.Fprintf(w, "  # %s %s", origin.Layer, origin)
	}
	w.WriteByte('\n')
}

// table writes what has no header first, because everything after a header belongs to it. name is
// the key of the table in TOML's notation.
func (w *tomlWriter) table(name string, v *Value) {
	for _, k := range v.Keys {
		if f := v.Fields[k]; !hasHeader(f) && f.Kind != Null {
			w.keyValue(k, f)
		}
	}
	for _, k := range v.Keys {
		f, sub := v.Fields[k], Origin{Key: name}.Child(k).Key
		switch {
		case !hasHeader(f):
		case f.Kind == List:
			for _, item := range f.Items {
				w.header("[["+sub+"]]", item.Origin)
				w.table(sub, item)
			}
		default:
			// One that only holds other tables needs no header: theirs imply it.
			own := func(k string) bool { return !hasHeader(f.Fields[k]) }
			if !slices.ContainsFunc(f.Keys, func(k string) bool { return !own(k) }) ||
				slices.ContainsFunc(f.Keys, func(k string) bool { return own(k) && f.Fields[k].Kind != Null }) {
				w.header("["+sub+"]", Origin{})
			}
			w.table(sub, f)
		}
	}
}

func (w *tomlWriter) header(s string, origin Origin) {
	if w.Len() > 0 {
		w.WriteByte('\n')
	}
	w.line(s, origin)
}

// keyValue puts the items of a long list on lines of their own when each has an origin.
func (w *tomlWriter) keyValue(k string, f *Value) {
	if !w.origins || f.Kind != List || len(f.Items) < 2 {
		w.line(QuoteKey(k)+" = "+f.String(), f.Origin)
		return
	}
	w.WriteString(QuoteKey(k) + " = [\n")
	for _, item := range f.Items {
		w.line("  "+item.String()+",", item.Origin)
	}
	w.WriteString("]\n")
}

// hasHeader reports whether a value is written under a [header] of its own.
func hasHeader(v *Value) bool {
	return v.Kind == Table || v.Kind == List && len(v.Items) > 0 &&
		!slices.ContainsFunc(v.Items, func(i *Value) bool { return i.Kind != Table })
}

// String writes the value in TOML on one line, for people. Null has no form in TOML: it is left out of
// tables, and the schema keeps it out of lists; here it shows as null, for messages.
func (v *Value) String() string {
	var parts []string
	switch v.Kind {
	case Null:
		return "null"
	case Float:
		return formatFloat(v.Number())
	case String:
		return Quote(v.Text())
	case List:
		for _, item := range v.Items {
			parts = append(parts, item.String())
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case Table:
		for _, k := range v.Keys {
			if f := v.Fields[k]; f.Kind != Null {
				parts = append(parts, QuoteKey(k)+" = "+f.String())
			}
		}
		if len(parts) == 0 {
			return "{}"
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	}
	return fmt.Sprint(v.Scalar)
}

func formatFloat(f float64) string {
	s := strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(f, 'g', -1, 64), "+"))
	if !strings.ContainsAny(s, ".en") { // neither a fraction, nor an exponent, nor nan or inf
		s += ".0"
	}
	return s
}

// Quote writes a basic string of TOML; what a terminal would act on is escaped.
func Quote(s string) string {
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
