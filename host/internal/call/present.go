package call

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/host/internal/toolargs"
	"github.com/jptools/jptools/jptool"
)

// indented is how arguments are shown and edited.
func indented(args map[string]any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(args)
	return b.String(), err
}

// present writes what a person is shown. Of a built-in tool that is what it would do. Of any other it is the command
// line, the arguments that the command line does not show, and the preview, if it has one. In full, all arguments stand
// last: who looks there wants the rest of what was shown first.
func (k *call) present(p *proposal, args string, preview []shown) error {
	name := show.Visible(k.Tool.Name)
	var then, hidden []term.Message
	switch {
	case k.builtIn() && preview != nil:
		p.shown = quoted(name, preview, len(p.paths) == 1)
	case k.builtIn():
		p.shown = k.argumentsShown(name, k.args)
	default:
		line, left, err := k.commandLine()
		if err != nil {
			return err
		}
		p.shown = term.Message{Body: name + " runs:\n", Quoted: line}
		if len(left) > 0 {
			hidden = []term.Message{k.argumentsShown("It also gets", left)}
		}
		if preview != nil {
			then = []term.Message{quoted("What it says that it would do", preview, false)}
		}
	}
	then = append(then, k.alsoAnswered(p.questions)...)
	parts := p.shown.Then
	p.full = p.shown
	p.full.Then = slices.Concat(parts, then, []term.Message{{Body: "All its arguments:\n", Quoted: args}})
	p.shown.Then = slices.Concat(parts, hidden, then)
	return nil
}

// quoted shows the parts of a preview below a heading, with an empty row between two. The header of a diff is left out if
// there is one file only: its name stands above.
func quoted(head string, preview []shown, one bool) (m term.Message) {
	for i, part := range preview {
		next := term.Message{Body: "\n", Quoted: part.Text, Diff: part.Diff}
		if _, hunks, ok := strings.Cut(part.Text, "\n@@ "); ok && part.Diff && one {
			next.Quoted = "@@ " + hunks
		}
		if i > 0 {
			m.Then = append(m.Then, next)
			continue
		}
		m = next
		m.Body = head + ":\n"
	}
	return m
}

// argumentsShown are arguments below a heading. Those that are what the tool's parameters have for a default anyway are
// only mentioned, unless they are long.
func (k *call) argumentsShown(head string, args map[string]any) term.Message {
	shown, defaulted := maps.Clone(args), ""
	for _, p := range k.Tool.Parameters {
		v, ok := shown[p.Name]
		if text := show.Value(v); ok && p.HasDefault && text == show.Value(p.Default) && len(text) <= 40 {
			delete(shown, p.Name)
			defaulted += ", " + show.Visible(p.Name) + " = " + text
		}
	}
	if defaulted != "" {
		defaulted = defaulted[2:]
	}
	if len(shown) == 0 && defaulted != "" {
		return term.Message{Body: head + " by default: " + defaulted + "\n"}
	} else if defaulted != "" {
		head += " (by default: " + defaulted + ")"
	}
	text, _ := indented(shown) // all arguments could be written
	return term.Message{Body: head + ":\n", Quoted: text}
}

// commandLine is what the call runs, as a shell would read it, and the arguments that it does not show. Words that hold
// the whole request stay placeholders, and so do those of a script: it gets their values beside it.
func (k *call) commandLine() (line string, hidden map[string]any, err error) {
	hidden = maps.Clone(k.args)
	c := k.Tool.Command
	template, err := toolargs.Compile(*c)
	if err != nil {
		return "", nil, k.badCommand(err)
	}
	if c.Shell {
		words := []string{"sh -c " + show.Word(c.Program)}
		if strings.Contains(c.Program, "\n") {
			words = []string{"sh -c:\n" + c.Program + "\n"}
		}
		for _, arg := range c.Args {
			words = append(words, show.Word(arg))
		}
		return strings.Join(words, " "), hidden, nil
	}
	r := k.request(false)
	request, err := r.json()
	if err != nil {
		return "", nil, err
	}
	argv, err := template.Render(request)
	if err != nil {
		return "", nil, k.badCommand(err)
	}
	whole := false
	for i, word := range append([]string{c.Program}, c.Args...) {
		if wholeRequest().MatchString(word) {
			argv[i], whole = word, true
		}
		argv[i] = show.Word(argv[i])
	}
	if !whole { // such a word may have placeholders of arguments, too
		for _, name := range template.Shown() {
			delete(hidden, name)
		}
	}
	return strings.Join(argv, " "), hidden, nil
}

