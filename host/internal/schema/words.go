package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jptools/jptools/jptool"
)

// maxArguments is as much as a tool takes as a request.
const maxArguments = 64 << 20

// FromWords reads the arguments of a call from a command line, for Validate:
//
//	key=value…    the value is text, or JSON where the parameter is not a string
//	key:=JSON     the value is JSON
//	{…}           one JSON object
//	-             one JSON object on standard input
//	              nothing: no arguments
//
// A list takes one value, its JSON, or the key again for each item. Duplicate keys of
// any other kind are errors. stdin is only read for `-`.
func (s *Schema) FromWords(words []string, stdin io.Reader) ([]byte, error) {
	if len(words) == 1 && words[0] == "-" {
		text, err := io.ReadAll(io.LimitReader(stdin, maxArguments+1))
		switch {
		case err != nil:
			return nil, fmt.Errorf("reading the arguments from standard input: %w", err)
		case len(text) > maxArguments:
			return nil, fmt.Errorf("the arguments on standard input are larger than %d MiB", maxArguments>>20)
		}
		return object(text, "standard input", s)
	}
	if len(words) == 1 && strings.HasPrefix(strings.TrimLeft(words[0], " \t\r\n"), "{") {
		return object([]byte(words[0]), "the command line", s)
	}
	values := map[string]any{}
	for _, word := range words {
		if err := s.word(values, word); err != nil {
			return nil, err
		}
	}
	return json.Marshal(values)
}

func object(text []byte, where string, s *Schema) ([]byte, error) {
	if _, err := jptool.ParseObject(text); err != nil {
		return nil, fmt.Errorf("the arguments on %s are not one JSON object: %w\n%s", where, err, s.Usage())
	}
	return text, nil
}

// repeated collects the values of a key that is given again; given is a value that
// cannot be.
type (
	repeated []any
	given    struct{ value any }
)

// MarshalJSON writes the value.
func (g given) MarshalJSON() ([]byte, error) { return json.Marshal(g.value) }

func (s *Schema) word(values map[string]any, word string) error {
	key, text, ok := strings.Cut(word, "=")
	isJSON := strings.HasSuffix(key, ":")
	key = strings.TrimSuffix(key, ":")
	switch {
	case !ok || key == "":
		return fmt.Errorf("%q is no argument\nwrite key=value, key:=JSON, one JSON object, or - for one on standard input; %s", word, s.Usage())
	case !utf8.ValidString(word):
		return fmt.Errorf("argument `%q` is not valid UTF-8\nJSON has no other text: rename it, or convert it", key)
	}
	p := s.root.property(key)
	old, again := values[key]
	if isJSON {
		if again {
			return fmt.Errorf("argument `%s` is given twice\ngive it once, with all of its value", key)
		}
		value, ok := strict(text)
		if !ok {
			return fmt.Errorf("argument `%s`: %q is not JSON\nwrite %s=%s for text", key, text, key, text)
		}
		values[key] = given{value}
		return nil
	}
	list := p != nil && slices.Contains(p.Types, "array")
	switch old := old.(type) {
	case nil:
		values[key] = text
		if list && !slices.Contains(p.Types, "string") && !p.hasType(p.coerce(text)) {
			values[key] = repeated{text}
		}
		return nil
	case string:
		if list {
			values[key] = repeated{old, text}
			return nil
		}
	case repeated:
		values[key] = append(old, text)
		return nil
	}
	return errors.New("argument `" + key + "` is given twice\ngive it once; only lists take several")
}
