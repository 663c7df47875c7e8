package run

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jptools/jptools/host/internal/ask"
	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/launch"
	"github.com/jptools/jptools/host/internal/template"
	"github.com/jptools/jptools/jptool"
)

// mostStderr is how much of what a tool says on standard error is kept in the report.
const mostStderr = 8 << 10

// command is how the tool is started.
type command struct {
	tmpl *template.Template
	// stdin: the request goes over standard input. A command with placeholders gets what
	// it asks for there, and nothing on standard input, as hosts did that such commands
	// were written for.
	stdin bool
	req   *request
	env   []string
}

func (k *call) command() (*command, error) {
	c := k.Tool.Command
	tmpl, err := template.Compile(template.Command{Program: c.Program, Args: c.Args, Shell: c.Shell})
	if err != nil {
		return nil, exit.Errorf(exit.Usage, "%s: command of %s: %w", c.Origin, k.Tool.Name, err)
	}
	ctx := jptool.Context{
		Root: k.Root, Action: jptool.Run, Access: k.policy.access,
		WorkspaceID: k.Workspace.ID(), ConversationID: k.Conversation,
	}
	if k.Preview {
		ctx.Action = jptool.FormatArguments
	}
	req, err := newRequest(ctx, k.Tool, k.args)
	if err != nil {
		return nil, err
	}
	env, withheld := launch.Environment(k.Environ, k.policy.env)
	k.report.Withheld = withheld
	return &command{tmpl: tmpl, stdin: !placeholders(c), req: req, env: env}, nil
}

func placeholders(c *config.Command) bool {
	for _, s := range append([]string{c.Program}, c.Args...) {
		if strings.Contains(s, "{{") {
			return true
		}
	}
	return false
}

// spec is one start of the tool, with the answers there are so far.
func (k *call) spec(c *command) (launch.Spec, error) {
	data, err := c.req.data()
	if err != nil {
		return launch.Spec{}, err
	}
	argv, err := c.tmpl.Render(data)
	if err != nil {
		return launch.Spec{}, exit.Errorf(exit.Usage, "%s: command of %s: %w", k.Tool.Command.Origin, k.Tool.Name, err)
	}
	program, err := k.program(argv[0])
	if err != nil {
		return launch.Spec{}, exit.Errorf(exit.Host, "%s: command of %s: %s: %w", k.Tool.Command.Origin, k.Tool.Name, ask.Visible(argv[0]), err)
	}
	s := launch.Spec{Argv: argv, Program: program, Dir: k.Root, Env: c.env, Limits: limits(k.Tool.Limits)}
	if c.stdin {
		s.Stdin = line(data)
	}
	return s, nil
}

func limits(l config.Limits) launch.Limits {
	out := launch.Limits{Time: l.Time}
	if l.Output > 0 {
		out.Stdout = int(min(l.Output, 1<<31-1))
	}
	return out
}

// loop starts the tool, answers its question, and starts it again, until it has an answer.
func (k *call) loop(ctx context.Context) error {
	cmd, err := k.command()
	if err != nil {
		return err
	}
	a := &answerer{tool: k.Tool, given: k.Answers, prompter: k.Prompter, fixed: map[string]string{}, used: map[string]bool{}}
	for range maxRounds {
		out, err := k.once(ctx, cmd)
		if err != nil {
			return err
		}
		if out.Kind != launch.NeedsInput {
			for _, id := range a.unused() {
				k.warn(fmt.Sprintf("--answer %s was not used: the tool did not ask", ask.Visible(id)))
			}
			return k.settle(out)
		}
		q := out.Question
		v, err := a.answer(ctx, q)
		if errors.Is(err, errUnanswered) {
			return k.unanswered(q, err)
		}
		if err != nil {
			k.ask(q)
			k.report.Outcome.Message = err.Error()
			return err
		}
		cmd.req.answers[q.ID] = v
		if q.Token != "" {
			cmd.req.answers[q.ID+".token"] = q.Token
		} else {
			delete(cmd.req.answers, q.ID+".token")
		}
	}
	return exit.Errorf(exit.Refused, "%s asked %d times and still has no result; it was given up\nanswers given so far are in effect for nothing: look into the tool", k.Tool.Name, maxRounds)
}

// once starts the tool once.
func (k *call) once(ctx context.Context, cmd *command) (launch.Outcome, error) {
	spec, err := k.spec(cmd)
	if err != nil {
		return launch.Outcome{}, err
	}
	res, err := k.Launcher.Run(ctx, spec)
	k.report.Starts++
	if res != nil {
		k.report.Exit = &Ended{Code: res.Exit.Code, Signal: res.Exit.Signal, Leftover: res.Leftover}
		k.report.Stderr = launch.Ends(res.Stderr, mostStderr)
	}
	if err != nil {
		code := exit.Host
		if stop := (*launch.StopError)(nil); errors.As(err, &stop) && stop.Reason != launch.Cancelled {
			code = exit.Refused
		}
		return launch.Outcome{}, &exit.Error{Code: code, Err: fmt.Errorf("%s: %w", k.Tool.Name, err)}
	}
	return launch.Parse(res.Stdout, res.Stderr, res.Exit), nil
}

// settle takes over the final answer.
func (k *call) settle(out launch.Outcome) error {
	if out.Kind == launch.Success {
		k.report.Withheld = nil
		k.report.Outcome = Outcome{Type: "success", Content: &out.Content, Plain: out.Plain, Data: out.Data}
		return nil
	}
	k.report.Outcome = Outcome{
		Type: "error", Message: out.Message, Trace: out.Trace, Transient: out.Transient,
		Code: string(out.Code), Plain: out.Plain, Data: out.Data,
	}
	code := exit.Refused
	if out.Code.BadRequest() {
		code = exit.Usage
	}
	return exit.Errorf(code, "%s: %s", k.Tool.Name, out.Message)
}

// ask reports a question as the outcome.
func (k *call) ask(q *launch.Question) {
	k.report.Outcome = Outcome{Type: "needs_input", Question: &Question{
		ID: q.ID, Text: q.Text, PreAmble: q.PreAmble, AnswerType: string(q.Answer), Options: q.Options, Default: q.Default, Token: q.Token,
	}}
}

func (k *call) unanswered(q *launch.Question, why error) error {
	k.ask(q)
	example := "true"
	switch {
	case q.Answer == launch.Select && len(q.Options) > 0:
		example = q.Options[0]
	case q.Answer != launch.Boolean:
		example = "TEXT"
	}
	if errors.Is(why, ask.ErrNoTerminal) {
		how := fmt.Sprintf("--answer %s=%s", ask.Visible(q.ID), ask.Visible(example))
		if q.Token != "" {
			how += fmt.Sprintf("\nto answer only what was shown here, add: --answer %s.token=%s", ask.Visible(q.ID), ask.Visible(q.Token))
		}
		return exit.Errorf(exit.Refused, "%s asks: %s\nthere is no terminal to ask on; answer it with: %s", k.Tool.Name, ask.VisibleText(q.Text), how)
	}
	return exit.Errorf(exit.Refused, "%s: its question was not answered: %w", k.Tool.Name, errors.Unwrap(why))
}
