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
)

// permitted goes by the run mode, for previews by the mode of format.
func (k *call) permitted(ctx context.Context) error {
	mode, key := k.Tool.Run, OnRun
	if k.Preview {
		mode, key = k.Tool.Format, OnPreview
	}
	switch mode {
	case "unattended":
		return nil
	case "edit":
		if err := k.edit(ctx); err != nil {
			return err
		}
		// A closed editor is no consent: some return at once, and the person has not seen the arguments.
		return k.consent(ctx, mode, key, nil)
	}
	where := k.slot(key, "")
	if old, ok := k.recall(where); ok {
		if !old.Yes {
			return k.report.refuse(ReasonDeclined, fmt.Errorf("%s was not run: declined for this session\nto be asked again: jphost session forget %s", k.Tool.Name, show.Word(k.Tool.Name)))
		}
		return nil
	}
	return k.consent(ctx, mode, key, &where)
}

// consent asks whether the call may be made. where the answer can be remembered; nil for nowhere.
func (k *call) consent(ctx context.Context, mode, key string, where *consent.Remembered) error {
	if term.Absent(k.Prompter) != nil {
		return k.nobody(mode, term.Absent(k.Prompter))
	}
	m, preview, err := k.described(ctx, mode)
	if err != nil {
		return err
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
		return k.nobody(mode, err)
	case err != nil:
		return k.report.refuse(ReasonDeclined, fmt.Errorf("%s was not run: %w", k.Tool.Name, err))
	}
	k.answered(key, "", ByPerson)
	if answer.Remember {
		k.keep(ctx, *where, answer.Yes)
	}
	if !answer.Yes {
		return k.report.refuse(ReasonDeclined, fmt.Errorf("%s was not run: declined", k.Tool.Name))
	}
	if m.Whole() {
		k.allowed = questions
	}
	if !answer.Remember {
		k.bound = token
	}
	return nil
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
		return m, preview, k.report.refuse(ReasonRunMode, fmt.Errorf("%s was not run: its arguments are too long to be shown, %d bytes\nto look at them in your editor: %s", k.Tool.Name, args.Len(), k.cfg("run", "=edit")))
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
		if text := shown(v); ok && p.HasDefault && text == shown(p.Default) && len(text) <= 40 {
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
	return k.report.refuse(ReasonRunMode, fmt.Errorf("%s is asked for before it runs, and %w (%s = %q at %s)\nto allow it without asking: %s, or set that in your own config",
		k.Tool.Name, why, key, mode, at, k.cfg(key, "=unattended")))
}

// editAttempts is how often arguments that became unusable are handed back.
const editAttempts = 3

// edit lets the person change the arguments; what is left empty is not run.
func (k *call) edit(ctx context.Context) error {
	text, err := json.MarshalIndent(k.args, "", "  ")
	if err != nil {
		return err
	}
	var wrong error
	for range editAttempts {
		edited, err := k.Prompter.Edit(ctx, term.EditQuestion{Text: string(text) + "\n", Suffix: ".json"})
		switch {
		case errors.Is(err, term.ErrNoTerminal):
			return k.nobody("edit", err)
		case err != nil:
			return k.report.refuse(ReasonDeclined, fmt.Errorf("%s was not run: %w", k.Tool.Name, err))
		case blank(edited):
			return k.report.refuse(ReasonDeclined, fmt.Errorf("%s was not run: the arguments were emptied", k.Tool.Name))
		}
		var args map[string]any
		if args, wrong = k.schema.Validate([]byte(edited)); wrong == nil {
			k.args = args
			return nil
		}
		k.warn(fmt.Sprintf("the edited arguments cannot be used: %v", wrong))
		text = []byte(edited)
	}
	return exit.Errorf(exit.Usage, "%s was not run: the edited arguments cannot be used:\n%w", k.Tool.Name, wrong)
}

func blank(s string) bool {
	for _, r := range s {
		if r != ' ' && r != '\n' && r != '\t' && r != '\r' {
			return false
		}
	}
	return true
}
