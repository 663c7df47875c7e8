package call

import (
	"context"
	"errors"
	"slices"

	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/jptool"
)

// together reports whether one question can stand for all: those of the built-in tools confirm what a preview shows.
func (c *command) together(open []jptool.Question) bool {
	other := func(q jptool.Question) bool {
		return q.ID != previewID && len(c.coverable([]jptool.Question{q})) == 0
	}
	return len(open) > 0 && c.builtIn() && c.context.Action == jptool.Run && !slices.ContainsFunc(open, other)
}

// permitQuestions asks about the call over a new preview. A preview that no longer fits is a person's to answer.
func (c *command) permitQuestions(ctx context.Context, open []jptool.Question) error {
	again := slices.ContainsFunc(open, func(q jptool.Question) bool { return q.ID == previewID })
	if !again && len(c.Tool.Unattended) == 0 && !c.Memory.Allows(c.Tool.Name) {
		if err := term.Absent(c.Prompter); err != nil {
			return err
		}
	}
	by, err := c.permit(ctx, "ask", OnQuestion, again)
	if no := (*declinedError)(nil); errors.As(err, &no) {
		c.answered(OnQuestion, open[0].ID, by)
		c.give(&open[0], false)
		c.declined = no.reason
		return nil
	} else if err != nil {
		return err
	}
	for i := range c.allowed {
		c.give(&c.allowed[i], true)
		c.answered(OnQuestion, c.allowed[i].ID, by)
	}
	if again {
		c.answered(OnQuestion, previewID, by)
	}
	c.give(&jptool.Question{ID: previewID, Token: c.previewToken}, true)
	return nil
}

// coverable returns the questions that a person may answer together with the call: yes-or-no questions with a
// token, so that the answer applies only to what was shown, that neither the call nor the configuration answers and
// that are not for the assistant.
func (k *call) coverable(questions []jptool.Question) []jptool.Question {
	return slices.DeleteFunc(slices.Clone(questions), func(q jptool.Question) bool {
		_, answered := k.Answers[q.ID]
		return q.ID == previewID || q.AnswerType.Name != jptool.Boolean || q.Token == "" ||
			answered || k.Tool.Questions[q.ID].HasAnswer || k.forAssistant(&q)
	})
}
