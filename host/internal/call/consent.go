package call

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/policy"
	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox/fit"
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
			k.args = args
			return nil
		}
		k.warn(fmt.Sprintf("the edited arguments cannot be used: %v", err))
	}
	return exit.Errorf(exit.Usage, "%s was not run: the edited arguments cannot be used:\n%w", k.Tool.Name, err)
}

// sensitive asks once per session about places of secrets that the tool may reach (RFD 075,
// "Sensitive path protection"); without a terminal the call is refused. A user whose own
// configuration says `run = "unattended"` has allowed it for good, and is warned once per session.
// It does not stop a tool that may reach them from using them.
func (k *call) sensitive(ctx context.Context) error {
	list := k.places()
	if len(list) == 0 {
		return nil
	}
	text := k.secrets(list)
	where := consent.Remembered{Tool: k.Tool.Name, On: OnSensitive, Scope: scope(text)}
	if k.AllowSensitive {
		k.answered(OnSensitive, "", ByCall)
		return nil
	}
	if k.unattendedByUser() {
		k.answered(OnSensitive, "", ByConfig)
		k.warnOnce(ctx, strings.TrimSuffix(text, "\n"))
		return nil
	}
	old, known := k.recall(where)
	if known && old.Yes {
		return nil
	}
	var paths []string
	for _, s := range list {
		paths = append(paths, s.Path)
	}
	withhold := "withhold them: " + k.withholding(paths...)
	if known {
		return k.notRun(ReasonSensitive, fmt.Errorf("it may reach places of secrets, and that was declined for this session\nto be asked again: jphost session forget %s\n%s", show.Word(k.Tool.Name), withhold))
	}
	prompt := "Let " + show.Name(k.Tool.Name) + " reach " + firstOf(paths, show.Name)
	if k.Memory.Remembers() {
		prompt += ", for the rest of this session"
	}
	prompt += "?"
	answer, err := k.Prompter.Bool(ctx, term.BoolQuestion{Message: term.Message{Body: text + "\n"}, Prompt: prompt, Default: term.No()})
	switch {
	case errors.Is(err, term.ErrNoTerminal):
		return refuse(ReasonSensitive, "%sthat is asked for once per session, and %w\nto allow it for this call: --allow-sensitive\nfor good: set run = \"unattended\" for the tool in your own config\n%s", text, err, withhold)
	case err != nil:
		return k.notRun(ReasonSensitive, err)
	}
	k.answered(OnSensitive, "", ByPerson)
	k.remember(ctx, where, answer.Yes)
	if !answer.Yes {
		return k.notRun(ReasonSensitive, fmt.Errorf("it may reach places of secrets\n%s", withhold))
	}
	return nil
}

// places are the places of secrets that somebody's rules let the tool reach. The row with
// which a mount keeps the default of a tool is nobody's wish: what it reaches inside the
// workspace was within reach before.
func (k *call) places() []policy.Sensitive {
	return slices.DeleteFunc(slices.Clone(k.policy.Sensitive), func(s policy.Sensitive) bool {
		return strings.HasPrefix(s.Pattern, "**/") && slices.ContainsFunc(k.policy.Rules, func(r policy.Rule) bool {
			return r.Type == "fs" && r.Origin == s.Origin && r.Name == "." && r.Layer == settings.LayerConversation.String() &&
				r.Stated.Has(jptool.Read|jptool.Write|jptool.Execute)
		})
	})
}

// secrets lists places for people.
func (k *call) secrets(list []policy.Sensitive) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s may reach places of secrets:\n", show.Visible(k.Tool.Name))
	for _, s := range list {
		fmt.Fprintf(&b, "  %s: %s (rule %s at %s)\n", show.Visible(s.Path), strings.Join(s.Capabilities, ", "), show.Visible(s.Rule), show.Visible(s.Origin))
	}
	return b.String()
}

// withholding says how to keep paths from the tool. Where nothing is declared a rule on
// them alone would take everything else away too; and beside one of --cfg the rules of the repository
// would have to be accepted, as more than what that leaves.
func (k *call) withholding(names ...string) string {
	var rules, flags []string
	for _, name := range names {
		rules = append(rules, fit.FsText(&jptool.FsRule{Path: name}))
		flags = append(flags, k.cfg("access.fs", "+="+name))
	}
	list := settings.JoinKey("conversation", "tools", k.Tool.Name, "access", "fs")
	switch access := k.Tool.Access; {
	case access == nil || access.FS == nil:
		return "declare " + list + " with " + show.Line(strings.Join(rules, ", ")) + ", beside what is to be granted"
	case slices.ContainsFunc(access.FS, func(r config.FsRule) bool { return r.At.Layer.Repository() }):
		return "add " + show.Line(strings.Join(rules, ", ")) + " to " + list
	}
	return strings.Join(flags, " ")
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
	c := k.Tool.Command
	return consent.Remembered{Tool: k.Tool.Name, On: on, Question: question, Scope: scope(k.report.Policy.Digest, fmt.Sprint(c.Shell), c.Program, strings.Join(c.Args, "\x00"))}
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
