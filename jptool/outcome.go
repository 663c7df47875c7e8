package jptool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
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

// Outcome is the whole answer of a tool, for who writes it and for who reads it: an error if
// Err is set, questions if there are any, else a success. The wire form is in docs/wire.md.
type Outcome struct {
	// Content is the text of a success.
	Content string
	// Data is the machine-readable part of a success. A json.RawMessage is written as it is, which saves a
	// tool with long results from having them parsed again; [DecodeOutcome] always returns one, or nil.
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

// Line returns the wire form: one line without its end.
func (o Outcome) Line() ([]byte, error) {
	switch {
	case o.Err != nil:
		trace := o.Err.Trace
		if trace == nil {
			trace = []string{}
		}
		return marshalPlain(struct {
			Type      string   `json:"type"`
			Message   string   `json:"message"`
			Trace     []string `json:"trace"`
			Transient bool     `json:"transient"`
			Code      Code     `json:"code"`
			Data      any      `json:"data,omitempty"`
			Answered  []string `json:"answered,omitempty"`
			Notes     []string `json:"notes,omitempty"`
		}{"error", o.Err.Message, trace, o.Err.Transient, o.Err.Code, o.Err.Data, o.Answered, o.Notes})
	case len(o.Questions) > 0:
		several := o.Questions
		if len(several) == 1 {
			several = nil
		}
		return marshalPlain(struct {
			Type      string     `json:"type"`
			Question  Question   `json:"question"`
			Questions []Question `json:"questions,omitempty"`
			Answered  []string   `json:"answered,omitempty"`
			Notes     []string   `json:"notes,omitempty"`
		}{"needs_input", o.Questions[0], several, o.Answered, o.Notes})
	default:
		return o.success()
	}
}

// success writes the one form that can be long without the passes and copies of
// encoding/json: the content goes once into memory of the right size.
func (o Outcome) success() ([]byte, error) {
	var data []byte
	if raw, ok := o.Data.(json.RawMessage); ok {
		data = raw
	} else if o.Data != nil {
		var err error
		if data, err = marshalPlain(o.Data); err != nil {
			return nil, err
		}
	}
	line := make([]byte, 0, len(o.Content)+len(o.Content)/16+len(data)+64)
	line = append(line, `{"type":"success","content":`...)
	line = AppendJSONString(line, o.Content)
	if data != nil {
		line = append(append(line, `,"data":`...), data...)
	}
	if len(o.Answered) > 0 {
		line = appendList(append(line, `,"answered":`...), o.Answered, AppendJSONString)
	}
	if len(o.Notes) > 0 {
		line = appendList(append(line, `,"notes":`...), o.Notes, AppendJSONString)
	}
	return append(line, '}'), nil
}

// AppendJSONString appends s as encoding/json writes it without HTML escapes: invalid
// UTF-8 becomes U+FFFD, and the two line separators of Unicode are escaped.
func AppendJSONString(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		size := 1
		if c >= utf8.RuneSelf {
			var r rune
			if r, size = utf8.DecodeRuneInString(s[i:]); r != '\u2028' && r != '\u2029' && (r != utf8.RuneError || size > 1) {
				i += size
				continue
			}
		}
		b = append(b, s[from:i]...)
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\t':
			b = append(b, '\\', 't')
		case c == '\r':
			b = append(b, '\\', 'r')
		case c == '\b':
			b = append(b, '\\', 'b')
		case c == '\f':
			b = append(b, '\\', 'f')
		case c < ' ':
			b = fmt.Appendf(b, "\\u%04x", c)
		case size == 1:
			b = append(b, `\ufffd`...)
		default:
			b = fmt.Appendf(b, "\\u202%d", 8+s[i+2]-0xa8)
		}
		i += size
		from = i
	}
	return append(append(b, s[from:]...), '"')
}

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
