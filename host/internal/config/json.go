package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"
)

// parseJSON reads the JSON of an argument or variable. All its nodes get the same origin, but
// for their keys. Duplicate keys and trailing text are errors, because readers differ in which
// of them counts.
func parseJSON(text string, origin Origin) (*Value, error) {
	fail := func(err error) error {
		if errors.Is(err, io.EOF) {
			err = errors.New("it ends too early")
		}
		return &Problem{origin, "not valid JSON: " + printable(err.Error()), "mind that the shell takes quotes away: put the whole argument into single quotes"}
	}
	if !utf8.ValidString(text) {
		return nil, fail(errors.New("it is not valid UTF-8"))
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.UseNumber()
	v, err := jsonValue(dec, origin, 0)
	if err != nil {
		return nil, fail(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fail(errors.New("something follows the value"))
	}
	return v, nil
}

func jsonValue(dec *json.Decoder, origin Origin, depth int) (*Value, error) {
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	if depth >= maxDepth {
		return nil, fmt.Errorf("it is nested deeper than %d", maxDepth)
	}
	switch tok := tok.(type) {
	case json.Delim:
		if tok == '[' {
			return jsonList(dec, origin, depth)
		}
		return jsonTable(dec, origin, depth)
	case json.Number:
		return jsonNumber(tok, origin)
	case bool:
		return &Value{Kind: Bool, Origin: origin, flag: tok}, nil
	case string:
		return &Value{Kind: String, Origin: origin, text: tok}, nil
	}
	return &Value{Origin: origin}, nil // null
}

func jsonList(dec *json.Decoder, origin Origin, depth int) (*Value, error) {
	v := &Value{Kind: List, Origin: origin}
	for dec.More() {
		here := origin
		here.Key += "[" + strconv.Itoa(len(v.items)) + "]"
		item, err := jsonValue(dec, here, depth+1)
		if err != nil {
			return nil, err
		}
		v.items = append(v.items, item)
	}
	_, err := dec.Token()
	return v, err
}

func jsonTable(dec *json.Decoder, origin Origin, depth int) (*Value, error) {
	v := newTable(origin)
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return nil, err
		}
		key, ok := tok.(string)
		if !ok {
			return nil, errors.New("a key is not a string")
		}
		if v.fields[key] != nil {
			return nil, fmt.Errorf("the key %s is there twice", show(key))
		}
		here := origin
		here.Key = joinKey(origin.Key, key)
		child, err := jsonValue(dec, here, depth+1)
		if err != nil {
			return nil, err
		}
		v.set(key, child)
	}
	_, err := dec.Token()
	return v, err
}

func jsonNumber(n json.Number, origin Origin) (*Value, error) {
	if i, err := strconv.ParseInt(n.String(), 10, 64); err == nil {
		return &Value{Kind: Integer, Origin: origin, integer: i}, nil
	}
	f, err := n.Float64()
	if err != nil {
		return nil, fmt.Errorf("the number %s does not fit", show(n.String()))
	}
	return &Value{Kind: Float, Origin: origin, float: f}, nil
}
