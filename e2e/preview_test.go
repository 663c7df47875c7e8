package e2e

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// shown is a call in a workspace, and what a person was shown of it.
type shown struct {
	testing.TB
	root, tool string
	arguments  map[string]any
	access     any
	token      string
	text       string
}

func (s *shown) preview() *outcome {
	s.Helper()
	o := runTool(s, s.tool, strings.Replace(request(s, s.root, s.access, s.tool, s.arguments, nil), `"action":"run"`, `"action":"format_arguments"`, 1))
	if o.Type != "success" {
		return o
	}
	var data struct{ Token string }
	if err := json.Unmarshal(o.Data, &data); err != nil || data.Token == "" {
		s.Fatalf("%s: the preview has no token: %s", s.tool, o.raw)
	}
	s.token, s.text = data.Token, o.Content
	return o
}

// run makes the call after a yes to the preview, with yes to every question of its own.
func (s *shown) run(more map[string]any) *outcome {
	s.Helper()
	answers := map[string]any{"preview": true, "preview.token": s.token}
	for _, id := range []string{"apply_changes", "broad_change", "overwrite_file", "delete_dirty_file", "modify_dirty_file", "move_dirty_source"} {
		answers[id] = true
	}
	maps.Copy(answers, more)
	return runTool(s, s.tool, request(s, s.root, s.access, s.tool, s.arguments, answers))
}

