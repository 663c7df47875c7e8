package jptool

import "testing"

// Text is written as it is, without HTML escapes, and what is absent as null.
func TestContextJSON(t *testing.T) {
	const want = `{"root":"/a<b>","action":"run","access":{"fs":[],"net":null,"env":[{"name":"A*","read":true}],"commands":{"x":{"args":[[]],"envs":null}}},"workspace_id":"w"}`
	c := Context{Root: "/a<b>", Action: Run, WorkspaceID: "w", Access: &AccessPolicy{
		FS: []FsRule{}, Env: []EnvRule{{Name: "A*", Read: true}}, Commands: map[string]CommandRule{"x": {Args: [][]string{{}}}},
	}}
	if got := string(c.JSON()); got != want {
		t.Errorf("%s", got)
	}
	if got := string((*AccessPolicy)(nil).JSON()); got != "null" {
		t.Errorf("%s", got)
	}
}
