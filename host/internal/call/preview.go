package call

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/jptools/jptools/jptool"
)

// previewed asks the tool what the call would do, to show it with the question whether it may be
// made (`format = "unattended"`). A preview goes by the same policy, answers and options as the
// call. One that fails ends the call, since the call would fail too; the person is not asked.
func (k *call) previewed(ctx context.Context) (output, error) {
	out, err := k.loop(ctx, jptool.FormatArguments)
	if err == nil && !out.success() {
		err = k.settle(ctx, out)
	}
	return out, err
}

// previewID is the question of a tool whose preview no longer fits. It is a person's to answer
// whatever else is set, since what it is about was not there when anything was set.
const previewID = "preview"

// token is what the data of a preview has for the call to be bound to; "" when there is none.
func token(data json.RawMessage) string {
	var of struct {
		Token string `json:"token"`
	}
	if json.Unmarshal(data, &of) != nil {
		return ""
	}
	return of.Token
}

// covers reports whether the person who allowed the call has seen what the tool now asks about:
// a yes-or-no question that expects yes, is bound to what it shows, and shows byte for byte what
// stood in the blocks of the preview. Everything else (a file that changed meanwhile, the git
// state, a change that is suspiciously broad) is asked.
func (k *call) covers(q *jptool.Question) bool {
	yes, _ := q.Default.(bool)
	return k.shown != "" && yes && q.AnswerType.Name == jptool.Boolean && q.Token != "" && q.Before() != "" && q.Before() == blocks(k.shown)
}

// blocks is what stands in the fenced code blocks of a text, one after the other.
func blocks(text string) string {
	var b strings.Builder
	fence := ""
	for line := range strings.Lines(text) {
		bare := strings.TrimRight(line, "\r\n")
		ticks := bare[:len(bare)-len(strings.TrimLeft(bare, "`"))]
		switch {
		case fence == "" && len(ticks) >= 3:
			fence = ticks
		case fence != "" && bare == fence:
			fence = ""
		case fence != "":
			b.WriteString(line)
		}
	}
	if fence != "" {
		return "" // it was cut
	}
	return b.String()
}
