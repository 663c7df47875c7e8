package launch

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/jptools/jptools/jptool"
)

func TestParseCompleteOutcomes(t *testing.T) {
	for _, c := range []struct {
		stdout string
		want   Outcome
	}{
		{`{"type":"success","content":"a\nb"}` + "\n", Outcome{Kind: Success, Content: "a\nb"}},
		{" \n{\"content\":\"\", \"type\":\"success\", \"data\":{\"n\":1.50}, \"later\":[]}\n\n", Outcome{Kind: Success, Data: json.RawMessage(`{"n":1.50}`)}},
		{"\ufeff" + `{"type":"success","content":"x","data":null}`, Outcome{Kind: Success, Content: "x"}},
		{
			`{"type":"error","message":"m","trace":["a","b"],"transient":true,"code":"busy"}`,
			Outcome{Kind: Failure, Message: "m", Trace: []string{"a", "b"}, Transient: true, Code: "busy"},
		},
		{`{"type":"error","message":"m","trace":[],"transient":false,"code":17}`, Outcome{Kind: Failure, Message: "m"}},
		{
			`{"type":"needs_input","question":{"id":"q","text":"t?","pre_amble":"diff","answer_type":"Boolean","default":true,"token":"abc"}}`,
			Outcome{Kind: NeedsInput, Question: &Question{ID: "q", Text: "t?", PreAmble: "diff", Answer: Boolean, Default: true, Token: "abc"}},
		},
		{
			`{"type":"needs_input","question":{"id":"q","text":"t?","pre_amble":null,"answer_type":{"Select":{"options":["a","b"]}},"default":null}}`,
			Outcome{Kind: NeedsInput, Question: &Question{ID: "q", Text: "t?", Answer: Select, Options: []string{"a", "b"}}},
		},
		{`{"type":"needs_input","question":{"id":"q","text":"","answer_type":"Text"}}`, Outcome{Kind: NeedsInput, Question: &Question{ID: "q", Answer: Text}}},
	} {
		// It counts whatever the exit status is.
		for _, exit := range []Exit{{}, {Code: 1}, {Code: -1, Signal: "SIGSEGV"}} {
			if diff := cmp.Diff(c.want, Parse([]byte(c.stdout), []byte("noise"), exit)); diff != "" {
				t.Errorf("%s: %s", c.stdout, diff)
			}
		}
	}
}

