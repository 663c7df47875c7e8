package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/jptool/toolmain"
	"github.com/jptools/jptools/tools/fskit"
)

func TestApplyChanges(t *testing.T) {
	r := newRig(t, "file f a")
	r.answers = nil
	a := r.replace("a", "b")
	r.wantQuestion(a, "apply_changes")
	q := a.Question
	if q.Default != true || q.Token == "" || !strings.Contains(q.PreAmble, "\n-a\n") || q.Text != "Apply the changes to f?" {
		t.Errorf("question %+v", q)
	}
	r.wantFile("f", "a")
	r.answers = object{"apply_changes": false, "apply_changes.token": q.Token}
	r.wantError(r.replace("a", "b"), jptool.CodeDeclined, "reviewed and rejected")
	r.wantFile("f", "a")
	r.answers = object{"apply_changes": "yes"}
	r.wantError(r.replace("a", "b"), jptool.CodeInvalidArguments, `"apply_changes" must be a boolean`)
	r.wantFile("f", "a")
	r.answers = object{"apply_changes": true, "apply_changes.token": q.Token}
	r.wantOK(r.replace("a", "b"), "File modified: f")
	r.wantFile("f", "b")
}

// An answer is for the change that was shown and for no other.
func TestApprovalIsBoundToTheChange(t *testing.T) {
	r := newRig(t, "file f a 1", "file g a 1")
	r.answers = nil
	token := r.replace("a", "b").Question.Token
	r.answers = object{"apply_changes": true, "apply_changes.token": token}
	for _, args := range []object{
		{"patterns": pairs("a", "c")},
		{"path": "g", "patterns": pairs("a", "b")},
		{"patterns": []object{{"old": "a", "new": "b", "paths": []string{"f", "g"}}}},
	} {
		r.wantQuestion(r.call(args), "apply_changes")
	}
	r.write("f", "a 2")
	a := r.replace("a", "b")
	r.wantQuestion(a, "apply_changes")
	if a.Question.Token == token {
		t.Error("the token is the same for another change")
	}
	r.wantFile("f", "a 2")
	r.wantFile("g", "a 1")
}

func TestBroadRegex(t *testing.T) {
	r := newRig(t, "file f x a y")
	r.answers = nil
	broad := object{"patterns": []object{{"old": " .* ", "new": "-", "regex": true}, {"old": "y", "new": "b"}}}
	a := r.call(broad)
	r.wantQuestion(a, "broad_replacement")
	if a.Question.Default != false || !strings.Contains(a.Question.Text, "#1 `.*`") || a.ids() != "broad_replacement apply_changes" {
		t.Errorf("%+v", a)
	}
	token := a.Question.Token
	r.answers = object{"broad_replacement": false, "broad_replacement.token": token}
	r.wantError(r.call(broad), jptool.CodeDeclined, "overly broad")
	// Nobody is asked about a change that cannot be made.
	r.wantError(r.call(object{"patterns": []object{{"old": ".*", "new": "-", "regex": true}, {"old": "z", "new": "b"}}}), jptool.CodeNoMatch, "#2")
	r.answers = object{"broad_replacement": true, "broad_replacement.token": token, "apply_changes": true}
	r.wantQuestion(r.call(object{"patterns": []object{{"old": ".+", "new": "x", "regex": true}}}), "broad_replacement")
	r.wantFile("f", "x a y")
	r.wantOK(r.call(broad), "File modified")
	r.wantFile("f", "x-b")
	r.write("f", "a")

	// The flag of the pattern counts, both ways; a specific regex asks nothing.
	r.answers = object{"apply_changes": true}
	r.wantError(r.call(object{"replace_using_regex": true, "patterns": []object{{"old": ".*", "new": "x", "regex": false}}}), jptool.CodeNoMatch, "`.*`")
	r.wantOK(r.call(object{"replace_using_regex": true, "patterns": pairs("a.*", "x")}), "File modified")
}

