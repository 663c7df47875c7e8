package template

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const withoutShell = "write it without shell = true: program = \"sh\", args = [\"-c\", \"… \\\"$1\\\" …\", \"sh\", \"{{…}}\"], " +
	"with the value as \"$1\""

// slot is a place of the script that refers to a value.
type slot struct {
	// source is the placeholder as it is written, or the name of an appended argument.
	source string
	offset int
	// appended: it is one of `args`, and must be a word of its own.
	appended bool
}

// variable is the shell variable that holds the value of a slot.
func variable(i int) string { return "__jp" + strconv.Itoa(i+1) }

func reference(i int) string { return "${" + variable(i) + "}" }

// compileShell turns a script into one without placeholders, and into the parameters that it is run
// with: one for each placeholder. The nargs arguments follow them, and are words at the script's end.
//
// A value never becomes part of the script. It is a parameter, which the script assigns to a variable and then
// refers to. So it is enough that each reference is quoted, and stands where the shell takes a word as
// data: that is what the syntax tree of the script, with bare references in it, tells.
func compileShell(program text, nargs int) (script string, params []text, err error) {
	var bare strings.Builder
	var slots []slot
	add := func(source string, appended bool) {
		slots = append(slots, slot{source, bare.Len(), appended})
		bare.WriteString(reference(len(slots) - 1))
	}
	for i, p := range program {
		switch {
		case p.path != nil:
			add(p.source, false)
			params = append(params, text{p})
		case i == len(program)-1 && nargs > 0:
			// After the end of the line the first argument would be a command.
			bare.WriteString(strings.TrimRight(p.literal, " \t\r\n"))
		default:
			bare.WriteString(p.literal)
		}
	}
	for i := range nargs {
		bare.WriteByte(' ')
		add(fmt.Sprintf("args[%d]", i), true)
	}
	if len(slots) == 0 {
		return bare.String(), nil, nil
	}
	body, err := quoteReferences(bare.String(), slots)
	if err != nil {
		return "", nil, err
	}
	// Variables, because functions have positional parameters of their own, and the script's own $1 and $@
	// must be empty. On the first line, because the shell counts lines in its messages.
	var head strings.Builder
	for i := range slots {
		fmt.Fprintf(&head, "%s=${%d} ", variable(i), i+1)
	}
	return fmt.Sprintf("%s; shift %d; %s", strings.TrimSuffix(head.String(), " "), len(slots), body), params, nil
}

// quoteReferences puts each reference in the double quotes that it needs, or says why no value may stand there. The
// result is parsed once more, for a POSIX shell and for bash, since `sh` may be either: both must find each
// reference in double quotes, in a word that is data.
func quoteReferences(bare string, slots []slot) (body string, err error) {
	places, _, err := parseScript(bare, false, slots)
	if err != nil {
		return "", slots[0].refused(err.Error(), withoutShell)
	}
	quoted := slices.Clone(slots)
	var b strings.Builder
	end := 0
	for i, s := range slots {
		at := places[i]
		if why, instead := at.refuseAround(); why != "" {
			return "", s.refused(why, instead)
		}
		b.WriteString(bare[end:s.offset] + at.before)
		quoted[i].offset = b.Len()
		if at.comment {
			b.WriteString(variable(i)) // a comment has no use for the value
		} else {
			b.WriteString(reference(i) + at.after)
		}
		end = s.offset + len(reference(i))
	}
	body = b.String() + bare[end:]
	for _, bash := range []bool{false, true} {
		places, unlike, err := parseScript(body, bash, quoted)
		if err != nil {
			return "", slots[0].refused(err.Error(), withoutShell)
		}
		for i, s := range quoted {
			if why, instead := places[i].refuse(body[:s.offset], s.appended); why != "" {
				return "", s.refused(why, instead)
			}
		}
		if unlike != "" {
			line, _, _ := strings.Cut(references().ReplaceAllString(unlike, "{{…}}"), "\n")
			return "", slots[0].refused("is in a script with "+shorten(line, "\n")+", which shells do not all read alike", withoutShell)
		}
	}
	return body, nil
}

// references finds references, with the quotes that they need.
var references = compiled(`('?")?\$\{__jp[0-9]+\}("'?)?`)

func (s slot) refused(why, instead string) error {
	return fmt.Errorf("%s %s\n%s", s.source, why, instead)
}
