package strictjson

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestRefused(t *testing.T) {
	deep := strings.Repeat("[", MaxDepth)
	for text, want := range map[string]string{
		"":                       "at byte 0: the JSON ends too early",
		" \n":                    "at byte 0: the JSON ends too early",
		"{":                      "at byte 1: the JSON ends too early",
		"[1":                     "at byte 2: the JSON ends too early",
		`{"a":`:                  "at byte 5: the JSON ends too early",
		"1 2":                    "at byte 1: there is something after the end of the JSON",
		"{} {}":                  "at byte 2: there is something after the end of the JSON",
		"[],":                    "after the end of the JSON",
		"null x":                 "after the end of the JSON",
		"01":                     "at byte 1: ",
		`{"a":1 "b":2}`:          "at byte 7: invalid character",
		"[1 2]":                  "at byte 3: invalid character",
		"[1,]":                   "at byte 3: invalid character",
		"[1}":                    "at byte 2: invalid character",
		"{]":                     "at byte 1: invalid character",
		`{"a",1}`:                "at byte 4: invalid character",
		"truf":                   "at byte 4: invalid character",
		"tru":                    "at byte 0: the JSON ends too early",
		`{"a":1,"a":2}`:          `at byte 10: duplicate key "a"`,
		`[{"a":1,"\u0061":2}]`:   `duplicate key "a"`,
		"\"\xff\"":               "invalid UTF-8",
		`"\ud800"`:               "at byte 8: unpaired surrogate",
		`"\ud800\u0041"`:         "unpaired surrogate",
		`"\udc00\ud800"`:         "unpaired surrogate",
		`{"\udc00":1}`:           "unpaired surrogate",
		`["\\\ud800"]`:           "unpaired surrogate",
		deep + "[" + deep:        "nested more than 64 deep",
		"{'a':1}":                "at byte 1: ",
		"\"\n\"":                 "at byte 2: ",
		deep + "[]" + closed(64): "nested more than 64 deep",
		strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65): "nested more than 64 deep",
		strings.Repeat("[", 100_000):                                "at byte",
	} {
		if err := Check([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v; want %q", text, err, want)
		}
	}
	for _, text := range []string{"[]", "1", "null", `"x"`} {
		if _, err := ParseObject([]byte(text)); err == nil {
			t.Errorf("ParseObject takes %s", text)
		}
		if _, err := ParseMembers([]byte(text)); err == nil {
			t.Errorf("ParseMembers takes %s", text)
		}
	}
	if _, err := ParseArray([]byte("{}")); err == nil {
		t.Error("ParseArray takes an object")
	}
}

func closed(n int) string { return strings.Repeat("]", n) }

func TestAccepted(t *testing.T) {
	for _, text := range []string{
		"null", " true ", "-0.5e+3", `"\ud83d\ude00 \\ud800 \u0041\""`, `{"a":{"a":{}},"b":[{"a":1},{"a":1}]}`, `{"a":1,"A":2,"":[]}`,
		strings.Repeat("[", MaxDepth) + closed(MaxDepth),
	} {
		if err := Check([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	list, err := ParseMembers([]byte(` { "b" : [1, 2] , "a" : "x,}" } `))
	if got := fmt.Sprintf("%s %v", list, err); got != `[{b [1, 2]} {a "x,}"}] <nil>` {
		t.Error(got)
	}
	items, err := ParseArray([]byte(`[ 1 , {"a" : [] }, "]" ]`))
	if got := fmt.Sprintf("%s %v", items, err); got != `[1 {"a" : [] } "]"] <nil>` {
		t.Error(got)
	}
}

// FuzzParseObject: what is accepted is JSON, and says the same to encoding/json.
func FuzzParseObject(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":[1,2.5e3,-0,"x\u00e9\ud83d\ude00",null,true]}`, `{"a":1,"a":2}`, `{"\ud800":1}`, `{"a":tru}`, `{"a":"\\\"\ud83d\ude00\\u0041\\\\"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		obj, err := ParseObject(data)
		if err != nil {
			return
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatalf("accepted what is no JSON object: %q: %v", data, err)
		}
		if len(want) != len(obj) {
			t.Fatalf("%q: %d keys, encoding/json has %d", data, len(obj), len(want))
		}
		list, err := ParseMembers(data)
		if err != nil || len(list) != len(obj) || Check(data) != nil {
			t.Fatalf("%q: %d members, %v", data, len(list), err)
		}
		for _, m := range list {
			if string(obj[m.Key]) != string(m.Value) {
				t.Fatalf("%q: member %q is %q", data, m.Key, m.Value)
			}
		}
		for k, v := range want {
			if string(obj[k]) != string(v) {
				t.Fatalf("%q: key %q is %q, want %q", data, k, obj[k], v)
			}
		}
	})
}
