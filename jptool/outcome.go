package jptool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"

	"github.com/jptools/jptools/jptool/strictjson"
)

// Code names the kind of an error for machines; docs/wire.md has the table.
// Adding one is a change of the wire contract.
type Code string

// The codes an error Outcome may carry.
const (
	CodeInvalidRequest   Code = "invalid_request"
	CodeInvalidPolicy    Code = "invalid_policy"
	CodeInvalidArguments Code = "invalid_arguments"
	CodeAbsolutePath     Code = "absolute_path"
	CodePathEscape       Code = "path_escape"
	CodeAccessDenied     Code = "access_denied"
	CodeNotFound         Code = "not_found"
	CodeAlreadyExists    Code = "already_exists"
	CodeWrongType        Code = "wrong_type"
	CodeNoMatch          Code = "no_match"
	CodeAmbiguousMatch   Code = "ambiguous_match"
	CodeStale            Code = "stale"
	CodeDeclined         Code = "declined"
	CodeTooLarge         Code = "too_large"
	CodeSuppressed       Code = "suppressed"
	CodeBusy             Code = "busy"
	CodeDeadline         Code = "deadline"
	CodeIO               Code = "io"
)

// BadRequest reports whether an error with this code means that the request
// itself could not be used: the exit status is 2 then, and 1 for the others.
func (c Code) BadRequest() bool {
	return c == CodeInvalidRequest || c == CodeInvalidPolicy || c == CodeInvalidArguments
}

// Outcome is the whole answer of a tool; tools write it and hosts read it. It is an error if
// Err is set, questions if there are any, else a success. The wire form is in docs/wire.md.
type Outcome struct {
	// Content is the text of a success.
	Content string `json:"content" required:""`
	// Data is the machine-readable part of a success. [DecodeOutcome] always returns
	// a json.RawMessage, or nil.
	Data any
	Err  *Error
	// Questions are all that the tool needs to know. It is called again with the answers.
	Questions []Question
	// Answered are the ids of the questions that the answers in the request decided. A host that sends
	// answers before it is asked learns here which of them were used.
	Answered []string
	// Notes go with each of the three forms: what of the request was ignored.
	Notes []string
}

// MarshalJSON is Line for encoding/json.
func (o Outcome) MarshalJSON() ([]byte, error) { return o.Line() }

// outcomeLine has the members of the three forms in the order in which they are written.
type outcomeLine struct {
	Type      string     `json:"type"`
	Content   *string    `json:"content,omitempty"`
	Message   *string    `json:"message,omitempty"`
	Trace     *[]string  `json:"trace,omitempty"`
	Transient *bool      `json:"transient,omitempty"`
	Code      *Code      `json:"code,omitempty"`
	Question  *Question  `json:"question,omitempty"`
	Questions []Question `json:"questions,omitempty"`
	Data      any        `json:"data,omitempty"`
	Answered  []string   `json:"answered,omitempty"`
	Notes     []string   `json:"notes,omitempty"`
}

// Line returns the wire form: one line without its end.
func (o Outcome) Line() ([]byte, error) {
	line := outcomeLine{Answered: o.Answered, Notes: o.Notes}
	switch {
	case o.Err != nil:
		trace := append([]string{}, o.Err.Trace...) // never null
		line.Type, line.Message, line.Trace = "error", &o.Err.Message, &trace
		line.Transient, line.Code, line.Data = &o.Err.Transient, &o.Err.Code, o.Err.Data
	case len(o.Questions) > 0:
		line.Type, line.Question = "needs_input", &o.Questions[0]
		if len(o.Questions) > 1 {
			line.Questions = o.Questions
		}
	default:
		line.Type, line.Content, line.Data = "success", &o.Content, o.Data
	}
	return strictjson.Marshal(line, "")
}

// JSON returns the wire form of the Context, without HTML escapes.
func (c *Context) JSON() []byte { return mustMarshal(c) }

// JSON returns the wire form of the policy, as that of Context does; null for a nil policy.
func (p *AccessPolicy) JSON() []byte { return mustMarshal(p) }

// mustMarshal is for types of the wire, all values of which can be written.
func mustMarshal(v any) []byte {
	data, err := strictjson.Marshal(v, "")
	if err != nil {
		panic(err)
	}
	return data
}

const (
	// maxList is how long a trace, or a list of options, may be.
	maxList = 10_000
	// maxQuestions is how many questions a tool may ask at once.
	maxQuestions = 100
)

// ErrNoOutcome says that a text is no Outcome and does not claim to be one: it is plain text.
var ErrNoOutcome = errors.New("this is plain text, not an Outcome")

