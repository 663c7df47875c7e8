package toolmain

import (
	"encoding/json"
	"slices"

	"github.com/jptools/jptools/jptool"
)

// Question is a yes-or-no question of a tool.
type Question struct {
	ID, Text string
	// Before is shown before the text, for example a diff; "" for nothing.
	Before string
	// Default is true, false, or nil for none.
	Default any
	// Token is a digest of what is asked about, made by [Token]. An answer that was given for another one
	// does not count.
	Token string
	// Declined is the error of the call if the answer is no.
	Declined error
}

func (q *Question) wire() jptool.Question {
	w := jptool.Question{
		ID: q.ID, Text: q.Text, AnswerType: jptool.AnswerType{Name: jptool.Boolean}, Default: q.Default, Token: q.Token,
	}
	if q.Before != "" {
		w.PreAmble = &q.Before
	}
	return w
}

// Declined returns the error for a question that is answered with no.
func Declined(format string, args ...any) error {
	return jptool.Errorf(jptool.CodeDeclined, format, args...)
}

// endedError ends a call with an Outcome that is not an error: a preview, or questions.
type endedError struct{ outcome jptool.Outcome }

func (endedError) Error() string { return "the call ended with a preview or with questions" }

// unanswered returns the questions that the request does not answer, and nothing if all are answered with yes. A
// no is the question's own error. An answer of another type is an error too, so that no host asks for ever.
func (c *Call) unanswered(questions []Question) ([]jptool.Question, error) {
	var open []jptool.Question
	for _, q := range questions {
		if !c.has(q.ID) || !c.tokenFits(q) {
			open = append(open, q.wire())
			continue
		}
		var yes bool
		raw := c.answers[q.ID]
		if err := json.Unmarshal(raw, &yes); err != nil {
			return nil, jptool.Errorf(jptool.CodeInvalidArguments, "the answer to question %q must be a boolean, true or false, got %s", q.ID, raw)
		}
		if !slices.Contains(c.answered, q.ID) {
			c.answered = append(c.answered, q.ID)
		}
		if !yes {
			return nil, q.Declined
		}
	}
	return open, nil
}

// has reports whether the request has an answer with this key.
func (c *Call) has(key string) bool {
	raw, ok := c.answers[key]
	return ok && string(raw) != "null"
}

// tokenFits reports whether the answer was given for what q asks about. An answer without a token comes from
// an older host, or from before the question was asked, and counts as it is.
func (c *Call) tokenFits(q Question) bool {
	if !c.has(q.ID+".token") || q.Token == "" {
		return true
	}
	var token string
	return json.Unmarshal(c.answers[q.ID+".token"], &token) == nil && token == q.Token
}
