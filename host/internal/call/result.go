package call

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/enforcement"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/jptool"
)

// settle takes over the final answer.
func (k *call) settle(ctx context.Context, out output) error {
	if out.success() {
		k.wrote(ctx, out)
		k.report.Outcome = Outcome{Type: "success", Content: &out.Content, Plain: out.Plain, Data: rawData(out.Data)}
		if k.Preview && k.builtIn() {
			k.report.Outcome.Data = withoutShown(k.report.Outcome.Data)
		}
		return nil
	}
	failed := out.Err
	told := failed.Message // to the person, who may have seen what the tool printed
	if first, _, more := strings.Cut(told, "\n"); more && out.Plain && k.report.OutShown && k.report.ErrShown {
		told = first
	}
	own := "" // the host's words
	if failed.Code == jptool.CodeDeclined && k.declined != "" {
		own += "\nthe person's reason: " + k.declined
	}
	if out.Plain && len(k.report.Denials) > 0 {
		own += "\nrefused by the sandbox:\n" + strings.TrimRight(enforcement.DenialText(k.report.Denials), "\n")
	}
	failed.Message += own
	k.report.Outcome = Outcome{
		Type: "error", Message: failed.Message, Trace: failed.Trace, Transient: failed.Transient,
		Code: string(failed.Code), Plain: out.Plain, Data: rawData(failed.Data),
	}
	switch failed.Code {
	case jptool.CodeNotFound:
		k.elsewhere()
	case jptool.CodePathEscape:
		k.mountedForOthers()
	}
	code := exit.Refused
	if failed.Code.BadRequest() {
		code = exit.Usage
	}
	// What comes after the first line is shown further in, also what is indented by itself (a traceback, code), and the
	// tool's words behind a bar, because lines below an error of the host say what to do.
	told = strings.ReplaceAll(strings.TrimRight(told, "\n"), "\n", "\n"+term.Bar)
	return exit.Errorf(code, "%s: %s%s", k.Tool.Name, told, strings.ReplaceAll(own, "\n", "\n  "))
}

// withoutShown leaves out of a preview's data what is for the question to a person: a model reads the content.
func withoutShown(data json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil || members["shown"] == nil {
		return data
	}
	delete(members, "shown")
	rest, err := json.Marshal(members)
	if err != nil {
		return data
	}
	return rest
}

// holdsBack reports whether the tool's result needs a person's consent, or is never handed on.
func (k *call) holdsBack() bool { return k.Tool.Result != "" && k.Tool.Result != "unattended" }

// deliver applies the mode of `result` once the tool was started, to every outcome: an error, a preview or a question
// can disclose as much to a model as a result. If the result is not handed on, nothing that the tool
// said remains: no text, no data, no standard error, no names of its questions. err is how the call ended; the
// returned error is how it ends after this.
func (k *call) deliver(ctx context.Context, err error) error {
	if !k.holdsBack() || k.report.Starts == 0 {
		return err
	}
	o := &k.report.Outcome
	if !slices.Contains([]string{"success", "error", "needs_input"}, o.Type) { // the host's own words
		k.silence()
		return err
	}
	if k.Tool.Result == "skip" {
		return k.withhold("result = \"skip\" at " + k.Tool.Origin("result").String())
	}
	text := k.disclosed()
	edits := k.Tool.Result == "edit" && o.Question == nil
	if edits {
		if text = o.Message; o.Content != nil {
			text = *o.Content
		}
		var failed error
		if text, failed = k.Prompter.Edit(ctx, term.EditQuestion{Text: text, Suffix: ".txt"}); failed != nil {
			return k.withhold(failed.Error())
		}
	} else if !term.Whole(text) {
		return k.withhold("it is too long to be shown\nto look at it in your editor: " + k.cfg("result", "=edit"))
	}
	prompt := "Hand on the result of " + show.Name(k.Tool.Name)
	if path := paths(nil, k.args, show.Name); path != "" {
		prompt += " for " + path
	}
	// That the editor was closed is not a yes: some return at once.
	answer, failed := k.Prompter.Bool(ctx, term.BoolQuestion{
		Message: term.Message{Body: "The result of " + show.Visible(k.Tool.Name) + ":\n", Quoted: text},
		Prompt:  prompt + "?", Default: term.No(),
	})
	switch {
	case errors.Is(failed, term.ErrInterrupted):
		return errors.Join(k.withhold("interrupted"), failed)
	case failed != nil:
		return k.withhold(failed.Error() + "\nto hand it on without asking: " + k.cfg("result", "=unattended"))
	case !answer.Yes:
		return k.withhold("declined")
	case !edits:
		return err
	}
	// The text as the person left it is handed on, and nothing beside it.
	k.silence()
	if o.Content != nil {
		*o = Outcome{Type: o.Type, Content: &text}
		return err
	}
	*o = Outcome{Type: o.Type, Message: text, Transient: o.Transient}
	return exit.Errorf(exit.Of(err), "%s: %s", k.Tool.Name, text)
}

// withhold puts a refusal in the place of what the tool said.
func (k *call) withhold(why string) error {
	k.silence()
	return refuse(ReasonResult, "%s ran, and its result was kept back: %s", k.Tool.Name, why)
}

// silence takes what the tool said out of the report, but for its outcome.
func (k *call) silence() {
	k.report.Stderr, k.report.Output, k.report.Denials = "", "", nil // the tool chooses what it is refused
	if k.report.Sandbox != nil {
		k.report.Sandbox.Observed = nil
	}
	for i := range k.report.Answers {
		k.report.Answers[i].Question = ""
	}
}

// asked are all questions that nobody answered.
func (o *Outcome) asked() []Question {
	if len(o.Questions) == 0 && o.Question != nil {
		return []Question{*o.Question}
	}
	return o.Questions
}

// Before is what the questions that nobody answered show before their texts, each part once.
func (o *Outcome) Before() string {
	var parts []string
	for _, q := range o.asked() {
		if before := q.Before(); before != "" && !slices.Contains(parts, before) {
			parts = append(parts, before)
		}
	}
	return strings.Join(parts, "\n")
}

// disclosed is all of the tool's words that the report has, for a person to look at.
func (k *call) disclosed() string {
	o := k.report.Outcome
	var b strings.Builder
	part := func(name, text string) {
		if text == "" {
			return
		}
		if name != "" {
			fmt.Fprintf(&b, "\n%s:\n", name)
		}
		b.WriteString(strings.TrimRight(text, "\n") + "\n")
	}
	switch {
	case o.Content != nil:
		part("", *o.Content)
	case o.Question != nil:
		for _, q := range o.asked() {
			part("a question", q.Text)
			part("before it", q.Before())
			part("answers", show.Value(q.AnswerType))
			if q.Default != nil {
				part("default", fmt.Sprint(q.Default))
			}
			part("id", q.ID)
			part("token", q.Token)
		}
	default:
		part("an error", o.Message)
		part("code", o.Code)
		part("trace", strings.Join(o.Trace, "\n"))
	}
	part("data", string(o.Data))
	part("standard error", k.report.Stderr)
	part("refused by the sandbox", enforcement.DenialText(k.report.Denials))
	var ids []string
	for _, a := range k.report.Answers {
		if a.Question != "" {
			ids = append(ids, a.Question)
		}
	}
	part("questions that were answered", strings.Join(ids, "\n"))
	return b.String()
}
