package call

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/strictjson"
)

// permitted lets a person allow the call by the run mode, or a preview by the mode of format.
func (k *call) permitted(ctx context.Context) error {
	mode, on := k.Tool.Run, OnRun
	if k.Preview {
		mode, on = k.Tool.Format, OnPreview
	}
	where := k.slot(on, "")
	switch mode {
	case "unattended":
		return nil
	case "edit":
		// A closed editor is no consent: some return at once, and the person has not seen the arguments.
		if err := k.edit(ctx); err != nil {
			return err
		}
	default:
		if old, ok := k.recall(where); ok && old.Yes {
			return nil
		} else if ok {
			return k.notRun(ReasonDeclined, fmt.Errorf("declined for this session\nto be asked again: jphost session forget %s", show.Word(k.Tool.Name)))
		}
	}
	if why := term.Absent(k.Prompter); why != nil {
		return k.nobody(mode, why)
	}
	m, data, err := k.described(ctx, mode)
	if err != nil {
		return err
	}
	// The data of a preview has the token that the call is bound to, and the questions that the call would ask.
	var preview struct {
		Token     string          `json:"token"`
		Questions json.RawMessage `json:"questions"`
	}
	var questions []jptool.Question
	if json.Unmarshal(data, &preview) == nil {
		questions, _ = jptool.DecodeQuestions(preview.Questions) // a tool may mean something else by that key
		questions = k.coverable(questions)
	}
	m.Then = append(m.Then, asWell(questions)...)
	prompt := "Let " + k.doing(data) + "?"
	if k.Preview {
		prompt = "Let it say what it would do (" + k.doing(nil) + ")?"
	}
	answer, err := k.Prompter.Bool(ctx, term.BoolQuestion{
		Message: m, Prompt: prompt, Default: term.No(), Remember: mode != "edit" && k.Memory.Remembers(),
	})
	switch {
	case errors.Is(err, term.ErrNoTerminal):
		return k.nobody(mode, err)
	case err != nil:
		return k.notRun(ReasonDeclined, err)
	}
	k.answered(on, "", ByPerson)
	if answer.Remember {
		k.remember(ctx, where, answer.Yes)
	} else {
		k.previewToken = preview.Token
	}
	if !answer.Yes {
		return k.notRun(ReasonDeclined, errors.New("declined"))
	}
	if m.Whole() {
		k.allowed = questions
	}
	return nil
}

// described is what the person is shown of the call: its arguments, and what the tool says that it would do if previews
// are made without asking (`format = "unattended"`); data is that of the preview. A preview goes by the same policy,
// answers and options as the call. One that fails ends the call, since the call would fail too.
func (k *call) described(ctx context.Context, mode string) (m term.Message, data json.RawMessage, err error) {
	// Arguments that are what the tool's parameters have for a default anyway are only mentioned, unless they are long.
	shown, defaulted := maps.Clone(k.args), ""
	for _, p := range k.Tool.Parameters {
		v, ok := shown[p.Name]
		if text := show.Value(v); ok && p.HasDefault && text == show.Value(p.Default) && len(text) <= 40 {
			delete(shown, p.Name)
			defaulted += ", " + show.Visible(p.Name) + " = " + text
		}
	}
	if defaulted != "" {
		defaulted = " (by default: " + defaulted[2:] + ")"
	}
	args, err := strictjson.Marshal(shown, "  ")
	if err != nil {
		return m, nil, err
	}
	if !term.Whole(string(args)) && mode != "edit" {
		return m, nil, k.notRun(ReasonRunMode, fmt.Errorf("its arguments are too long to be shown, %d bytes\nto look at them in your editor: %s", len(args), k.cfg("run", "=edit")))
	}
	m = term.Message{Body: fmt.Sprintf("A call of %s%s:\n", show.Visible(k.Tool.Name), defaulted), Quoted: string(args) + "\n"}
	if k.Preview || k.Tool.Format != "unattended" {
		return m, nil, nil
	}
	preview, err := k.ask(ctx, true)
	if err == nil && !preview.success() {
		err = k.settle(ctx, preview)
	}
	if err == nil && preview.Content != "" {
		m.Then = []term.Message{{Body: "What it says that it would do:\n", Quoted: preview.Content}}
	}
	return m, rawData(preview.Data), err
}