// All that is to be asked comes in one Outcome, and its preview has the same questions with the same tokens.
func TestAllQuestionsAtOnce(t *testing.T) {
	text := strings.Repeat("a\n", 20)
	r := newRig(t, "file f x", "dir .git") // a repository that cannot be read: unknown is dirty
	r.write("f", text)
	all := "broad_replacement broad_change modify_dirty_file apply_changes"
	change := object{"patterns": []object{{"old": ".+", "new": "b", "regex": true}}}
	r.answers = nil
	a := r.call(change)
	if a.ids() != all || a.Question != a.Questions[0] {
		t.Fatalf("asked %s: %+v", a.ids(), a)
	}
	r.preview = true
	var data struct{ Questions []question }
	if err := json.Unmarshal(r.call(change).Data, &data); err != nil || !slices.Equal(data.Questions, a.Questions) {
		t.Errorf("%v: the preview has\n%+v\nthe run asks\n%+v", err, data.Questions, a.Questions)
	}
	// What is answered is not asked, in both.
	r.answers = object{"broad_change": true, "apply_changes": true}
	if err := json.Unmarshal(r.call(change).Data, &data); err != nil || len(data.Questions) != 2 {
		t.Errorf("%v %+v", err, data)
	}
	r.preview = false
	if a := r.call(change); a.ids() != "broad_replacement modify_dirty_file" {
		t.Errorf("asked %s", a.ids())
	}
	// One no ends the call, whatever else is open.
	r.answers = object{"apply_changes": false}
	r.wantError(r.call(change), jptool.CodeDeclined, "rejected")
	r.wantFile("f", text)
	r.answers = object{}
	for _, q := range a.Questions {
		r.answers[q.ID], r.answers[q.ID+".token"] = true, q.Token
	}
	r.wantOK(r.call(change), "File modified")

	// A host that knows of `question` only answers one after the other.
	r.write("f", text)
	r.answers = object{}
	var asked []string
	for a = r.call(change); a.Type == "needs_input" && len(asked) < 10; a = r.call(change) {
		asked = append(asked, a.Question.ID)
		r.answers[a.Question.ID], r.answers[a.Question.ID+".token"] = true, a.Question.Token
	}
	r.wantOK(a, "File modified")
	if strings.Join(asked, " ") != all {
		t.Errorf("one after the other: %q", asked)
	}
}

// The guard for what a change does has an id of its own.
func TestBroadChange(t *testing.T) {
	var lines []string
	for i := range 20 {
		lines = append(lines, fmt.Sprintf("line %d", i))
	}
	text := strings.Join(lines, "\n") + "\n"
	r := newRig(t)
	r.write("f", text)
	r.answers = object{"apply_changes": true, "broad_replacement": true}
	a := r.replace("line", "row")
	r.wantQuestion(a, "broad_change")
	if a.Question.Default != false || !strings.Contains(a.Question.Text, "f (20 of 20 lines)") || a.Question.Token == "" {
		t.Errorf("%+v", a.Question)
	}
	r.wantFile("f", text)
	r.answers["broad_change"] = false
	r.wantError(r.replace("line", "row"), jptool.CodeDeclined, "more than half")
	r.wantFile("f", text)
	r.answers["broad_change"] = true
	r.wantOK(r.replace("line", "row"), "File modified")
	delete(r.answers, "broad_change")
	r.wantOK(r.replace("row 3\n", "x\n", "row 4\n", "y\n"), "File modified") // 2 of 20
	r.write("f", "a\na\na\n")
	r.wantOK(r.replace("a", "b"), "File modified") // a small file
}

func TestDirtyFile(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	r := newRig(t, "file f a\\n", "file g a\\n", "file clean a\\n")
	for _, args := range [][]string{
		{"init", "-q"},
		{"add", "clean", "f"},
		{"-c", "user.name=n", "-c", "user.email=e@e", "commit", "-qm", "m"},
	} {
		cmd := exec.Command(git, args...)
		cmd.Dir = r.root
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "HOME="+r.root)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	r.wantOK(r.call(object{"path": "clean", "patterns": pairs("a", "b")}), "File modified")
	r.write("f", "a\nmore\n")
	both := object{"patterns": []object{{"old": "a", "new": "b", "paths": []string{"f", "g"}}}}
	a := r.call(both)
	r.wantQuestion(a, "modify_dirty_file")
	if a.Question.Default != nil || !strings.Contains(a.Question.Text, "f (modified") || !strings.Contains(a.Question.Text, "g (not tracked") {
		t.Errorf("%+v", a.Question)
	}
	// Unstaged is not the only dirty; and one answer with its token is enough.
	r.answers["modify_dirty_file"], r.answers["modify_dirty_file.token"] = false, a.Question.Token
	r.wantError(r.call(both), jptool.CodeDeclined, "f (modified")
	r.wantFile("f", "a\nmore\n")
	r.answers["modify_dirty_file"] = true
	r.wantOK(r.call(both), "Files modified: f, g")
	// What the conversation wrote itself is nobody's uncommitted work, until somebody else changes it.
	r.answers = object{"apply_changes": true}
	r.written = object{"f": fskit.DigestBytes([]byte("b\nmore\n"))}
	r.wantOK(r.call(object{"patterns": pairs("b", "c")}), "File modified: f")
	r.wantQuestion(r.call(object{"patterns": pairs("c", "d")}), "modify_dirty_file")
	r.written = object{"f": fskit.DigestBytes([]byte("c\nmore\n")), "g": 3}
	r.wantQuestion(r.call(object{"patterns": []object{{"old": "m", "new": "n", "paths": []string{"f"}}, {"old": "b", "new": "c", "paths": []string{"g"}}}}), "modify_dirty_file")
}

