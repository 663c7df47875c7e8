package call

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/jptools/jptools/host/internal/record"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox/fit"
)

// log adds the call to the log. It has nothing that the tool said: of its errors only the code, and the message where
// that has no content of files. That it cannot be written does not fail a call that was made.
func (k *call) log(start time.Time) {
	if k.Log == nil || k.Dry {
		return
	}
	r, o := k.report, &k.report.Outcome
	e := &record.Entry{
		Time: start.UTC(), Conversation: k.Conversation, Interface: "run", Tool: k.Tool.Name, Preview: k.Preview,
		Arguments: record.Arguments(k.givenArgs()),
		Outcome:   o.Type, Reason: o.Reason, Code: o.Code, Message: k.logged(), Status: int(r.Status),
		Starts: r.Starts, DurationMS: r.DurationMS, Change: r.Change,
	}
	for i, a := range r.Answers {
		answer := record.Answer{On: a.On, Question: a.Question, By: a.By}
		if yes, ok := k.given[a.Question].(bool); ok && a.On == OnQuestion {
			answer.Yes = &yes
		} else if a.On != OnQuestion { // a no ends the call, so it is the last answer
			yes := i < len(r.Answers)-1 || o.Reason != ReasonDeclined && o.Reason != ReasonSensitive
			answer.Yes = &yes
		}
		e.Answers = append(e.Answers, answer)
	}
	for _, q := range o.asked() {
		e.Open = append(e.Open, q.ID)
	}
	if s := r.Sandbox; s != nil && r.Starts > 0 {
		lost := slices.DeleteFunc(slices.Clone(s.NotEnforced), func(n fit.NotEnforced) bool { return n.Known })
		e.Sandbox = &record.Sandbox{Mode: s.Mode, Tier: string(s.Tier), ABI: s.ABI, NotEnforced: len(lost)}
	}
	if err := k.Log.Append(context.Background(), e); err != nil {
		k.warn("the call is not in the log: " + err.Error())
	}
}

// withContent are the codes of errors whose messages can have content of files or of arguments.
var withContent = []jptool.Code{
	jptool.CodeNoMatch, jptool.CodeAmbiguousMatch, jptool.CodeInvalidArguments, jptool.CodeInvalidRequest, "",
}

// messageMost bounds the message in the log.
const messageMost = 200

// logged is the first line of the outcome's message, "" if it is the tool's and could have content of files.
func (k *call) logged() string {
	o := &k.report.Outcome
	ours := o.Type == "refused" || o.Type == "failed"
	if o.Code == string(jptool.CodeInvalidArguments) || !ours && slices.Contains(withContent, jptool.Code(o.Code)) || o.Plain || k.holdsBack() {
		return ""
	}
	line, _, _ := strings.Cut(o.Message, "\n")
	return show.Short(line, messageMost)
}

// givenArgs are the arguments of the call without the defaults of the tool; all of them if a person edited them.
func (k *call) givenArgs() map[string]any {
	var given map[string]json.RawMessage
	if json.Unmarshal(k.Arguments, &given) != nil || k.edited {
		return k.args
	}
	args := map[string]any{}
	for name, v := range k.args {
		if _, ok := given[name]; ok {
			args[name] = v
		}
	}
	return args
}
