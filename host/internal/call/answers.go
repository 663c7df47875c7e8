package call

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/jptool"
)

// maxRounds bounds how often one call may ask, so that a tool that always asks again does not run for ever.
const maxRounds = 16

// answerer finds the answers to the questions of one call: those given with the call, those
// of the configuration, those that hold for the session, and then a person's.
type answerer struct {
	*call
	// answers are what the tool gets with its next start.
	answers map[string]any
	// ahead has, by question, who gave an answer that the tool got before it asked.
	ahead map[string]string
	// fixed has, by question, the token for which an answer was last sent that no person typed. If the tool
	// asks for the same token again, it does not accept that answer.
	fixed map[string]string
	used  map[string]bool
}

// errAssistant: the question is not for a person, and the assistant is not here.
var errAssistant = errors.New("it is for the assistant to answer")

// giveAhead gives the answers that need not wait for their questions, so that the tool starts once. The built-in
// tools ask for yes or no only and take an answer without a token as it is. An answer that is bound to a token
// waits, since only the question shows whether it still fits.
func (a *answerer) giveAhead() {
	if a.Tool.Command.Origin.Layer != settings.LayerDefault {
		return
	}
	for id, q := range a.Tool.Questions {
		_, given := a.Answers[id]
		if yes, ok := q.Answer.(bool); ok && q.HasAnswer && !given && id != previewID {
			a.answers[id], a.ahead[id] = yes, ByConfig
		}
	}
	for id, raw := range a.Answers {
		_, bound := a.Answers[id+".token"]
		if yes, ok := yesOrNo(raw); ok && !bound && !strings.HasSuffix(id, ".token") {
			a.answers[id], a.ahead[id] = yes, ByCall
		}
	}
}

// credit reports the answers given ahead that the tool needed.
func (a *answerer) credit(ids []string) {
	for _, id := range ids {
		if by := a.ahead[id]; by != "" && !a.used[id] {
			a.used[id] = true
			a.answered(OnQuestion, id, by)
		}
	}
}

// allow gives the answers to the questions that a person allowed together with the call.
func (a *answerer) allow(questions []jptool.Question) {
	for i := range questions {
		a.give(&questions[i], true)
		a.answered(OnQuestion, questions[i].ID, ByPreview)
	}
}

func (a *answerer) give(q *jptool.Question, v any) {
	a.answers[q.ID] = v
	delete(a.answers, q.ID+".token")
	if q.Token != "" {
		a.answers[q.ID+".token"] = q.Token
	}
}

// round answers the questions that a tool asks together. A person is asked one after the other, and not any more
// after a no, which may be all that the tool needs to know. If one is left unanswered, all open ones are reported, and
// the error says how to answer them.
func (a *answerer) round(ctx context.Context, questions []jptool.Question) error {
	var open []jptool.Question
	no := false
	for i := range questions {
		q := &questions[i]
		v, err := a.known(q)
		switch {
		case err != nil:
			a.reportQuestions(questions[i : i+1])
			a.report.Outcome.Message = ForModel(err.Error(), a.Root, jptool.LookupEnv(a.Environ, "HOME"))
			return err
		case v == nil:
			open = append(open, *q)
		default:
			a.give(q, v)
			no = no || v == false
		}
	}
	var failed error
	if slices.ContainsFunc(open, func(q jptool.Question) bool { return a.forAssistant(&q) }) {
		failed = errAssistant
	} else if !no {
		failed = a.ask(ctx, open)
	}
	if failed == nil {
		return nil
	}
	a.notAsked() // one of them may be the answer, under a wrong name
	return a.unanswered(open, failed)
}

