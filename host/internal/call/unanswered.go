package call

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/jptool"
)

// reportQuestion makes a question the outcome.
func (k *call) reportQuestion(q *jptool.Question) {
	out := &Question{Question: *q, Target: "user"}
	out.Token = k.token(q)
	if k.forAssistant(q) {
		out.Target, out.Assistant = "assistant", k.Tool.Questions[q.ID].Assistant
	}
	k.report.Outcome = Outcome{Type: "needs_input", Question: out}
}

// forAssistant reports whether a question is not for a person.
func (k *call) forAssistant(q *jptool.Question) bool {
	return q.ID != previewID && k.Tool.Questions[q.ID].Target == "assistant"
}

// token is what an answer to q can be bound to: a digest of all that is asked, of the tool's own
// token, and of the call it is asked in, so that it answers nothing in another workspace, conversation
// or call. The tool gets its own token with the answer.
func (k *call) token(q *jptool.Question) string {
	return "host:" + scope(k.Workspace.ID(), k.Conversation, k.Tool.Name, shown(k.args), q.Token, q.ID, q.Text, q.Before(), q.AnswerType.Name, strings.Join(q.AnswerType.Options, "\x00"), fmt.Sprint(q.Default))
}

// unanswered reports the question and says how to answer it.
func (k *call) unanswered(q *jptool.Question, why error) error {
	k.reportQuestion(q)
	var err error
	switch {
	case errors.Is(why, errAssistant):
		err = exit.Errorf(exit.Refused, "%s asks the assistant: %s\n%s", k.Tool.Name, show.Text(q.Text), k.how(q))
	case errors.Is(why, term.ErrNoTerminal):
		err = exit.Errorf(exit.Refused, "%s asks: %s\n%w\n%s", k.Tool.Name, show.Text(q.Text), noTerminal(why), k.how(q))
	default:
		err = exit.Errorf(exit.Refused, "%s: its question was not answered: %w", k.Tool.Name, notAnswered(why))
	}
	k.report.Outcome.Message = err.Error()
	return err
}

// how is the way to answer q without a terminal.
func (k *call) how(q *jptool.Question) string {
	if q.ID == previewID {
		return "what was shown before the call no longer fits: only a person at a terminal can allow what is shown now"
	}
	example, others := "true", " (or false)"
	switch {
	case q.AnswerType.Name == jptool.Select:
		example, others = q.AnswerType.Options[0], " (one of: "+show.Line(strings.Join(q.AnswerType.Options, ", "))+")"
	case q.AnswerType.Name != jptool.Boolean:
		example, others = "TEXT", ""
	}
	return fmt.Sprintf("answer it with: --answer %s%s\nto answer only what was shown here, add: --answer %s",
		show.Word(q.ID+"="+example), others, show.Word(q.ID+".token="+k.token(q)))
}

// noTerminal is why there is nobody to ask, by itself.
func noTerminal(why error) error {
	if errors.Is(why, term.ErrNoInput) {
		return term.ErrNoInput
	}
	return term.ErrNoTerminal
}

// notAnswered is why a person did not answer.
func notAnswered(why error) error {
	for _, known := range []error{term.ErrInterrupted, term.ErrCancelled} {
		if errors.Is(why, known) {
			return known
		}
	}
	return why
}
