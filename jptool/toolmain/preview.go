package toolmain

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
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

// Confirm ends a preview: the Outcome is what make returns, with its token. In a run it holds the tool to
// what a person said yes to: if the answers name a preview and its token does not fit what make finds now, the
// Outcome asks again. A nil Outcome without an error means: go on.
//
// Tools call it after everything that can refuse a call and before anything changes, and act on the very
// targets and locked files that make looked at: resolving a path anew could lead elsewhere.
// Without an answer on a preview make is not called: nobody was shown one.
func (c *Call) Confirm(make func() (Preview, error)) (*jptool.Outcome, error) {
	if !c.Preview && !c.answered(previewID) && !c.answered(previewID+".token") {
		return nil, nil
	}
	p, err := make()
	if err != nil {
		return nil, err
	}
	token := Token(append([]string{c.tool, p.Text}, p.Seen...)...)
	if c.Preview {
		data, err := withToken(p.Data, token)
		return &jptool.Outcome{Content: p.Text, Data: data}, err
	}
	yes, asked, err := c.AskBool(jptool.Question{
		ID: previewID, Text: fmt.Sprintf("What %s found has changed since it was shown. Let it do what is shown now?", c.tool),
		PreAmble: &p.Text, Default: false, Token: token,
	})
	if err == nil && asked == nil && !yes {
		err = Declined("the call was shown to the user and not allowed; nothing was done")
	}
	return asked, err
}

// answered reports whether the host sent an answer with this key.
func (c *Call) answered(key string) bool {
	raw, ok := c.answers[key]
	return ok && string(raw) != "null"
}

// withToken puts the token in front of the members of data, which is an object or nil.
func withToken(data any, token string) (json.RawMessage, error) {
	raw := append([]byte(`{"token":`), jsonString(token)...)
	if data == nil {
		return append(raw, '}'), nil
	}
	rest, err := json.Marshal(data)
	if err != nil {
		return nil, err
	}
	if string(rest) != "{}" {
		raw = append(raw, ',')
	}
	return append(raw, rest[1:]...), nil
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
