package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/jptool/toolmain"
)

type object = map[string]any

// answer is a decoded Outcome.
type answer struct {
	Type, Content, Message string
	Code                   jptool.Code
	Transient              bool
	Question               question
	Questions              []question
	Data                   json.RawMessage
	exit                   int
}

type question struct {
	ID, Text, Token string
	PreAmble        string `json:"pre_amble"`
	Default         any
}

// ids are those of all questions in order, with blanks between them.
func (a answer) ids() string {
	ids := make([]string, len(a.Questions))
	for i, q := range a.Questions {
		ids[i] = q.ID
	}
	return strings.Join(ids, " ")
}

func (a answer) result(t *testing.T) result {
	t.Helper()
	var r result
	if err := json.Unmarshal(a.Data, &r); err != nil {
		t.Fatalf("data %s: %v", a.Data, err)
	}
	return r
}

// rig is a workspace and how to call the tool in it.
type rig struct {
	*testing.T
	root    string
	args    object // of every call
	options object
	answers object
	written object
	preview bool
	rules   []jptool.FsRule
}

// newRig makes a workspace from lines of jptooltest.Tree. Calls approve the change.
func newRig(t *testing.T, tree ...string) *rig {
	t.Helper()
	r := &rig{T: t, root: jptooltest.TempRoot(t), answers: object{"apply_changes": true}}
	jptooltest.Tree(t, r.root, tree...)
	return r
}

func (r *rig) call(args object) answer {
	r.Helper()
	all := object{"path": "f"}
	maps.Copy(all, r.args)
	maps.Copy(all, args)
	ctx := object{"root": r.root, "action": "run"}
	if r.preview {
		ctx["action"] = "format_arguments"
	}
	if len(r.rules) > 0 {
		ctx["access"] = jptool.AccessPolicy{FS: r.rules}
	}
	request, err := json.Marshal(object{"context": ctx, "tool": object{
		"name": "fs_modify_file", "arguments": all, "options": r.options, "answers": r.answers, "written": r.written,
	}})
	if err != nil {
		r.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	exit := toolmain.Run(r.Context(), tool, toolmain.Streams{Stdin: bytes.NewReader(request), Stdout: &stdout, Stderr: &stderr})
	var a answer
	if err := json.Unmarshal(stdout.Bytes(), &a); err != nil {
		r.Fatalf("output %q: %v", stdout.String(), err)
	}
	a.exit = exit
	if strings.Contains(stdout.String()+stderr.String(), r.root) {
		r.Errorf("the output names an absolute path: %s%s", stdout.String(), stderr.String())
	}
	return a
}

// replace calls with patterns of old and new in turn.
func (r *rig) replace(oldNew ...string) answer {
	r.Helper()
	return r.call(object{"patterns": pairs(oldNew...)})
}

func pairs(oldNew ...string) []object {
	var list []object
	for i := 0; i < len(oldNew); i += 2 {
		list = append(list, object{"old": oldNew[i], "new": oldNew[i+1]})
	}
	return list
}

func (r *rig) write(name, text string) {
	r.Helper()
	if err := os.WriteFile(filepath.Join(r.root, name), []byte(text), 0o666); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) wantFile(name, want string) {
	r.Helper()
	got, err := os.ReadFile(filepath.Join(r.root, name))
	if err != nil || string(got) != want {
		r.Errorf("%s holds %q, %v; want %q", name, got, err, want)
	}
}

func (r *rig) wantOK(a answer, mention string) {
	r.Helper()
	if a.Type != "success" || a.exit != 0 || !strings.Contains(a.Content, mention) {
		r.Errorf("got %s %s exit %d\n%s%s%s\nwant success with %q", a.Type, a.Code, a.exit, a.Content, a.Message, a.Question.Text, mention)
	}
}

func (r *rig) wantError(a answer, code jptool.Code, mention string) {
	r.Helper()
	exit := 1
	if code.BadRequest() {
		exit = 2
	}
	if a.Type != "error" || a.Code != code || a.exit != exit || a.Transient || !strings.Contains(a.Message, mention) {
		r.Errorf("got %s %s exit %d: %s%s%s\nwant %s with %q", a.Type, a.Code, a.exit, a.Message, a.Content, a.Question.Text, code, mention)
	}
}

func (r *rig) wantQuestion(a answer, id string) {
	r.Helper()
	if a.Type != "needs_input" || a.Question.ID != id || a.exit != 0 {
		r.Errorf("got %s %s %s%s; want question %s", a.Type, a.Question.ID, a.Message, a.Content, id)
	}
	if !strings.Contains(tool.Description, id) {
		r.Errorf("the help does not know question %s", id)
	}
}
