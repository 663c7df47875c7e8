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

// previewID is the question of a tool whose preview no longer fits. It is a person's to answer
// whatever else is set, since what it is about was not there when anything was set.
const previewID = "preview"

// errAssistant: the question is not for a person, and the assistant is not here.
var errAssistant = errors.New("it is for the assistant to answer")

// ask starts the tool, answers its questions, and starts it again, until it has a result. A preview is made before any
// consent to the call.
func (k *call) ask(ctx context.Context, preview bool) (out output, err error) {
	c, err := k.command(ctx, preview)
	if err != nil {
		return out, err
	}
	for _, id := range []string{previewID, previewID + ".token"} {
		if _, ok := k.Answers[id]; ok {
			return out, exit.Errorf(exit.Usage, "--answer %s: only a person at a terminal answers that question\nleave it out", id)
		}
	}
	c.giveAhead()
	if k.previewToken != "" {
		c.give(&jptool.Question{ID: previewID, Token: k.previewToken}, true)
	}
	c.allow(k.allowed)
	whole := preview == k.Preview // else this is the preview that a consent shows
	for range maxRounds {
		if out, err = c.start(ctx); err != nil {
			return out, err
		}
		if whole {
			c.credit(out.Answered)
		}
		if len(out.Questions) == 0 {
			if whole {
				c.notAsked()
			}
			return out, nil
		}
		if err := c.round(ctx, out.Questions); err != nil {
			return out, err
		}
	}
	return out, exit.Errorf(exit.Refused, "%s asked %d times and still has no result; the call was given up\nmend the tool: with its questions answered it should come to an end", k.Tool.Name, maxRounds)
}

// giveAhead gives the answers that need not wait for their questions, so that the tool starts once. The built-in
// tools ask for yes or no only and take an answer without a token as it is. An answer that is bound to a token
// waits, since only the question shows whether it still fits.
func (c *command) giveAhead() {
	if !c.builtIn() {
		return
	}
	for id, q := range c.Tool.Questions {
		_, answered := c.Answers[id]
		if yes, ok := q.Answer.(bool); ok && q.HasAnswer && !answered && id != previewID {
			c.tool.Answers[id], c.ahead[id] = yes, ByConfig
		}
	}
	for id, raw := range c.Answers {
		_, bound := c.Answers[id+".token"]
		if yes, ok := yesOrNo(raw); ok && !bound && !strings.HasSuffix(id, ".token") {
			c.tool.Answers[id], c.ahead[id] = yes, ByCall
		}
	}
}

// credit reports the answers given ahead that the tool needed.
func (c *command) credit(ids []string) {
	for _, id := range ids {
		if by := c.ahead[id]; by != "" && !c.used[id] {
			c.used[id] = true
			c.answered(OnQuestion, id, by)
		}
	}
}

// allow gives the answers to the questions that a person allowed together with the call.
func (c *command) allow(questions []jptool.Question) {
	for i := range questions {
		c.give(&questions[i], true)
		c.answered(OnQuestion, questions[i].ID, ByPreview)
	}
}

func (c *command) give(q *jptool.Question, v any) {
	c.tool.Answers[q.ID] = v
	delete(c.tool.Answers, q.ID+".token")
	if q.Token != "" {
		c.tool.Answers[q.ID+".token"] = q.Token
	}
}

// round answers the questions that a tool asks together. A person is asked one after the other, and not any more
// after a no, which may be all that the tool needs to know. If one is left unanswered, all open ones are reported, and
// the error says how to answer them.
func (c *command) round(ctx context.Context, questions []jptool.Question) error {
	var open []jptool.Question
	no := false
	for i := range questions {
		q := &questions[i]
		v, where, err := c.known(q)
		if token, sent := c.fixed[q.ID]; err == nil && v != nil && sent && token == q.Token {
			err = exit.Errorf(exit.Usage, "%s: the tool asks again although it has this answer\nremove the answer to be asked, or look into the tool", where)
		}
		switch {
		case err != nil:
			c.reportQuestions(questions[i : i+1])
			c.report.Outcome.Message = ForModel(err.Error(), c.Root, jptool.LookupEnv(c.Environ, "HOME"))
			return err
		case v == nil:
			open = append(open, *q)
		default:
			c.fixed[q.ID] = q.Token
			c.give(q, v)
			no = no || v == false
		}
	}
	var failed error
	if slices.ContainsFunc(open, func(q jptool.Question) bool { return c.forAssistant(&q) }) {
		failed = errAssistant
	} else if !no {
		failed = c.askPerson(ctx, open)
	}
	if failed == nil {
		return nil
	}
	c.notAsked() // one of them may be the answer, under a wrong name
	return c.unanswered(open, failed)
}

