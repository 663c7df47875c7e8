package call

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/jptool"
)

// reportQuestions makes questions the outcome. Those for the assistant come first: a model that gets the report looks
// for its own.
func (k *call) reportQuestions(open []jptool.Question) {
	list := make([]Question, len(open))
	for i, q := range open {
		list[i] = Question{Question: q, Target: "user"}
		list[i].Token = k.token(&q)
		if k.forAssistant(&q) {
			list[i].Target, list[i].Assistant = "assistant", k.Tool.Questions[q.ID].Assistant
		}
	}
	slices.SortStableFunc(list, func(a, b Question) int { return strings.Compare(a.Target, b.Target) })
	k.report.Outcome = Outcome{Type: "needs_input", Question: &list[0]}
	if len(list) > 1 {
		k.report.Outcome.Questions = list
	}
}

// forAssistant reports whether a question is not for a person.
func (k *call) forAssistant(q *jptool.Question) bool {
	return q.ID != previewID && k.Tool.Questions[q.ID].Target == "assistant"
}

// token is what an answer to q can be bound to: a digest of all that is asked, of the tool's own
// token, and of the call it is asked in, so that it answers nothing in another workspace, conversation
// or call. The tool gets its own token with the answer.
func (k *call) token(q *jptool.Question) string {
	return "host:" + scope(k.Workspace.ID(), k.Conversation, k.Tool.Name, show.Value(k.args), q.Token, q.ID, q.Text, q.Before(), q.AnswerType.Name, strings.Join(q.AnswerType.Options, "\x00"), fmt.Sprint(q.Default))
}

// unanswered reports the questions and says how to answer them.
func (k *call) unanswered(open []jptool.Question, why error) error {
	k.reportQuestions(open)
	asks := " " + show.Text(open[0].Text)
	if len(open) > 1 {
		asks = ""
		for _, q := range open {
			asks += "\n" + show.Text(q.Text)
		}
	}
	var err error
	switch {
	case errors.Is(why, errAssistant):
		err = exit.Errorf(exit.Refused, "%s asks the assistant:%s\n%s", k.Tool.Name, asks, k.how(open))
	case errors.Is(why, term.ErrNoTerminal):
		err = exit.Errorf(exit.Refused, "%s asks:%s\n%w\n%s", k.Tool.Name, asks, plainly(why), k.how(open))
	default:
		err = exit.Errorf(exit.Refused, "%s: its question was not answered: %w", k.Tool.Name, plainly(why))
	}
	k.report.Outcome.Message = err.Error()
	return err
}

// how is the way to answer questions without a terminal.
func (k *call) how(open []jptool.Question) string {
	var examples, others, tokens []string
	for _, q := range open {
		if q.ID == previewID {
			return "what was shown before the call no longer fits: only a person at a terminal can allow what is shown now"
		}
		example, other := "true", "or false"
		switch {
		case q.AnswerType.Name == jptool.Select:
			example, other = q.AnswerType.Options[0], "one of: "+show.Line(strings.Join(q.AnswerType.Options, ", "))
		case q.AnswerType.Name != jptool.Boolean:
			example, other = "TEXT", ""
		}
		examples = append(examples, "--answer "+show.Word(q.ID+"="+example))
		tokens = append(tokens, "--answer "+show.Word(q.ID+".token="+k.token(&q)))
		if other != "" && !slices.Contains(others, other) {
			others = append(others, other)
		}
	}
	what, note := "it", ""
	if len(open) > 1 {
		what = "them"
	}
	if others != nil {
		note = " (" + strings.Join(others, "; ") + ")"
	}
	return fmt.Sprintf("answer %s with: %s%s\nto answer only what was shown here, add: %s", what, strings.Join(examples, " "), note, strings.Join(tokens, " "))
}

// plainly is why nobody answered, without the particulars.
func plainly(why error) error {
	for _, known := range []error{term.ErrNoInput, term.ErrNoTerminal, term.ErrInterrupted, term.ErrCancelled} {
		if errors.Is(why, known) {
			return known
		}
	}
	return why
}
