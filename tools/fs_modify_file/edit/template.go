package edit

import (
	"fmt"
	"strconv"
	"strings"
)

// piece is a part of a replacement: a group, or a literal text when group is -1.
type piece struct {
	text  string
	group int
}

// parseTemplate reads $1, $name, ${name} and $$. A name is as long as letters, digits
// and underscores go. One that names no group is an error: leaving it empty, as
// regexp.Expand does, would lose text without a word. Any other $ stands for itself.
func parseTemplate(text string, group func(name string) int) ([]piece, error) {
	var list []piece
	var plain strings.Builder
	literal := func(s string) { plain.WriteString(s) }
	flush := func() {
		if plain.Len() > 0 {
			list = append(list, piece{plain.String(), -1})
			plain.Reset()
		}
	}
	for i := 0; i < len(text); {
		if text[i] != '$' {
			j := i
			for j < len(text) && text[j] != '$' {
				j++
			}
			literal(text[i:j])
			i = j
			continue
		}
		name, rest := "", i+1
		switch {
		case rest < len(text) && text[rest] == '$':
			literal("$")
			i += 2
			continue
		case rest < len(text) && text[rest] == '{':
			end := wordEnd(text, rest+1)
			if end > rest+1 && end < len(text) && text[end] == '}' {
				name, rest = text[rest+1:end], end+1
			}
		default:
			end := wordEnd(text, rest)
			name, rest = text[rest:end], end
		}
		if name == "" {
			literal("$")
			i++
			continue
		}
		n := group(name)
		if n < 0 {
			return nil, badGroup(text[i:rest], name, group)
		}
		flush()
		if len(list) >= maxTemplate {
			return nil, fmt.Errorf("`new` has more than %d parts: groups, and text between them", maxTemplate)
		}
		list = append(list, piece{"", n})
		i = rest
	}
	flush()
	return list, nil
}

func wordEnd(s string, i int) int {
	for i < len(s) && (s[i] == '_' || s[i] >= '0' && s[i] <= '9' || s[i]|0x20 >= 'a' && s[i]|0x20 <= 'z') {
		i++
	}
	return i
}

func badGroup(ref, name string, group func(string) int) error {
	if len(name) > 100 {
		return fmt.Errorf("`%s…` in `new` names no group of the regex; for a dollar sign write $$", ref[:100])
	}
	hint := ""
	digits := 0
	for digits < len(name) && name[digits] >= '0' && name[digits] <= '9' {
		digits++
	}
	if digits > 0 && digits < len(name) && group(name[:digits]) >= 0 {
		hint = fmt.Sprintf(" (for group %s and then %q write ${%s}%s)", name[:digits], name[digits:], name[:digits], name[digits:])
	}
	return fmt.Errorf("`%s` in `new` names no group of the regex%s; for a dollar sign write $$", ref, hint)
}

// groupOf finds a group by its number or its name.
func groupOf(name string, most int, byName func(string) int) int {
	if n, err := strconv.Atoi(name); err == nil {
		if n > most {
			return -1
		}
		return n
	}
	return byName(name)
}

// expandedSize is the length of what expand appends.
func expandedSize(pieces []piece, groups []int) int {
	n := 0
	for _, p := range pieces {
		n += len(p.text)
		if p.group >= 0 {
			n += groups[2*p.group+1] - groups[2*p.group]
		}
	}
	return n
}

// expand fills the template from the groups of one match, behind out; one that took no
// part is empty.
func expand(out []byte, pieces []piece, text []byte, groups []int) []byte {
	for _, p := range pieces {
		switch {
		case p.group < 0:
			out = append(out, p.text...)
		case groups[2*p.group] >= 0:
			out = append(out, text[groups[2*p.group]:groups[2*p.group+1]]...)
		}
	}
	return out
}

// BackslashGroup returns the digit of a \1 in the replacement of a regex that has such a
// group: probably $1 was meant. It is "" for none.
func (c *Compiled) BackslashGroup() string {
	if !c.Regex {
		return ""
	}
	for i := 0; i+1 < len(c.New); i++ {
		if d := c.New[i+1]; c.New[i] == '\\' && d >= '1' && d <= '9' && c.group(string(d)) >= 0 {
			return string(d)
		}
	}
	return ""
}
