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
	"regexp"
	"strings"
	"sync"
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
	obj := Object{}
	err := members(data, func(key string, value []byte) { obj[key] = value })
	if err != nil {
		return nil, err
	}
	return obj, nil
}

// ParseMembers is ParseObject for a reader that keeps the order of the keys.
func ParseMembers(data []byte) (list []Member, err error) {
	err = members(data, func(key string, value []byte) { list = append(list, Member{key, value}) })
	return list, err
}

func members(data []byte, member func(key string, value []byte)) error {
	if kind := KindOf(data); kind == "nothing" {
		return errors.New("it is empty")
	} else if kind != "an object" {
		return fmt.Errorf("want a JSON object, got %s", kind)
	}
	return parse(data, member, nil)
}

// ParseArray is ParseObject for the elements of an array.
func ParseArray(data []byte) ([]json.RawMessage, error) {
	if kind := KindOf(data); kind != "an array" {
		return nil, fmt.Errorf("want an array, got %s", kind)
	}
	items := []json.RawMessage{}
	err := parse(data, nil, func(value []byte) { items = append(items, value) })
	return items, err
}

// Check reads one JSON value of any kind and nothing after it.
func Check(data []byte) error {
	if KindOf(data) == "nothing" {
		return errors.New("it is empty")
	}
	return parse(data, nil, nil)
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

// IsNull reports whether a value of an object or array is null.
func IsNull(raw json.RawMessage) bool { return string(raw) == "null" }

// parse checks data, which is not empty, and calls member or item for what the outermost value holds.
func parse(data []byte, member func(key string, value []byte), item func(value []byte)) error {
	s := scanner{data: data}
	var err error
	switch s.next() {
	case '{':
		err = s.object(1, member)
	case '[':
		err = s.array(1, item)
	default:
		err = s.value(0)
	}
	if err != nil {
		return err
	}
	s.space()
	if s.pos != len(data) {
		kind := KindOf(data)
		return s.errorf("there is something after the end of the %s", kind[strings.IndexByte(kind, ' ')+1:])
	}
	return nil
}

// scanner checks JSON in one pass without building it.
type scanner struct {
	data []byte
	pos  int
}

func (s *scanner) errorf(format string, args ...any) error {
	return fmt.Errorf("at byte %d: %s", s.pos, fmt.Sprintf(format, args...))
}

func (s *scanner) space() {
	for s.pos < len(s.data) && strings.IndexByte(blank, s.data[s.pos]) >= 0 {
		s.pos++
	}
}

// next skips space and returns the byte there, 0 at the end.
func (s *scanner) next() byte {
	s.space()
	if s.pos == len(s.data) {
		return 0
	}
	return s.data[s.pos]
}

// scalar matches the beginning of a text that is a number or a word. It is compiled when it is needed: every process
// would pay for it, also the helpers of a sandbox.
var scalar = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)`)
})

func (s *scanner) value(depth int) error {
	switch s.next() {
	case 0:
		return s.errorf("the JSON ends too early")
	case '{':
		return s.object(depth+1, nil)
	case '[':
		return s.array(depth+1, nil)
	case '"':
		_, err := s.str()
		return err
	}
	match := scalar().Find(s.data[s.pos:])
	if match == nil {
		return s.errorf("this is not JSON")
	}
	s.pos += len(match)
	return nil
}

func (s *scanner) object(depth int, member func(key string, value []byte)) error {
	seen := map[string]bool{}
	return s.elements(depth, '}', "object", func() error {
		if s.next() != '"' {
			return s.errorf("want a key in double quotes")
		}
		key, err := s.str()
		switch {
		case err != nil:
			return err
		case seen[key]:
			return s.errorf("duplicate key %q", key)
		case s.next() != ':':
			return s.errorf("want a colon after key %q", key)
		}
		seen[key] = true
		s.pos++
		s.space()
		start := s.pos
		err = s.value(depth)
		if err == nil && member != nil {
			member(key, s.data[start:s.pos])
		}
		return err
	})
}

func (s *scanner) array(depth int, item func(value []byte)) error {
	return s.elements(depth, ']', "array", func() error {
		s.space()
		start := s.pos
		err := s.value(depth)
		if err == nil && item != nil {
			item(s.data[start:s.pos])
		}
		return err
	})
}

// elements reads an object or array, whose first byte is next, with one call of element for each that it holds.
func (s *scanner) elements(depth int, end byte, kind string, element func() error) error {
	if depth > MaxDepth {
		return s.errorf("nested more than %d deep", MaxDepth)
	}
	s.pos++ // { or [
	if s.next() == end {
		s.pos++
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		switch s.next() {
		case ',':
			s.pos++
		case end:
			s.pos++
			return nil
		default:
			return s.errorf("want a comma or the end of the %s", kind)
		}
	}
}

// str reads and decodes a string. An error is reported at its first character.
func (s *scanner) str() (text string, err error) {
	start := s.pos
	s.pos++ // "
	end := s.pos
	for end < len(s.data) && s.data[end] != '"' {
		if s.data[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(s.data) {
		return "", s.errorf("a string does not end")
	}
	raw := s.data[start : end+1]
	if !utf8.Valid(raw) {
		return "", s.errorf("invalid UTF-8")
	}
	if bytes.ContainsFunc(raw, func(r rune) bool { return r < ' ' }) {
		return "", s.errorf("control character in a string")
	}
	text = string(raw[1 : len(raw)-1])
	if strings.Contains(text, `\`) {
		if err := json.Unmarshal(raw, &text); err != nil {
			return "", s.errorf("%s", err)
		}
		// Decoders put U+FFFD for half a pair: another string than was sent.
		if n := strings.Count(text, "\uFFFD"); n > 0 && n != writtenReplacements(raw) {
			return "", s.errorf("unpaired surrogate in a \\u escape")
		}
	}
	s.pos = end + 1
	return text, nil
}

// writtenReplacements counts how often a valid string has U+FFFD, as a character or as an escape.
func writtenReplacements(raw []byte) int {
	escapes := bytes.ToLower(bytes.ReplaceAll(raw, []byte(`\\`), nil)) // an escaped backslash begins no escape
	return bytes.Count(raw, []byte("\uFFFD")) + bytes.Count(escapes, []byte(`\ufffd`))
}
