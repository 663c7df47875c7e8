package call

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestForModel(t *testing.T) {
	known := []string{"/srv/my code", "/home/me/.config/jphost/config.toml", "/home/me"}
	for text, want := range map[string]string{
		"run = \"skip\" at /home/me/.config/jphost/config.toml:3:1\nset it": "run = \"skip\" at (outside the workspace):3:1\nset it",
		"at /home/me/ws/.jp/config.toml:3:1: x":                             "at .jp/config.toml:3:1: x",
		"in /home/me/ws.":                                                   "in ..",
		"\"/home/me/ws/a b\" appeared":                                      "\"a b\" appeared",
		"\"/opt/a b/c\" appeared":                                           "\"(outside the workspace)\" appeared",
		"\"/home/me/ws/link -> /home/me/.ssh/id\"":                          "\"link -> (outside the workspace)\"",
		"'/home/me/ws/x (see /opt/a) and on":                                "'x (see (outside the workspace)) and on",
		"fork → /srv/my code/secret, and on":                                "fork → (outside the workspace), and on",
		"/home/mexico/x":                                                    "(outside the workspace)",
		"/home/me/ws2/x":                                                    "(outside the workspace)",
		"(/etc/passwd); /etc/shadow":                                        "((outside the workspace)); (outside the workspace)",
		"https://example.com/a/b and a/b":                                   "https://example.com/a/b and a/b",
		"a / b, 1/2, docs/x":                                                "a / b, 1/2, docs/x",
		"`/x/y`='/x/z'":                                                     "`(outside the workspace)`='(outside the workspace)'",
		"/größe/x":                                                          "(outside the workspace)",
		"":                                                                  "",
	} {
		if got := ForModel(text, "/home/me/ws", known...); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// What the host says in the report, which a model gets, names no place outside of the workspace.
func TestReportsNameNothingOutside(t *testing.T) {
	untrusted := newWorld(t, one("echo", nil, unattended))
	untrusted.repo = "[conversation.tools.t]\nquestions.go.answer = true\n"
	held := newWorld(t, one("echo", nil, unattended))
	if err := held.host().State.Write("holds.json", []byte(`{"holds":[{"path":"`+held.top+`/secret","reason":"appeared","held_at":"2026-01-01T00:00:00Z"}]}`)); err != nil {
		t.Fatal(err)
	}
	broken := newWorld(t, one("echo", nil, unattended))
	if err := broken.host().State.Write("holds.json", []byte(`broken`)); err != nil {
		t.Fatal(err)
	}
	sensitive := newWorld(t, one("echo", nil, `access.fs = [{ path = ".", read = true }]`))
	sensitive.write(".env", "")
	missing := newWorld(t, strings.ReplaceAll(one("echo", nil, unattended), "TOOL", "/no/such/program"))
	for name, w := range map[string]*world{
		"skipped": newWorld(t, one("echo", nil, `run = "skip"`)), "asked for": newWorld(t, one("echo", nil)), "off": newWorld(t, one("echo", nil, "enable = false")),
		"kept back": newWorld(t, one("echo", nil, unattended, `result = "skip"`)),
		"untrusted": untrusted, "held": held, "broken holds": broken, "secrets": sensitive, "no program": missing,
	} {
		r := w.run("")
		data, err := json.Marshal([]any{r.Outcome, r.Warnings})
		if err != nil {
			t.Fatal(err)
		}
		if r.Outcome.Message == "" || strings.Contains(string(data), w.top) || strings.Contains(string(data), "/no/such") {
			t.Errorf("%s: %s", name, data)
		}
	}
}
