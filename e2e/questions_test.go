package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// questions are those of an Outcome, as a host that knows `questions` reads them.
func questions(t *testing.T, o *outcome) map[string]string {
	t.Helper()
	var asked struct {
		Question  struct{ ID, Token string }
		Questions []struct{ ID, Token string }
	}
	if err := json.Unmarshal([]byte(o.raw), &asked); err != nil {
		t.Fatal(err)
	}
	tokens := map[string]string{}
	if len(asked.Questions) > 0 && asked.Questions[0] != asked.Question {
		t.Errorf("`question` is not the first of `questions`: %s", o.raw)
	}
	for _, q := range append(asked.Questions, asked.Question) {
		if q.ID != "" {
			tokens[q.ID] = q.Token
		}
	}
	return tokens
}

// A tool asks everything at once: a host that reads `questions` starts it twice. A host that knows only `question`
// answers one after the other and comes to the same end. Nothing changes before all are answered.
func TestQuestionsOfAllHosts(t *testing.T) {
	for tool, c := range map[string]struct {
		arguments map[string]any
		asks      []string
		changed   string // the file that holds the new content then
	}{
		"fs_modify_file": {map[string]any{"path": "a", "patterns": map[string]any{"old": "^.*$", "new": "new"}, "replace_using_regex": true}, []string{"broad_replacement", "modify_dirty_file", "apply_changes"}, "a"},
		"fs_move_file":   {map[string]any{"source": "a", "target": "b"}, []string{"overwrite_file", "move_dirty_source"}, "b"},
		"fs_create_file": {map[string]any{"path": "a", "content": "new"}, []string{"overwrite_file"}, "a"},
		"fs_delete_file": {map[string]any{"path": "a"}, []string{"delete_dirty_file"}, ""},
	} {
		for _, older := range []bool{false, true} {
			root := jptooltest.TempRoot(t)
			jptooltest.Tree(t, root, "file a new", "file b old", "dir .git") // a repository that cannot be read
			if tool == "fs_modify_file" || tool == "fs_create_file" {
				jptooltest.Tree(t, root, "file a old")
			}
			before := snapshot(t, root)
			answers := map[string]any{}
			starts := 1
			o := runTool(t, tool, request(t, root, nil, tool, c.arguments, answers))
			for ; o.Type == "needs_input" && starts < 10; starts++ {
				if got := snapshot(t, root); got != before {
					t.Errorf("%s asks, but changed the tree to\n%s", tool, got)
				}
				tokens := questions(t, o)
				if older {
					tokens = map[string]string{o.Question.ID: o.Question.Token}
				}
				for id, token := range tokens {
					answers[id], answers[id+".token"] = true, token
				}
				o = runTool(t, tool, request(t, root, nil, tool, c.arguments, answers))
			}
			want := 2
			if older {
				want = 1 + len(c.asks)
			}
			if o.Type != "success" || starts != want || len(answers) != 2*len(c.asks) {
				t.Errorf("%s, older host %v: %d starts, want %d; answers %v, want %q; %s", tool, older, starts, want, answers, c.asks, o.raw)
			}
			for _, id := range c.asks {
				if answers[id] == nil {
					t.Errorf("%s did not ask %s", tool, id)
				}
			}
			if c.changed == "" {
				continue
			}
			if text, err := os.ReadFile(filepath.Join(root, c.changed)); err != nil || string(text) != "new" {
				t.Errorf("%s left %q, %v", tool, text, err)
			}
		}
	}
}