// ask asks the person. The question on a preview that no longer fits comes with the others: a yes to what is
// shown now answers them too.
func (a *answerer) ask(ctx context.Context, open []jptool.Question) error {
	var together []jptool.Question
	before := ""
	for i := range open {
		q := open[i]
		if slices.ContainsFunc(together, func(o jptool.Question) bool { return o.ID == q.ID }) {
			continue
		}
		if q.Before() == before {
			q.PreAmble = nil // it stands above
		} else {
			before = q.Before()
		}
		var also []jptool.Question
		if q.ID == previewID {
			also = a.coverable(open)
		}
		v, whole, err := a.prompt(ctx, &q, also)
		if err != nil {
			return err
		}
		a.give(&open[i], v)
		if v == false {
			return nil
		}
		if whole {
			together = also
			a.allow(also)
		}
	}
	return nil
}

// known returns the answer to q that need not be asked for, nil for none. An error says why one that was given
// cannot be used.
func (a *answerer) known(q *jptool.Question) (any, error) {
	if q.ID == previewID {
		return nil, nil
	}
	if raw, ok := a.Answers[q.ID]; ok {
		return a.fromCall(q, raw)
	}
	conf, known := a.Tool.Questions[q.ID]
	if known && conf.HasAnswer {
		where := fmt.Sprintf("%s: questions.%s.answer", a.Tool.Origin(settings.JoinKey("questions", q.ID, "answer")), show.Visible(q.ID))
		if !q.AnswerType.Fits(conf.Answer) {
			help := "correct the answer there, or remove it to be asked"
			if s, ok := conf.Answer.(string); ok && q.AnswerType.Name == jptool.Boolean && (s == "true" || s == "false") {
				help = "write answer:=" + s + " with --cfg, or answer = " + s + " without quotes in a file"
			}
			return nil, exit.Errorf(exit.Usage, "%s: the tool wants %s, not %s\n%s", where, wanted(q), show.Value(conf.Answer), help)
		}
		a.answered(OnQuestion, q.ID, ByConfig)
		return conf.Answer, a.notTwice(q, where)
	}
	if q.AnswerType.Name == jptool.Boolean && !a.forAssistant(q) {
		if old, ok := a.recall(a.slot(OnQuestion, q.ID)); ok {
			return old.Yes, a.notTwice(q, "your answer for this session (jphost session list)")
		}
	}
	return nil, nil
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

// notAsked warns of answers of the call that the tool did not ask for.
func (a *answerer) notAsked() {
	for _, id := range slices.Sorted(maps.Keys(a.Answers)) {
		if !a.used[strings.TrimSuffix(id, ".token")] && !a.used[id] {
			a.warn(fmt.Sprintf("--answer %s was not used: the tool did not ask for it", show.Visible(id)))
		}
	}
}

// prompt asks the person. A yes or no can be given for the rest of the session. A yes also answers the
// questions in also, if the person was shown everything.
func (a *answerer) prompt(ctx context.Context, q *jptool.Question, also []jptool.Question) (v any, whole bool, err error) {
	quoted := q.Text
	if q.PreAmble != nil {
		quoted = strings.TrimRight(*q.PreAmble, "\n") + "\n\n" + q.Text
	}
	m := term.Message{Body: "The tool " + show.Visible(a.Tool.Name) + " asks:\n", Quoted: quoted, Then: asWell(also)}
	about := " to " + show.Name(a.Tool.Name)
	if path := paths(nil, a.args); path != "" {
		about += " about " + path
	}
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
		return nil, false, err
	}
	a.answered(OnQuestion, q.ID, ByPerson)
	return v, m.Whole(), nil
}

// typed reads an answer from the command line by the type that the question asks for.
func typed(q *jptool.Question, raw string) (any, error) {
	if q.AnswerType.Name == jptool.Boolean {
		if yes, ok := yesOrNo(raw); ok {
			return yes, nil
		}
	} else if q.AnswerType.Fits(raw) {
		return raw, nil
	}
	return nil, fmt.Errorf("the tool wants %s", wanted(q))
}

func yesOrNo(raw string) (yes, ok bool) {
	switch strings.ToLower(raw) {
	case "true", "yes", "y":
		return true, true
	case "false", "no", "n":
		return false, true
	}
	return false, false
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
