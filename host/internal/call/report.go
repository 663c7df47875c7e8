package call

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jptools/jptools/host/internal/enforcement"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox/fit"
)

// Report is what became of a call, and the result of `jphost run --format json`.
type Report struct {
	Tool    string  `json:"tool"`
	Outcome Outcome `json:"outcome"`
	// Status is the exit status of jphost.
	Status exit.Code `json:"status"`
	// Exit is how the tool ended when it was last started; nil when it was not.
	Exit *Ended `json:"exit,omitempty"`
	// Starts counts how often the tool was started: once more for each round of questions.
	Starts int `json:"starts"`
	// Change is the number by which jphost undo knows what the call changed; 0 if it knows of no change.
	Change     int      `json:"change,omitempty"`
	DurationMS int64    `json:"duration_ms"`
	Warnings   []string `json:"warnings"`
	// Answers says by whom what was asked was answered, in this order.
	Answers []Answered `json:"answers,omitempty"`
	// Withheld are the names of the variables that the tool did not get, told when it failed.
	Withheld []string `json:"withheld_env,omitempty"`
	// Stderr is what the tool said there, at most its ends.
	Stderr string `json:"stderr,omitempty"`
	// Output is what a call that was ended had printed so far, at most its ends.
	Output string `json:"output,omitempty"`
	// DiffShown: a person has seen the diffs that the result has, when they allowed the call.
	DiffShown bool `json:"-"`
	// OutShown and ErrShown say that a person has seen both while the tool ran.
	OutShown bool    `json:"-"`
	ErrShown bool    `json:"-"`
	Policy   *Policy `json:"policy,omitempty"`
	// Sandbox is what held the last start, never nil; of a dry run what would hold it.
	Sandbox *enforcement.Report `json:"sandbox"`
	// Denials are what the sandbox refused in the workspace and its mounts during the last
	// start; nil without --explain-denials.
	Denials []enforcement.Denial `json:"denials,omitzero"`
	// Plan is set by a dry run instead of an outcome of the tool.
	Plan *Plan `json:"plan,omitempty"`
}

// Outcome is the answer of the tool, or why there is none. Type is one of
//
//   - success, error, needs_input: the tool's own (docs/wire.md); needs_input is a
//     question that nobody answered;
//   - refused: the host did not run it, did not hand on its result, or found changes that
//     the rules withhold; Reason says which;
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
	// Question is the first of the questions that nobody answered; Questions are all of them if there are several.
	Question  *Question  `json:"question,omitempty"`
	Questions []Question `json:"questions,omitempty"`
}

// Question is a question of the tool that nobody answered, as the wire has it (docs/wire.md), and who is to
// answer it. Its token is the host's ("host:…"), covers the tool's own, and binds an answer to this question in this
// call: --answer ID.token=TOKEN.
type Question struct {
	jptool.Question
	// Target says who is to answer: user or assistant. Assistant are settings of that one.
	Target    string         `json:"target"`
	Assistant map[string]any `json:"assistant,omitempty"`
}

// Answered says by whom something was answered.
type Answered struct {
	// On is one of OnRun, OnPreview, OnQuestion and OnSensitive; Question the id of a question.
	On       string `json:"on"`
	Question string `json:"question,omitempty"`
	By       string `json:"by"`
}

// What an answer was given to.
const (
	// OnRun and OnPreview: whether a call, or its preview, may be made.
	OnRun     = "run"
	OnPreview = "preview"
	// OnQuestion: a question of the tool.
	OnQuestion = "question"
	// OnSensitive: that the tool may reach places of secrets.
	OnSensitive = "sensitive"
	// OnApproval: where an external path may lead. Only a no is remembered here.
	OnApproval = "approval"
)

// Who answers.
const (
	// ByPerson: somebody at the terminal, in this call; BySession: earlier in this session.
	ByPerson  = "person"
	BySession = "session"
	// ByCall: a flag of the call; ByConfig: the configuration.
	ByCall   = "call"
	ByConfig = "config"
	// ByPreview: whoever allowed the call was shown with it what the tool asks.
	ByPreview = "preview"
)

// The reasons of an outcome that is not the tool's.
const (
	ReasonRunMode   = "run_mode"
	ReasonDeclined  = "declined"
	ReasonUntrusted = "untrusted"
	ReasonHeld      = "held"
	ReasonSandbox   = "sandbox"
	ReasonSensitive = "sensitive"
	ReasonResult    = "result_mode"
	// ReasonChanged: the call ran, and left changes that the rules withhold.
	ReasonChanged = "changed"
	// ReasonInterrupted is that of a failure.
	ReasonInterrupted = "interrupted"
)

// Ended is how a tool ended.
type Ended struct {
	// Code is the exit status, or -1 if a signal ended the tool; Signal is the name of that signal (`SIGSEGV`).
	Code   int    `json:"code"`
	Signal string `json:"signal,omitempty"`
	// Leftover counts processes that it had left running.
	Leftover int `json:"leftover,omitempty"`

	limit string // of resources that ended it, for messages
}

// String is for messages: "exit status 3", "killed by SIGSEGV".
func (e Ended) String() string {
	if e.Signal != "" {
		return "killed by " + e.Signal + e.limit
	}
	return fmt.Sprintf("exit status %d", e.Code) + e.limit
}

// atStart is how long a program lasts at most that has too little memory to start.
const atStart = time.Second

