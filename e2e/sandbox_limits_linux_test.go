package e2e

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// Limits hold, do not get in the way of what stays below them, and the call that goes over
// one ends with everything it started.
func TestSandboxLimits(t *testing.T) {
	eachUser(t, func(t *testing.T, user string) {
		for _, c := range []struct {
			limit        string
			over, within []string
		}{
			{"processes=20", []string{"forkbomb", "80"}, []string{"forkbomb", "5"}},
			{"memory=256MiB", []string{"memory", "384"}, []string{"memory", "32"}},
			{"cpu_seconds=1", []string{"cpu", "2"}, []string{"env", "HOME="}},
			{"file_size=1MiB", []string{"file-size", "good/big", "4"}, []string{"file-size", "good/small", "1"}},
		} {
			t.Run(strings.SplitN(c.limit, "=", 2)[0], func(t *testing.T) {
				if v := newWorld(t, user).attack(uncontained, nil, c.over...); !v.Worked {
					t.Fatalf("the control did not work: %s", v)
				}
				eachTier(t, user, func(t *testing.T, tier string) {
					grants := []string{"--rw", ".", "--limit", c.limit}
					if v := newWorld(t, user).attack(tier, grants, c.within...); !v.Worked {
						t.Errorf("below the limit it does not work: %s", v)
					}
					w := newWorld(t, user)
					w.program(attackPath(t), "ws/"+w.secret) // told by its name
					start := time.Now()
					r := w.exec(tier, grants, slices.Concat([]string{"./" + w.secret}, c.over)...)
					if strings.Contains(r.stdout, `"worked":true`) || r.code == 0 && r.stdout == "" {
						t.Errorf("above the limit: %s", r)
					}
					if took := time.Since(start); took > 45*time.Second {
						t.Errorf("it took %v", took)
					}
					if fi, err := os.Stat(w.root + "/good/big"); err == nil && fi.Size() > 1<<20 {
						t.Errorf("%d bytes were written", fi.Size())
					}
					if pids := lingering(t, w.secret); len(pids) > 0 {
						t.Errorf("processes %v are left", pids)
					}
				})
			})
		}
	})
}

// What memory is limited is said in THREAT_MODEL.md: the private one of each process.
func TestSandboxSharedMemory(t *testing.T) {
	eachUser(t, func(t *testing.T, user string) {
		eachTier(t, user, func(t *testing.T, tier string) {
			if v := newWorld(t, user).attack(tier, []string{"--rw", ".", "--limit", "memory=256MiB"}, "memory-shared", "300"); !v.Worked {
				t.Errorf("shared memory is limited too, and the documentation does not say so: %s", v)
			}
		})
	})
}
