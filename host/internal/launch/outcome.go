package launch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool"
)

// Kind is what a tool answered.
type Kind uint8

// The kinds of answers.
const (
	Success Kind = iota + 1
	Failure
	NeedsInput
)

// Outcome is what a tool's output means, by docs/wire.md. It is the reader's counterpart of
// jptool.Outcome, which only tools write. All text in it is valid UTF-8.
type Outcome struct {
	Kind Kind
	// Plain says that standard output was no Outcome but text.
	Plain bool

	// Content is for the model, on Success.
	Content string
	// Data is for machines, on Success and Failure; nil when there is none.
	Data json.RawMessage

	// Message, Trace, Transient and Code are those of a Failure. Code is empty for
	// failures that the tool did not report itself.
	Message   string
	Trace     []string
	Transient bool
	Code      jptool.Code

	// Question is set on NeedsInput.
	Question *Question
}

// Question is what a tool asks. The answer goes back as answers[ID], with Token as
// answers[ID+".token"] when there is one.
type Question struct {
	ID, Text string
	// PreAmble is shown before the question; empty when there is none.
	PreAmble string
	// Answer is the type of the answer, and Options the choices of a select.
	Answer  AnswerType
	Options []string
	// Default is a value of that type, or nil.
	Default any
	Token   string
}

// AnswerType is the type of an answer, as the wire names it.
type AnswerType string

// The types of answers.
const (
	Boolean AnswerType = "Boolean"
	Text    AnswerType = "Text"
	Select  AnswerType = "Select"
)

// Fits reports whether answer is of the type that the question asks for: a bool, a
// string, or a string that is one of the options.
func (q *Question) Fits(answer any) bool {
	switch q.Answer {
	case Boolean:
		_, ok := answer.(bool)
		return ok
	case Select:
		s, ok := answer.(string)
		return ok && slices.Contains(q.Options, s)
	}
	_, ok := answer.(string)
	return ok
}

// Parse reads what a tool printed. An object whose `type` is one of the three is an
// Outcome and must be a complete one with nothing after it; then it counts, whatever the
// exit status. A broken one is a Failure that says what is wrong with it, never text.
// Everything else is plain text: a Success with exit status 0, and otherwise a Failure
// with the ends of both streams. Bytes of text that are not UTF-8 become U+FFFD.
//
// It is for tools that ended by themselves; what the host ended has no Outcome.
func Parse(stdout, stderr []byte, exit Exit) Outcome {
	// Some shells cannot print without a byte order mark.
	text := bytes.TrimPrefix(stdout, []byte("\ufeff"))
	if claimsOutcome(text) {
		o, err := parseOutcome(text)
		if err != nil {
			return failure("the tool printed a broken result: "+err.Error(), stdout, stderr, exit)
		}
		return o
	}
	if exit == (Exit{}) {
		return Outcome{Kind: Success, Plain: true, Content: strings.ToValidUTF8(string(stdout), "\ufffd")}
	}
	o := failure("the tool failed: "+exit.String(), stdout, stderr, exit)
	o.Plain = true
	return o
}

const (
	// maxDepth is how deep an Outcome may nest, by the wire contract.
	maxDepth = 64
	// maxList is how long a trace, or a list of options, may be.
	maxList = 10_000
)

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
				if depth++; depth > maxDepth {
					return hasType(text) // no Outcome is; what it is is not worth memory
				}
			} else {
				depth--
			}
			isKey = true // the next one at depth 1, if any
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

// hasType reports whether there is a "type" of an Outcome anywhere in what is no JSON.
func hasType(text []byte) bool {
	const blank = " \t\r\n"
	for {
		_, after, ok := bytes.Cut(text, []byte(`"type"`))
		if !ok {
			return false
		}
		text = after
		value, ok := bytes.CutPrefix(bytes.TrimLeft(after, blank), []byte(":"))
		if value = bytes.TrimLeft(value, blank); !ok {
			continue
		}
		for _, known := range []string{`"success"`, `"error"`, `"needs_input"`} {
			if bytes.HasPrefix(value, []byte(known)) {
				return true
			}
		}
	}
}

