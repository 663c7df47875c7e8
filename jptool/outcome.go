package jptool

import (
	"bytes"
	"encoding/json"
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
	Content string
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
	return marshalPlain(line)
}

// AppendJSONString appends s as encoding/json writes it without HTML escapes: invalid
// UTF-8 becomes U+FFFD, and the two line separators of Unicode are escaped.
func AppendJSONString(b []byte, s string) []byte { return append(b, mustMarshal(s)...) }

// marshalPlain leaves <, > and & as they are: models read this text.
func marshalPlain(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
