package consent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/host/internal/state/testdata/statetest"
)

const (
	fork   = "/Users/jean/code/forks/serde-yaml"
	passwd = "/etc/passwd"
)

var ctx = context.Background()

// opened is a store and the warnings it gave.
type opened struct {
	*consent.Store
	dir  *state.Dir
	warn []string
}

func open(t testing.TB, base string, fsys state.FS) *opened {
	t.Helper()
	o := &opened{dir: statetest.Dir(t, base, fsys)}
	o.Store = consent.OpenStore(o.dir, func(s string) { o.warn = append(o.warn, s) })
	return o
}

func (o *opened) put(t testing.TB, content string) {
	t.Helper()
	must(t, o.dir.Write("approvals.json", []byte(content)))
}

func (o *opened) content(t testing.TB) string {
	t.Helper()
	data, err := o.dir.Read("approvals.json")
	must(t, err)
	return string(data)
}

func (o *opened) lookup(t testing.TB, path, target string) consent.Decision {
	t.Helper()
	d, err := o.Lookup(ctx, consent.Binding{RulePath: path, Target: target})
	must(t, err)
	return d
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestLookup(t *testing.T) {
	s := open(t, t.TempDir(), nil)
	_, err := s.Record(ctx, consent.Binding{RulePath: "fork", Target: fork})
	must(t, err)
	for _, c := range []struct {
		path, target string
		want         consent.Decision
	}{
		{"fork", fork, consent.Decision{Verdict: consent.Approved}},
		{"./x/../fork", fork, consent.Decision{Verdict: consent.Approved}},
		{"fork", passwd, consent.Decision{Verdict: consent.Retargeted, Previous: fork}},
		{"fork", fork + "/src", consent.Decision{Verdict: consent.Retargeted, Previous: fork}},
		{"other", fork, consent.Decision{}},
		{"Fork", fork, consent.Decision{}},
		{"/fork", fork, consent.Decision{}},
	} {
		if got := s.lookup(t, c.path, c.target); got != c.want {
			t.Errorf("Lookup(%q, %q) = %+v, want %+v", c.path, c.target, got, c.want)
		}
	}
}

// The file is D43's, to the letter.
func TestShapeOfTheFile(t *testing.T) {
	s := open(t, t.TempDir(), nil)
	_, err := s.Record(ctx, consent.Binding{RulePath: "fork", Target: fork}, consent.Binding{RulePath: "vendor/openssl", Target: "/Users/jean/code/vendor/openssl-fixed"})
	must(t, err)
	want := `{
  "mounts": [
    {
      "rule_path": "fork",
      "canonical_target": "/Users/jean/code/forks/serde-yaml",
      "approved_at": "2026-05-26T13:00:00Z"
    },
    {
      "rule_path": "vendor/openssl",
      "canonical_target": "/Users/jean/code/vendor/openssl-fixed",
      "approved_at": "2026-05-26T13:00:00Z"
    }
  ]
}
`
	if diff := cmp.Diff(want, s.content(t)); diff != "" {
		t.Error(diff)
	}
}

func TestSiblingKeysArePreserved(t *testing.T) {
	s := open(t, t.TempDir(), nil)
	s.put(t, `{"plugins":[{"name":"p","sha":"<1>","n":12345678901234567890}],"mounts":[
		{"rule_path":"a","canonical_target":"/a","approved_at":"2020-01-01T00:00:00+02:00"}],"later":null}`)
	_, err := s.Record(ctx, consent.Binding{RulePath: "b", Target: "/b"})
	must(t, err)
	got := strings.Join(strings.Fields(s.content(t)), "")
	want := `{"plugins":[{"name":"p","sha":"<1>","n":12345678901234567890}],"mounts":[` +
		`{"rule_path":"a","canonical_target":"/a","approved_at":"2020-01-01T00:00:00+02:00"},` +
		`{"rule_path":"b","canonical_target":"/b","approved_at":"2026-05-26T13:00:00Z"}],"later":null}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// D43: people without a terminal seed the store by hand.
func TestHandWrittenEntry(t *testing.T) {
	s := open(t, t.TempDir(), nil)
	s.put(t, `{"mounts":[{"rule_path":"./fork/","canonical_target":"`+fork+`"}]}`)
	if got := s.lookup(t, "fork", fork); got.Verdict != consent.Approved {
		t.Errorf("got %+v", got)
	}
}

func TestEntriesThatDoNotApprove(t *testing.T) {
	for name, c := range map[string]struct {
		entries string
		want    consent.Verdict
	}{
		"a key of a newer version":    {`{"rule_path":"fork","canonical_target":"` + fork + `","expires_at":"2020-01-01T00:00:00Z"}`, consent.Unknown},
		"two entries that disagree":   {`{"rule_path":"fork","canonical_target":"` + fork + `"},{"rule_path":"fork","canonical_target":"/etc"}`, consent.Retargeted},
		"two entries, the other way":  {`{"rule_path":"fork","canonical_target":"/etc"},{"rule_path":"fork","canonical_target":"` + fork + `"}`, consent.Retargeted},
		"a target that is relative":   {`{"rule_path":"fork","canonical_target":"code"}`, consent.Retargeted},
		"a path that is absolute":     {`{"rule_path":"/fork","canonical_target":"` + fork + `"}`, consent.Unknown},
		"a path out of the workspace": {`{"rule_path":"../fork","canonical_target":"` + fork + `"}`, consent.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir(), nil)
			s.put(t, `{"mounts":[`+c.entries+`]}`)
			if got := s.lookup(t, "fork", fork); got.Verdict != c.want {
				t.Errorf("got %+v, want %v", got, c.want)
			}
			if len(s.warn) > 0 {
				t.Errorf("the store was set aside: %v", s.warn)
			}
		})
	}
}

func TestRecordReplacesAndUndoes(t *testing.T) {
	s := open(t, t.TempDir(), nil)
	b := consent.Binding{RulePath: "fork", Target: fork}
	_, err := s.Record(ctx, b)
	must(t, err)
	before := s.content(t)
	undo, err := s.Record(ctx, consent.Binding{RulePath: "fork", Target: passwd}, consent.Binding{RulePath: "new", Target: "/new"})
	must(t, err)
	if got := s.lookup(t, "fork", fork); got.Verdict != consent.Retargeted || got.Previous != passwd {
		t.Errorf("the old target reads as %+v", got)
	}
	must(t, undo(ctx))
	if diff := cmp.Diff(before, s.content(t)); diff != "" {
		t.Error(diff)
	}
	// What somebody else changed since is theirs.
	undo, err = s.Record(ctx, consent.Binding{RulePath: "fork", Target: "/mine"})
	must(t, err)
	_, err = s.Record(ctx, consent.Binding{RulePath: "fork", Target: "/theirs"})
	must(t, err)
	must(t, undo(ctx))
	if got := s.lookup(t, "fork", "/theirs"); got.Verdict != consent.Approved {
		t.Errorf("undo took somebody else's approval: %+v", got)
	}
	for _, bad := range []consent.Binding{{"", "/x"}, {"..", "/x"}, {"/abs", "/x"}, {"x", "rel"}, {"x", "/a/../b"}} {
		if _, err := s.Record(ctx, consent.Binding{RulePath: "ok", Target: "/ok"}, bad); err == nil {
			t.Errorf("%+v was recorded", bad)
		}
	}
	if got := s.lookup(t, "ok", "/ok"); got.Verdict != consent.Unknown {
		t.Error("half of a batch was recorded")
	}
}

func TestRevokeAndList(t *testing.T) {
	s := open(t, t.TempDir(), nil)
	_, err := s.Record(ctx, consent.Binding{RulePath: "a", Target: "/a"}, consent.Binding{RulePath: "b", Target: "/b"})
	must(t, err)
	gone, err := s.Revoke(ctx, "./a", "none")
	if err != nil || len(gone) != 1 || gone[0].RulePath != "a" {
		t.Fatalf("%v, %v", gone, err)
	}
	list, err := s.List(ctx)
	if err != nil || len(list) != 1 || list[0].RulePath != "b" || !list[0].ApprovedAt.Equal(statetest.Clock) {
		t.Errorf("%v, %v", list, err)
	}
}

func TestBrokenStoreIsSetAside(t *testing.T) {
	for name, content := range map[string]string{
		"cut off":        `{"mounts":[{"rule_path":"fo`,
		"empty":          ``,
		"no object":      `[]`,
		"mounts no list": `{"mounts":{}}`,
		"entry a string": `{"mounts":["x"]}`,
		"path missing":   `{"mounts":[{"canonical_target":"/x"}]}`,
		"wrong type":     `{"mounts":[{"rule_path":1,"canonical_target":"/x"}]}`,
		"two values":     `{"mounts":[]} {"mounts":[]}`,
		"a key twice":    `{"mounts":[],"mounts":[]}`,
	} {
		for _, use := range []string{"lookup", "record"} {
			t.Run(name+" at "+use, func(t *testing.T) {
				s := open(t, t.TempDir(), nil)
				s.put(t, content)
				if use == "lookup" {
					if got := s.lookup(t, "fork", fork); got.Verdict != consent.Unknown {
						t.Errorf("got %+v", got)
					}
				}
				_, err := s.Record(ctx, consent.Binding{RulePath: "fork", Target: fork})
				must(t, err)
				kept, err := os.ReadFile(s.dir.File("approvals.json.broken-20260526T130000Z"))
				if err != nil || string(kept) != content {
					t.Errorf("the broken store: %q, %v", kept, err)
				}
				if len(s.warn) != 1 || !strings.Contains(s.warn[0], "set aside as "+s.dir.Path()) {
					t.Errorf("warnings: %q", s.warn)
				}
				if got := s.lookup(t, "fork", fork); got.Verdict != consent.Approved {
					t.Errorf("after recording: %+v", got)
				}
			})
		}
	}
}

// Something that cannot be read at all is moved, too, never replaced.
func TestDirectoryInPlaceOfTheStore(t *testing.T) {
	s := open(t, t.TempDir(), nil)
	must(t, os.MkdirAll(s.dir.File("approvals.json/inner"), 0o700))
	_, err := s.Record(ctx, consent.Binding{RulePath: "fork", Target: fork})
	must(t, err)
	if _, err := os.Stat(s.dir.File("approvals.json.broken-20260526T130000Z/inner")); err != nil {
		t.Error(err)
	}
}

// An I/O error says nothing about the file: nothing is approved, nothing moved.
func TestReadErrorLeavesTheStore(t *testing.T) {
	base := t.TempDir()
	_, err := open(t, base, nil).Record(ctx, consent.Binding{RulePath: "fork", Target: fork})
	must(t, err)
	for at := 1; at <= 2; at++ {
		s := open(t, base, &statetest.Faults{FS: &afero.OsFs{}, At: at, Crash: true})
		if d, err := s.Lookup(ctx, consent.Binding{RulePath: "fork", Target: fork}); !errors.Is(err, statetest.ErrFault) || d.Verdict == consent.Approved {
			t.Errorf("fault %d: %+v, %v", at, d, err)
		}
	}
	if got := open(t, base, nil).lookup(t, "fork", fork); got.Verdict != consent.Approved {
		t.Errorf("the store is gone: %+v", got)
	}
}

func TestCrashWhileRecording(t *testing.T) {
	for _, crash := range []bool{true, false} {
		for at := 1; ; at++ {
			base := t.TempDir()
			_, err := open(t, base, nil).Record(ctx, consent.Binding{RulePath: "old", Target: "/old"})
			must(t, err)
			failing := &statetest.Faults{FS: &afero.OsFs{}, At: at, Crash: crash}
			_, rerr := open(t, base, failing).Record(ctx, consent.Binding{RulePath: "new", Target: "/new"})
			after := open(t, base, nil)
			if got := after.lookup(t, "old", "/old"); got.Verdict != consent.Approved || len(after.warn) > 0 {
				t.Fatalf("crash=%v at operation %d lost the old approval: %+v %v", crash, at, got, after.warn)
			}
			if got := after.lookup(t, "new", "/new"); rerr == nil && got.Verdict != consent.Approved {
				t.Fatalf("crash=%v at operation %d: recorded but not there", crash, at)
			}
			if failing.Count() < at {
				break
			}
		}
	}
}

const helper = "APPROVAL_TEST_RECORD"

func TestMain(m *testing.M) {
	if name := os.Getenv(helper); name != "" {
		os.Exit(recordAsProcess(name))
	}
	os.Exit(m.Run())
}

// recordAsProcess records one name in the store of the directory it is started in.
func recordAsProcess(name string) int {
	base, err := os.Getwd()
	if err != nil {
		return 3
	}
	ws, err := state.OpenWorkspace(filepath.Join(base, "ws"))
	if err != nil {
		return 3
	}
	dir, err := statetest.System(base).Workspace(ws)
	if err != nil {
		return 3
	}
	s := consent.OpenStore(dir, func(w string) { fmt.Println("warning:", w) })
	if _, err := s.Record(ctx, consent.Binding{RulePath: name, Target: "/targets/" + name}); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("recorded", name)
	return 0
}

func TestFiftyProcessesLoseNothing(t *testing.T) {
	base := t.TempDir()
	s := open(t, base, nil)
	const n = 50
	var procs []*exec.Cmd
	outs := make([]strings.Builder, n)
	for i := range n {
		cmd := exec.Command(os.Args[0])
		cmd.Dir = base
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=m%d", helper, i))
		cmd.Stdout, cmd.Stderr = &outs[i], &outs[i]
		must(t, cmd.Start())
		procs = append(procs, cmd)
	}
	for i, cmd := range procs {
		if err := cmd.Wait(); err != nil || outs[i].String() != fmt.Sprintf("recorded m%d\n", i) {
			t.Errorf("process %d: %v\n%s", i, err, outs[i].String())
		}
	}
	list, err := s.List(ctx)
	if err != nil || len(list) != n {
		t.Fatalf("%d of %d approvals are there, %v", len(list), n, err)
	}
	for i := range n {
		name := fmt.Sprintf("m%d", i)
		if got := s.lookup(t, name, "/targets/"+name); got.Verdict != consent.Approved {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
