package call

import (
	"strings"
	"testing"
)

// An entry of unattended is for exactly its arguments.
func TestUnattendedArguments(t *testing.T) {
	for _, c := range []struct{ entry, args, want string }{
		{`{"x":"1"}`, `{"x":"1"}`, "run"},
		{` { "x" : "1" } `, `{"x":"1"}`, "run"},
		{`{"x":"1"}`, `{"x":"2"}`, "refused run_mode"},
		{`{"x":"1"}`, `{"x":"1","n":1}`, "refused run_mode"},
		{`{"x":"1","n":1}`, `{"x":"1"}`, "refused run_mode"},
		{`{"n":9007199254740993}`, `{"n":9007199254740993}`, "run"},
		{`{"n":9007199254740993}`, `{"n":9007199254740992}`, "refused run_mode"},
		{`{}`, `{}`, "run"},
	} {
		w := newWorld(t, one("echo", nil, `parameters.x.type = "string"`, `parameters.n.type = "integer"`,
			`unattended = [{ arguments = '`+c.entry+`' }]`))
		if got := content(w.run(c.args)); got != c.want {
			t.Errorf("%s for %s: %s, %v", c.entry, c.args, got, w.lastErr)
		}
	}
	// A path is what a built-in tool found, and counts for nobody else.
	w := newWorld(t, one("echo", nil, `parameters.path.type = "string"`, `unattended = [{ path = "." }]`))
	if got := content(w.run(`{"path":"a"}`)); got != "refused run_mode" {
		t.Error(got)
	}
	// A repository has to be trusted with it.
	w = newWorld(t, one("echo", nil))
	w.repo = "[[conversation.tools.t.unattended]]\narguments = '{}'\n"
	if got := content(w.run("")); got != "refused untrusted" || !strings.Contains(w.lastErr.Error(), "unattended") {
		t.Errorf("%s %v", got, w.lastErr)
	}
}
