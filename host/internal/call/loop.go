package call

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/enforcement"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/template"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox"
)

// mostStderr is how much of what a tool says on standard error is kept in the report.
const mostStderr = 8 << 10

// command is how the tool is started.
type command struct {
	tmpl *template.Template
	// stdin: the request goes over standard input. A command with placeholders gets the request in them, and
	// nothing on standard input: such commands were written for hosts that do so.
	stdin   bool
	context jptool.Context
	req     *request
	env     []string
}

func (k *call) command(action jptool.Action) (*command, error) {
	c := k.Tool.Command
	tmpl, err := template.Compile(template.Command{Program: c.Program, Args: c.Args, Shell: c.Shell})
	if err != nil {
		return nil, exit.Errorf(exit.Usage, "%s: command of %s: %w", c.Origin, k.Tool.Name, err)
	}
	ctx := jptool.Context{
		Root: k.Root, Action: action, Access: k.policy.access,
		WorkspaceID: k.Workspace.ID(), ConversationID: k.Conversation,
	}
	req, err := newRequest(ctx, k.Tool, k.args)
	if err != nil {
		return nil, err
	}
	env, withheld := sandbox.Environment(k.Environ, k.policy.env)
	k.report.Withheld = withheld
	return &command{tmpl: tmpl, stdin: !placeholders(c), context: ctx, req: req, env: env}, nil
}

func placeholders(c *config.Command) bool {
	for _, s := range append([]string{c.Program}, c.Args...) {
		if strings.Contains(s, "{{") {
			return true
		}
	}
	return false
}

// spec is a start of the tool before its effective policy is known.
type spec struct {
	program string
	argv    []string
	dir     string
}

// command returns the command of the start under a policy.
func (s *spec) command(ctx context.Context, p *sandbox.Prepared) *sandbox.Cmd {
	c := p.Command(ctx, s.argv[0], s.argv[1:]...)
	c.Path, c.Dir, c.Err = s.program, s.dir, nil
	return c
}

// spec finds the program, with the answers there are so far.
func (k *call) spec(c *command) (*spec, error) {
	data, err := c.req.data()
	if err != nil {
		return nil, err
	}
	argv, err := k.render(c, data)
	if err != nil {
		return nil, err
	}
	program, err := k.Program(k.Tool, argv[0])
	if err != nil {
		return nil, exit.Errorf(exit.Host, "%s: command of %s: %s: %w", k.Tool.Command.Origin, k.Tool.Name, show.Visible(argv[0]), err)
	}
	return &spec{program: program, argv: argv, dir: k.Root}, nil
}

// render fills the placeholders of the command line.
func (k *call) render(c *command, data template.Data) ([]string, error) {
	argv, err := c.tmpl.Render(data)
	if err != nil {
		return nil, exit.Errorf(exit.Usage, "%s: command of %s: %w", k.Tool.Command.Origin, k.Tool.Name, err)
	}
	return argv, nil
}

// loop starts the tool, answers its questions, and starts it again, until it has a result.
func (k *call) loop(ctx context.Context, action jptool.Action) (out output, err error) {
	cmd, err := k.command(action)
	if err != nil {
		return out, err
	}
	for _, id := range []string{previewID, previewID + ".token"} {
		if _, ok := k.Answers[id]; ok {
			return out, exit.Errorf(exit.Usage, "--answer %s: only a person at a terminal answers that question\nleave it out", id)
		}
	}
	a := k.answerer(cmd.req.answers)
	a.giveAhead()
	if action == jptool.Run {
		if k.bound != "" {
			a.answers[previewID], a.answers[previewID+".token"] = true, k.bound
		}
		a.allow(k.allowed)
	}
	for range maxRounds {
		if out, err = k.once(ctx, cmd); err != nil {
			return out, err
		}
		if action == k.action() {
			a.credit(out.Answered)
		}
		if len(out.Questions) == 0 {
			if action == k.action() {
				a.notAsked()
			}
			return out, nil
		}
		if err := a.round(ctx, out.Questions); err != nil {
			return out, err
		}
	}
	return out, exit.Errorf(exit.Refused, "%s asked %d times and still has no result; the call was given up\nmend the tool: with its questions answered it should come to an end", k.Tool.Name, maxRounds)
}

// once starts the tool once.
func (k *call) once(ctx context.Context, cmd *command) (output, error) {
	res, err := k.start(ctx, cmd)
	if res != nil { // else nothing was started
		k.report.Starts++
		k.report.Exit = &Ended{Code: res.exit.Code, Signal: res.exit.Signal, Leftover: res.leftover}
		k.report.Stderr = bothEnds(res.stderr, mostStderr)
		k.mentioned(ctx, string(res.stderr))
	}
	if err != nil {
		if res != nil {
			k.report.Output = bothEnds(res.stdout, mostStderr)
		}
		code := exit.Host
		if stop := (*StopError)(nil); errors.As(err, &stop) && stop.reason != cancelled {
			code = exit.Refused
		}
		if k.report.Outcome.Type == "" {
			err = fmt.Errorf("%s: %w", k.Tool.Name, err)
		}
		return output{}, exit.With(code, err)
	}
	return readOutput(res.stdout, res.stderr, res.exit), nil
}

// settle takes over the final answer.
func (k *call) settle(ctx context.Context, out output) error {
	if out.success() {
		k.report.Outcome = Outcome{Type: "success", Content: &out.Content, Plain: out.Plain, Data: rawData(out.Data)}
		return nil
	}
	failed := out.Err
	if out.Plain && len(k.report.Denials) > 0 {
		failed.Message += "\nrefused by the sandbox:\n" + strings.TrimRight(enforcement.DenialText(k.report.Denials), "\n")
	}
	k.report.Outcome = Outcome{
		Type: "error", Message: failed.Message, Trace: failed.Trace, Transient: failed.Transient,
		Code: string(failed.Code), Plain: out.Plain, Data: rawData(failed.Data),
	}
	switch failed.Code {
	case jptool.CodeNotFound:
		k.elsewhere(ctx)
	case jptool.CodePathEscape:
		k.mountedForOthers()
	}
	code := exit.Refused
	if failed.Code.BadRequest() {
		code = exit.Usage
	}
	// What comes after the first line is shown further in, also what is indented by itself (a traceback, code).
	return exit.Errorf(code, "%s: %s", k.Tool.Name, strings.ReplaceAll(failed.Message, "\n", "\n  "))
}
