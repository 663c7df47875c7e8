package consent_test

import (
	"strings"
	"testing"

	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/host/internal/state/testdata/statetest"
)

// A key in other letters is another key. A reader that takes it for the same, as encoding/json
// does, lets the last of the two decide.
func TestKeysAreExact(t *testing.T) {
	binding := consent.Binding{RulePath: "fork", Target: fork}
	list := []consent.Setting{setting("sandbox.mode", `"off"`, 1)}
	warn := func(string) {}
	for file, c := range map[string]struct {
		fill func(*state.Dir)
		// counts reports whether the one record counts.
		counts func(*state.Dir) bool
		// other is a key in other letters, written behind the key itself.
		behind, other string
	}{
		"approvals.json": {
			fill: func(d *state.Dir) { _, err := consent.OpenStore(d, warn).Record(ctx, binding); must(t, err) },
			counts: func(d *state.Dir) bool {
				was, err := consent.OpenStore(d, warn).Lookup(ctx, binding)
				must(t, err)
				return was.Verdict == consent.Approved
			},
			behind: `"rule_path": "fork",`, other: `"Rule_Path": "fork",`,
		},
		"holds.json": {
			fill: func(d *state.Dir) { must(t, consent.OpenHolds(d).Add(ctx, consent.Hold{Path: "a", Reason: "r"})) },
			counts: func(d *state.Dir) bool {
				_, err := consent.OpenHolds(d).List()
				return err == nil
			},
			behind: `"path": "a",`, other: `"Path": "b",`,
		},
		"trust.json": {
			fill: func(d *state.Dir) { must(t, consent.OpenTrust(d, warn).Accept(ctx, list)) },
			counts: func(d *state.Dir) bool {
				trusted, _, err := consent.OpenTrust(d, warn).Check(ctx, list)
				must(t, err)
				return trusted
			},
			behind: `"key": "sandbox.mode",`, other: `"Key": "sandbox.mode",`,
		},
		"remembered.json": {
			fill: func(d *state.Dir) {
				must(t, consent.OpenMemory(d, "s").Remember(ctx, consent.Remembered{Tool: "t", On: "call", Scope: "x"}))
			},
			counts: func(d *state.Dir) bool {
				_, found := consent.OpenMemory(d, "s").Recall(consent.Remembered{Tool: "t", On: "call", Scope: "x"})
				return found
			},
			behind: `"yes": false,`, other: `"Yes": true,`,
		},
	} {
		t.Run(file, func(t *testing.T) {
			dir := statetest.Dir(t, t.TempDir(), nil)
			c.fill(dir)
			if !c.counts(dir) {
				t.Fatal("what was stored does not count")
			}
			data, err := dir.Read(file)
			must(t, err)
			text := strings.Replace(string(data), c.behind, c.behind+c.other, 1)
			if text == string(data) {
				t.Fatalf("%s has no %s", data, c.behind)
			}
			must(t, dir.Write(file, []byte(text)))
			if c.counts(dir) {
				t.Errorf("counts with a key in other letters: %s", text)
			}
		})
	}
}
