package call

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jptools/jptools/host/internal/enforcement"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/jptool"
)

// mostStderr is how much of what a tool says on standard error is kept in the report.
const mostStderr = 8 << 10

// loop starts the tool, answers its questions, and starts it again, until it has a result. A preview is made before any
// consent to the call.
func (k *call) loop(ctx context.Context, action jptool.Action, given permission) (out output, err error) {
	cmd, err := k.command(ctx, action)
	if err != nil {
		return out, err
	}
	for _, id := range []string{previewID, previewID + ".token"} {
		if _, ok := k.Answers[id]; ok {
			return out, exit.Errorf(exit.Usage, "--answer %s: only a person at a terminal answers that question\nleave it out", id)
		}
	}
	a := &answerer{
		call: k, answers: cmd.tool.Answers,
		ahead: map[string]string{}, fixed: map[string]string{}, used: map[string]bool{},
	}
	a.giveAhead()
	if given.token != "" {
		a.answers[previewID], a.answers[previewID+".token"] = true, given.token
	}
	a.allow(given.questions)
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
		k.report.Exit = &res.ended
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
		if no := (*refusal)(nil); !errors.As(err, &no) {
			err = fmt.Errorf("%s: %w", k.Tool.Name, err)
		}
		return output{}, exit.With(code, err)
	}
	return readOutput(res.stdout, res.stderr, res.ended), nil
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
