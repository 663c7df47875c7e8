package run

import (
	"encoding/json"

	"github.com/jptools/jptools/host/internal/exit"
)

// Report is what became of a call, and the result of `jphost run --format json`.
type Report struct {
	Tool    string  `json:"tool"`
	Outcome Outcome `json:"outcome"`
	// Status is the exit status of jphost.
	Status exit.Code `json:"status"`
	// Exit is how the tool ended when it was last started; nil when it was not.
	Exit *Ended `json:"exit,omitempty"`
	// Starts counts how often the tool was started: once more for each question.
	Starts     int      `json:"starts"`
	DurationMS int64    `json:"duration_ms"`
	Warnings   []string `json:"warnings"`
	// Withheld are the names of the variables that the tool did not get, told when it failed.
	Withheld []string `json:"withheld_env,omitempty"`
	// Stderr is what the tool said there, at most its ends.
	Stderr  string   `json:"stderr,omitempty"`
	Policy  *Policy  `json:"policy,omitempty"`
	Sandbox *Sandbox `json:"sandbox,omitempty"`
	// Plan is set by a dry run instead of an outcome of the tool.
	Plan *Plan `json:"plan,omitempty"`
}

// Outcome is the answer of the tool, or why there is none. Type is one of
//
//   - success, error, needs_input: the tool's own (docs/wire.md); needs_input is a
//     question that nobody answered;
//   - refused: the host did not run it, or did not hand on its result; Reason says why;
//   - failed: the host could not run it to its end;
//   - planned: a dry run.
type Outcome struct {
	Type      string          `json:"type"`
	Content   *string         `json:"content,omitempty"`
	Message   string          `json:"message,omitempty"`
	Reason    string          `json:"reason,omitempty"`
	Code      string          `json:"code,omitempty"`
	Trace     []string        `json:"trace,omitempty"`
	Transient bool            `json:"transient,omitempty"`
	Plain     bool            `json:"plain,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
	Question  *Question       `json:"question,omitempty"`
}

// Question is a question of the tool that nobody answered.
type Question struct {
	ID         string   `json:"id"`
	Text       string   `json:"text"`
	PreAmble   string   `json:"pre_amble,omitempty"`
	AnswerType string   `json:"answer_type"`
	Options    []string `json:"options,omitempty"`
	Default    any      `json:"default"`
	Token      string   `json:"token,omitempty"`
}

// The reasons of a refusal.
const (
	ReasonRunMode   = "run_mode"
	ReasonDeclined  = "declined"
	ReasonUntrusted = "untrusted"
	ReasonHeld      = "held"
	ReasonSandbox   = "sandbox"
	ReasonSensitive = "sensitive"
	ReasonResult    = "result_mode"
)

// Ended is how a tool ended.
type Ended struct {
	Code   int    `json:"code"`
	Signal string `json:"signal,omitempty"`
	// Leftover counts processes that it had left running.
	Leftover int `json:"leftover,omitempty"`
}

// Policy is what the tool was allowed.
type Policy struct {
	// Digest names the policy in its wire form: equal policies have equal digests.
	Digest string          `json:"digest"`
	Access json.RawMessage `json:"access,omitempty"`
}

// Sandbox is what the operating system enforced of the policy.
type Sandbox struct {
	Mode string `json:"mode"`
	// Enforced is `nothing`: the tool's own checks are all there is.
	Enforced string `json:"enforced"`
}

// Plan is what a call would do.
type Plan struct {
	Arguments   json.RawMessage `json:"arguments"`
	Run         string          `json:"run"`
	Program     string          `json:"program"`
	Argv        []string        `json:"argv"`
	Stdin       bool            `json:"request_on_stdin"`
	Environment []string        `json:"environment"`
	// Needs lists what a person would be asked before, or what stands in the way.
	Needs []string `json:"needs,omitempty"`
}

// refuse fills in a refusal.
func (r *Report) refuse(reason string, err error) error {
	r.Outcome = Outcome{Type: "refused", Reason: reason, Message: err.Error()}
	return &exit.Error{Code: exit.Refused, Err: err}
}
