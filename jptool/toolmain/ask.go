package toolmain

import (
	"encoding/json"

	"github.com/jptools/jptools/jptool"
)

// AskBool returns the user's answer to a Boolean question. When there is none, or it
// was given for something else (its token does not fit), asked is the Outcome to
// return. An answer of another type is an error, so that nobody asks for ever.
func (c *Call) AskBool(q jptool.Question) (yes bool, asked *jptool.Outcome, err error) {
	q.AnswerType = jptool.AnswerType{Name: jptool.Boolean}
	raw, ok := c.answers[q.ID]
	if !ok || string(raw) == "null" || !c.tokenFits(q) {
		return false, &jptool.Outcome{Questions: []jptool.Question{q}}, nil
	}
	if err := json.Unmarshal(raw, &yes); err != nil {
		return false, nil, jptool.Errorf(jptool.CodeInvalidArguments, "the answer to question %q must be a boolean, true or false, got %s", q.ID, raw)
	}
	return yes, nil, nil
}

// Ended is what Run returns when asked is the Outcome of the call, or err its error.
func Ended(asked *jptool.Outcome, err error) (jptool.Outcome, error) {
	if err != nil || asked == nil {
		return jptool.Outcome{}, err
	}
	return *asked, nil
}

// tokenFits reports whether the answer was given for what q approves. An answer
// without a token comes from an older host and is taken as it is.
func (c *Call) tokenFits(q jptool.Question) bool {
	raw, ok := c.answers[q.ID+".token"]
	if !ok || string(raw) == "null" || q.Token == "" {
		return true
	}
	var token string
	return json.Unmarshal(raw, &token) == nil && token == q.Token
}

// Declined is the error for a question that was answered with no.
func Declined(format string, args ...any) error {
	return jptool.Errorf(jptool.CodeDeclined, format, args...)
}
