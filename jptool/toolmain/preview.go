package toolmain

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/jptools/jptools/jptool"
)

// previewID is the question whether a call may be made as its preview shows it.
const previewID = "preview"

// Preview says what a call would do, made from everything that the call will go by.
type Preview struct {
	// Text is what a person is shown.
	Text string
	// Data is an object for machines, or nil.
	Data any
	// Seen is what the text cannot show whole: where the paths lead, the content found there, the
	// content to be put there.
	Seen []string
}

// Confirm stands between everything that can refuse a call and its first change. A tool must return its error as
// it is. With an action `run` that is nil if every question in ask is answered with yes; it holds the tool to what a
// person allowed: if the answers name a preview that is not what preview finds now, the preview is asked about as well. All
// open questions go into one Outcome. With an action `format_arguments` Confirm always ends the call: with the
// text and data of the preview, its token, and the questions that the run would ask.
//
// Tools act on the very targets and locked files that preview looked at: resolving a path anew could lead
// elsewhere. Without an answer on a preview it is not made: nobody was shown one. ask may be nil.
func (c *Call) Confirm(preview func() (Preview, error), ask func() ([]Question, error)) error {
	var questions []Question
	if ask != nil {
		var err error
		if questions, err = ask(); err != nil {
			return err
		}
	}
	if c.Preview {
		open, err := c.unanswered(questions)
		if err != nil {
			return err
		}
		p, err := preview()
		if err != nil {
			return err
		}
		data, err := previewData(p.Data, c.token(p), open)
		if err != nil {
			return err
		}
		return endedError{jptool.Outcome{Content: p.Text, Data: data}}
	}
	if c.has(previewID) || c.has(previewID+".token") {
		p, err := preview()
		if err != nil {
			return err
		}
		questions = slices.Insert(questions, 0, Question{
			ID: previewID, Text: fmt.Sprintf("What %s found has changed since it was shown. Let it do what is shown now?", c.tool),
			Before: p.Text, Default: false, Token: c.token(p),
			Declined: Declined("the call was shown to the user and not allowed; nothing was done"),
		})
	}
	open, err := c.unanswered(questions)
	if err != nil || len(open) == 0 {
		return err
	}
	return endedError{jptool.Outcome{Questions: open}}
}

func (c *Call) token(p Preview) string { return Token(append([]string{c.tool, p.Text}, p.Seen...)...) }

// previewData puts the token and the questions in front of the members of data, which is an object or nil.
func previewData(data any, token string, open []jptool.Question) (json.RawMessage, error) {
	first, err := json.Marshal(struct {
		Token     string            `json:"token"`
		Questions []jptool.Question `json:"questions,omitempty"`
	}{token, open})
	if err != nil || data == nil {
		return first, err
	}
	rest, err := json.Marshal(data)
	if err != nil || string(rest) == "{}" {
		return first, err
	}
	return slices.Concat(first[:len(first)-1], []byte(","), rest[1:]), nil
}

// Token is a digest of the parts in their order, each with its length, so that no two lists have the same:
// an answer that was given for other parts does not fit.
func Token(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(strconv.Itoa(len(p)) + ":" + p))
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}
