package jptool

import (
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func TestDecodeCompleteOutcomes(t *testing.T) {
	before := "diff"
	for _, c := range []struct {
		stdout string
		want   Outcome
	}{
		{`{"type":"success","content":"a\nb"}` + "\n", Outcome{Content: "a\nb"}},
		{" \n{\"content\":\"\", \"type\":\"success\", \"data\":{\"n\":1.50}, \"later\":[]}\n\n", Outcome{Data: json.RawMessage(`{"n":1.50}`)}},
		{"\ufeff" + `{"type":"success","content":"x","data":null}`, Outcome{Content: "x"}},
		{
			`{"type":"error","message":"m","trace":["a","b"],"transient":true,"code":"busy"}`,
			Outcome{Err: &Error{Message: "m", Trace: []string{"a", "b"}, Transient: true, Code: "busy"}},
		},
		{`{"type":"error","message":"m","trace":[],"transient":false,"code":17}`, Outcome{Err: &Error{Message: "m"}}},
		{
			`{"type":"needs_input","question":{"id":"q","text":"t?","pre_amble":"diff","answer_type":"Boolean","default":true,"token":"abc"}}`,
			Outcome{Questions: []Question{{ID: "q", Text: "t?", PreAmble: &before, AnswerType: AnswerType{Name: Boolean}, Default: true, Token: "abc"}}},
		},
		{
			`{"type":"needs_input","question":{"id":"q","text":"t?","pre_amble":null,"answer_type":{"Select":{"options":["a","b"]}},"default":null}}`,
			Outcome{Questions: []Question{{ID: "q", Text: "t?", AnswerType: AnswerType{Select, []string{"a", "b"}}}}},
		},
		{`{"type":"needs_input","question":{"id":"q","text":"","answer_type":"Text"}}`, Outcome{Questions: []Question{{ID: "q", AnswerType: AnswerType{Name: Text}}}}},
		{
			`{"type":"needs_input","question":{"id":"a","text":"","answer_type":"Text"},"questions":[{"id":"a","text":"","answer_type":"Text"},{"id":"b","text":"t","answer_type":"Boolean"}],"answered":["c"]}`,
			Outcome{Questions: []Question{{ID: "a", AnswerType: AnswerType{Name: Text}}, {ID: "b", Text: "t", AnswerType: AnswerType{Name: Boolean}}}, Answered: []string{"c"}},
		},
		{`{"type":"success","content":"x","answered":7,"notes":["a",1]}`, Outcome{Content: "x"}},
		{`{"type":"success","content":"x","answered":["a"],"notes":["b","c"]}`, Outcome{Content: "x", Answered: []string{"a"}, Notes: []string{"b", "c"}}},
	} {
		got, err := DecodeOutcome([]byte(c.stdout))
		if diff := cmp.Diff(c.want, got, cmpopts.IgnoreUnexported(Error{})); diff != "" || err != nil {
			t.Errorf("%s: %v %s", c.stdout, err, diff)
		}
	}
}

func TestDecodeBrokenOutcomes(t *testing.T) {
	for _, c := range []struct{ stdout, want string }{
		{`{"type":"success"`, "the JSON ends too early"},
		{`{"type":"success"}`, "`content` is missing"},
		{`{"type":"success","content":null}`, "`content` is missing; it must be a string"},
		{`{"type":"success","content":7}`, "`content` must be a string"},
		{`{"type":"success","content":"half an outc`, "the JSON ends too early"},
		{`{"type":"success","content":"a"} done`, "after the end"},
		{`{"type":"success","content":"a"}` + "\n" + `{"type":"success","content":"b"}`, "after the end"},
		{`{"type":"success","content":"a","content":"b"}`, "duplicate key"},
		{`{"type":"weather","type":"success","content":"a"}`, "duplicate key"},
		{`{"type":"success","type":"weather","content":"a"}`, "duplicate key"},
		{"{\"type\":\"success\",\"content\":\"\xff\"}", "UTF-8"},
		{`{"type":"success","content":"\ud800"}`, "surrogate"},
		{`{"content":[{"type":"x"}],"type":"success"}`, "`content` must be a string"},
		{"{\"message\":\"two\nlines\",\"type\": \"error\"}", "in string literal"},
		{`{"message":"a "quoted" word","type":"error","trace":[],"transient":false}`, "invalid character 'q'"},
		{`{"type":"error","message":"m"}`, "`trace` is missing; `transient` is missing"},
		{`{"type":"error","message":"m","trace":["a",null],"transient":false}`, "`trace` must be an array of strings"},
		{`{"type":"error","message":"m","trace":"a","transient":false}`, "`trace` must be an array of strings"},
		{`{"type":"error","message":"m","trace":[],"transient":"no"}`, "`transient` must be a boolean"},
		{`{"type":"error","trace":[],"transient":false}`, "`message` is missing"},
		{`{"type":"needs_input"}`, "`question`: it must be an object"},
		{`{"type":"needs_input","question":{"id":"","text":"t","answer_type":"Text"}}`, "`id` of the question is empty"},
		{`{"type":"needs_input","question":{"text":"t","answer_type":"Text"}}`, "`id` is missing"},
		{`{"type":"needs_input","question":{"id":"q","answer_type":"boolean","text":""}}`, "`answer_type` must be"},
		{`{"type":"needs_input","question":{"id":"q","text":"t"}}`, "`answer_type` must be"},
		{`{"type":"needs_input","question":{"id":"q","text":"t","answer_type":{"Select":{"options":[]}}}}`, "at least one option"},
		{`{"type":"needs_input","question":{"id":"q","text":"t","answer_type":{"Select":{}}}}`, "`options` is missing"},
		{`{"type":"needs_input","question":{"id":"q","text":"t","answer_type":"Boolean","default":"yes"}}`, "no answer"},
		{`{"type":"needs_input","question":{"id":"q","text":"t","answer_type":{"Select":{"options":["a"]}},"default":"b"}}`, "no answer"},
		{`{"type":"needs_input","question":{"id":"q","text":"t","answer_type":"Text","token":5}}`, "`token` must be a string"},
		{`{"type":"needs_input","question":{"id":"q","text":"t","answer_type":"Text"},"questions":[]}`, "must begin with `question`"},
		{`{"type":"needs_input","question":{"id":"q","text":"t","answer_type":"Text"},"questions":[{"id":"p","text":"t","answer_type":"Text"}]}`, "must begin with `question`"},
		{`{"type":"needs_input","question":{"id":"q","text":"t","answer_type":"Text"},"questions":{"id":"q","text":"t","answer_type":"Text"}}`, "`questions` must be an array"},
		{`{"type":"needs_input","question":{"id":"q","text":"t","answer_type":"Text"},"questions":[{"id":"q","text":"t","answer_type":"Text"},7]}`, "`questions[1]`: it must be an object"},
		{`{"type":"needs_input","question":{"id":"q","text":"t","answer_type":"Text"},"questions":[{"id":"q","text":"t","answer_type":"Text"},{"id":"q","text":"u","answer_type":"Text"}]}`, "has the id \"q\" twice"},
	} {
		got, err := DecodeOutcome([]byte(c.stdout))
		if err == nil || errors.Is(err, ErrNoOutcome) || !strings.Contains(strings.ReplaceAll(err.Error(), "\n", "; "), c.want) {
			t.Errorf("%s: got %+v, %v; want %q", c.stdout, got, err, c.want)
		}
	}
}

// What a tool prints is read with memory in proportion to it, however it is nested or cut up.
func TestDecodeIsBounded(t *testing.T) {
	const size = 8 << 20
	for _, c := range []struct {
		name, head, part, want string
	}{
		{"deep", `{"a":`, "[", ""},
		{"deep objects", ``, `{"a":`, ""},
		{"deep in an outcome", `{"type":"success","content":"","data":`, "[", "nested more than"},
		{"deep, and then the type", `{"data":`, "[", ""},
		{"a long trace", `{"type":"error","message":"m","transient":false,"trace":[`, `"",`, "at most 10000"},
		{"many options", `{"type":"needs_input","question":{"id":"q","text":"t","answer_type":{"Select":{"options":[`, `"",`, "at most 10000"},
		{"a long list", `{"type":"success","content":"","data":[`, `0,`, ""},
		{"many notes", `{"type":"success","content":"","notes":[`, `"",`, ""},
		{"many questions", `{"type":"needs_input","question":{"id":"q","text":"t","answer_type":"Text"},"questions":[`, `0,`, "must be an object"},
	} {
		text := c.head + strings.Repeat(c.part, size/len(c.part))
		if c.part != "[" && c.part != `{"a":` {
			text = strings.TrimSuffix(text, ",") + map[string]string{"a long trace": "]}", "many options": "]}}}}", "a long list": "]}", "many notes": "]}", "many questions": "]}"}[c.name]
		}
		var most uint64
		stop, done := make(chan bool), make(chan bool)
		runtime.GC()
		var before runtime.MemStats
		runtime.ReadMemStats(&before)
		go func() {
			defer close(done)
			for tick := time.Tick(2 * time.Millisecond); ; <-tick {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapInuse)
				select {
				case <-stop:
					return
				default:
				}
			}
		}()
		_, err := DecodeOutcome([]byte(text))
		close(stop)
		<-done
		if more := float64(most-min(most, before.HeapInuse)) / size; more > 12 {
			t.Errorf("%s: %.0f times the output", c.name, more)
		}
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) || c.want == "" && err != nil && !errors.Is(err, ErrNoOutcome) {
			t.Errorf("%s: %.300v", c.name, err)
		}
	}
}