// A yes is for the places and the content that were shown, in every tool.
func TestApprovalHoldsForWhatWasShown(t *testing.T) {
	edit := []any{map[string]any{"old": "text", "new": "word"}}
	roundTrip := []any{map[string]any{"old": "text", "new": "word"}, map[string]any{"old": "word", "new": "text"}}
	type change func(t *testing.T, root string)
	write := func(path, text string) change {
		return func(t *testing.T, root string) { jptooltest.Tree(t, root, "file "+path+" "+text) }
	}
	link := func(path, to string) change {
		return func(t *testing.T, root string) {
			if err := os.Remove(filepath.Join(root, path)); err != nil {
				t.Fatal(err)
			}
			jptooltest.Tree(t, root, "symlink "+path+" "+to)
		}
	}
	remove := func(path string) change {
		return func(t *testing.T, root string) {
			if err := os.RemoveAll(filepath.Join(root, path)); err != nil {
				t.Fatal(err)
			}
		}
	}
	none := func(*testing.T, string) {}
	for name, c := range map[string]struct {
		tool      string
		arguments map[string]any
		change    change
		access    any
		asks      bool
	}{
		"read":                 {"fs_read_file", map[string]any{"path": "link/x"}, none, nil, false},
		"read, another file":   {"fs_read_file", map[string]any{"path": "link/x"}, link("link", "important"), nil, true},
		"read, more content":   {"fs_read_file", map[string]any{"path": "link/x"}, write("scratch/x", "more"), nil, false},
		"list":                 {"fs_list_files", map[string]any{"prefixes": "link"}, none, nil, false},
		"list elsewhere":       {"fs_list_files", map[string]any{"prefixes": "link"}, link("link", "important"), nil, true},
		"list names elsewhere": {"fs_list_files", map[string]any{"prefixes": "link/no"}, link("link", "important"), nil, true},
		"grep":                 {"fs_grep_files", map[string]any{"pattern": "text", "paths": "link"}, none, nil, false},
		"grep elsewhere":       {"fs_grep_files", map[string]any{"pattern": "text", "paths": []string{"scratch", "link"}}, link("link", "important"), nil, true},
		"create":               {"fs_create_file", map[string]any{"path": "link/d/new", "content": "x"}, none, nil, false},
		"create elsewhere":     {"fs_create_file", map[string]any{"path": "link/d/new", "content": "x"}, link("link", "important"), nil, true},
		"create where something is": {
			"fs_create_file", map[string]any{"path": "scratch/new", "content": "x"}, write("scratch/new", "kept"), nil, true,
		},
		"overwrite":               {"fs_create_file", map[string]any{"path": "scratch/x", "content": "x"}, none, nil, false},
		"overwrite another file":  {"fs_create_file", map[string]any{"path": "link/x", "content": "x"}, link("link", "important"), nil, true},
		"overwrite other content": {"fs_create_file", map[string]any{"path": "scratch/x", "content": "x"}, write("scratch/x", "texT"), nil, true},
		"overwrite with its own content": {
			"fs_create_file", map[string]any{"path": "scratch/x", "content": "texT"}, write("scratch/x", "texT"), nil, true,
		},
		"overwrite unread": {
			"fs_create_file",
			map[string]any{"path": "scratch/x", "content": "x"},
			none,
			map[string]any{"fs": []any{map[string]any{"path": ".", "write": true}}},
			false,
		},
		"overwrite unread in place": {
			"fs_create_file",
			map[string]any{"path": "scratch/x", "content": "x"},
			none,
			map[string]any{"fs": []any{map[string]any{"path": ".", "update": true}}},
			false,
		},
		"overwrite another file unread": {
			"fs_create_file",
			map[string]any{"path": "scratch/x", "content": "x"},
			write("scratch/x", "longer text"),
			map[string]any{"fs": []any{map[string]any{"path": ".", "write": true}}},
			true,
		},
		"delete":                     {"fs_delete_file", map[string]any{"path": "link/x"}, none, nil, false},
		"delete elsewhere":           {"fs_delete_file", map[string]any{"path": "link/x"}, link("link", "important"), nil, true},
		"delete other content":       {"fs_delete_file", map[string]any{"path": "scratch/x"}, write("scratch/x", "texT"), nil, true},
		"delete a link":              {"fs_delete_file", map[string]any{"path": "link"}, none, nil, false},
		"delete another link":        {"fs_delete_file", map[string]any{"path": "link"}, link("link", "important"), nil, true},
		"modify":                     {"fs_modify_file", map[string]any{"path": "link/x", "patterns": edit}, none, nil, false},
		"modify elsewhere":           {"fs_modify_file", map[string]any{"path": "link/x", "patterns": edit}, link("link", "important"), nil, true},
		"modify other content":       {"fs_modify_file", map[string]any{"path": "scratch/x", "patterns": edit}, write("scratch/x", "a text"), nil, true},
		"modify nothing":             {"fs_modify_file", map[string]any{"path": "link/x", "patterns": roundTrip}, none, nil, false},
		"modify nothing elsewhere":   {"fs_modify_file", map[string]any{"path": "link/x", "patterns": roundTrip}, link("link", "important"), nil, true},
		"move":                       {"fs_move_file", map[string]any{"source": "link/x", "target": "y"}, none, nil, false},
		"move another file":          {"fs_move_file", map[string]any{"source": "link/x", "target": "y"}, link("link", "important"), nil, true},
		"move elsewhere":             {"fs_move_file", map[string]any{"source": "a", "target": "link/y"}, link("link", "important"), nil, true},
		"move other content":         {"fs_move_file", map[string]any{"source": "a", "target": "b"}, write("a", "B"), nil, true},
		"move onto":                  {"fs_move_file", map[string]any{"source": "a", "target": "scratch/x"}, none, nil, false},
		"move onto other content":    {"fs_move_file", map[string]any{"source": "a", "target": "scratch/x"}, write("scratch/x", "texT"), nil, true},
		"move onto what came":        {"fs_move_file", map[string]any{"source": "a", "target": "b"}, write("b", "kept"), nil, true},
		"move onto what went":        {"fs_move_file", map[string]any{"source": "a", "target": "scratch/x"}, remove("scratch/x"), nil, true},
		"move a tree":                {"fs_move_file", map[string]any{"source": "tree", "target": "wood"}, none, nil, false},
		"move a tree with more":      {"fs_move_file", map[string]any{"source": "tree", "target": "wood"}, write("tree/deep/new", "x"), nil, true},
		"move a tree with less":      {"fs_move_file", map[string]any{"source": "tree", "target": "wood"}, remove("tree/deep/f"), nil, true},
		"move a tree, other content": {"fs_move_file", map[string]any{"source": "tree", "target": "wood"}, write("tree/deep/f", "Leaf"), nil, true},
		"move a tree, another link":  {"fs_move_file", map[string]any{"source": "tree", "target": "wood"}, link("tree/l", "/"), nil, true},
		"move an unread tree": {
			"fs_move_file",
			map[string]any{"source": "tree", "target": "wood"},
			none,
			map[string]any{"fs": []any{map[string]any{"path": ".", "write": true}}},
			false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := jptooltest.TempRoot(t)
			jptooltest.Tree(t, root, "file scratch/x text", "file scratch/keep", "file important/x text", "file important/keep",
				"file important/notes", "symlink link scratch", "file a A", "file tree/deep/f leaf", "symlink tree/l deep")
			s := &shown{TB: t, root: root, tool: c.tool, arguments: c.arguments, access: c.access}
			if o := s.preview(); o.Type != "success" {
				t.Fatalf("preview: %s", o.raw)
			}
			token := s.token
			if s.preview(); s.token != token {
				t.Errorf("two previews of the same have different tokens: %s", s.text)
			}
			c.change(t, root)
			before := snapshot(t, root)
			o := s.run(nil)
			if !c.asks {
				if o.Type != "success" {
					t.Fatalf("%s; want a success", o.raw)
				}
				return
			}
			var q struct {
				Question struct {
					ID, Token  string
					PreAmble   string `json:"pre_amble"`
					AnswerType string `json:"answer_type"`
					Default    any
				}
			}
			if err := json.Unmarshal([]byte(o.raw), &q); err != nil || o.Type != "needs_input" || q.Question.ID != "preview" ||
				q.Question.AnswerType != "Boolean" || q.Question.Default != false {
				t.Fatalf("%s; want the question preview", o.raw)
			}
			if after := snapshot(t, root); after != before {
				t.Errorf("it asks, but changed the tree to\n%s", after)
			}
			// What the question shows is the preview of now, and its token is good for that.
			s.preview()
			if q.Question.PreAmble != s.text || q.Question.Token != s.token {
				t.Errorf("the question shows %q with %s; the preview is %q with %s", q.Question.PreAmble, q.Question.Token, s.text, s.token)
			}
			if o := s.run(nil); o.Type != "success" {
				t.Errorf("with the new token: %s", o.raw)
			}
		})
	}
}