// nobody is the refusal when there is no person to ask.
func (k *call) nobody(mode string, why error) error {
	key := "run"
	if k.Preview {
		key = "format"
	}
	at := "the default"
	if o := k.Tool.Origin(key); !o.IsZero() {
		at = o.String()
	}
	if all, _ := k.Tool.Overridden(key); all != nil {
		at += fmt.Sprintf("; that for all tools at %s is for those without their own", all.Origin)
	}
	return refuse(ReasonRunMode, "%s is asked for before it runs, and %w (%s = %q at %s)\nto allow it without asking: %s, or set that in your own config",
		k.Tool.Name, why, key, mode, at, k.cfg(key, "=unattended"))
}

// editAttempts is how often arguments that became unusable are handed back.
const editAttempts = 3

// edit lets the person change the arguments; what is left empty is not run.
func (k *call) edit(ctx context.Context) error {
	text, err := json.MarshalIndent(k.args, "", "  ")
	if err != nil {
		return err
	}
	edited := string(text) + "\n"
	for range editAttempts {
		edited, err = k.Prompter.Edit(ctx, term.EditQuestion{Text: edited, Suffix: ".json"})
		switch {
		case errors.Is(err, term.ErrNoTerminal):
			return k.nobody("edit", err)
		case err != nil:
			return k.notRun(ReasonDeclined, err)
		case strings.TrimSpace(edited) == "":
			return k.notRun(ReasonDeclined, errors.New("the arguments were emptied"))
		}
		args, wrong := k.parameters.Validate([]byte(edited))
		if err = wrong; err == nil {
			k.args = args
			return nil
		}
		k.warn(fmt.Sprintf("the edited arguments cannot be used: %v", err))
	}
	return exit.Errorf(exit.Usage, "%s was not run: the edited arguments cannot be used:\n%w", k.Tool.Name, err)
}

// unattendedByUser reports whether the user said that the tool needs no person: what is built
// in does not count, nor does what came with the repository.
func (k *call) unattendedByUser() bool {
	at := k.Tool.Origin("run")
	return k.Tool.Run == "unattended" && !at.IsZero() && at.Layer != settings.LayerDefault && !at.Layer.Repository()
}

// scope is a digest of the parts.
func scope(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// digest names a policy by its wire form.
func digest(access *jptool.AccessPolicy) string {
	sum := sha256.Sum256(access.JSON())
	return "sha256:" + hex.EncodeToString(sum[:])
}

// slot is where an answer for this call is remembered. It counts only while the tool is the
// same program under the same policy.
func (k *call) slot(on, question string) consent.Remembered {
	c := k.Tool.Command
	return consent.Remembered{Tool: k.Tool.Name, On: on, Question: question, Scope: scope(k.report.Policy.Digest, fmt.Sprint(c.Shell), c.Program, strings.Join(c.Args, "\x00"))}
}

// recall finds the answer of an earlier call of this session and reports it.
func (k *call) recall(r consent.Remembered) (consent.Remembered, bool) {
	got, ok := k.Memory.Recall(r)
	if ok {
		k.answered(r.On, r.Question, BySession)
	}
	return got, ok
}

// remember stores an answer. That it cannot is no reason to stop the call.
func (k *call) remember(ctx context.Context, r consent.Remembered, yes bool) {
	r.Yes = yes
	if err := k.Memory.Remember(ctx, r); err != nil {
		k.warn(fmt.Sprintf("the answer holds for this call only: %v", err))
	}
}

// answered reports by whom something was answered.
func (k *call) answered(on, question, by string) {
	k.report.Answers = append(k.report.Answers, Answered{On: on, Question: question, By: by})
}
