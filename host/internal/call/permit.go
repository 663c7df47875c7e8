package call

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/host/internal/toolargs"
	"github.com/jptools/jptools/jptool"
)

// permission is what a person allowed together with the call.
type permission struct {
	// questions of the tool, all of which they answered with yes.
	questions []jptool.Question
	// token is that of the preview that they saw: the tool does what was shown, or asks again.
	token string
}

// permitted goes by the run mode, for previews by the mode of format.
func (k *call) permitted(ctx context.Context) (permission, error) {
	mode, key := k.Tool.Run, OnRun
	if k.Preview {
		mode, key = k.Tool.Format, OnPreview
	}
	switch mode {
	case "unattended":
		return permission{}, nil
	case "edit":
		var err error
		if k.args, err = k.edit(ctx); err != nil {
			return permission{}, err
		}
		// A closed editor is no consent: some return at once, and the person has not seen the arguments.
		return k.consent(ctx, mode, key, nil)
	}
	where := k.slot(key, "")
	if old, ok := k.recall(where); ok {
		if old.Yes {
			return permission{}, nil
		}
		return permission{}, k.notRun(ReasonDeclined, fmt.Errorf("declined for this session\nto be asked again: jphost session forget %s", show.Word(k.Tool.Name)))
	}
	return k.consent(ctx, mode, key, &where)
}

// consent asks whether the call may be made. where the answer can be remembered; nil for nowhere.
func (k *call) consent(ctx context.Context, mode, key string, where *consent.Remembered) (given permission, err error) {
	if why := term.Absent(k.Prompter); why != nil {
		return given, k.nobody(mode, why)
	}
	m, preview, err := k.described(ctx, mode)
	if err != nil {
		return given, err
	}
	token, questions := previewData(rawData(preview.Data))
	questions = k.coverable(questions)
	m.Then = append(m.Then, asWell(questions)...)
	prompt := "Let " + k.doing(rawData(preview.Data)) + "?"
	if k.Preview {
		prompt = "Let it say what it would do (" + k.doing(nil) + ")?"
	}
	answer, err := k.Prompter.Bool(ctx, term.BoolQuestion{
		Message: m, Prompt: prompt, Default: term.No(), Remember: where != nil && k.Memory.Remembers(),
	})
	switch {
	case errors.Is(err, term.ErrNoTerminal):
		return given, k.nobody(mode, err)
	case err != nil:
		return given, k.notRun(ReasonDeclined, err)
	}
	k.answered(key, "", ByPerson)
	if answer.Remember {
		k.keep(ctx, *where, answer.Yes)
	}
	if !answer.Yes {
		return given, k.notRun(ReasonDeclined, errors.New("declined"))
	}
	if m.Whole() {
		given.questions = questions
	}
	if !answer.Remember {
		given.token = token
	}
	return given, nil
}

// described is what the person is shown of the call: its arguments, and what the tool says that it would
// do if previews are made without asking.
func (k *call) described(ctx context.Context, mode string) (m term.Message, preview output, err error) {
	var args bytes.Buffer
	enc := json.NewEncoder(&args)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	given, defaulted := k.given()
	if err := enc.Encode(given); err != nil {
		return m, preview, err
	}
	if !term.Whole(args.String()) && mode != "edit" {
		return m, preview, k.notRun(ReasonRunMode, fmt.Errorf("its arguments are too long to be shown, %d bytes\nto look at them in your editor: %s", args.Len(), k.cfg("run", "=edit")))
	}
	m = term.Message{Body: fmt.Sprintf("A call of %s%s:\n", show.Visible(k.Tool.Name), defaulted), Quoted: args.String()}
	if k.Preview || k.Tool.Format != "unattended" {
		return m, preview, nil
	}
	if preview, err = k.previewed(ctx); err == nil && preview.Content != "" {
		m.Then = []term.Message{{Body: "What it says that it would do:\n", Quoted: preview.Content}}
	}
	return m, preview, err
}

// given are the arguments that are not what the tool's parameters have for a default anyway, or too
// long for a remark, and a remark on the others.
func (k *call) given() (args map[string]any, defaulted string) {
	args = maps.Clone(k.args)
	var names []string
	for _, p := range k.Tool.Parameters {
		v, ok := args[p.Name]
		if text := show.Value(v); ok && p.HasDefault && text == show.Value(p.Default) && len(text) <= 40 {
			delete(args, p.Name)
			names = append(names, show.Visible(p.Name)+" = "+text)
		}
	}
	if len(names) > 0 {
		defaulted = " (by default: " + strings.Join(names, ", ") + ")"
	}
	return args, defaulted
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
	return refuse(ReasonRunMode, fmt.Errorf("%s is asked for before it runs, and %w (%s = %q at %s)\nto allow it without asking: %s, or set that in your own config",
		k.Tool.Name, why, key, mode, at, k.cfg(key, "=unattended")))
}

// editAttempts is how often arguments that became unusable are handed back.
const editAttempts = 3

// edit lets the person change the arguments; what is left empty is not run.
func (k *call) edit(ctx context.Context) (map[string]any, error) {
	text, err := json.MarshalIndent(k.args, "", "  ")
	if err != nil {
		return nil, err
	}
	parameters, err := toolargs.New(k.Tool.Parameters)
	if err != nil {
		return nil, err
	}
	var wrong error
	for range editAttempts {
		edited, err := k.Prompter.Edit(ctx, term.EditQuestion{Text: string(text) + "\n", Suffix: ".json"})
		switch {
		case errors.Is(err, term.ErrNoTerminal):
			return nil, k.nobody("edit", err)
		case err != nil:
			return nil, k.notRun(ReasonDeclined, err)
		case strings.TrimSpace(edited) == "":
			return nil, k.notRun(ReasonDeclined, errors.New("the arguments were emptied"))
		}
		var args map[string]any
		if args, wrong = parameters.Validate([]byte(edited)); wrong == nil {
			return args, nil
		}
		k.warn(fmt.Sprintf("the edited arguments cannot be used: %v", wrong))
		text = []byte(edited)
	}
	return nil, exit.Errorf(exit.Usage, "%s was not run: the edited arguments cannot be used:\n%w", k.Tool.Name, wrong)
}