// Limit returns the key of the limit of resources that probably ended a program, and what the program did; "" for none.
// A shell ends with 128 and the number of the signal that ended its last program.
func (e Ended) Limit(l fit.Limits, lasted time.Duration) (key, did string) {
	switch {
	case l.CPUSeconds > 0 && (e.Signal == "SIGXCPU" || e.Code == 128+24):
		return "cpu_seconds", fmt.Sprintf("used more than %d s of processor time", l.CPUSeconds)
	case l.FileSize > 0 && (e.Signal == "SIGXFSZ" || e.Code == 128+25):
		return "file_size", fmt.Sprintf("wrote a file of more than %d bytes", l.FileSize)
	case l.Memory > 0 && lasted < atStart && (e.Signal == "SIGSEGV" || e.Signal == "SIGKILL"):
		return "memory", fmt.Sprintf("probably needs more than %d bytes of memory to start", l.Memory)
	}
	return "", ""
}

// Policy is what the tool was allowed.
type Policy struct {
	// Digest names the policy in its wire form: equal policies have equal digests.
	Digest string          `json:"digest"`
	Access json.RawMessage `json:"access,omitempty"`
	// Effective is the digest of what the tool was told: what can be held of the policy.
	Effective string `json:"effective,omitempty"`
}

// Plan is what a call would do.
type Plan struct {
	Arguments   map[string]any `json:"arguments"`
	Run         string         `json:"run"`
	Program     string         `json:"program"`
	Argv        []string       `json:"argv"`
	Stdin       bool           `json:"request_on_stdin"`
	Environment []string       `json:"environment"`
	// Needs lists what a person would be asked before, or what stands in the way.
	Needs []string `json:"needs,omitempty"`
}

// refusal is the error of a call that the host did not make, or whose result it did not hand on.
type refusal struct {
	reason string
	error
}

func (r *refusal) Unwrap() error { return r.error }

func refuse(reason, format string, args ...any) error {
	return &exit.Error{Code: exit.Refused, Err: &refusal{reason, fmt.Errorf(format, args...)}}
}

// notRun is the refusal of a call that was not made.
func (k *call) notRun(reason string, why error) error {
	return refuse(reason, "%s was not run: %w", k.Tool.Name, why)
}

// reported makes an error that is a refusal the outcome, and returns the error.
func (r *Report) reported(err error) error {
	if no := (*refusal)(nil); errors.As(err, &no) {
		r.Outcome = Outcome{Type: "refused", Reason: no.reason, Message: no.Error()}
	}
	return err
}

// endsBytes is how much of each end of a stream a failure shows.
const endsBytes = 4 << 10

// output is what a tool that ended by itself means by what it printed.
type output struct {
	jptool.Outcome
	// Plain says that the tool printed plain text, not an Outcome.
	Plain bool
}

func (o *output) success() bool { return o.Err == nil && len(o.Questions) == 0 }

// readOutput reads the output of a tool. A complete Outcome counts, whatever the exit status. A broken one is an error
// that says what is wrong with it, never text. Everything else is plain text: a success with exit status 0, and
// otherwise an error with the ends of both streams. Bytes of text that are not UTF-8 become U+FFFD.
func readOutput(stdout, stderr []byte, ended Ended) output {
	o, err := jptool.DecodeOutcome(stdout)
	switch {
	case err == nil:
		return output{Outcome: o}
	case !errors.Is(err, jptool.ErrNoOutcome):
		return output{Outcome: failure("the tool printed a broken result: "+err.Error(), stdout, stderr, ended)}
	case ended.Code == 0 && ended.Signal == "":
		return output{Outcome: jptool.Outcome{Content: strings.ToValidUTF8(string(stdout), "\ufffd")}, Plain: true}
	}
	return output{Outcome: failure("the tool failed: "+ended.String(), stdout, stderr, ended), Plain: true}
}

// failure is the Outcome of a tool that did not print one. It has no code.
func failure(message string, stdout, stderr []byte, ended Ended) jptool.Outcome {
	out, errOut := bothEnds(stdout, endsBytes), bothEnds(stderr, endsBytes)
	data, err := json.Marshal(map[string]string{"exit": ended.String(), "stderr": errOut, "stdout": out})
	if err != nil {
		panic(err) // three strings
	}
	message = strings.ReplaceAll(message, "\n", "; ") // of joined errors
	for _, s := range []struct{ name, text string }{{"standard error", errOut}, {"standard output", out}} {
		if text := strings.TrimRight(s.text, " \t\r\n"); text != "" {
			message += "\n" + s.name + ":\n" + text
		}
	}
	return jptool.Outcome{Err: &jptool.Error{Message: message, Data: json.RawMessage(data)}}
}

// rawData is the data of an Outcome that was read.
func rawData(data any) json.RawMessage {
	raw, _ := data.(json.RawMessage)
	return raw
}

// bothEnds returns text as it is, or its beginning and its end with a note on what was left
// out when it is longer than most bytes. The end is the longer part: that is where
// programs say what went wrong. The result is valid UTF-8, with U+FFFD for what is not.
func bothEnds(text []byte, most int) string {
	s := strings.ToValidUTF8(string(text), "\ufffd")
	if min(len(text), len(s)) <= most {
		return s
	}
	head, tail := most/4, len(s)-(most-most/4)
	for !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n… %d bytes left out …\n%s", s[:head], tail-head, s[tail:])
}
