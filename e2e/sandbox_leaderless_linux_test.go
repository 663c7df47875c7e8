package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// grows reports whether somebody still writes to a file.
func grows(t *testing.T, path string) bool {
	t.Helper()
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)
	after, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return after.Size() > before.Size()
}

// A process whose first thread has ended runs on in its others, so it counts, and ends with the call.
func TestSandboxCountsAndEndsProcessesWithoutAFirstThread(t *testing.T) {
	eachUser(t, func(t *testing.T, user string) {
		w := newWorld(t, user)
		if v := w.attack(uncontained, nil, "leaderless", "3", "good/control"); !v.Worked || !grows(t, w.root+"/good/control") {
			t.Fatalf("the control left nothing behind: %s", v)
		}
		try := func(t *testing.T, tier, way string, env ...string) {
			w := newWorld(t, user)
			w.env = append(w.env, env...)
			attack := func(count string) []string { return []string{attackPath(t), "leaderless", count, "good/f"} }
			jphost := func(count string, limit int) ran {
				if way == "exec" {
					grants := []string{"--rw", "."}
					if limit > 0 {
						grants = append(grants, "--limit", "processes=5")
					}
					return w.exec(tier, grants, attack(count)...)
				}
				w.define(attack(count)...)
				argv := []string{filepath.Join(bin, "jphost"), "run", "--no-input", "--cfg", "sandbox.tier=" + tier}
				if limit > 0 {
					argv = append(argv, "--cfg", "conversation.tools.foreign.limits.processes=5")
				}
				return w.run(append(argv, "foreign")...)
			}
			if r := jphost("3", 0); r.code != 0 || !strings.Contains(r.stdout, `"worked":true`) {
				t.Errorf("%s: %s", way, r)
			} else if grows(t, w.root+"/good/f") {
				t.Errorf("%s: they go on after the call", way)
			}
			if r := jphost("30", 5); r.code == 0 || !strings.Contains(r.stdout+r.stderr, "more than 5 processes") {
				t.Errorf("%s: 30 processes passed a limit of 5: %s", way, r)
			} else if grows(t, w.root+"/good/f") {
				t.Errorf("%s: they go on after a call that passed its limit", way)
			}
		}
		eachTier(t, user, func(t *testing.T, tier string) {
			for _, way := range []string{"exec", "run"} {
				try(t, tier, way)
			}
		})
		t.Run("one by one", func(t *testing.T) { // before Landlock 6 nothing signals all at once
			needTier(t, user, landlocked)
			for _, way := range []string{"exec", "run"} {
				try(t, landlocked, way, limitVariable+"=abi=5,namespaces=no")
			}
		})
	})
}
