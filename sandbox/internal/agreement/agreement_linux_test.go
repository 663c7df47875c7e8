package agreement

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/internal/engine"
	"github.com/jptools/jptools/sandbox/machine"
	"pgregory.net/rapid"
)

// counts is what a run saw.
type counts struct {
	cases, useless, scenes, unusable int
	linked                           int // scenes with a rule that a symlink leads to its place
	withheld                         int // scenes in which a pattern withholds something that is there
	staged                           int // files that were handed down and are allowed to get a name
	allowed, denied, differences     map[string]int
}

func (c *counts) add(list []result) {
	if c.allowed == nil {
		c.allowed, c.denied, c.differences = map[string]int{}, map[string]int{}, map[string]int{}
	}
	for _, r := range list {
		c.cases++
		if r.allowed {
			c.allowed[capability(r.op)]++
		} else {
			c.denied[capability(r.op)]++
		}
		if r.op.Do == "stage" && r.allowed {
			c.staged++
		}
		if r.difference != "" {
			c.differences[r.difference]++
		}
	}
}

func (c *counts) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d cases in %d scenes (%d not usable, %d operations that do not work unprotected);", c.cases, c.scenes, c.unusable, c.useless)
	for _, name := range []string{"read", "create", "update", "delete", "execute", "move"} {
		fmt.Fprintf(&b, " %s %d/%d", name, c.allowed[name], c.denied[name])
	}
	fmt.Fprintf(&b, "; staged %d; scenes with rules through links %d, with something that a pattern withholds %d", c.staged, c.linked, c.withheld)
	for _, d := range slices.Sorted(maps.Keys(c.differences)) {
		fmt.Fprintf(&b, "; %s: %d", d, c.differences[d])
	}
	return b.String()
}

// enough fails when a run saw too little to mean anything.
func (c *counts) enough(t *testing.T, want int) {
	t.Helper()
	if c.cases < want {
		t.Errorf("only %d of %d cases", c.cases, want)
	}
	if c.staged < want/2000 {
		t.Errorf("only %d staged files; want %d", c.staged, want/2000)
	}
	if c.linked < c.scenes/50 {
		t.Errorf("only %d of %d scenes have a rule that leads through a link", c.linked, c.scenes)
	}
	if c.withheld < c.scenes/50 {
		t.Errorf("only %d of %d scenes have something that a pattern withholds", c.withheld, c.scenes)
	}
	for _, name := range []string{"read", "create", "update", "delete", "execute", "move"} {
		if least := want / 200; c.allowed[name] < least || c.denied[name] < least {
			t.Errorf("%s: only %d allowed and %d denied; want %d of each", name, c.allowed[name], c.denied[name], least)
		}
	}
}

// waysOf are the ways that this machine has to hold a policy exactly. What writes is held by Landlock alone
// where there are no namespaces; scenes differ in whether that has to replace grants by others.
func waysOf(m fit.Machine) map[string]way {
	have := m.Tiers()
	ways := map[string]way{}
	bare := m
	bare.Namespaces, bare.Why = false, map[string]string{"namespaces": "they are not to be used here"}
	// Where something is said not to be held, it would be a disagreement.
	if slices.Contains(have, fit.TierLandlock) && m.Alone() {
		ways["landlock"] = way{bare, fit.Options{}, fit.TierLandlock}
		ways["replacement"] = way{bare, fit.Options{}, fit.TierLandlock}
	}
	if slices.Contains(have, fit.TierNamespace) && m.Landlock >= fit.TruncateABI {
		ways["namespace"] = way{m, fit.Options{Tier: fit.TierNamespace}, fit.TierNamespace}
	}
	return ways
}

// here is this machine, without what JPHOST_SANDBOX_LIMIT takes away from it.
func here(t testing.TB) fit.Machine {
	t.Helper()
	limit, err := machine.ParseLimit(os.Getenv(machine.LimitVariable))
	if err != nil {
		t.Fatal(err)
	}
	return limit.Apply(machine.Look().Settle(engine.Try(t.Context())))
}

func newRunner(t testing.TB) *runner {
	t.Helper()
	r := &runner{base: jptooltest.OpenRoot(t), binary: self(t), machine: here(t)}
	r.ways = waysOf(r.machine)
	do(os.Mkdir(r.base+"/spare", 0o755))
	return r
}

// skipWithout skips what this machine has no way for.
func (r *runner) skipWithout(t *testing.T, way string) {
	t.Helper()
	if _, ok := r.ways[way]; !ok {
		t.Skipf("not run: with version %d of Landlock this machine does not hold policies exactly by %s %v", r.machine.Landlock, way, r.machine.Why)
	}
}

var wayNames = []string{"landlock", "namespace", "replacement"}

func TestAgreement(t *testing.T) {
	asUsers(t, func(t *testing.T) {
		for _, name := range wayNames {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				runtime.LockOSThread() // for good: what is started ends with the thread
				r := newRunner(t)
				r.skipWithout(t, name)
				scenes := rapid.Custom(func(t *rapid.T) *scene { return drawScene(t, name) })
				rapid.Check(t, func(t *rapid.T) {
					s := scenes.Draw(t, "scene")
					if r.counts.cases >= cases() {
						return
					}
					list, usable, bad := r.run(s)
					if bad != nil {
						t.Fatal(bad)
					}
					if !usable {
						r.counts.unusable++
						return
					}
					r.counts.scenes++
					r.counts.add(list)
				})
				t.Log(&r.counts)
				r.counts.enough(t, cases())
			})
		}
	})
}

// TestScene runs one scene, or those that failed once.
func TestScene(t *testing.T) {
	asUsers(t, func(t *testing.T) {
		runtime.LockOSThread()
		r := newRunner(t)
		var texts []string
		switch {
		case strings.HasPrefix(*sceneFlag, "{"):
			texts = []string{*sceneFlag}
		case *sceneFlag != "":
			texts = []string{string(must(os.ReadFile(*sceneFlag)))}
		default:
			for _, name := range must(filepath.Glob("testdata/scenes/*.json")) {
				texts = append(texts, string(must(os.ReadFile(name))))
			}
			if len(texts) == 0 {
				t.Fatal("there are no scenes")
			}
		}
		for _, text := range texts {
			var s scene
			if err := json.Unmarshal([]byte(text), &s); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if _, ok := r.ways[s.Way]; !ok {
				t.Logf("this machine cannot hold policies by %s", s.Way)
				continue
			}
			if !mounts() && slices.ContainsFunc(s.Tree, func(line string) bool { return strings.HasPrefix(line, "mount ") }) {
				t.Logf("nothing can be mounted: not run as root, or there are no mount namespaces: %s", text)
				continue
			}
			list, usable, bad := r.run(&s)
			if bad != nil {
				t.Error(bad)
			} else if !usable {
				t.Errorf("the policy is refused, or held in another way: %s", text)
			}
			for _, c := range list {
				t.Logf("%s: allowed %v; unprotected %s; sandbox %s; %s", c.op, c.allowed, c.control, c.kernel, c.difference)
			}
		}
	})
}
