package jptool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/jptools/jptools/jptool/strictjson"
)

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
func DecodeOutcome(text []byte) (Outcome, error) {
	// Some shells cannot print without a byte order mark.
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if !claimsOutcome(text) {
		return Outcome{}, ErrNoOutcome
	}
	obj, err := ParseObject(text)
	if err != nil {
		return Outcome{}, err
	}
	var o Outcome
	var kind string
	if err := required(obj, "type", &kind, "a string"); err != nil {
		return o, err
	}
	// Another program may mean something else by the optional keys: then they say nothing.
	for key, into := range map[string]*[]string{"answered": &o.Answered, "notes": &o.Notes} {
		if requiredStrings(obj, key, into) != nil {
			*into = nil
		}
	}
	var data any
	if raw := obj["data"]; !absent(raw) {
		data = raw
	}
	switch kind {
	case "success":
		o.Data = data
		return o, required(obj, "content", &o.Content, "a string")
	case "error":
		o.Err = &Error{Data: data}
		_ = json.Unmarshal(obj["code"], &o.Err.Code)
		return o, errors.Join(
			required(obj, "message", &o.Err.Message, "a string"),
			requiredStrings(obj, "trace", &o.Err.Trace),
			required(obj, "transient", &o.Err.Transient, "a boolean"))
	}
	first, err := decodeQuestion(obj["question"])
	if err != nil {
		return o, fmt.Errorf("`question`: %w", err)
	}
	o.Questions = []Question{first}
	if absent(obj["questions"]) {
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

// claimsOutcome reports whether text begins with an object that has one of the three
// types, or with one that is broken and has it somewhere: a message that a script did
// not escape must not turn an error into a success.
func claimsOutcome(text []byte) bool {
	dec := json.NewDecoder(bytes.NewReader(text))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return false
	}
	depth, key := 1, ""
	for isKey := true; depth > 0; {
		token, err := dec.Token()
		if err != nil {
			return hasType(text)
		}
		if delim, ok := token.(json.Delim); ok {
			if delim == '{' || delim == '[' {
				if depth++; depth > strictjson.MaxDepth {
					return hasType(text) // too deep to be an Outcome; reading on would only cost memory
				}
			} else {
				depth--
			}
			isKey = true // the next token at depth 1, if there is one, is a key
			continue
		}
		if depth > 1 {
			continue
		}
		if isKey {
			key, _ = token.(string)
		} else if key == "type" && (token == "success" || token == "error" || token == "needs_input") {
			return true
		}
		isKey = !isKey
	}
	return false
}

var outcomeType = regexp.MustCompile(`"type"[ \t\r\n]*:[ \t\r\n]*"(?:success|error|needs_input)"`)

// hasType reports whether a text that is not JSON has the "type" of an Outcome anywhere.
func hasType(text []byte) bool { return outcomeType.Match(text) }

// absent reports whether a key of an object has no value: it is missing, or null.
func absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

func required[T any](obj Object, key string, into *T, want string) error {
	if _, ok := obj[key]; !ok {
		return fmt.Errorf("`%s` is missing", key)
	}
	if absent(obj[key]) || json.Unmarshal(obj[key], into) != nil {
		return fmt.Errorf("`%s` must be %s", key, want)
	}
	return nil
}

func optional[T any](obj Object, key string, into *T, want string) error {
	if absent(obj[key]) {
		return nil
	}
	return required(obj, key, into, want)
}

// requiredStrings is required for a list. It refuses null as an element, which would pass for "", and bounds
// the length: a list of many empty texts takes much more memory than it has bytes.
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