func TestHeuristics(t *testing.T) {
	const ten = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
	for _, c := range []struct {
		name     string
		options  object
		patterns []object
		asks     bool
	}{
		{"a small edit passes", object{"apply_changes_trigger": "heuristics"}, pairs("3", "three"), false},
		{"off by default", object{}, pairs("3", "three"), true},
		{"always", object{"apply_changes_trigger": "always"}, pairs("3", "three"), true},
		{"two lines at two", object{"apply_changes_trigger": "heuristics", "auto_approve_max_changed_lines": 2}, pairs("3", "three"), false},
		{"two lines at one", object{"apply_changes_trigger": "heuristics", "auto_approve_max_changed_lines": 1}, pairs("3", "three"), true},
		{"ratio at its limit", object{"apply_changes_trigger": "heuristics"}, pairs("3", "three", "4", "four"), false},
		{"ratio beyond", object{"apply_changes_trigger": "heuristics"}, pairs("3", "three", "4", "four", "5", "five"), true},
		{"ratio raised", object{"apply_changes_trigger": "heuristics", "auto_approve_max_ratio_percent": 30}, pairs("3", "three", "4", "four", "5", "five"), false},
		{"files", object{"apply_changes_trigger": "heuristics", "auto_approve_max_changed_files": 1}, []object{{"old": "3", "new": "three", "paths": []string{"f", "g"}}}, true},
		{"no file at all", object{"apply_changes_trigger": "heuristics", "auto_approve_max_changed_files": 0}, pairs("3", "three"), true},
		{"a large edit", object{"apply_changes_trigger": "heuristics"}, pairs("3\n", strings.Repeat("x\n", 11)), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.write("f", ten)
			r.write("g", ten)
			r.answers, r.options = nil, c.options
			a := r.call(object{"patterns": c.patterns})
			if c.asks {
				r.wantQuestion(a, "apply_changes")
				r.wantFile("f", ten)
			} else {
				r.wantOK(a, "File modified: f")
			}
		})
	}
	for name, bad := range map[string]any{
		"apply_changes_trigger": "sometimes", "auto_approve_max_changed_files": "2", "auto_approve_max_changed_lines": -1,
		"auto_approve_max_ratio_percent": 1.5, "suppress": 3,
	} {
		r := newRig(t, "file f a")
		r.options = object{name: bad}
		r.wantError(r.replace("a", "b"), jptool.CodeInvalidArguments, "`"+name+"`")
		r.wantFile("f", "a")
	}
}

// A diff shows content, so update alone is not enough, in a preview neither.
func TestNeedsReadAndUpdate(t *testing.T) {
	r := newRig(t, "file f top secret", "file h/f top secret")
	for _, c := range []struct{ rule, missing string }{{"update", "read"}, {"read", "update"}, {"create delete", "read"}} {
		r.rules = []jptool.FsRule{jptooltest.Rule("", c.rule)}
		for _, r.preview = range []bool{false, true} {
			for _, path := range []string{"f", "none"} {
				a := r.call(object{"path": path, "patterns": pairs("top", "x")})
				r.wantError(a, jptool.CodeAccessDenied, c.missing)
				if strings.Contains(a.Message, "secret") || strings.Contains(a.Message, "not exist") {
					t.Errorf("the message tells of the file: %s", a.Message)
				}
			}
		}
	}
	r.rules, r.options = nil, object{"suppress": []string{"h/"}}
	for _, r.preview = range []bool{false, true} {
		a := r.call(object{"path": "h/f", "patterns": pairs("nowhere", "x")})
		r.wantError(a, jptool.CodeSuppressed, "h/f")
		if strings.Contains(a.Message, "secret") {
			t.Errorf("the message tells of the file: %s", a.Message)
		}
	}
	r.wantFile("f", "top secret")
	r.wantFile("h/f", "top secret")
}

// Control characters of a file or of an argument do not reach the terminal of who approves.
func TestDiffIsSafeToShow(t *testing.T) {
	r := newRig(t)
	r.write("f", "a \x1b]0;title\x07\n")
	r.answers = nil
	a := r.replace("a", "b \x1b[2K\u202e")
	r.wantQuestion(a, "apply_changes")
	if strings.ContainsAny(a.Question.PreAmble, "\x1b\x07\u202e") {
		t.Errorf("pre_amble %q", a.Question.PreAmble)
	}
}

// What somebody else did after reading stops the write, and what was already written
// is put back.
func TestStaleAndRolledBack(t *testing.T) {
	r := newRig(t, "file a foo", "file b foo")
	ws := jptooltest.Open(t, r.root)
	ch, err := newChange(t.Context(), &toolmain.Call{Workspace: ws}, &arguments{CaseSensitive: true, Patterns: []patternArg{
		{Old: "foo", New: "x", Paths: toolmain.Strings{Items: []string{"a", "b"}, Set: true}},
	}}, &options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ch.close()
	if err := ch.read(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if err := ch.match(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	ch.makeDiffs()
	if err := os.WriteFile(filepath.Join(r.root, "b"), []byte("FOO"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := ch.write(t.Context()); err == nil || jptool.CodeOf(err) != jptool.CodeStale {
		t.Errorf("got %v", err)
	}
	ch.close()
	r.wantFile("a", "foo")
	r.wantFile("b", "FOO")
	if list, _ := os.ReadDir(r.root); len(list) != 2 {
		t.Errorf("files were left: %v", list)
	}
}
