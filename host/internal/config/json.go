package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jptools/jptools/jptool/strictjson"
)

// parseJSON reads the JSON of an argument or variable. All its nodes get the same origin, but
// for their keys. Duplicate keys and trailing text are errors, because readers differ in which
// of them counts.
func parseJSON(text string, origin Origin) (*Value, error) {
	fail := func(err error) error {
		return &Problem{origin, "not valid JSON: " + printable(err.Error()), "mind that the shell takes quotes away: put the whole argument into single quotes"}
	}
	if err := strictjson.Check([]byte(text)); err != nil {
		return nil, fail(err)
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	v, err := jsonValue(dec, origin)
	if err != nil {
		return nil, fail(err)
	}
	return v, nil
}

// jsonValue reads the next value of a text that was checked.
func jsonValue(dec *json.Decoder, origin Origin) (*Value, error) {
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch tok := tok.(type) {
	case json.Delim:
		if tok == '[' {
			return jsonList(dec, origin)
		}
		return jsonTable(dec, origin)
	case json.Number:
		return jsonNumber(tok, origin)
	case bool:
		return &Value{Kind: Bool, Origin: origin, flag: tok}, nil
	case string:
		return &Value{Kind: String, Origin: origin, text: tok}, nil
	}
	return &Value{Origin: origin}, nil // null
}

func jsonList(dec *json.Decoder, origin Origin) (*Value, error) {
	v := &Value{Kind: List, Origin: origin}
	for dec.More() {
		here := origin
		here.Key += "[" + strconv.Itoa(len(v.items)) + "]"
		item, err := jsonValue(dec, here)
		if err != nil {
			return nil, err
		}
		v.items = append(v.items, item)
	}
	_, err := dec.Token()
	return v, err
}

func jsonTable(dec *json.Decoder, origin Origin) (*Value, error) {
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
		here := origin
		here.Key = joinKey(origin.Key, key)
		child, err := jsonValue(dec, here)
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
