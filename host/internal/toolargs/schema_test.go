package toolargs

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"

	"github.com/jptools/jptools/host/internal/config"
)

// edit is a tool with one parameter of each kind.
func edit(t *testing.T) *Schema {
	t.Helper()
	s, err := New([]*config.Parameter{
		{Name: "path", Types: []string{"string"}, Required: true},
		{Name: "patterns", Types: []string{"array"}, Items: &config.Parameter{Types: []string{"object"}, Properties: []*config.Parameter{
			{Name: "old", Types: []string{"string"}, Required: true},
			{Name: "new", Types: []string{"string"}, Required: true},
			{Name: "regex", Types: []string{"boolean"}, Default: false, HasDefault: true},
			{Name: "paths", Types: []string{"string", "array"}, Items: &config.Parameter{Types: []string{"string"}}},
		}}},
		{Name: "line", Types: []string{"integer"}},
		{Name: "ratio", Types: []string{"number", "null"}},
		{Name: "mode", Types: []string{"string"}, Enum: []any{"always", "heuristics"}, Default: "always", HasDefault: true},
		{Name: "level", Types: []string{"integer"}, Enum: []any{1, 2.0}},
		{Name: "tags", Types: []string{"array"}, Items: &config.Parameter{Types: []string{"integer"}}},
		{Name: "free", Types: []string{"object"}},
		{Name: "any"},
		{Name: "dry-run", Types: []string{"boolean"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestValidate(t *testing.T) {
	s := edit(t)
	for in, want := range map[string]string{
		`{"path":"a"}`: `{"mode":"always","path":"a"}`,
		`{"path":"a","line":null,"mode":null,"ratio":null,"any":null}`:                              `{"any":null,"mode":"always","path":"a","ratio":null}`,
		`{"path":"a","line":"10","tags":"[1, \"2\"]","dry-run":"true","mode":"heuristics"}`:         `{"dry-run":true,"line":10,"mode":"heuristics","path":"a","tags":[1,2]}`,
		`{"path":"12","ratio":"1.50","any":"1","free":"{\"a\":1}"}`:                                 `{"any":"1","free":{"a":1},"mode":"always","path":"12","ratio":1.50}`,
		`{"path":"a","line":10.0,"level":2,"free":{"x":[{}]},"any":[1e3]}`:                          `{"any":[1e3],"free":{"x":[{}]},"level":2,"line":10.0,"mode":"always","path":"a"}`,
		`{"path":"a","patterns":[{"old":"x","new":"y","paths":"[\"b\"]"}]}`:                         `{"mode":"always","path":"a","patterns":[{"new":"y","old":"x","paths":"[\"b\"]","regex":false}]}`,
		`{"path":"a","patterns":"[{\"old\":\"x\",\"new\":\"y\",\"regex\":\"true\",\"paths\":[]}]"}`: `{"mode":"always","path":"a","patterns":[{"new":"y","old":"x","paths":[],"regex":true}]}`,
		`{"path":"a","level":1.0}`: `{"level":1.0,"mode":"always","path":"a"}`,
	} {
		got, err := s.Validate([]byte(in))
		text, _ := json.Marshal(got)
		if err != nil || string(text) != want {
			t.Errorf("%s: got %s, %v; want %s", in, text, err, want)
		}
	}
}

func TestProblems(t *testing.T) {
	s := edit(t)
	for in, want := range map[string][]Problem{
		`{}`:                           {{"path", "is missing; it must be a string"}},
		`{"path":null}`:                {{"path", "is missing; it must be a string"}},
		`{"path":5}`:                   {{"path", "must be a string, got 5"}},
		`{"pth":"a"}`:                  {{"path", "is missing; it must be a string"}, {"pth", "is unknown; did you mean `path`?"}},
		`{"path":"a","zz zz zz zz":1}`: {{`["zz zz zz zz"]`, "is unknown; known are path, patterns, line, ratio, mode, level, tags, free, any, dry-run"}},
		`{"path":"a","line":0.5,"ratio":true,"mode":"allways","level":3,"tags":["x",2.5,null],"free":[],"dry-run":"yes"}`: {
			{"line", "must be an integer, got 0.5"},
			{"ratio", "must be a number or null, got true"},
			{"mode", `must be one of "always", "heuristics", got "allways"; did you mean "always"?`},
			{"level", "must be one of 1, 2, got 3"},
			{"tags[0]", `must be an integer, got "x"`},
			{"tags[1]", "must be an integer, got 2.5"},
			{"tags[2]", "must be an integer, got null"},
			{"free", "must be an object, got []"},
			{"dry-run", `must be a boolean, got "yes"`},
		},
		`{"path":"a","patterns":[{"old":"x"},5,{"old":"x","new":"y","olds":1,"paths":[1]}],"line":1e999}`: {
			{"patterns[0].new", "is missing; it must be a string"},
			{"patterns[1]", "must be an object, got 5"},
			{"patterns[2].paths[0]", "must be a string, got 1"},
			{"patterns[2].olds", "is unknown; did you mean `old`?"},
			{"line", "must be an integer, got 1e999"},
		},
		`{"path":"a","tags":"1, 2"}`:              {{"tags", `must be an array of integers, got "1, 2"`}},
		`{"path":"a","line":"1,\"line\":2"}`:      {{"line", `must be an integer, got "1,\"line\":2"`}},
		`{"path":"a","free":"{\"a\":1,\"a\":2}"}`: {{"free", `must be an object, got "{\"a\":1,\"a\":2}"; as JSON it is not valid: at byte 10: duplicate key "a"`}},
		`{"path":"a","tags":"[1,"}`:               {{"tags", `must be an array of integers, got "[1,"; as JSON it is not valid: at byte 3: the JSON ends too early`}},
	} {
		_, err := s.Validate([]byte(in))
		var got Problems
		if !errors.As(err, &got) {
			t.Errorf("%s: got %v", in, err)
		} else if diff := cmp.Diff(Problems(want), got); diff != "" {
			t.Errorf("%s: %s", in, diff)
		} else if strings.Count(err.Error(), "\n") != len(want)-1 {
			t.Errorf("not one line each: %s", err)
		}
	}
	for _, in := range []string{``, `[]`, `{"path":"a","path":"b"}`, "{\"path\":\"\xff\"}", `{"path":"a"} x`} {
		if _, err := s.Validate([]byte(in)); err == nil || !strings.Contains(err.Error(), "not one JSON object") || strings.Contains(err.Error(), "its arguments are") {
			t.Errorf("%s: %v", in, err)
		}
	}
	none, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := none.Validate([]byte(`{"x":1}`)); err == nil || none.Usage() != "it takes no arguments" {
		t.Errorf("arguments for a tool without any: %v", err)
	}
}

func TestSchemaErrors(t *testing.T) {
	for want, nodes := range map[string][]*config.Parameter{
		`a`:                                     {{Name: "a", Types: []string{"text"}}},
		`enum: "x" is not an integer`:           {{Name: "a", Types: []string{"integer"}, Enum: []any{"x"}}},
		`default: must be an integer, got true`: {{Name: "a", Types: []string{"integer"}, Default: true, HasDefault: true}},
		"`a.b`: default: is missing":            {{Name: "a", Types: []string{"object"}, Default: map[string]any{}, HasDefault: true, Properties: []*config.Parameter{{Name: "b", Types: []string{"string"}, Required: true}}}},
		"twice":                                 {{Name: "a"}, {Name: "a"}},
		"empty":                                 {{Name: ""}},
	} {
		if _, err := New(nodes); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestNew(t *testing.T) {
	s, err := New([]*config.Parameter{{
		Name: "paths", Types: []string{"array"}, Required: true, Summary: "Where.",
		Items: &config.Parameter{Types: []string{"object"}, Properties: []*config.Parameter{{Name: "n", Types: []string{"integer"}, Default: int64(1), HasDefault: true}}},
	}, {Name: "mode", Types: []string{"string"}, Enum: []any{"a"}, Default: "a", HasDefault: true}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Validate([]byte(`{"paths":[{}]}`))
	if text, _ := json.Marshal(got); err != nil || string(text) != `{"mode":"a","paths":[{"n":1}]}` {
		t.Errorf("%s %v", text, err)
	}
	if s.JSON()["properties"].(map[string]any)["paths"].(map[string]any)["description"] != "Where." {
		t.Error(s.JSON())
	}
}

// A JSON Schema validator is the oracle: what it accepts is accepted, and what is
// accepted it accepts once completed.
func TestAgainstJSONSchema(t *testing.T) {
	accepted, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s, err := New(drawNodes(t, 2))
		if err != nil {
			t.Skip()
		}
		text, err := json.Marshal(s.JSON())
		if err != nil {
			t.Fatal(err)
		}
		var js jsonschema.Schema
		if err := json.Unmarshal(text, &js); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		oracle, err := js.Resolve(nil)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for range 5 {
			args, err := json.Marshal(drawObject(t, 3))
			if err != nil {
				t.Fatal(err)
			}
			var raw any
			if err := json.Unmarshal(args, &raw); err != nil {
				t.Fatal(err)
			}
			want := oracle.Validate(raw)
			got, err := s.Validate(args)
			if err != nil {
				refused++
				if want == nil {
					t.Fatalf("schema %s\nargs %s\nis right, but: %v", text, args, err)
				}
				continue
			}
			accepted++
			done, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			var again any
			if err := json.Unmarshal(done, &again); err != nil {
				t.Fatal(err)
			}
			if err := oracle.Validate(again); err != nil {
				t.Fatalf("schema %s\nargs %s\nbecame %s, but: %v", text, args, done, err)
			}
			if third, err := s.Validate(done); err != nil || cmp.Diff(got, third) != "" {
				t.Fatalf("schema %s\n%s is not final: %v", text, done, cmp.Diff(got, third))
			}
		}
	})
	if accepted < 20 || refused < 20 {
		t.Errorf("%d accepted, %d refused: too few of one kind", accepted, refused)
	}
}

var names = []string{"a", "b", "c d"}

func drawNodes(t *rapid.T, depth int) []*config.Parameter {
	var list []*config.Parameter
	for _, name := range names[:rapid.IntRange(1, len(names)).Draw(t, "properties")] {
		n := drawNode(t, depth)
		n.Name, n.Required = name, rapid.IntRange(0, 3).Draw(t, "required") == 0
		list = append(list, n)
	}
	return list
}

func drawNode(t *rapid.T, depth int) *config.Parameter {
	n := &config.Parameter{Types: rapid.SliceOfNDistinct(rapid.SampledFrom(typeNames), 0, 2, func(s string) string { return s }).Draw(t, "types")}
	if rapid.IntRange(0, 4).Draw(t, "enum") == 0 {
		n.Enum = []any{drawValue(t, 1), drawValue(t, 0)}
	}
	if rapid.IntRange(0, 3).Draw(t, "default") == 0 {
		n.Default, n.HasDefault = drawValue(t, 1), true
	}
	if depth > 0 && rapid.Bool().Draw(t, "items") {
		n.Items = drawNode(t, depth-1)
	}
	if depth > 0 && rapid.Bool().Draw(t, "nested") {
		n.Properties = drawNodes(t, depth-1)
	}
	return n
}

func drawObject(t *rapid.T, depth int) map[string]any {
	object := map[string]any{}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(append([]string{"x"}, names...)), 0, 3, func(s string) string { return s }).Draw(t, "keys") {
		object[name] = drawValue(t, depth-1)
	}
	return object
}

func drawValue(t *rapid.T, depth int) any {
	kind := rapid.IntRange(0, 7).Draw(t, "kind")
	switch {
	case kind == 0:
		return nil
	case kind == 1:
		return rapid.Bool().Draw(t, "bool")
	case kind == 2:
		return rapid.SampledFrom([]string{"", "x", "1", "true", "null", "[1]", `{"a":"1"}`, "1.0", `"x"`}).Draw(t, "string")
	case kind == 3:
		return json.Number(rapid.SampledFrom([]string{"0", "1", "1.0", "2.5", "-3", "1e2"}).Draw(t, "number"))
	case kind < 6 && depth > 0:
		list := []any{}
		for range rapid.IntRange(0, 2).Draw(t, "items") {
			list = append(list, drawValue(t, depth-1))
		}
		return list
	case depth > 0:
		return drawObject(t, depth)
	}
	return rapid.IntRange(-2, 2).Draw(t, "int")
}

// No argument makes it panic, and what passes once passes again unchanged.
func FuzzValidate(f *testing.F) {
	s, err := New([]*config.Parameter{
		{Name: "a", Types: []string{"integer", "array"}, Items: &config.Parameter{Types: []string{"number"}, Enum: []any{1, 2.5}}},
		{Name: "b", Types: []string{"object"}, Properties: []*config.Parameter{{Name: "c", Types: []string{"boolean"}, Default: true, HasDefault: true}}},
	})
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{`{}`, `{"a":"[1,\"2.5\"]","b":{}}`, `{"a":1e999}`, `{"b":"{\"c\":\"false\"}"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := s.Validate([]byte(text))
		if err != nil {
			return
		}
		done, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := s.Validate(done); err != nil || cmp.Diff(got, again) != "" {
			t.Fatalf("%s: %v", done, err)
		}
	})
}