// known returns the answer to q that need not be asked for, and where it is from; nil if there is none. An error says
// why one that was given cannot be used.
func (c *command) known(q *jptool.Question) (v any, where string, err error) {
	if q.ID == previewID {
		return nil, "", nil
	}
	id := show.Visible(q.ID)
	if raw, ok := c.Answers[q.ID]; ok {
		c.used[q.ID] = true
		if token, bound := c.Answers[q.ID+".token"]; bound && token != c.token(q) {
			return nil, "", exit.Errorf(exit.Refused, "--answer %s: what the tool asks about is no longer what the token stands for\nlook at its question again, and answer that", id)
		}
		v = raw
		if yes, ok := yesOrNo(raw); ok && q.AnswerType.Name == jptool.Boolean {
			v = yes
		}
		if !q.AnswerType.Fits(v) {
			return nil, "", exit.Errorf(exit.Usage, "--answer %s=%s: the tool wants %s", id, show.Visible(raw), wanted(q))
		}
		c.answered(OnQuestion, q.ID, ByCall)
		return v, "--answer " + id, nil
	}
	if conf := c.Tool.Questions[q.ID]; conf.HasAnswer {
		where = fmt.Sprintf("%s: questions.%s.answer", c.Tool.Origin(settings.JoinKey("questions", q.ID, "answer")), id)
		if !q.AnswerType.Fits(conf.Answer) {
			help := "correct the answer there, or remove it to be asked"
			if s, ok := conf.Answer.(string); ok && q.AnswerType.Name == jptool.Boolean && (s == "true" || s == "false") {
				help = "write answer:=" + s + " with --cfg, or answer = " + s + " without quotes in a file"
			}
			return nil, "", exit.Errorf(exit.Usage, "%s: the tool wants %s, not %s\n%s", where, wanted(q), show.Value(conf.Answer), help)
		}
		c.answered(OnQuestion, q.ID, ByConfig)
		return conf.Answer, where, nil
	}
	if q.AnswerType.Name == jptool.Boolean && !c.forAssistant(q) && !c.builtIn() {
		if old, ok := c.recall(c.questionSlot(q)); ok {
			return old.Yes, "your answer for this session (jphost session list)", nil
		}
	}
	return nil, "", nil
}

// notAsked warns of answers of the call that the tool did not ask for.
func (c *command) notAsked() {
	for _, id := range slices.Sorted(maps.Keys(c.Answers)) {
		if !c.used[strings.TrimSuffix(id, ".token")] && !c.used[id] {
			c.warn(fmt.Sprintf("--answer %s was not used: the tool did not ask for it", show.Visible(id)))
		}
	}
}

// askPerson asks the person: of a built-in tool once about the call with all that it asks, of any other tool one question
// after the other.
func (c *command) askPerson(ctx context.Context, open []jptool.Question) error {
	if c.together(open) {
		return c.permitQuestions(ctx, open)
	}
	before := ""
	for i := range open {
		q := open[i]
		if q.Before() == before {
			q.PreAmble = nil // it stands above
		} else {
			before = q.Before()
		}
		v, err := c.prompt(ctx, &q)
		if err != nil {
			return err
		}
		c.give(&open[i], v)
		if v == false {
			return nil
		}
	}
	return nil
}

// asWell shows the questions that a yes answers too.
func asWell(questions []jptool.Question) []term.Message {
	var texts []string
	for _, q := range questions {
		if q.PreAmble != nil {
			texts = append(texts, strings.TrimRight(*q.PreAmble, "\n"))
		}
		texts = append(texts, q.Text)
	}
	if texts == nil {
		return nil
	}
	return []term.Message{{Body: "A yes also means yes to:\n", Quoted: strings.Join(texts, "\n"), Prose: true}}
}