// DecodeOutcome reads the standard output of a tool. An object whose `type` is one of the three must be a
// complete Outcome with nothing after it, else the error says what is wrong with it. The error is ErrNoOutcome for
// everything else. All text in an Outcome is valid UTF-8.
func DecodeOutcome(text []byte) (o Outcome, err error) {
	// Some shells cannot print without a byte order mark.
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	obj, err := ParseObject(text)
	switch {
	case err != nil && claimsOutcome(text):
		return o, err
	case err != nil || kindOf(obj) == "":
		return o, ErrNoOutcome
	}
	// Another program may mean something else by the optional keys: then they say nothing.
	for key, into := range map[string]*[]string{"answered": &o.Answered, "notes": &o.Notes} {
		if requiredStrings(obj, key, into) != nil {
			*into = nil
		}
	}
	var data any
	if raw := obj["data"]; !strictjson.Absent(raw) {
		data = raw
	}
	var read strictjson.Decoder
	switch kindOf(obj) {
	case "success":
		o.Data = data
		err = read.Decode(obj, &o)
		return o, err
	case "error":
		o.Err = &Error{Data: data}
		_ = json.Unmarshal(obj["code"], &o.Err.Code)
		return o, errors.Join(requiredStrings(obj, "trace", &o.Err.Trace), read.Decode(obj, o.Err))
	}
	first, err := decodeQuestion(obj["question"])
	if err != nil {
		return o, fmt.Errorf("`question`: %w", err)
	}
	o.Questions = []Question{first}
	if strictjson.Absent(obj["questions"]) {
		return o, nil
	}
	if o.Questions, err = DecodeQuestions(obj["questions"]); err != nil {
		return o, err
	}
	if len(o.Questions) == 0 || o.Questions[0].ID != first.ID {
		return o, errors.New("`questions` must begin with `question`")
	}
	return o, nil
}

// kindOf returns the type of an Outcome, and "" for any other object.
func kindOf(obj Object) string {
	var kind string
	_ = json.Unmarshal(obj["type"], &kind)
	if kind == "success" || kind == "error" || kind == "needs_input" {
		return kind
	}
	return ""
}

var outcomeType = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`"type"[ \t\r\n]*:[ \t\r\n]*"(?:success|error|needs_input)"`)
})

// claimsOutcome reports whether text, which is not one sound object, begins with an object that has one of the three
// types, or with one that is broken and has it somewhere: a message that a script did not escape must not turn an
// error into a success.
func claimsOutcome(text []byte) bool {
	var first json.RawMessage
	if json.NewDecoder(bytes.NewReader(text)).Decode(&first) != nil {
		first = text
	}
	if obj, err := ParseObject(first); err == nil {
		return kindOf(obj) != ""
	}
	return strictjson.KindOf(first) == "an object" && outcomeType().Match(first)
}

// requiredStrings reads a list that must be there. It bounds the length: a list of many empty texts takes much more
// memory than it has bytes.
func requiredStrings(obj Object, key string, into *[]string) error {
	if _, ok := obj[key]; !ok {
		return fmt.Errorf("`%s` is missing", key)
	}
	dec := json.NewDecoder(bytes.NewReader(obj[key]))
	if t, err := dec.Token(); err != nil || t != json.Delim('[') {
		return fmt.Errorf("`%s` must be an array of strings", key)
	}
	for dec.More() {
		t, err := dec.Token()
		s, ok := t.(string)
		if err != nil || !ok {
			return fmt.Errorf("`%s` must be an array of strings", key)
		}
		if len(*into) == maxList {
			return fmt.Errorf("`%s` must have at most %d entries", key, maxList)
		}
		*into = append(*into, s)
	}
	return nil
}

// Question asks the user one thing. The tool keeps no state: the host calls it again with
// answers[ID] set, and with answers[ID+".token"] = Token if there is a token.
type Question struct {
	ID   string `json:"id" required:""`
	Text string `json:"text" required:""`
	// PreAmble is shown before the text, for example a diff; nil if there is none.
	PreAmble   *string    `json:"pre_amble"`
	AnswerType AnswerType `json:"answer_type"`
	// Default is an answer of that type, or nil.
	Default any `json:"default"`
	// Token is a digest of what is being approved; empty if the question is not about content.
	Token string `json:"token,omitempty"`
}

// AnswerType is the type of an answer: Boolean, Text, or a selection from Options.
type AnswerType struct {
	Name    string
	Options []string
}

// The names of the answer types.
const (
	Boolean = "Boolean"
	Text    = "Text"
	Select  = "Select"
)

