package consent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/jptool"
)

// Grant is what one tool may do below a mount.
type Grant struct {
	Tool string
	Caps jptool.Caps
}

// Request is an external rule path that wants to be approved, with every tool it affects.
type Request struct {
	Binding
	Grants []Grant
	// Caution says what is risky about the target; lines for people, "" when nothing is known.
	Caution string
}

// Result is the outcome of the approval lifecycle for one rule path.
type Result struct {
	// Approved: the rule may be compiled with the binding's target.
	Approved bool
	// Reason says, for people, why it is not approved and what to do.
	Reason string
	// Declined: a person said no to it just now.
	Declined bool
}

// Resolve runs the approval lifecycle of RFD D43 for one external rule: what is stored proceeds,
// anything else is asked for and stored, and without a terminal it is not approved. The
// prompt is no part of any conversation. An error means that the store failed, or
// that the person cancelled; the rule is not approved then either.
func (s *Store) Resolve(ctx context.Context, p term.Prompter, r Request) (Result, error) {
	was, err := s.Lookup(ctx, r.Binding)
	if err != nil {
		return Result{}, err
	}
	if was.Verdict == Approved {
		return Result{Approved: true}, nil
	}
	answer, err := p.Bool(ctx, Question(r, was))
	switch {
	case errors.Is(err, term.ErrNoTerminal):
		return Result{Reason: reason(r, was)}, nil
	case err != nil:
		return Result{Reason: "the question was not answered"}, err
	case !answer.Yes:
		return Result{Declined: true, Reason: fmt.Sprintf("the target of %s was declined", show.Visible(r.RulePath))}, nil
	}
	// What was shown is what is stored, whatever the link says by now.
	if _, err := s.Record(ctx, r.Binding); err != nil {
		return Result{}, err
	}
	return Result{Approved: true}, nil
}

func reason(r Request, was Decision) string {
	what := "is not approved yet"
	if was.Verdict == Retargeted {
		what = "no longer leads to its approved target"
	}
	return fmt.Sprintf("the external path %s %s\napprove it with: jphost approvals approve %s",
		show.Visible(r.RulePath), what, show.Word(r.RulePath))
}

// Question is the prompt of RFD D43 for a new binding or a changed one.
func Question(r Request, was Decision) term.BoolQuestion {
	if was.Verdict == Retargeted {
		return term.BoolQuestion{
			Message: term.Message{Body: fmt.Sprintf("Symlink `%s` retargeted:\n  was: %s\n  now: %s\n",
				show.Visible(r.RulePath), show.Visible(was.Previous), show.Visible(r.Target)) + caution(r)},
			Prompt:  "Allow new target of " + show.Name(r.RulePath) + tools(r) + "?",
			Default: term.No(),
		}
	}
	return term.BoolQuestion{
		Message: term.Message{Body: fmt.Sprintf("Approve this target binding?\n\n  %s → %s\n",
			show.Visible(r.RulePath), show.Visible(r.Target)) + grants(r) + caution(r) + `
The target binding will be remembered. Capability changes through
config edits do not re-prompt while the target is unchanged.

`},
		Prompt:  "Approve " + show.Name(r.RulePath) + tools(r) + "?",
		Default: term.No(),
	}
}

// tools names whom an approval is for.
func tools(r Request) string {
	switch n := len(r.Grants); n {
	case 0:
		return ""
	case 1:
		return " for " + show.Name(r.Grants[0].Tool)
	default:
		return fmt.Sprintf(" for %s and %d more", show.Name(r.Grants[0].Tool), n-1)
	}
}

func caution(r Request) string {
	if r.Caution == "" {
		return ""
	}
	return "\n" + show.Text(strings.TrimRight(r.Caution, "\n")) + "\n"
}

// grants lists every affected tool.
func grants(r Request) string {
	if len(r.Grants) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nCurrent grants under this mount:\n")
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, g := range r.Grants {
		fmt.Fprintf(w, "  %s:\t%s\n", show.Visible(g.Tool), g.Caps)
	}
	w.Flush()
	return b.String()
}
