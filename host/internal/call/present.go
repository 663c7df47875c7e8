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
// line, the arguments that the command line does not show, and the preview, if it has one.
func (k *call) present(p *proposal, args, preview string) error {
	name := show.Visible(k.Tool.Name)
	p.full = term.Message{Body: "A call of " + name + ":\n", Quoted: args}
	would := term.Message{Body: "What it says that it would do:\n", Quoted: unfenced(preview)}
	switch {
	case k.builtIn() && preview != "":
		would.Body = name + ":\n"
		p.shown = would
	case k.builtIn():
		p.shown = k.argumentsShown("A call of " + name)
	default:
		line, hidden, err := k.commandLine()
		if err != nil {
			return err
		}
		p.shown = term.Message{Body: "A call of " + name + " runs:\n", Quoted: line}
		if len(hidden) > 0 {
			p.shown.Then = append(p.shown.Then, k.argumentsShown("Its arguments"))
		}
		p.full.Then = append(p.full.Then, term.Message{Body: "It runs:\n", Quoted: line})
		if preview != "" {
			p.shown.Then = append(p.shown.Then, would)
		}
	}
	if preview != "" {
		p.full.Then = append(p.full.Then, term.Message{Body: "What it says that it would do:\n", Quoted: preview})
	}
	if also := k.alsoAnswered(p.questions); also != nil {
		p.shown.Then = append(p.shown.Then, also...)
		p.full.Then = append(p.full.Then, also...)
	}
	return nil
}

// argumentsShown are the arguments below a heading. Those that are what the tool's parameters have for a default
// anyway are only mentioned, unless they are long.
func (k *call) argumentsShown(head string) term.Message {
	shown, defaulted := maps.Clone(k.args), ""
	for _, p := range k.Tool.Parameters {
		v, ok := shown[p.Name]
		if text := show.Value(v); ok && p.HasDefault && text == show.Value(p.Default) && len(text) <= 40 {
			delete(shown, p.Name)
			defaulted += ", " + show.Visible(p.Name) + " = " + text
		}
	}
	if defaulted != "" {
		head += " (by default: " + defaulted[2:] + ")"
	}
	text, _ := indented(shown) // all arguments could be written
	return term.Message{Body: head + ":\n", Quoted: text}
}

// commandLine is what the call runs, as a shell would read it, and the names of the arguments that it does not show.
// Words that hold the whole request stay placeholders, and so do those of a script: it gets their values beside it.
func (k *call) commandLine() (line string, hidden []string, err error) {
	names := slices.Sorted(maps.Keys(k.args))
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
		return strings.Join(words, " "), names, nil
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
	written := append([]string{c.Program}, c.Args...)
	for i, word := range written {
		if wholeRequest().MatchString(word) {
			argv[i] = word
		}
		argv[i] = show.Word(argv[i])
	}
	seen := template.Arguments()
	return strings.Join(argv, " "), slices.DeleteFunc(names, func(n string) bool { return slices.Contains(seen, n) }), nil
}

// wholeRequest: a placeholder for more than one argument, answer or option.
var wholeRequest = settings.Pattern(`\{\{\s*(context|tool|tool\.(arguments|answers|options))\s*(\||\}\})`)

// alsoAnswered shows the questions that a yes answers too. Whether a built-in tool may apply its change is what is
// asked anyway.
func (k *call) alsoAnswered(questions []jptool.Question) []term.Message {
	asked := func(q jptool.Question) bool { return k.builtIn() && q.ID == "apply_changes" }
	return asWell(slices.DeleteFunc(slices.Clone(questions), asked))
}

// unfenced leaves out the lines that mark a diff as code for a model.
func unfenced(text string) string {
	var b strings.Builder
	fence := ""
	for line := range strings.Lines(text) {
		bare := strings.TrimRight(line, "\n")
		switch {
		case fence == "" && strings.HasPrefix(bare, "```") && strings.HasSuffix(bare, "`diff"):
			fence = strings.TrimSuffix(bare, "diff")
		case fence != "" && bare == fence:
			fence = ""
		default:
			b.WriteString(line)
		}
	}
	return b.String()
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
	what := paths(p.data, k.args, name)
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
	case slices.Contains(p.ids(), "overwrite_file") && k.Tool.Name == "fs_create_file":
		verb = "overwrite"
	case k.Tool.Name == "fs_modify_file" && p.token != "":
		return tool + " " + verb + " " + what + asShown
	}
	return fmt.Sprintf("%s %s %s?", tool, verb, what)
}