// Hosts that know nothing of previews go on as they did, and a no is a no.
func TestApprovalOfAPreviewIsOptional(t *testing.T) {
	for name, c := range map[string]struct {
		answers map[string]any
		want    string
	}{
		"no answer":            {map[string]any{"preview": nil, "preview.token": nil}, "success"},
		"yes without a token":  {map[string]any{"preview.token": nil}, "success"},
		"no":                   {map[string]any{"preview": false}, "declined"},
		"a token and no yes":   {map[string]any{"preview": nil}, "needs_input"},
		"a yes that is a word": {map[string]any{"preview": "yes"}, "invalid_arguments"},
		"a foreign token":      {map[string]any{"preview.token": "sha256:00"}, "needs_input"},
		"a token of no string": {map[string]any{"preview.token": 7}, "needs_input"},
	} {
		for tool, arguments := range map[string]map[string]any{
			"fs_read_file": {"path": "f"}, "fs_list_files": {}, "fs_grep_files": {"pattern": "text"}, "fs_create_file": {"path": "new"},
			"fs_modify_file": {"path": "f", "patterns": map[string]any{"old": "text", "new": "word"}},
			"fs_delete_file": {"path": "f"}, "fs_move_file": {"source": "f", "target": "g"},
		} {
			root := jptooltest.TempRoot(t)
			jptooltest.Tree(t, root, "file f text")
			before := snapshot(t, root)
			s := &shown{TB: t, root: root, tool: tool, arguments: arguments}
			s.preview()
			o := s.run(c.answers)
			if got := o.Type; got != c.want && o.Code != c.want {
				t.Errorf("%s, %s: %s; want %s", name, tool, o.raw, c.want)
			}
			if after := snapshot(t, root); c.want != "success" && after != before {
				t.Errorf("%s, %s: nothing was allowed, but the tree is now\n%s", name, tool, after)
			}
		}
	}
}

// Nobody is asked about a call that cannot be made.
func TestPreviewOfACallThatFailsIsAnError(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file f text", "dir d", "file secret/f x")
	access := map[string]any{"fs": []any{map[string]any{"path": ".", "read": true, "write": true}, map[string]any{"path": "secret"}}}
	edit := map[string]any{"old": "nowhere", "new": "x"}
	for _, c := range []struct {
		tool      string
		arguments map[string]any
		code      string
	}{
		{"fs_read_file", map[string]any{"path": "none"}, "not_found"},
		{"fs_read_file", map[string]any{"path": "d"}, "wrong_type"},
		{"fs_read_file", map[string]any{"path": "secret/f"}, "access_denied"},
		{"fs_read_file", map[string]any{"path": "f", "start_line": 9}, "invalid_arguments"},
		{"fs_list_files", map[string]any{"prefixes": "none/"}, "not_found"},
		{"fs_list_files", map[string]any{"prefixes": "secret"}, "access_denied"},
		{"fs_grep_files", map[string]any{"pattern": "("}, "invalid_arguments"},
		{"fs_grep_files", map[string]any{"pattern": "x", "paths": "none/"}, "not_found"},
		{"fs_create_file", map[string]any{"path": "d"}, "wrong_type"},
		{"fs_create_file", map[string]any{"path": "f/below"}, "wrong_type"},
		{"fs_create_file", map[string]any{"path": "secret/g"}, "access_denied"},
		{"fs_modify_file", map[string]any{"path": "f", "patterns": edit}, "no_match"},
		{"fs_modify_file", map[string]any{"path": "none", "patterns": edit}, "not_found"},
		{"fs_delete_file", map[string]any{"path": "none"}, "not_found"},
		{"fs_delete_file", map[string]any{"path": "d"}, "wrong_type"},
		{"fs_move_file", map[string]any{"source": "none", "target": "x"}, "not_found"},
		{"fs_move_file", map[string]any{"source": "f", "target": "d"}, "already_exists"},
		{"fs_move_file", map[string]any{"source": "f", "target": "secret/g"}, "access_denied"},
	} {
		s := &shown{TB: t, root: root, tool: c.tool, arguments: c.arguments, access: access}
		ran := runTool(t, c.tool, request(t, root, access, c.tool, c.arguments, nil))
		if o := s.preview(); o.Type != "error" || o.Code != c.code || ran.Code != c.code || ran.Message != o.Message {
			t.Errorf("%s %v: preview %srun %swant the same %s", c.tool, c.arguments, o.raw, ran.raw, c.code)
		}
	}
}