// Whatever our own library writes is read back as it was meant.
func TestDecodeReadsWhatIsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		before, two := "before", AnswerType{Select, []string{"a", text}}
		for _, want := range []Outcome{
			{Content: text, Answered: []string{"q"}},
			{Content: text, Data: json.RawMessage(`{"x":1}`), Notes: []string{text}},
			{Err: &Error{Code: CodeIO, Message: text, Trace: []string{text}}},
			{Questions: []Question{{ID: "q", Text: text, PreAmble: &before, AnswerType: two, Default: text}}, Notes: []string{"n"}},
			{Questions: []Question{{ID: "q", AnswerType: two}, {ID: "p", AnswerType: AnswerType{Name: Boolean}, Default: true, Token: "t"}}},
		} {
			line, err := want.Line()
			if err != nil {
				t.Fatal(err)
			}
			got, err := DecodeOutcome(append(line, '\n'))
			if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Error{})); diff != "" || err != nil {
				t.Fatalf("%s: %v %s", line, err, diff)
			}
		}
	})
}

// Of what is no JSON, it counts whether an Outcome was meant.
func TestHasType(t *testing.T) {
	for text, want := range map[string]bool{
		`{"type":"success","content":`: true, "x \"type\" \n:\t\"error\"": true, `"type""type":"needs_input"`: true,
		`"type":"success`: false, `"type" "success"`: false, `"type":"other"`: false, `type:"success"`: false, ``: false, `"type"`: false, `"type":`: false,
	} {
		if got := outcomeType().MatchString(text); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
