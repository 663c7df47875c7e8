package template

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// compileShell turns a script into one without placeholders, and the parameters that it
// is run with: one for each placeholder, and then nargs for the arguments, which are
// appended to the script as words.
func compileShell(program text, nargs int) (script string, params []text, err error) {
	s := newScanner()
	var body strings.Builder
	for i, p := range program {
		if p.path == nil {
			literal := p.literal
			if i == len(program)-1 && nargs > 0 {
				// After the line's end the first argument would be a command.
				literal = strings.TrimRight(literal, " \t\r\n")
			}
			for j := range len(literal) {
				s.feed(literal[j])
			}
			body.WriteString(literal)
			continue
		}
		name := variable(len(params) + 1)
		quoted, err := s.place("${" + name + "}")
		if err != nil {
			return "", nil, fmt.Errorf("%s %w", p.source, err)
		}
		body.WriteString(quoted)
		params = append(params, text{p})
	}
	if nargs > 0 {
		if err := s.end(); err != nil {
			return "", nil, err
		}
	}
	n := len(params) + nargs
	for i := len(params); i < n; i++ {
		body.WriteString(` "${` + variable(i+1) + `}"`)
	}
	if n == 0 {
		return body.String(), nil, nil
	}
	// Variables, because functions have positional parameters of their own, and the
	// script's own $1 and $@ shall be empty. On the first line, because the shell counts
	// lines in its messages.
	var head strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&head, "%s=${%d} ", variable(i), i)
	}
	return strings.TrimSuffix(head.String(), " ") + "; shift " + strconv.Itoa(n) + "; " + body.String(), params, nil
}

func variable(i int) string { return "__jp" + strconv.Itoa(i) }

const otherWay = "\nwrite it without shell = true: program = \"sh\", args = [\"-c\", \"… \\\"$1\\\" …\", \"sh\", \"{{…}}\"], with the value as \"$1\""

// place returns what stands for a value in the script here, given its variable.
func (s *scanner) place(ref string) (string, error) {
	f := s.command()
	switch {
	case s.comment:
		return "", nil
	case s.lost != "":
		return "", errors.New("stands in or after " + s.lost + ", where its place cannot be told for certain" + otherWay)
	case s.escaped:
		return "", errors.New("stands right after a backslash\nleave the backslash out: the value needs none")
	case s.prev == '$' && !s.single:
		return "", errors.New("stands right after a $\nput a space or a quote between them")
	case f.kind == '{':
		return "", errors.New("stands inside of ${…}" + otherWay)
	case f.kind == '+':
		return "", errors.New("stands in arithmetic, which would run what is in the value\nassign it to a variable after checking that it is a number")
	}
	if why, instead := f.refuses(); why != "" {
		return "", errors.New(why + "\n" + instead)
	}
	s.prev = 0
	f.inWord, f.expands = true, true
	switch {
	case s.single:
		return `'"` + ref + `"'`, nil
	case s.top().kind == '"':
		return ref, nil
	}
	return `"` + ref + `"`, nil
}

// end reports why no word can be appended to the script.
func (s *scanner) end() error {
	const remedy = "\nput them into the script as {{…}}"
	switch {
	case s.lost != "":
		return errors.New("the script has " + s.lost + ", so `args` cannot be appended for certain" + remedy)
	case s.comment:
		return errors.New("the script ends in a comment, so `args` would be part of it\nremove the comment")
	case s.single || s.escaped || len(s.frames) > 1:
		return errors.New("the script ends inside of quotes or parentheses, so `args` cannot be appended\nclose them")
	}
	f := s.top()
	s.endWord(f)
	switch {
	case s.lost != "":
		return errors.New("the script ends in " + s.lost + ", so `args` cannot be appended for certain" + remedy)
	case f.redirect:
		return errors.New("the script ends in a redirection, so the first of `args` would be its file" + remedy)
	case f.reads != "":
		return errors.New("the script ends in " + f.reads + ", which would take `args` for code" + remedy)
	case !f.named:
		return errors.New("the script ends where a command's name is expected, so the first of `args` would choose what is run" + remedy)
	}
	return nil
}
