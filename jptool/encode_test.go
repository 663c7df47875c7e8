package jptool

import (
	"testing"

	"pgregory.net/rapid"
)

// The wire form is that of encoding/json, whatever a policy holds.
func TestAppendJSON(t *testing.T) {
	check := func(t rapid.TB, c *Context) {
		want, err := marshalPlain(c)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.AppendJSON([]byte("x")); string(got) != "x"+string(want) {
			t.Fatalf("got  %s\nwant x%s", got, want)
		}
	}
	check(t, &Context{})
	check(t, &Context{Access: &AccessPolicy{FS: []FsRule{}, Net: []NetRule{}, Env: []EnvRule{}, Commands: map[string]CommandRule{}, Pinned: []string{}, Staged: []StagedFile{}}})
	contexts := rapid.Make[Context]()
	rapid.Check(t, func(t *rapid.T) {
		c := contexts.Draw(t, "context")
		check(t, &c)
	})
}
