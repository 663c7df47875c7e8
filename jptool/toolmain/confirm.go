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
	// Paths are those of the preview's that it is about; nil is all of them.
	Paths []string
	// Uncommitted: with a yes, content is lost that git does not have. It is for questions that are asked without that, too.
	Uncommitted bool
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

// Wrote reports whether the file at the canonical path has exactly the content that an earlier call of the same
// conversation wrote there. digest is called only if one wrote anything there; if it fails, the answer is no.
func (c *Call) Wrote(path string, digest func() (string, error)) bool {
	var wrote string
	if raw, ok := c.written[path]; !ok || json.Unmarshal(raw, &wrote) != nil || wrote == "" {
		return false
	}
	now, err := digest()
	return err == nil && now == wrote
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

// previewID is the question whether a call may be made as its preview shows it.
const previewID = "preview"

// Preview says what a call would do, made from everything that the call will go by.
type Preview struct {
	// Text says it in one piece, for the content of the Outcome. It may be shortened.
	Text string
	// Shown says it for the person who is asked: all that would be changed, unless Cut says that it is too much.
	Shown []Shown
	Cut   bool
	// Data is an object for machines, or nil.
	Data any
	// Paths are the canonical paths, relative to the workspace, of what the call would change. A host takes a
	// consent that was given for paths for these only.
	Paths []string
	// Seen is what the text cannot show whole: where the paths lead, the content found there, the
	// content to be put there.
	Seen []string
}

// Shown is a part of what a person is shown: text, or a unified diff.
type Shown struct {
	Text string `json:"text"`
	Diff bool   `json:"diff,omitempty"`
}

// MaxShown bounds the bytes of what a preview shows a person.
const MaxShown = 3 << 20

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
		data, err := previewData(p, c.token(p), open, about(questions))
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

// subject is what a question is about.
type subject struct {
	Paths       []string `json:"paths,omitempty"`
	Uncommitted bool     `json:"uncommitted,omitempty"`
}

// about lists the questions that are not simply about all paths, by id.
func about(questions []Question) map[string]subject {
	list := map[string]subject{}
	for _, q := range questions {
		if q.Paths != nil || q.Uncommitted {
			list[q.ID] = subject{q.Paths, q.Uncommitted}
		}
	}
	return list
}

// previewData puts what a host needs in front of the members of the data, which is an object or nil.
func previewData(
	p Preview, token string, open []jptool.Question, about map[string]subject,
) (json.RawMessage, error) {
	first, err := json.Marshal(struct {
		Token     string             `json:"token"`
		Paths     []string           `json:"paths,omitempty"`
		Questions []jptool.Question  `json:"questions,omitempty"`
		About     map[string]subject `json:"about,omitempty"`
		Shown     []Shown            `json:"shown,omitempty"`
		Cut       bool               `json:"cut,omitempty"`
	}{token, p.Paths, open, about, p.Shown, p.Cut})
	if err != nil || p.Data == nil {
		return first, err
	}
	rest, err := json.Marshal(p.Data)
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