func TestParseBrokenOutcomes(t *testing.T) {
	for _, c := range []struct{ stdout, want string }{
		{`{"type":"success"`, "end of the object"},
		{`{"type":"success"}`, "`content` is missing"},
		{`{"type":"success","content":null}`, "`content` must be a string"},
		{`{"type":"success","content":7}`, "`content` must be a string"},
		{`{"type":"success","content":"half an outc`, "does not end"},
		{`{"type":"success","content":"a"} done`, "after the end"},
		{`{"type":"success","content":"a"}` + "\n" + `{"type":"success","content":"b"}`, "after the end"},
		{`{"type":"success","content":"a","content":"b"}`, "duplicate key"},
		{`{"type":"weather","type":"success","content":"a"}`, "duplicate key"},
		{`{"type":"success","type":"weather","content":"a"}`, "duplicate key"},
		{"{\"type\":\"success\",\"content\":\"\xff\"}", "UTF-8"},
		{`{"type":"success","content":"\ud800"}`, "surrogate"},
		{`{"content":[{"type":"x"}],"type":"success"}`, "`content` must be a string"},
		{"{\"message\":\"two\nlines\",\"type\": \"error\"}", "control character"},
		{`{"message":"a "quoted" word","type":"error","trace":[],"transient":false}`, "comma"},
		{`{"type":"error","message":"m"}`, "`trace` is missing; `transient` is missing"},
		{`{"type":"error","message":"m","trace":["a",null],"transient":false}`, "`trace` must be an array of strings"},
		{`{"type":"error","message":"m","trace":"a","transient":false}`, "`trace` must be an array of strings"},
		{`{"type":"error","message":"m","trace":[],"transient":"no"}`, "`transient` must be a boolean"},
		{`{"type":"error","trace":[],"transient":false}`, "`message` is missing"},
		{`{"type":"needs_input"}`, "`question` must be an object"},
		{`{"type":"needs_input","question":{"id":"","text":"t","answer_type":"Text"}}`, "`id` of the question is empty"},
		{`{"type":"needs_input","question":{"text":"t","answer_type":"Text"}}`, "`id` is missing"},
		{`{"type":"needs_input","question":{"id":"q","answer_type":"boolean","text":""}}`, "`answer_type` must be"},
		{`{"type":"needs_input","question":{"id":"q","text":"t"}}`, "`answer_type` must be"},
		{`{"type":"needs_input","question":{"id":"q","text":"t","answer_type":{"Select":{"options":[]}}}}`, "at least one option"},
		{`{"type":"needs_input","question":{"id":"q","text":"t","answer_type":{"Select":{}}}}`, "`options` is missing"},
		{`{"type":"needs_input","question":{"id":"q","text":"t","answer_type":"Boolean","default":"yes"}}`, "no answer"},
		{`{"type":"needs_input","question":{"id":"q","text":"t","answer_type":{"Select":{"options":["a"]}},"default":"b"}}`, "no answer"},
		{`{"type":"needs_input","question":{"id":"q","text":"t","answer_type":"Text","token":5}}`, "`token` must be a string"},
	} {
		for _, exit := range []Exit{{}, {Code: 3}} {
			got := Parse([]byte(c.stdout), nil, exit)
			first, _, _ := strings.Cut(got.Message, "\n")
			if got.Kind != Failure || got.Transient || !strings.Contains(first, "broken result") || !strings.Contains(first, c.want) {
				t.Errorf("%s: got %+v, want %q", c.stdout, got, c.want)
			}
		}
	}
}

// What a tool prints is read with memory in proportion to it, however it is nested or cut up.
func TestParseIsBounded(t *testing.T) {
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
	} {
		text := c.head + strings.Repeat(c.part, size/len(c.part))
		if c.part != "[" && c.part != `{"a":` {
			text = strings.TrimSuffix(text, ",") + map[string]string{"a long trace": "]}", "many options": "]}}}}", "a long list": "]}"}[c.name]
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
		got := Parse([]byte(text), nil, Exit{})
		close(stop)
		<-done
		if more := float64(most-min(most, before.HeapInuse)) / size; more > 12 {
			t.Errorf("%s: %.0f times the output", c.name, more)
		}
		if c.want != "" && (got.Kind != Failure || !strings.Contains(got.Message, c.want)) || c.want == "" && got.Kind != Success {
			t.Errorf("%s: %d %.300s", c.name, got.Kind, got.Message)
		}
	}
}

func TestParseText(t *testing.T) {
	for _, text := range []string{
		"", "hello\n", "{", "{}", "{ type: error }", "{\"a\":1}\n{\"type\":\"error\"}", `{"content":"a"}`, `{"type":"weather"}`, `{"type":["success"]}`, `{"data":{"type":"success"}}`,
		`{"list":["type","success"]}`, `{"a":{"b":[1]},"type":null}`, `{"Type":"success"}`, `["type","success"]`, `"success"`,
		"before\n" + `{"type":"success","content":"a"}`, `{'type':'success'}`, `{"key":"type","x":"success"}`, `{"half":"of something`,
	} {
		if got := Parse([]byte(text), []byte("log"), Exit{}); got.Kind != Success || !got.Plain || got.Content != text {
			t.Errorf("%q: got %+v", text, got)
		}
		got := Parse([]byte(text), []byte("it broke\n"), Exit{Code: 4})
		if got.Kind != Failure || !got.Plain || !strings.HasPrefix(got.Message, "the tool failed: exit status 4\nstandard error:\nit broke") ||
			!strings.Contains(got.Message, strings.TrimSpace(text)) || !json.Valid(got.Data) {
			t.Errorf("%q: got %+v", text, got)
		}
	}
	if got := Parse([]byte("a\xffb"), nil, Exit{}); got.Content != "a\ufffdb" {
		t.Errorf("%q", got.Content)
	}
	if got := Parse(nil, nil, Exit{Code: -1, Signal: "SIGXCPU"}); !strings.Contains(got.Message, "limits.cpu_seconds") {
		t.Errorf("%+v", got)
	}
	if got := Parse(nil, nil, Exit{Code: -1, Signal: "SIGKILL"}); got.Message != "the tool failed: killed by SIGKILL" {
		t.Errorf("%q", got.Message)
	}
}

func TestEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"a", "é", "🙂", "\xff", "\x80\x80\x80\x80", "\n"})).Draw(t, "text"), "")
		most := rapid.IntRange(1, 40).Draw(t, "most")
		got := Ends([]byte(text), most)
		if !utf8.ValidString(got) || len(got) > 3*most+len("\n… 1000 bytes left out …\n") {
			t.Fatalf("%q", got)
		}
		if len(text) <= most && got != strings.ToValidUTF8(text, "\ufffd") {
			t.Fatalf("changed a short text to %q", got)
		}
		if utf8.ValidString(text) && strings.Contains(got, "\ufffd") {
			t.Fatalf("a character was cut: %q", got)
		}
	})
}

// Whatever our own library writes is read back as it was meant.
func TestParseReadsWhatToolsWrite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		pre := "pre"
		for want, o := range map[Kind]jptool.Outcome{
			Success:    {Content: text},
			Failure:    {Err: &jptool.Error{Code: jptool.CodeIO, Message: text}},
			NeedsInput: {Question: &jptool.Question{ID: "q", Text: text, PreAmble: &pre, AnswerType: jptool.Select("a", text), Default: text}},
		} {
			line, err := o.Line()
			if err != nil {
				t.Fatal(err)
			}
			got := Parse(append(line, '\n'), nil, Exit{})
			if got.Kind != want || got.Content+got.Message != text && want != NeedsInput || want == NeedsInput && got.Question.Text != text {
				t.Fatalf("%s: %+v", line, got)
			}
		}
	})
}

// Whatever is printed, there is an answer, and a broken Outcome is never a success.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"type":"success","content":"a"}`, `{"type":"error","message":"m"}`, `{"type":"needs_input","question":{}}`, "text", "{\"type\":\"success\",\"content\":\"\xff\"}"} {
		f.Add([]byte(s), 0)
		f.Add([]byte(s+s), 1)
		f.Add([]byte(s[:len(s)-1]), 1)
	}
	f.Fuzz(func(t *testing.T, stdout []byte, code int) {
		got := Parse(stdout, stdout, Exit{Code: code})
		if got.Kind == 0 || !utf8.ValidString(got.Content) || !utf8.ValidString(got.Message) || got.Data != nil && !json.Valid(got.Data) {
			t.Fatalf("%+v", got)
		}
		var loose struct{ Type *string }
		if json.Unmarshal(stdout, &loose) == nil && loose.Type != nil && *loose.Type == "error" && got.Kind == Success && strings.Contains(string(stdout), `"type"`) {
			t.Fatalf("an error became a success: %q", stdout)
		}
		if got.Kind == Success && got.Plain && got.Content != strings.ToValidUTF8(string(stdout), "\ufffd") {
			t.Fatalf("text was changed: %q", got.Content)
		}
	})
}

// Of what is no JSON, it counts whether an Outcome was meant.
func TestHasType(t *testing.T) {
	for text, want := range map[string]bool{
		`{"type":"success","content":`: true, "x \"type\" \n:\t\"error\"": true, `"type""type":"needs_input"`: true,
		`"type":"success`: false, `"type" "success"`: false, `"type":"other"`: false, `type:"success"`: false, ``: false, `"type"`: false, `"type":`: false,
	} {
		if got := hasType([]byte(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