func parseOutcome(text []byte) (Outcome, error) {
	obj, err := jptool.ParseObject(text)
	if err != nil {
		return Outcome{}, err
	}
	var o Outcome
	var kind string
	if err := required(obj, "type", &kind, "a string"); err != nil {
		return o, err
	}
	if raw := obj["data"]; len(raw) > 0 && string(raw) != "null" {
		o.Data = raw
	}
	switch kind {
	case "success":
		o.Kind = Success
		return o, required(obj, "content", &o.Content, "a string")
	case "error":
		o.Kind = Failure
		// A code of another type is another program's idea of a code.
		_ = json.Unmarshal(obj["code"], &o.Code)
		return o, errors.Join(
			required(obj, "message", &o.Message, "a string"),
			requiredStrings(obj, "trace", &o.Trace),
			required(obj, "transient", &o.Transient, "a boolean"))
	}
	o.Kind = NeedsInput
	q, err := jptool.ParseObject(obj["question"])
	if err != nil {
		return o, fmt.Errorf("`question` must be an object: %w", err)
	}
	o.Question, err = parseQuestion(q)
	return o, err
}

func parseQuestion(obj jptool.Object) (*Question, error) {
	q := &Question{}
	err := errors.Join(
		required(obj, "id", &q.ID, "a string"),
		required(obj, "text", &q.Text, "a string"),
		optional(obj, "pre_amble", &q.PreAmble, "a string"),
		optional(obj, "token", &q.Token, "a string"),
		q.parseType(obj["answer_type"]))
	if err == nil && q.ID == "" {
		err = errors.New("the `id` of the question is empty")
	}
	if err != nil {
		return nil, err
	}
	if raw := obj["default"]; len(raw) > 0 && string(raw) != "null" {
		if err := json.Unmarshal(raw, &q.Default); err != nil || !q.Fits(q.Default) {
			return nil, fmt.Errorf("the `default` of question %q is no answer to it", q.ID)
		}
	}
	return q, nil
}

func (q *Question) parseType(raw json.RawMessage) error {
	var name AnswerType
	if json.Unmarshal(raw, &name) == nil && (name == Boolean || name == Text) {
		q.Answer = name
		return nil
	}
	if obj, err := jptool.ParseObject(raw); err == nil {
		if sel, err := jptool.ParseObject(obj["Select"]); err == nil && len(obj) == 1 {
			q.Answer = Select
			if err := requiredStrings(sel, "options", &q.Options); err != nil || len(q.Options) > 0 {
				return err
			}
		}
	}
	return errors.New("`answer_type` must be \"Boolean\", \"Text\" or {\"Select\":{\"options\":[…]}} with at least one option")
}

func required[T any](obj jptool.Object, key string, into *T, want string) error {
	if _, ok := obj[key]; !ok {
		return fmt.Errorf("`%s` is missing", key)
	}
	if string(obj[key]) == "null" || json.Unmarshal(obj[key], into) != nil {
		return fmt.Errorf("`%s` must be %s", key, want)
	}
	return nil
}

func optional[T any](obj jptool.Object, key string, into *T, want string) error {
	if raw := obj[key]; len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	return required(obj, key, into, want)
}

// requiredStrings is required for a list: null as an element would pass for "". A list of many
// empty texts takes much more memory than it has bytes, so its length is bounded.
func requiredStrings(obj jptool.Object, key string, into *[]string) error {
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

// failure is an Outcome for a tool that did not report one.
func failure(message string, stdout, stderr []byte, exit Exit) Outcome {
	ends := struct {
		Exit   string `json:"exit"`
		Stderr string `json:"stderr"`
		Stdout string `json:"stdout"`
	}{exit.String(), Ends(stderr, endsBytes), Ends(stdout, endsBytes)}
	data, err := json.Marshal(ends)
	if err != nil {
		panic(err) // three strings
	}
	message = strings.ReplaceAll(message, "\n", "; ") // of joined errors
	for _, s := range []struct{ name, text string }{{"standard error", ends.Stderr}, {"standard output", ends.Stdout}} {
		if text := strings.TrimRight(s.text, " \t\r\n"); text != "" {
			message += "\n" + s.name + ":\n" + text
		}
	}
	return Outcome{Kind: Failure, Message: message, Data: data}
}