// wholeRequest: a placeholder for more than one argument, answer or option.
var wholeRequest = settings.Pattern(`\{\{\s*(context|tool|tool\.(arguments|answers|options))\s*(\||\}\})`)

// alsoAnswered shows the questions that a yes answers too. Whether a built-in tool may apply its change is what is
// asked anyway.
func (k *call) alsoAnswered(questions []jptool.Question) []term.Message {
	asked := func(q jptool.Question) bool { return k.builtIn() && q.ID == "apply_changes" }
	return asWell(slices.DeleteFunc(slices.Clone(questions), asked))
}

// WithoutDiffs leaves the diffs out of a result of fs_modify_file.
func WithoutDiffs(text string) string {
	var b strings.Builder
	fence := ""
	for line := range strings.Lines(text) {
		bare := strings.TrimRight(line, "\n")
		switch {
		case fence == "" && strings.HasPrefix(bare, "```") && strings.HasSuffix(bare, "`diff"):
			fence = strings.TrimSuffix(bare, "diff")
		case fence != "" && bare == fence:
			fence = ""
		case fence == "":
			b.WriteString(line)
		}
	}
	return strings.TrimRight(strings.ReplaceAll(b.String(), "\n\n\n", "\n\n"), "\n")
}

// lasting says what a yes for longer than this call is a yes to, as slots and entries remember it.
func (k *call) lasting(p *proposal) string {
	switch {
	case len(p.paths) == 0:
		return "this tool with these arguments"
	case k.Tool.Name == "fs_move_file":
		return "this move"
	case len(p.paths) == 1:
		return "this tool on this file"
	}
	return "this tool on these files"
}

// let is the end of a question: what yes will do.
func (k *call) let(p *proposal) string { return "let " + k.doing(p) }

// doing says in a few words what the call does: the tool, and the path that it is about.
func (k *call) doing(p *proposal) string { return k.says(p, show.Name) }

// shorter is the question in fewer and fewer cells, with the ends of long names only.
func (k *call) shorter(p *proposal) (list []string) {
	for _, most := range []int{30, 24, 20, 15, 12, 8} {
		text := k.says(p, func(s string) string { return show.NameEnd(s, most) })
		list = append(list, "Let "+strings.Replace(text, asShown, "?", 1))
	}
	return list
}

const asShown = " as shown?"

func (k *call) says(p *proposal, name func(string) string) string {
	tool := show.Name(k.Tool.Name)
	if k.Preview {
		return "it say what it would do (" + tool + ")?"
	}
	data := p.data
	if !k.builtIn() {
		data = nil // nobody else says in the host's words what a call is about
	}
	what := paths(data, k.args, name)
	if k.Tool.Name == "fs_move_file" && len(p.paths) == 2 {
		what = name(p.paths[0]) + " to " + name(p.paths[1])
	}
	verb := verbs[k.Tool.Name]
	switch {
	case !k.builtIn():
		if what != "" {
			return fmt.Sprintf("%s run with %s?", tool, what)
		}
		return tool + " run?"
	case what == "" || verb == "":
		return tool + " run?"
	case includes([]string{"overwrite_file"}, p.ids("")) && k.Tool.Name == "fs_create_file":
		verb = "overwrite"
	case k.Tool.Name == "fs_modify_file" && p.token != "":
		return tool + " " + verb + " " + what + asShown
	}
	return fmt.Sprintf("%s %s %s?", tool, verb, what)
}
