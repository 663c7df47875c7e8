package settings

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/jptools/jptools/jptool/strictjson"
)

// ParseJSON reads the JSON of an argument or variable. All its nodes get the same origin, but
// for their keys. Duplicate keys and trailing text are errors, because readers differ in which
// of them counts.
func ParseJSON(text string, origin Origin) (v *Value, err error) {
	if err = strictjson.Check([]byte(text)); err == nil {
		dec := json.NewDecoder(strings.NewReader(text))
		dec.UseNumber()
		v, err = jsonValue(dec, origin)
	}
	if err != nil {
		return nil, Fail(origin, "not valid JSON: "+Printable(err.Error()), "mind that the shell takes quotes away: put the whole argument into single quotes")
	}
	return v, nil
}

// jsonValue reads the next value of a text that was checked.
func jsonValue(dec *json.Decoder, origin Origin) (*Value, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	v := &Value{Origin: origin, Scalar: token}
	switch t := token.(type) {
	case bool:
		v.Kind = Bool
	case string:
		v.Kind = String
	case json.Number:
		v.Kind = Integer
		if v.Scalar, err = strconv.ParseInt(t.String(), 10, 64); err != nil {
			v.Kind = Float
			if v.Scalar, err = t.Float64(); err != nil {
				return nil, fmt.Errorf("the number %s does not fit", Show(t.String()))
			}
		}
	case json.Delim:
		v = NewTable(origin)
		if t == '[' {
			v = &Value{Kind: List, Origin: origin}
		}
		for dec.More() {
			here, key := origin.Item(len(v.Items)), ""
			if v.Kind == Table {
				name, err := dec.Token()
				if err != nil {
					return nil, err
				}
				key, _ = name.(string)
				here = origin.Child(key)
			}
			child, err := jsonValue(dec, here)
			if err != nil {
				return nil, err
			}
			if v.Kind == Table {
				v.Set(key, child)
			} else {
				v.Items = append(v.Items, child)
			}
		}
		_, err = dec.Token() // the } or ]
	}
	return v, err
}
