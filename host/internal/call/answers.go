package call

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/jptool"
)

// maxRounds bounds how often one call may ask: a tool that never is content must not
// go on for ever.
const maxRounds = 16

// answerer finds the answers to the questions of one call: those given with the call, those
// of the configuration, those that hold for the session, and then a person's.
type answerer struct {
	*call
	// fixed has, by question, the token that an answer nobody typed was last sent for: to
	// be asked the same again means that the tool does not accept it.
	fixed map[string]string
	used  map[string]bool
}

var (
	// errUnanswered: nobody answered.
	errUnanswered = errors.New("nobody answered")
	// errAssistant: the question is not for a person, and the assistant is not here.
	errAssistant = errors.New("it is for the assistant to answer")
)

// answer returns the answer to q. Errors wrap errUnanswered or errAssistant, or say why an
// answer that was given cannot be used.
func (a *answerer) answer(ctx context.Context, q *jptool.Question) (any, error) {
	if q.ID == previewID {
		v, err := a.prompt(ctx, q)
		if v == true && term.Whole(q.Before()) {
			a.shown = q.Before()
		}
		return v, err
	}
	if raw, ok := a.Answers[q.ID]; ok {
		return a.fromCall(q, raw)
	}
	conf, known := a.Tool.Questions[q.ID]
	if known && conf.HasAnswer {
		where := fmt.Sprintf("%s: questions.%s.answer", a.Tool.Origin(config.JoinKey("questions", q.ID, "answer")), show.Visible(q.ID))
		if !q.AnswerType.Fits(conf.Answer) {
			help := "correct the answer there, or remove it to be asked"
			if s, ok := conf.Answer.(string); ok && q.AnswerType.Name == jptool.Boolean && (s == "true" || s == "false") {
				help = "write answer:=" + s + " with --cfg, or answer = " + s + " without quotes in a file"
			}
			return nil, exit.Errorf(exit.Usage, "%s: the tool wants %s, not %s\n%s", where, wanted(q), shown(conf.Answer), help)
		}
		a.answered(OnQuestion, q.ID, ByConfig)
		return conf.Answer, a.notTwice(q, where)
	}
	if a.forAssistant(q) {
		return nil, errAssistant
	}
	if _, asked := a.fixed[q.ID]; !asked && a.covers(q) {
		a.fixed[q.ID] = q.Token
		a.answered(OnQuestion, q.ID, ByPreview)
		return true, nil
	}
	if q.AnswerType.Name == jptool.Boolean {
		if old, ok := a.recall(a.slot(OnQuestion, q.ID)); ok {
			return old.Yes, a.notTwice(q, "your answer for this session (jphost session list)")
		}
	}
	return a.prompt(ctx, q)
}

// fromCall is an answer that came with the call.
func (a *answerer) fromCall(q *jptool.Question, raw string) (any, error) {
	a.used[q.ID] = true
	if token, bound := a.Answers[q.ID+".token"]; bound && token != a.token(q) {
		return nil, exit.Errorf(exit.Refused, "--answer %s: what the tool asks about is no longer what the token stands for\nlook at its question again, and answer that", show.Visible(q.ID))
	}
	v, err := typed(q, raw)
	if err != nil {
		return nil, exit.Errorf(exit.Usage, "--answer %s=%s: %w", show.Visible(q.ID), show.Visible(raw), err)
	}
	a.answered(OnQuestion, q.ID, ByCall)
	return v, a.notTwice(q, "--answer "+show.Visible(q.ID))
}

// notTwice fails when an answer was sent for the same question before.
func (a *answerer) notTwice(q *jptool.Question, where string) error {
	if token, ok := a.fixed[q.ID]; ok && token == q.Token {
		return exit.Errorf(exit.Usage, "%s: the tool asks again although it has this answer\nremove the answer to be asked, or look into the tool", where)
	}
	a.fixed[q.ID] = q.Token
	return nil
}

// notAsked warns of given answers that nobody asked for.
func (a *answerer) notAsked() {
	for _, id := range slices.Sorted(maps.Keys(a.Answers)) {
		if !a.used[strings.TrimSuffix(id, ".token")] && !a.used[id] {
			a.warn(fmt.Sprintf("--answer %s was not used: the tool did not ask for it", show.Visible(id)))
		}
	}
}

// prompt asks the person. A yes or no can be given for the rest of the session.
func (a *answerer) prompt(ctx context.Context, q *jptool.Question) (any, error) {
	quoted := q.Text
	if q.PreAmble != nil {
		quoted = strings.TrimRight(*q.PreAmble, "\n") + "\n\n" + q.Text
	}
	m := term.Message{Body: "The tool " + show.Visible(a.Tool.Name) + " asks:\n", Quoted: quoted}
	about := " to " + show.Name(a.Tool.Name)
	if path := paths(nil, a.args); path != "" {
		about += " about " + path
	}
	var v any
	var err error
	switch q.AnswerType.Name {
	case jptool.Boolean:
		question := term.BoolQuestion{Message: m, Prompt: "Your answer" + about + "?", Remember: a.Memory.Remembers() && q.ID != previewID}
		if d, ok := q.Default.(bool); ok {
			question.Default = &d
		}
		var b term.BoolAnswer
		if b, err = a.Prompter.Bool(ctx, question); err == nil && b.Remember {
			a.keep(ctx, a.slot(OnQuestion, q.ID), b.Yes)
		}
		v = b.Yes
	case jptool.Select:
		question := term.SelectQuestion{Message: m, Prompt: "Your choice" + about + "?", Options: q.AnswerType.Options}
		if i := slices.Index(q.AnswerType.Options, fmt.Sprint(q.Default)); i >= 0 {
			question.Default = &i
		}
		var i int
		if i, err = a.Prompter.Select(ctx, question); err == nil {
			v = q.AnswerType.Options[i]
		}
	default:
		question := term.TextQuestion{Message: m, Prompt: "Your answer" + about + ":"}
		if d, ok := q.Default.(string); ok {
			question.Default = &d
		}
		v, err = a.Prompter.Text(ctx, question)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnanswered, err)
	}
	a.answered(OnQuestion, q.ID, ByPerson)
	return v, nil
}

// typed reads an answer from the command line by the type that the question asks for.
func typed(q *jptool.Question, raw string) (any, error) {
	if q.AnswerType.Name == jptool.Boolean {
		switch strings.ToLower(raw) {
		case "true", "yes", "y":
			return true, nil
		case "false", "no", "n":
			return false, nil
		}
	} else if q.AnswerType.Fits(raw) {
		return raw, nil
	}
	return nil, fmt.Errorf("the tool wants %s", wanted(q))
}

func wanted(q *jptool.Question) string {
	switch q.AnswerType.Name {
	case jptool.Boolean:
		return "true or false"
	case jptool.Select:
		list := make([]string, len(q.AnswerType.Options))
		for i, o := range q.AnswerType.Options {
			list[i] = show.Visible(o)
		}
		return "one of " + strings.Join(list, ", ")
	}
	return "a text"
}

func shown(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return show.Line(string(b))
}
