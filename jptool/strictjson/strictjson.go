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
	"strconv"
	"strings"
	"unicode/utf16"
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

func (s *scanner) value(depth int) error {
	switch c := s.next(); c {
	case 0:
		return s.errorf("the JSON ends too early")
	case '{':
		return s.object(depth+1, nil)
	case '[':
		return s.array(depth+1, nil)
	case '"':
		return s.str()
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	default:
		return s.number()
	}
}

func (s *scanner) word(w string) error {
	if len(s.data)-s.pos < len(w) || string(s.data[s.pos:s.pos+len(w)]) != w {
		return s.errorf("this is not JSON")
	}
	s.pos += len(w)
	return nil
}

func (s *scanner) object(depth int, member func(key string, value []byte)) error {
	if depth > MaxDepth {
		return s.errorf("nested more than %d deep", MaxDepth)
	}
	s.pos++ // {
	if s.next() == '}' {
		s.pos++
		return nil
	}
	seen := map[string]struct{}{}
	for {
		if s.next() != '"' {
			return s.errorf("want a key in double quotes")
		}
		start := s.pos
		if err := s.str(); err != nil {
			return err
		}
		var key string
		if err := json.Unmarshal(s.data[start:s.pos], &key); err != nil {
			return s.errorf("bad key")
		}
		if _, dup := seen[key]; dup {
			return s.errorf("duplicate key %q", key)
		}
		seen[key] = struct{}{}
		if s.next() != ':' {
			return s.errorf("want a colon after key %q", key)
		}
		s.pos++
		s.space()
		start = s.pos
		if err := s.value(depth); err != nil {
			return err
		}
		if member != nil {
			member(key, s.data[start:s.pos])
		}
		switch s.next() {
		case ',':
			s.pos++
		case '}':
			s.pos++
			return nil
		default:
			return s.errorf("want a comma or the end of the object")
		}
	}
}

func (s *scanner) array(depth int, item func(value []byte)) error {
	if depth > MaxDepth {
		return s.errorf("nested more than %d deep", MaxDepth)
	}
	s.pos++ // [
	if s.next() == ']' {
		s.pos++
		return nil
	}
	for {
		s.space()
		start := s.pos
		if err := s.value(depth); err != nil {
			return err
		}
		if item != nil {
			item(s.data[start:s.pos])
		}
		switch s.next() {
		case ',':
			s.pos++
		case ']':
			s.pos++
			return nil
		default:
			return s.errorf("want a comma or the end of the array")
		}
	}
}

func (s *scanner) str() error {
	s.pos++ // "
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; {
		case c == '"':
			s.pos++
			return nil
		case c == '\\':
			if err := s.escape(); err != nil {
				return err
			}
		case c < 0x20:
			return s.errorf("control character in a string")
		case c < utf8.RuneSelf:
			s.pos++
		default:
			r, n := utf8.DecodeRune(s.data[s.pos:])
			if r == utf8.RuneError && n <= 1 {
				return s.errorf("invalid UTF-8")
			}
			s.pos += n
		}
	}
	return s.errorf("a string does not end")
}

func (s *scanner) escape() error {
	if s.pos+1 >= len(s.data) {
		return s.errorf("a string does not end")
	}
	switch s.data[s.pos+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos += 2
		return nil
	case 'u':
		r, ok := s.hex4(s.pos)
		if !ok {
			return s.errorf("bad \\u escape")
		}
		if !utf16.IsSurrogate(r) {
			s.pos += 6
			return nil
		}
		// Decoders put U+FFFD for half a pair: another string than was sent.
		low, ok := s.hex4(s.pos + 6)
		if !ok || utf16.DecodeRune(r, low) == utf8.RuneError {
			return s.errorf("unpaired surrogate in a \\u escape")
		}
		s.pos += 12
		return nil
	}
	return s.errorf("bad escape in a string")
}

// hex4 reads \uXXXX at pos.
func (s *scanner) hex4(pos int) (rune, bool) {
	if pos+6 > len(s.data) || s.data[pos] != '\\' || s.data[pos+1] != 'u' {
		return 0, false
	}
	v, err := strconv.ParseUint(string(s.data[pos+2:pos+6]), 16, 32)
	return rune(v), err == nil
}

func (s *scanner) number() error {
	start := s.pos
	digits := func() bool {
		from := s.pos
		for s.pos < len(s.data) && s.data[s.pos] >= '0' && s.data[s.pos] <= '9' {
			s.pos++
		}
		return s.pos > from
	}
	at := func(c byte) bool {
		if s.pos < len(s.data) && s.data[s.pos] == c {
			s.pos++
			return true
		}
		return false
	}
	at('-')
	ok := at('0') || digits()
	if ok && at('.') {
		ok = digits()
	}
	if ok && (at('e') || at('E')) {
		if !at('+') {
			at('-')
		}
		ok = digits()
	}
	if !ok {
		s.pos = start
		return s.errorf("this is not JSON")
	}
	return nil
}
