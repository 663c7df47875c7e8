package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jptools/jptools/host/internal/ask"
	"github.com/jptools/jptools/host/internal/exit"
)

// permitted goes by the run mode, for previews by the mode of format.
func (k *call) permitted(ctx context.Context) error {
	mode, key := k.Tool.Run, "run"
	if k.Preview {
		mode, key = k.Tool.Format, "format"
	}
	switch mode {
	case "unattended":
		return nil
	case "edit":
		return k.edit(ctx)
	}
	text, err := json.MarshalIndent(k.args, "", "  ")
	if err != nil {
		return err
	}
	verb := "run"
	if k.Preview {
		verb = "preview"
	}
	answer, err := k.Prompter.Bool(ctx, ask.BoolQuestion{
		Message: ask.Message{Body: fmt.Sprintf("A call of %s:\n", ask.Visible(k.Tool.Name)), Quoted: string(text)},
		Prompt:  "Do you want to " + verb + " it?", Default: ask.No(),
	})
	switch {
	case errors.Is(err, ask.ErrNoTerminal):
		return k.nobody(key, mode)
	case err != nil:
		return k.report.refuse(ReasonDeclined, fmt.Errorf("%s was not run: %w", k.Tool.Name, err))
	case !answer.Yes:
		return k.report.refuse(ReasonDeclined, fmt.Errorf("%s was not run: declined", k.Tool.Name))
	}
	return nil
}

// nobody is the refusal where a person would have to be asked.
func (k *call) nobody(key, mode string) error {
	at := "the default"
	if o := k.Tool.Origin(key); !o.IsZero() {
		at = o.String()
	}
	return k.report.refuse(ReasonRunMode, fmt.Errorf("%s is asked for before it runs, and there is no terminal to ask on (%s = %q at %s)\nto allow it without asking: --cfg %s=unattended, or set that in your own config",
		k.Tool.Name, key, mode, at, k.key(key)))
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
		edited, err := k.Prompter.Edit(ctx, ask.EditQuestion{Text: string(text) + "\n", Suffix: ".json"})
		switch {
		case errors.Is(err, ask.ErrNoTerminal):
			return k.nobody("run", "edit")
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

// deliver goes by the mode of result, when the tool had one.
func (k *call) deliver(ctx context.Context) error {
	o := &k.report.Outcome
	if o.Type != "success" || o.Content == nil || k.Preview || k.Tool.Result == "" || k.Tool.Result == "unattended" {
		return nil
	}
	withhold := func(why string) error {
		err := fmt.Errorf("%s ran, and its result was kept back: %s", k.Tool.Name, why)
		return k.report.refuse(ReasonResult, err)
	}
	switch k.Tool.Result {
	case "skip":
		return withhold("result = \"skip\" at " + k.Tool.Origin("result").String())
	case "edit":
		edited, err := k.Prompter.Edit(ctx, ask.EditQuestion{Text: *o.Content, Suffix: ".txt"})
		if err != nil {
			return withhold(err.Error())
		}
		*o = Outcome{Type: o.Type, Content: &edited}
		return nil
	}
	answer, err := k.Prompter.Bool(ctx, ask.BoolQuestion{
		Message: ask.Message{Body: "The result of " + ask.Visible(k.Tool.Name) + ":\n", Quoted: *o.Content},
		Prompt:  "Hand it on?", Default: ask.No(),
	})
	switch {
	case err != nil:
		return withhold(err.Error() + "\nto hand it on without asking: --cfg " + k.key("result") + "=unattended")
	case !answer.Yes:
		return withhold("declined")
	}
	return nil
}
