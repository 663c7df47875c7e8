// Package strictjson reads JSON that two readers could take for two different things in one way only: it refuses
// it.
//
// Beyond what the grammar forbids, it refuses duplicate keys at any level, bytes that are not
// UTF-8, unpaired surrogates and deep nesting, and keys are compared exactly. encoding/json would take the last of
// two equal keys, `ACCESS` for `access`, and U+FFFD for what is not UTF-8: another text than was sent, and so
// perhaps than was checked.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxDepth bounds how deep a text may nest.
const MaxDepth = 64

// Object is a decoded JSON object whose values are not decoded yet.
type Object map[string]json.RawMessage

// Member is a key of an object and its value.
type Member struct {
	Key   string
	Value json.RawMessage
}

// ParseObject reads one JSON object and nothing after it. Everything inside is checked too. The values alias data.
func ParseObject(data []byte) (Object, error) {
	list, err := ParseMembers(data)
	if err != nil {
		return nil, err
	}
	obj := Object{}
	for _, m := range list {
		obj[m.Key] = m.Value
	}
	return obj, nil
}

// ParseMembers is ParseObject for a reader that keeps the order of the keys.
func ParseMembers(data []byte) ([]Member, error) {
	if kind := KindOf(data); kind != "an object" {
		return nil, fmt.Errorf("it is %s instead of a JSON object", kind)
	}
	return parse(data)
}

// ParseArray is ParseObject for the elements of an array.
func ParseArray(data []byte) ([]json.RawMessage, error) {
	if kind := KindOf(data); kind != "an array" {
		return nil, fmt.Errorf("it is %s instead of an array", kind)
	}
	list, err := parse(data)
	items := []json.RawMessage{}
	for _, m := range list {
		items = append(items, m.Value)
	}
	return items, err
}

// Check reads one JSON value of any kind and nothing after it.
func Check(data []byte) error {
	_, err := parse(data)
	return err
}

// Marshal is json.Marshal without escapes for HTML, because people and models read this text. With an indent there is
// a line for each member.
func Marshal(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

const blank = " \n\t\r"

// KindOf names the JSON type of a value for messages.
func KindOf(raw []byte) string {
	raw = bytes.TrimLeft(raw, blank)
	switch {
	case len(raw) == 0:
		return "nothing"
	case raw[0] == '{':
		return "an object"
	case raw[0] == '[':
		return "an array"
	case raw[0] == '"':
		return "a string"
	case raw[0] == 't' || raw[0] == 'f':
		return "a boolean"
	case raw[0] == 'n':
		return "null"
	case raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9':
		return "a number"
	}
	return "something that is not JSON"
}

// Absent reports whether a member of an object has no value: it is missing, or null.
func Absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// parse checks data and returns what its outermost value holds: the members of an object, or the elements of an array
// as members without a key.
func parse(data []byte) ([]Member, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("invalid UTF-8")
	}
	r := reader{data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	r.dec.UseNumber()
	if err := r.value(0); err != nil {
		return nil, err
	}
	if KindOf(data[r.dec.InputOffset():]) != "nothing" {
		return nil, r.errorf("there is something after the end of the JSON")
	}
	return r.outermost, nil
}

// reader goes through one text. encoding/json checks the grammar; the rest is checked token by token.
type reader struct {
	data      []byte
	dec       *json.Decoder
	outermost []Member
}

func (r *reader) errorf(format string, args ...any) error {
	return fmt.Errorf("at byte %d: %s", r.dec.InputOffset(), fmt.Sprintf(format, args...))
}

// value reads a value that depth others contain.
func (r *reader) value(depth int) error {
	token, err := r.token()
	if err != nil {
		return err
	}
	delim, ok := token.(json.Delim)
	switch {
	case !ok:
		return nil
	case depth == MaxDepth:
		return r.errorf("nested more than %d deep", MaxDepth)
	}
	seen := map[string]bool{}
	for r.dec.More() {
		key := ""
		if delim == '{' {
			token, err := r.token()
			if err != nil {
				return err
			}
			if key = token.(string); seen[key] {
				return r.errorf("duplicate key %q", key)
			}
			seen[key] = true
		}
		start := r.dec.InputOffset()
		if err := r.value(depth + 1); err != nil {
			return err
		}
		if depth == 0 {
			raw := bytes.TrimLeft(r.data[start:r.dec.InputOffset()], blank+":,")
			r.outermost = append(r.outermost, Member{key, raw})
		}
	}
	_, err = r.token() // } or ]
	return err
}

// token reads the next token. A string that is not the same for all decoders is an error.
func (r *reader) token() (json.Token, error) {
	start := r.dec.InputOffset()
	token, err := r.dec.Token()
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return nil, fmt.Errorf("at byte %d: %w", syntax.Offset, err)
	case err != nil: // io.EOF or io.ErrUnexpectedEOF
		return nil, r.errorf("the JSON ends too early")
	}
	// Decoders put U+FFFD for half a pair: another string than was sent.
	if text, ok := token.(string); ok && strings.Contains(text, "\uFFFD") {
		if strings.Count(text, "\uFFFD") != writtenReplacements(r.data[start:r.dec.InputOffset()]) {
			return nil, r.errorf("unpaired surrogate in a \\u escape")
		}
	}
	return token, nil
}

// writtenReplacements counts how often a valid string has U+FFFD, as a character or as an escape.
func writtenReplacements(raw []byte) int {
	escapes := bytes.ToLower(bytes.ReplaceAll(raw, []byte(`\\`), nil)) // an escaped backslash begins no escape
	return bytes.Count(raw, []byte("\uFFFD")) + bytes.Count(escapes, []byte(`\ufffd`))
}
