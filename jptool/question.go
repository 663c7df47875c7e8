package jptool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Question asks the user one thing. The tool keeps no state: the host calls it again with
// answers[ID] set, and with answers[ID+".token"] = Token if there is a token.
type Question struct {
	ID   string `json:"id"`
	Text string `json:"text"`
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
		return marshalPlain(map[string]any{Select: map[string]any{"options": a.Options}})
	}
	return marshalPlain(a.Name)
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
	err = errors.Join(
		required(obj, "id", &q.ID, "a string"),
		required(obj, "text", &q.Text, "a string"),
		optional(obj, "pre_amble", &q.PreAmble, "a string"),
		optional(obj, "token", &q.Token, "a string"),
		decodeAnswerType(obj["answer_type"], &q.AnswerType))
	if err == nil && q.ID == "" {
		err = errors.New("the `id` of the question is empty")
	}
	if err != nil {
		return q, err
	}
	if before := q.PreAmble; before != nil && *before == "" {
		q.PreAmble = nil
	}
	if raw := obj["default"]; !absent(raw) {
		if err := json.Unmarshal(raw, &q.Default); err != nil || !q.AnswerType.Fits(q.Default) {
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