// prompt asks the person. A yes can be given for the rest of the session.
func (c *command) prompt(ctx context.Context, q *jptool.Question) (v any, err error) {
	quoted := q.Text
	if q.PreAmble != nil {
		quoted = strings.TrimRight(*q.PreAmble, "\n") + "\n\n" + q.Text
	}
	m := term.Message{Body: "The tool " + show.Visible(c.Tool.Name) + " asks:\n", Quoted: quoted}
	about := " to " + show.Name(c.Tool.Name)
	if path := paths(nil, c.args, show.Name); path != "" {
		about += " about " + path
	}
	switch q.AnswerType.Name {
	case jptool.Boolean:
		question := term.BoolQuestion{Message: m, Prompt: "Your answer" + about + "?", Remember: c.Memory.Remembers() && q.ID != previewID}
		if d, ok := q.Default.(bool); ok {
			question.Default = &d
		}
		var b term.BoolAnswer
		if b, err = c.Prompter.Bool(ctx, question); err == nil && b.Remember {
			c.remember(ctx, c.questionSlot(q), b.Yes)
		}
		v = b.Yes
	case jptool.Select:
		question := term.SelectQuestion{Message: m, Prompt: "Your choice" + about + "?", Options: q.AnswerType.Options}
		if i := slices.Index(q.AnswerType.Options, fmt.Sprint(q.Default)); i >= 0 {
			question.Default = &i
		}
		var i int
		if i, err = c.Prompter.Select(ctx, question); err == nil {
			v = q.AnswerType.Options[i]
		}
	default:
		question := term.TextQuestion{Message: m, Prompt: "Your answer" + about + ":"}
		if d, ok := q.Default.(string); ok {
			question.Default = &d
		}
		v, err = c.Prompter.Text(ctx, question)
	}
	if err != nil {
		return nil, err
	}
	c.answered(OnQuestion, q.ID, ByPerson)
	return v, nil
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

// reportQuestions makes questions the outcome. Those for the assistant come first: a model that gets the report looks
// for its own.
func (k *call) reportQuestions(open []jptool.Question) {
	list := make([]Question, len(open))
	for i, q := range open {
		list[i] = Question{Question: q, Target: "user"}
		list[i].Token = k.token(&q)
		if k.forAssistant(&q) {
			list[i].Target, list[i].Assistant = "assistant", k.Tool.Questions[q.ID].Assistant
		}
	}
	slices.SortStableFunc(list, func(a, b Question) int { return strings.Compare(a.Target, b.Target) })
	k.report.Outcome = Outcome{Type: "needs_input", Question: &list[0]}
	if len(list) > 1 {
		k.report.Outcome.Questions = list
	}
}

// forAssistant reports whether a question is not for a person.
func (k *call) forAssistant(q *jptool.Question) bool {
	return q.ID != previewID && k.Tool.Questions[q.ID].Target == "assistant"
}

// token is what an answer to q can be bound to: a digest of all that is asked, of the tool's own
// token, and of the call it is asked in, so that it answers nothing in another workspace, conversation
// or call. The tool gets its own token with the answer.
func (k *call) token(q *jptool.Question) string {
	return "host:" + scope(k.Workspace.ID(), k.Conversation, k.Tool.Name, show.Value(k.args), asked(q))
}

// unanswered reports the questions and says how to answer them.
func (k *call) unanswered(open []jptool.Question, why error) error {
	k.reportQuestions(open)
	asks := ""
	for _, q := range open {
		asks += "\n" + show.Text(q.Text)
	}
	if len(open) == 1 {
		asks = " " + asks[1:]
	}
	// A person learns why nobody answered without the particulars.
	for _, known := range []error{term.ErrNoInput, term.ErrNoTerminal, term.ErrInterrupted, term.ErrCancelled} {
		if errors.Is(why, known) {
			why = known
			break
		}
	}
	var err error
	switch {
	case errors.Is(why, errAssistant):
		err = exit.Errorf(exit.Refused, "%s asks the assistant:%s\n%s", k.Tool.Name, asks, k.how(open))
	case errors.Is(why, term.ErrNoTerminal):
		err = exit.Errorf(exit.Refused, "%s asks:%s\n%w\n%s", k.Tool.Name, asks, why, k.how(open))
	default:
		err = exit.Errorf(exit.Refused, "%s: its question was not answered: %w", k.Tool.Name, why)
	}
	k.report.Outcome.Message = err.Error()
	return err
}

// how is the way to answer questions without a terminal.
func (k *call) how(open []jptool.Question) string {
	var examples, others, tokens []string
	for _, q := range open {
		if q.ID == previewID {
			return "what was shown before the call no longer fits: only a person at a terminal can allow what is shown now"
		}
		example, other := "true", "or false"
		switch {
		case q.AnswerType.Name == jptool.Select:
			example, other = q.AnswerType.Options[0], "one of: "+show.Line(strings.Join(q.AnswerType.Options, ", "))
		case q.AnswerType.Name != jptool.Boolean:
			example, other = "TEXT", ""
		}
		examples = append(examples, "--answer "+show.Word(q.ID+"="+example))
		tokens = append(tokens, "--answer "+show.Word(q.ID+".token="+k.token(&q)))
		if other != "" && !slices.Contains(others, other) {
			others = append(others, other)
		}
	}
	what, note := "it", ""
	if len(open) > 1 {
		what = "them"
	}
	if others != nil {
		note = " (" + strings.Join(others, "; ") + ")"
	}
	return fmt.Sprintf("answer %s with: %s%s\nto answer only what was shown here, add: %s", what, strings.Join(examples, " "), note, strings.Join(tokens, " "))
}