// MarshalJSON writes the wire form: "Boolean", "Text", or {"Select":{"options":[…]}}.
func (a AnswerType) MarshalJSON() ([]byte, error) {
	if a.Name == Select {
		return strictjson.Marshal(map[string]any{Select: map[string]any{"options": a.Options}}, "")
	}
	return strictjson.Marshal(a.Name, "")
}

// Fits reports whether answer is of this type: a bool, a string, or a string that is one of the options.
func (a AnswerType) Fits(answer any) bool {
	if a.Name == Boolean {
		_, ok := answer.(bool)
		return ok
	}
	s, ok := answer.(string)
	return ok && (a.Name == Text || slices.Contains(a.Options, s))
}

// Before returns PreAmble, or "" if there is none.
func (q *Question) Before() string {
	if q.PreAmble == nil {
		return ""
	}
	return *q.PreAmble
}

// decodeQuestion reads a question strictly: a host must be able to ask what it shows.
func decodeQuestion(raw json.RawMessage) (Question, error) {
	var q Question
	obj, err := ParseObject(raw)
	if err != nil {
		return q, fmt.Errorf("it must be an object: %w", err)
	}
	answerType, answer := obj["answer_type"], obj["default"]
	delete(obj, "answer_type")
	delete(obj, "default")
	var read strictjson.Decoder
	switch err := read.Decode(obj, &q); {
	case err != nil:
		return q, err
	case q.ID == "":
		return q, errors.New("the `id` of the question is empty")
	case q.Before() == "":
		q.PreAmble = nil
	}
	if err := decodeAnswerType(answerType, &q.AnswerType); err != nil {
		return q, err
	}
	if !strictjson.Absent(answer) {
		if err := json.Unmarshal(answer, &q.Default); err != nil || !q.AnswerType.Fits(q.Default) {
			return q, fmt.Errorf("the `default` of question %q is no answer to it", q.ID)
		}
	}
	return q, nil
}

func decodeAnswerType(raw json.RawMessage, into *AnswerType) error {
	var name string
	if json.Unmarshal(raw, &name) == nil && (name == Boolean || name == Text) {
		into.Name = name
		return nil
	}
	if obj, err := ParseObject(raw); err == nil && len(obj) == 1 {
		if sel, err := ParseObject(obj["Select"]); err == nil {
			into.Name = Select
			if err := requiredStrings(sel, "options", &into.Options); err != nil || len(into.Options) > 0 {
				return err
			}
		}
	}
	return errors.New("`answer_type` must be \"Boolean\", \"Text\" or {\"Select\":{\"options\":[…]}} with at least one option")
}

// DecodeQuestions reads a list of questions, as `questions` of an Outcome and of a preview's data have it.
// It fails if one of them is not complete, or if two have the same id.
func DecodeQuestions(raw json.RawMessage) ([]Question, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('[') {
		return nil, errors.New("`questions` must be an array of objects")
	}
	var list []Question
	for dec.More() {
		if len(list) == maxQuestions {
			return nil, fmt.Errorf("`questions` must have at most %d entries", maxQuestions)
		}
		var item json.RawMessage
		if err := dec.Decode(&item); err != nil {
			return nil, fmt.Errorf("`questions`: %w", err)
		}
		q, err := decodeQuestion(item)
		if err != nil {
			return nil, fmt.Errorf("`questions[%d]`: %w", len(list), err)
		}
		if slices.ContainsFunc(list, func(other Question) bool { return other.ID == q.ID }) {
			return nil, fmt.Errorf("`questions` has the id %q twice", q.ID)
		}
		list = append(list, q)
	}
	return list, nil
}

// Error is a refusal or failure as the model sees it: a message that names
// workspace-relative paths only, and a code for machines.
type Error struct {
	Code    Code
	Message string `json:"message" required:""`
	// Trace is the chain of causes, outermost first.
	Trace []string
	// Transient says that the same call may succeed later. Denials never are.
	Transient bool `json:"transient" required:""`
	// Data is the machine-readable detail, or nil.
	Data any
	// cause is kept for errors.Is and errors.As.
	cause error
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause, or nil.
func (e *Error) Unwrap() error { return e.cause }

// Errorf returns an Error with this code; %w operands, of which there may be several, become its cause.
func Errorf(code Code, format string, args ...any) *Error {
	cause := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: cause.Error(), cause: cause}
}

// CodeOf returns the code of the first error in err's chain that has one, and
// CodeIO for all others.
func CodeOf(err error) Code {
	var coded interface{ ErrorCode() Code }
	if errors.As(err, &coded) {
		return coded.ErrorCode()
	}
	return CodeIO
}

// ErrorCode makes Error usable with CodeOf.
func (e *Error) ErrorCode() Code { return e.Code }
