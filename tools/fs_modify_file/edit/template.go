package edit

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// piece is a part of a replacement: a group, or a literal text when group is -1.
type piece struct {
	text  string
	group int
}

// reference is the name of a group, or nothing, behind a dollar sign.
var reference = regexp.MustCompile(`^(?:(\w+)|\{(\w+)\})?`)

// parseTemplate reads $1, $name, ${name} and $$. A name is as long as letters, digits
// and underscores go. One that names no group is an error: leaving it empty, as
// regexp.Expand does, would lose text without a word. Any other $ stands for itself.
func parseTemplate(text string, group func(name string) int) ([]piece, error) {
	var list []piece
	var plain strings.Builder
	flush := func() {
		if plain.Len() > 0 {
			list = append(list, piece{plain.String(), -1})
			plain.Reset()
		}
	}
	for text != "" {
		before, after, found := strings.Cut(text, "$")
		plain.WriteString(before)
		if !found {
			break
		}
		if text, found = strings.CutPrefix(after, "$"); found {
			plain.WriteByte('$')
			continue
		}
		m := reference.FindStringSubmatch(after)
		text = after[len(m[0]):]
		name := m[1] + m[2]
		if name == "" {
			plain.WriteByte('$')
			continue
		}
		n := group(name)
		if n < 0 {
			return nil, badGroup("$"+m[0], name, group)
		}
		flush()
		if len(list) >= maxTemplate {
			return nil, fmt.Errorf("`new` has more than %d parts: groups, and text between them", maxTemplate)
		}
		list = append(list, piece{"", n})
	}
	flush()
	return list, nil
}

func badGroup(ref, name string, group func(string) int) error {
	if len(name) > 100 {
		return fmt.Errorf("`%s…` in `new` names no group of the regex; for a dollar sign write $$", ref[:100])
	}
	hint := ""
	digits := len(name) - len(strings.TrimLeft(name, "0123456789"))
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

// expand fills the template from the groups of one match; one that took no part is
// empty. It stops when the result is larger than room.
func expand(template []piece, text []byte, groups []int, room int) []byte {
	var out []byte
	for _, p := range template {
		out = append(out, p.text...)
		if p.group >= 0 && groups[2*p.group] >= 0 {
			out = append(out, text[groups[2*p.group]:groups[2*p.group+1]]...)
		}
		if len(out) > room {
			break
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
