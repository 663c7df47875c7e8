package config

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/jptools/jptools/jptool/strictjson"
)

// parseJSON reads the JSON of an argument or variable. All its nodes get the same origin, but
// for their keys. Duplicate keys and trailing text are errors, because readers differ in which
// of them counts.
func parseJSON(text string, origin Origin) (v *Value, err error) {
	if err = strictjson.Check([]byte(text)); err == nil {
		v, err = jsonValue([]byte(strings.TrimSpace(text)), origin)
	}
	if err != nil {
		return nil, fail(origin, "not valid JSON: "+printable(err.Error()), "mind that the shell takes quotes away: put the whole argument into single quotes")
	}
	return v, nil
}

// jsonValue reads a value of a text that was checked.
func jsonValue(raw []byte, origin Origin) (*Value, error) {
	v := &Value{Origin: origin}
	switch strictjson.KindOf(raw) {
	case "an object":
		v = newTable(origin)
		members, err := strictjson.ParseMembers(raw)
		if err != nil {
			return nil, err
		}
		for _, m := range members {
			origin.Key = joinKey(v.Origin.Key, m.Key)
			child, err := jsonValue(m.Value, origin)
			if err != nil {
				return nil, err
			}
			v.set(m.Key, child)
		}
		return v, nil
	case "an array":
		v.Kind = List
		items, err := strictjson.ParseArray(raw)
		if err != nil {
			return nil, err
		}
		for i, item := range items {
			origin.Key = v.Origin.Key + "[" + strconv.Itoa(i) + "]"
			child, err := jsonValue(item, origin)
			if err != nil {
				return nil, err
			}
			v.items = append(v.items, child)
		}
		return v, nil
	}
	if i, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		v.Kind, v.scalar = Integer, i
		return v, nil
	}
	if err := json.Unmarshal(raw, &v.scalar); err != nil {
		return nil, fmt.Errorf("the number %s does not fit", show(string(raw)))
	}
	switch v.scalar.(type) {
	case bool:
		v.Kind = Bool
	case float64:
		v.Kind = Float
	case string:
		v.Kind = String
	}
	return v, nil
}
