package jptool_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/jptools/jptools/jptool"
)

func TestDecodeRequest(t *testing.T) {
	ok := `{"context":{"root":"/ws","action":"run","access":null,"new":{"a":[1]}},"tool":{"name":"x","arguments":{"p":1},"more":0},"also":true}`
	if _, _, err := jptool.Decode([]byte(ok)); err != nil {
		t.Errorf("unknown keys outside access: %v", err)
	}
	for name, body := range map[string]string{
		"empty":                  ``,
		"not json":               `{`,
		"array":                  `[]`,
		"two objects":            ok + ok,
		"trailing":               ok + `x`,
		"duplicate key":          `{"context":{},"context":{}}`,
		"duplicate deep":         `{"context":{"root":"/","action":"run","x":{"a":1,"a":2}},"tool":{}}`,
		"duplicate escaped":      `{"context":{"root":"/","action":"run","a":1,"\u0061":2},"tool":{}}`,
		"invalid utf-8":          "{\"context\":{\"root\":\"/\xff\",\"action\":\"run\"},\"tool\":{}}",
		"lone surrogate":         `{"context":{"root":"/\ud800","action":"run"},"tool":{}}`,
		"control character":      "{\"context\":{\"root\":\"/\n\",\"action\":\"run\"},\"tool\":{}}",
		"deep":                   `{"context":{"root":"/","action":"run","x":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `},"tool":{}}`,
		"no context":             `{"tool":{}}`,
		"context null":           `{"context":null,"tool":{}}`,
		"context is a string":    `{"context":"x","tool":{}}`,
		"no tool":                `{"context":{"root":"/","action":"run"}}`,
		"no root":                `{"context":{"action":"run"},"tool":{}}`,
		"empty root":             `{"context":{"root":"","action":"run"},"tool":{}}`,
		"relative root":          `{"context":{"root":"ws","action":"run"},"tool":{}}`,
		"root with NUL":          `{"context":{"root":"/a\u0000b","action":"run"},"tool":{}}`,
		"root is a number":       `{"context":{"root":1,"action":"run"},"tool":{}}`,
		"no action":              `{"context":{"root":"/"},"tool":{}}`,
		"unknown action":         `{"context":{"root":"/","action":"walk"},"tool":{}}`,
		"case matters":           `{"Context":{"root":"/","action":"run"},"tool":{}}`,
		"arguments are an array": `{"context":{"root":"/","action":"run"},"tool":{"arguments":[]}}`,
		"number with leading 0":  `{"context":{"root":"/","action":"run","x":01},"tool":{}}`,
		"NaN":                    `{"context":{"root":"/","action":"run","x":NaN},"tool":{}}`,
		"single quotes":          `{'context':{}}`,
		"trailing comma":         `{"context":{"root":"/","action":"run",},"tool":{}}`,
	} {
		_, _, err := jptool.Decode([]byte(body))
		if jptool.CodeOf(err) != jptool.CodeInvalidRequest {
			t.Errorf("%s: %v; want an invalid_request error", name, err)
		}
	}
	both := `{"root":"/","action":"run","context":{}}`
	if _, _, err := jptool.Decode([]byte(both)); jptool.CodeOf(err) != jptool.CodeInvalidRequest {
		t.Errorf("root and context at once: %v", err)
	}
}

func TestDecodeAccess(t *testing.T) {
	got, err := jptool.DecodeAccess([]byte(`{"fs":[{"path":".","read":true,"write":null},{"lexical_path":"a","path":"a","external":true,"approved_target":"/x","create":false}],
		"net":[{"host":"h","port":8080,"allow":true}],"env":[{"name":"A*","read":true}],
		"commands":{"git":{"args":[["status"],["log","**"]],"envs":["HOME"]},"ls":{}},"pinned":["a/b"],"staged":[{"path":"d","fd":3}]}`))
	if err != nil {
		t.Fatal(err)
	}
	yes, no, target, port := true, false, "/x", uint16(8080)
	want := &jptool.AccessPolicy{
		FS:  []jptool.FsRule{{Path: ".", Read: &yes}, {Path: "a", External: true, ApprovedTarget: &target, Create: &no}},
		Net: []jptool.NetRule{{Host: "h", Port: &port, Allow: true}},
		Env: []jptool.EnvRule{{Name: "A*", Read: true}},
		Commands: map[string]jptool.CommandRule{
			"git": {Args: [][]string{{"status"}, {"log", "**"}}, Envs: []string{"HOME"}}, "ls": {},
		},
		Pinned: []string{"a/b"}, Staged: []jptool.StagedFile{{Path: "d", FD: 3}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	raw, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	again, err := jptool.DecodeAccess(raw)
	if err != nil || !reflect.DeepEqual(again, got) {
		t.Errorf("round trip: %+v, %v", again, err)
	}
	for name, body := range map[string]string{
		"unknown key":           `{"fs":[],"filesystem":[]}`,
		"unknown rule key":      `{"fs":[{"path":".","raed":true}]}`,
		"case of a key":         `{"fs":[{"path":".","Read":true}]}`,
		"both paths differ":     `{"fs":[{"path":"a","lexical_path":"b"}]}`,
		"no path":               `{"fs":[{"read":true}]}`,
		"null path":             `{"fs":[{"path":null}]}`,
		"boolean as a string":   `{"fs":[{"path":".","read":"yes"}]}`,
		"boolean as a number":   `{"fs":[{"path":".","read":1}]}`,
		"fs is an object":       `{"fs":{}}`,
		"rule is a string":      `{"fs":["src"]}`,
		"access is an array":    `[]`,
		"duplicate":             `{"fs":[{"path":"a","read":true,"read":false}]}`,
		"port too large":        `{"net":[{"host":"h","port":65536}]}`,
		"port is a fraction":    `{"net":[{"host":"h","port":80.5}]}`,
		"no host":               `{"net":[{"allow":true}]}`,
		"unknown net key":       `{"net":[{"host":"h","deny":true}]}`,
		"unknown env key":       `{"env":[{"name":"A","allow":true}]}`,
		"no env name":           `{"env":[{"read":true}]}`,
		"commands is a list":    `{"commands":[]}`,
		"unknown command key":   `{"commands":{"git":{"arguments":[]}}}`,
		"args not nested":       `{"commands":{"git":{"args":["status"]}}}`,
		"null in args":          `{"commands":{"git":{"args":[null]}}}`,
		"pinned is a string":    `{"pinned":"a"}`,
		"pinned holds null":     `{"pinned":[null]}`,
		"staged fd is 0":        `{"staged":[{"path":"a","fd":0}]}`,
		"staged without fd":     `{"staged":[{"path":"a"}]}`,
		"unknown staged key":    `{"staged":[{"path":"a","fd":3,"x":1}]}`,
		"approved not a string": `{"fs":[{"path":"a","external":true,"approved_target":1}]}`,
	} {
		if _, err := jptool.DecodeAccess([]byte(body)); jptool.CodeOf(err) != jptool.CodeInvalidPolicy {
			t.Errorf("%s: %v; want an invalid_policy error", name, err)
		}
	}
}

// FuzzDecodeAccess: no panic, and what is accepted survives a round trip unchanged.
func FuzzDecodeAccess(f *testing.F) {
	f.Add([]byte(`{"commands":{"a":{"args":[[]]},"b":{"args":[],"envs":[]}}}`))
	f.Add([]byte(`{"fs":[{"path":".","read":true}],"commands":{"a":{"args":[["x","**"]]}},"pinned":["a"]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := jptool.DecodeAccess(data)
		if err != nil {
			return
		}
		raw, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		b, err := jptool.DecodeAccess(raw)
		if err != nil {
			t.Fatalf("%q became %q: %v", data, raw, err)
		}
		for i := range a.FS {
			if a.FS[i].Caps() != b.FS[i].Caps() || a.FS[i].Path != b.FS[i].Path {
				t.Fatalf("%q: rule %d changed", data, i)
			}
		}
		if (a.Commands == nil) != (b.Commands == nil) || len(a.Net) != len(b.Net) || len(a.Env) != len(b.Env) {
			t.Fatalf("%q: lists changed in %q", data, raw)
		}
		if !reflect.DeepEqual(a.Commands, b.Commands) {
			t.Fatalf("%q: commands changed to %v", data, b.Commands)
		}
	})
}
