package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/policy"
	"github.com/jptools/jptools/host/internal/show"
)

type explainCmd struct {
	Question []string `arg:"" optional:"" rest:"command" help:"[TOOL] QUESTION, as above."`
	fromFile
}

func (c *explainCmd) Run(a *app) error {
	words := c.Question
	tool := ""
	if c.File == "" {
		if len(words) == 0 {
			return exit.Errorf(exit.Usage, "there is no tool\nsee: jphost explain --help")
		}
		tool, words = words[0], words[1:]
	}
	if len(words) > 1 && words[0] == "command" && words[1] == "--" { // as before the program of `sandbox exec`
		words = slices.Delete(slices.Clone(words), 1, 2)
	}
	f, err := a.asked(tool, c.fromFile)
	if err != nil {
		return err
	}
	if len(words) == 1 && words[0] == "-" {
		if c.File == "-" {
			return exit.Errorf(exit.Usage, "standard input cannot hold both the policy and the questions\nput the policy into a file")
		}
		return c.batch(a, f)
	}
	e, err := explain(f, a.below(words))
	if err != nil {
		return err
	}
	err = a.Out.Result(e, e.String())
	if err == nil && !a.Out.JSON && c.File == "" {
		err = a.waiting()
	}
	return errors.Join(err, denied(!e.Allowed))
}

// below makes an absolute path of a question relative to the workspace, if it lies there.
func (a *app) below(words []string) []string {
	if len(words) != 2 || slices.Contains([]string{"net", "env", "command"}, words[0]) || !filepath.IsAbs(words[1]) || a.place == nil {
		return words
	}
	for _, root := range []string{a.place.root, a.place.spelled} {
		if name, err := filepath.Rel(root, filepath.Clean(words[1])); err == nil && filepath.IsLocal(name) {
			return []string{words[0], filepath.ToSlash(name)}
		}
	}
	return words
}

// denied is the exit status for "something is not allowed", without a message: the answer was printed.
func denied(is bool) error {
	if !is {
		return nil
	}
	return &exit.Error{Code: exit.Refused}
}

// explain answers one question.
func explain(f *effective, words []string) (e policy.Explanation, err error) {
	const ask = "ask CAPABILITY PATH, net URL, env NAME, or command PROGRAM ARGUMENT…"
	switch {
	case len(words) == 0:
		return e, exit.Errorf(exit.Usage, "there is no question\n%s, such as: jphost explain fs_read_file read README.md", ask)
	case len(words) == 1, len(words) > 2 && words[0] != "command":
		return e, exit.Errorf(exit.Usage, "this is no question: %s\n%s", show.Line(strings.Join(words, " ")), ask)
	}
	switch kind := words[0]; kind {
	case "command":
		e, err = f.declared.ExplainCommand(words[1:])
	case "net":
		e, err = f.declared.ExplainNet(words[1])
	case "env":
		e, err = f.declared.ExplainEnv(words[1])
	default:
		e, err = f.explain(kind, words[1])
	}
	return e, exit.With(exit.Usage, err)
}

// unanswered is the answer to a line of standard input that is no question.
type unanswered struct {
	Question string `json:"question"`
	Error    string `json:"error"`
}

// maxQuestion bounds a line of standard input, in bytes; a path is much shorter.
const maxQuestion = 1 << 20

// commandLine splits a question about a command: at blanks, or as a list in JSON. It refuses quotes, because people who
// write quotes mean the words of a shell, and would get other words.
func commandLine(line string) ([]string, error) {
	rest := strings.TrimSpace(strings.TrimPrefix(line, "command"))
	if strings.HasPrefix(rest, "[") {
		var words []string
		if err := json.Unmarshal([]byte(rest), &words); err != nil {
			return nil, exit.Errorf(exit.Usage, "%s is no list of words in JSON: %w", show.Visible(rest), err)
		}
		return append([]string{"command"}, words...), nil
	}
	if strings.ContainsAny(rest, "'\"\\") {
		return nil, exit.Errorf(exit.Usage, "%s has a quote or a backslash, and words end at blanks here whatever is quoted\nwrite the words in JSON: command [\"git\", \"commit\", \"-m\", \"two words\"]", show.Visible(line))
	}
	return strings.Fields(line), nil
}

// batch answers one question per line, and skips empty lines. After the first word of a question everything is the path
// (or URL, or name), so that it may hold spaces.
func (c *explainCmd) batch(a *app, f *effective) error {
	in := bufio.NewScanner(a.Stdin)
	in.Buffer(nil, maxQuestion)
	var bad, no bool
	for in.Scan() {
		line := in.Text()
		if line == "" {
			continue
		}
		words := strings.SplitN(line, " ", 2)
		var e policy.Explanation
		var err error
		if words[0] == "command" {
			words, err = commandLine(line)
		}
		if err == nil {
			e, err = explain(f, a.below(words))
		}
		var answer any = e
		text := e.String()
		if err != nil {
			answer, text = unanswered{line, err.Error()}, show.Text(err.Error())
		}
		if err := a.Out.Result(answer, text+"\n"); err != nil {
			return err
		}
		bad, no = bad || err != nil, no || !e.Allowed
	}
	switch err := in.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return exit.Errorf(exit.Usage, "a question is longer than %d KiB; it and all after it are not answered\nwrite one question a line", maxQuestion>>10)
	case err != nil:
		return exit.Errorf(exit.Host, "reading the questions from standard input: %w", err)
	case bad:
		return exit.Errorf(exit.Usage, "some lines are not questions")
	}
	return denied(no)
}
