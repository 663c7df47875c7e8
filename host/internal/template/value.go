package template

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/strictjson"
)

// value prints what the placeholder stands for.
func (p piece) value(data Data) (string, error) {
	raw := data.Tool
	if p.path[0] == "context" {
		raw = data.Context
	}
	raw = bytes.TrimSpace(raw)
	for _, name := range p.path[1:] {
		var err error
		if raw, err = member(raw, name); err != nil {
			return "", err
		}
	}
	if len(raw) == 0 {
		raw = json.RawMessage("null")
	}
	if raw[0] == '"' && !p.json {
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err
	}
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return "", err
	}
	if p.json {
		return htmlSafe(b.String()), nil
	}
	return b.String(), nil
}

// member returns what is called name in an object or list; nil if nothing is, also in
// values that hold nothing: optional arguments are absent as often as not.
func member(raw json.RawMessage, name string) (json.RawMessage, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	switch raw[0] {
	case '{':
		obj, err := jptool.ParseObject(raw)
		if err != nil {
			return nil, fmt.Errorf("the request is broken: %w", err)
		}
		return obj[name], nil
	case '[':
		i, err := strconv.Atoi(name)
		if err != nil {
			return nil, nil
		}
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, fmt.Errorf("the request is broken: %w", err)
		}
		if i >= 0 && i < len(list) {
			return list[i], nil
		}
	}
	return nil, nil
}

// htmlSafe writes the characters that HTML and quotes around the placeholder would trip
// over as escapes, as existing configurations expect of tojson. They occur in strings
// only, so the meaning is the same.
func htmlSafe(s string) string {
	return strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`, "'", `\u0027`).Replace(s)
}

func quoteJSON(s string) string {
	return htmlSafe(string(strictjson.String(s)))
}
