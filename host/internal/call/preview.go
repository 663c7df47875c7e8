package call

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/jptool"
)

// previewed asks the tool what the call would do, to show it with the question whether it may be
// made (`format = "unattended"`). A preview goes by the same policy, answers and options as the
// call. One that fails ends the call, since the call would fail too; the person is not asked.
func (k *call) previewed(ctx context.Context) (output, error) {
	out, err := k.loop(ctx, jptool.FormatArguments, permission{})
	if err == nil && !out.success() {
		err = k.settle(ctx, out)
	}
	return out, err
}

// previewID is the question of a tool whose preview no longer fits. It is a person's to answer
// whatever else is set, since what it is about was not there when anything was set.
const previewID = "preview"

// previewData is what the data of a preview has for the host: the token that the call is bound to, "" for none, and
// the questions that the call would ask.
func previewData(data json.RawMessage) (token string, questions []jptool.Question) {
	var of struct {
		Token     string          `json:"token"`
		Questions json.RawMessage `json:"questions"`
	}
	if json.Unmarshal(data, &of) != nil {
		return "", nil
	}
	if of.Questions != nil {
		questions, _ = jptool.DecodeQuestions(of.Questions) // a tool may mean something else by that key
	}
	return of.Token, questions
}

// coverable returns the questions that a person may answer together with the call: yes-or-no questions with a
// token, so that the answer applies only to what was shown, that neither the call nor the configuration answers and
// that are not for the assistant.
func (k *call) coverable(questions []jptool.Question) []jptool.Question {
	var list []jptool.Question
	for _, q := range questions {
		_, given := k.Answers[q.ID]
		if q.ID != previewID && q.AnswerType.Name == jptool.Boolean && q.Token != "" && !given && !k.Tool.Questions[q.ID].HasAnswer && !k.forAssistant(&q) {
			list = append(list, q)
		}
	}
	return list
}

// asWell shows the questions that a yes answers too.
func asWell(questions []jptool.Question) []term.Message {
	if len(questions) == 0 {
		return nil
	}
	texts := make([]string, len(questions))
	for i, q := range questions {
		texts[i] = q.Text
	}
	return []term.Message{{Body: "A yes also answers what it asks:\n", Quoted: strings.Join(texts, "\n")}}
}
