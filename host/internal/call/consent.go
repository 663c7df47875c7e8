package call

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/jptool"
)

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
			return k.nobody("edit", &absentError{err, nil})
		case err != nil:
			return k.notRun(ReasonDeclined, err)
		case strings.TrimSpace(edited) == "":
			return k.notRun(ReasonDeclined, errors.New("the arguments were emptied"))
		}
		args, wrong := k.parameters.Validate([]byte(edited))
		if err = wrong; err == nil {
			k.args, k.edited = args, true
			return k.sensitive(ctx) // they may lead to other places
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
	return consent.Remembered{Tool: k.Tool.Name, On: on, Question: question, Scope: scope(k.report.Policy.Digest, k.program())}
}

// program is a digest of what the tool runs.
func (k *call) program() string {
	c := k.Tool.Command
	return scope(fmt.Sprint(c.Shell), c.Program, strings.Join(c.Args, "\x00"))
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
