package call

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/jptools/jptools/sandbox/fit"
)

func TestOutputOfText(t *testing.T) {
	for _, text := range []string{
		"", "hello\n", "{", "{}", "{ type: error }", "{\"a\":1}\n{\"type\":\"error\"}", `{"content":"a"}`, `{"type":"weather"}`, `{"type":["success"]}`, `{"data":{"type":"success"}}`,
		`{"list":["type","success"]}`, `{"a":{"b":[1]},"type":null}`, `{"Type":"success"}`, `["type","success"]`, `"success"`,
		"before\n" + `{"type":"success","content":"a"}`, `{'type':'success'}`, `{"key":"type","x":"success"}`, `{"half":"of something`,
	} {
		if got := readOutput([]byte(text), []byte("log"), Ended{}); !got.success() || !got.Plain || got.Content != text {
			t.Errorf("%q: got %+v", text, got)
		}
		got := readOutput([]byte(text), []byte("it broke\n"), Ended{Code: 4})
		if got.Err == nil || !got.Plain || !strings.HasPrefix(got.Err.Message, "the tool failed: exit status 4\nstandard error:\nit broke") ||
			!strings.Contains(got.Err.Message, strings.TrimSpace(text)) || !json.Valid(rawData(got.Err.Data)) {
			t.Errorf("%q: got %+v", text, got)
		}
	}
	if got := readOutput([]byte("a\xffb"), nil, Ended{}); got.Content != "a\ufffdb" {
		t.Errorf("%q", got.Content)
	}
	if got := readOutput(nil, nil, Ended{Code: -1, Signal: "SIGKILL"}); got.Err.Message != "the tool failed: killed by SIGKILL" {
		t.Errorf("%q", got.Err.Message)
	}
}

// A limit is named only if there is one.
func TestLimitThatEndedATool(t *testing.T) {
	all := fit.Limits{Memory: 1, FileSize: 2, CPUSeconds: 3}
	for _, c := range []struct {
		ended  Ended
		lasted time.Duration
		want   string
	}{
		{Ended{Code: -1, Signal: "SIGXCPU"}, time.Minute, "cpu_seconds"},
		{Ended{Code: -1, Signal: "SIGXFSZ"}, time.Minute, "file_size"},
		{Ended{Code: 153}, time.Minute, "file_size"},
		{Ended{Code: -1, Signal: "SIGSEGV"}, time.Millisecond, "memory"},
		{Ended{Code: -1, Signal: "SIGSEGV"}, time.Minute, ""},
		{Ended{Code: 1}, time.Millisecond, ""},
		{Ended{}, time.Millisecond, ""},
	} {
		if got, _ := c.ended.Limit(all, c.lasted); got != c.want {
			t.Errorf("%+v after %v: %q, want %q", c.ended, c.lasted, got, c.want)
		}
		if got, _ := c.ended.Limit(fit.Limits{}, c.lasted); got != "" {
			t.Errorf("%+v without limits: %q", c.ended, got)
		}
	}
}

func TestOutputOfABrokenOutcome(t *testing.T) {
	for _, ended := range []Ended{{}, {Code: 3}} {
		got := readOutput([]byte(`{"type":"error","message":"m"}`), []byte("log"), ended)
		want := "the tool printed a broken result: `trace` is missing; `transient` is missing; it must be a boolean\nstandard error:\nlog\n"
		if got.Err == nil || got.Plain || got.Err.Transient || got.Err.Code != "" || !strings.HasPrefix(got.Err.Message, want) {
			t.Errorf("%+v", got.Err)
		}
	}
}

// A complete Outcome counts whatever the exit status is.
func TestOutputOfAnOutcome(t *testing.T) {
	for _, ended := range []Ended{{}, {Code: 1}, {Code: -1, Signal: "SIGSEGV"}} {
		if got := readOutput([]byte(`{"type":"success","content":"a"}`+"\n"), []byte("noise"), ended); !got.success() || got.Plain || got.Content != "a" {
			t.Errorf("%v: %+v", ended, got)
		}
	}
}

// Whatever is printed, there is an answer, and a broken Outcome is never a success.
func FuzzReadOutput(f *testing.F) {
	for _, s := range []string{`{"type":"success","content":"a"}`, `{"type":"error","message":"m"}`, `{"type":"needs_input","question":{}}`, "text", "{\"type\":\"success\",\"content\":\"\xff\"}"} {
		f.Add([]byte(s), 0)
		f.Add([]byte(s+s), 1)
		f.Add([]byte(s[:len(s)-1]), 1)
	}
	f.Fuzz(func(t *testing.T, stdout []byte, code int) {
		got := readOutput(stdout, stdout, Ended{Code: code})
		if e := got.Err; !utf8.ValidString(got.Content) || e != nil && (!utf8.ValidString(e.Message) || e.Data != nil && !json.Valid(rawData(e.Data))) {
			t.Fatalf("%+v", got)
		}
		var loose struct{ Type *string }
		if json.Unmarshal(stdout, &loose) == nil && loose.Type != nil && *loose.Type == "error" && got.success() && strings.Contains(string(stdout), `"type"`) {
			t.Fatalf("an error became a success: %q", stdout)
		}
		if got.success() && got.Plain && got.Content != strings.ToValidUTF8(string(stdout), "\ufffd") {
			t.Fatalf("text was changed: %q", got.Content)
		}
	})
}
