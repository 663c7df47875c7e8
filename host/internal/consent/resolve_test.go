package consent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/jptool"
)

// person answers with yes or no and keeps what was shown.
type person struct {
	term.None
	yes   bool
	err   error
	asked []term.BoolQuestion
}

func (p *person) Bool(_ context.Context, q term.BoolQuestion) (term.BoolAnswer, error) {
	p.asked = append(p.asked, q)
	return term.BoolAnswer{Yes: p.yes}, p.err
}

var request = consent.Request{
	Binding: consent.Binding{RulePath: "fork", Target: fork},
	Grants: []consent.Grant{
		{Tool: "fs_read_file", Caps: jptool.Read},
		{Tool: "fs_modify_file", Caps: jptool.Read | jptool.Write},
	},
}

func text(q term.BoolQuestion) string { return q.Body + q.Prompt }

// RFD D43, "Approval lifecycle", 4.
func TestPromptOfANewBinding(t *testing.T) {
	s := open(t, t.TempDir(), nil)
	p := &person{yes: true}
	for range 2 { // the second time it is remembered
		if r, err := s.Resolve(ctx, p, request); !r.Approved || err != nil {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	want := `Approve this target binding?

  fork → /Users/jean/code/forks/serde-yaml

Current grants under this mount:
  fs_read_file:    read
  fs_modify_file:  read, create, update, delete

The target binding will be remembered. Capability changes through
config edits do not re-prompt while the target is unchanged.

Approve fork for fs_read_file and 1 more?`
	if len(p.asked) != 1 {
		t.Fatalf("asked %d times", len(p.asked))
	}
	if diff := cmp.Diff(want, text(p.asked[0])); diff != "" {
		t.Error(diff)
	}
	if d := p.asked[0].Default; d == nil || *d {
		t.Error("an empty answer approves")
	}
}

// RFD D43, "Approval lifecycle", 5.
func TestPromptOfARetargetedLink(t *testing.T) {
	s := open(t, t.TempDir(), nil)
	_, err := s.Record(ctx, request.Binding)
	must(t, err)
	moved := request
	moved.Target = passwd
	p := &person{}
	if r, err := s.Resolve(ctx, p, moved); r.Approved || err != nil {
		t.Fatalf("%+v, %v", r, err)
	}
	want := "Symlink `fork` retargeted:\n  was: /Users/jean/code/forks/serde-yaml\n  now: /etc/passwd\nAllow new target of fork for fs_read_file and 1 more?"
	if diff := cmp.Diff(want, text(p.asked[0])); diff != "" {
		t.Error(diff)
	}
	if got := s.lookup(t, "fork", fork); got.Verdict != consent.Approved {
		t.Errorf("declining changed the store: %+v", got)
	}
	p.yes = true
	if r, err := s.Resolve(ctx, p, moved); !r.Approved || err != nil {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := s.lookup(t, "fork", passwd); got.Verdict != consent.Approved {
		t.Errorf("after allowing: %+v", got)
	}
}

// RFD D43, "Approval lifecycle", 6.
func TestWithoutATerminalNothingIsApproved(t *testing.T) {
	s := open(t, t.TempDir(), nil)
	r, err := s.Resolve(ctx, term.None{}, request)
	if err != nil || r.Approved || !strings.Contains(r.Reason, "jphost approvals approve fork") {
		t.Errorf("%+v, %v", r, err)
	}
	cancelled := &person{err: term.ErrCancelled}
	if r, err := s.Resolve(ctx, cancelled, request); r.Approved || !errors.Is(err, term.ErrCancelled) {
		t.Errorf("cancelled: %+v, %v", r, err)
	}
	if list, _ := s.List(ctx); len(list) > 0 {
		t.Errorf("stored: %v", list)
	}
}

func TestHostileNamesCannotFakeAPrompt(t *testing.T) {
	r := request
	r.RulePath = "x\nApprove? [y/N] y\x1b[2K"
	r.Target = "/t\u202etxt.exe\r"
	got := text(consent.Question(r, consent.Decision{}))
	if strings.Contains(got, "\x1b") || strings.Contains(got, "\u202e") || strings.Contains(got, "\r") || strings.Count(got, "\nApprove") != 1 {
		t.Errorf("%q", got)
	}
}

// What is risky about the target stands in both questions, before the answer is asked for.
func TestThePromptCautions(t *testing.T) {
	r := request
	r.Caution = "The target is your home directory.\x1b[2K\n"
	for _, was := range []consent.Decision{{}, {Verdict: consent.Retargeted, Previous: "/old"}} {
		got := text(consent.Question(r, was))
		at, end := strings.Index(got, "\nThe target is your home directory."), max(strings.LastIndex(got, "Approve fork"), strings.LastIndex(got, "Allow new target of "))
		if at < strings.Index(got, r.Target) || at > end || strings.Contains(got, "\x1b") {
			t.Errorf("%q", got)
		}
	}
}
