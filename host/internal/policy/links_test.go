package policy

import (
	"cmp"
	"strings"
	"testing"

	"github.com/jptools/jptools/jptool"
)

// A rule whose path leads through a symlink of the workspace grants nothing at the target that does not hold there
// without it, until a person approved the target; what it takes away holds there at once.
func TestRulesThroughLinks(t *testing.T) {
	rules := func(list string) string { return "conversation.tools.t.access.fs = [" + list + "]" }
	for _, tt := range []struct {
		name, mine, repo string
		tree             []string
		allowed, denied  string
		asked            string // targets in the workspace
	}{
		{
			"to what is protected", rules(`{ path = ".", read = true, execute = true }, { path = "build/", read = true, write = true }`), "",
			[]string{"dir .git/hooks", "symlink build .git/hooks"},
			"read .git/hooks/x", "create .git/hooks/x\nwrite build/x\ndelete .git/hooks", ".git/hooks",
		},
		{
			"to what is protected, where writing holds anyway", rules(`{ path = ".", read = true, write = true }, { path = "NOTES.md", read = true, update = true }`), "",
			[]string{"dir .git", "file .git/config x", "symlink NOTES.md .git/config"},
			"read NOTES.md\nwrite x", "update NOTES.md\nupdate .git/config", "",
		},
		{
			"below what is protected", rules(`{ path = ".", read = true, write = true }, { path = "build", read = true, write = true }`), "",
			[]string{"dir .git/hooks/x", "symlink build .git/hooks/x"},
			"write x", "create build/y\nwrite .git/hooks/x/y", "",
		},
		{
			"to the root", rules(`{ path = ".", read = true }, { path = "build", read = true, write = true }`), "",
			[]string{"symlink build ."},
			"read x", "write x\nwrite build/x", ".",
		},
		{
			"on the way", rules(`{ path = ".", read = true }, { path = "a/b", write = true }`), "",
			[]string{"dir c/b", "symlink a c"},
			"", "write c/b/x\nwrite a/b/x", "c/b",
		},
		{
			"a chain", rules(`{ path = "a", write = true }`), "",
			[]string{"dir c", "symlink a b", "symlink b c"},
			"", "write c/x\nread c/x", "c",
		},
		{
			"to where nothing else is granted", rules(`{ path = "src", read = true }`), "",
			[]string{"dir real", "symlink src real"},
			"", "read real/x\nread src/x", "real",
		},
		{
			"what adds nothing", rules(`{ path = ".", read = true, write = true }, { path = "src", read = true }`), "",
			[]string{"dir real", "symlink src real"},
			"read real/x\nread src/x", "write real/x", "",
		},
		{
			"adds one thing and takes another away", rules(`{ path = ".", read = true, write = true }, { path = "src", read = true, execute = true }`), "",
			[]string{"dir real", "symlink src real"},
			"read real/x\nwrite x", "write real/x\nexecute real/x", "real",
		},
		{
			"below what another link takes away", rules(`{ path = ".", read = true }, { path = "vault" }, { path = "open", read = true }`), "",
			[]string{"dir real/secret/in", "symlink vault real/secret", "symlink open real/secret/in"},
			"read x\nread real/x", "read real/secret/in/x\nread open/x", "real/secret/in",
		},
		{
			"of the repository", rules(`{ path = ".", read = true }`), rules(`{ path = "build", write = true }`),
			[]string{"dir out", "symlink build out"},
			"read x", "read out/x\nwrite out/x\nwrite build/x", "out",
		},
		{
			"what the tool does not need", rules(`{ path = ".", read = true }, { path = "build", read = true, write = true }`) + "\nconversation.tools.t.needs.fs = [\"read\"]", "",
			[]string{"dir out", "symlink build out"},
			"read out/x", "write out/x", "",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, tt.tree...).mine(tt.mine)
			if tt.repo != "" {
				w.repo(tt.repo)
			}
			d := w.compile("t")
			w.check(d, tt.allowed, tt.denied)
			var asked []string
			for _, r := range w.asked {
				asked = append(asked, cmp.Or(strings.TrimPrefix(strings.TrimPrefix(r.Target, w.root), "/"), "."))
			}
			if got := strings.Join(asked, " "); got != tt.asked {
				t.Errorf("asked for %q, want %q", got, tt.asked)
			}
			if tt.asked != "" && (len(d.Dropped) != 1 || !strings.HasPrefix(d.Dropped[0].Command, "jphost approvals approve ") || len(d.Warnings) != 1) {
				t.Errorf("nobody is told how to approve it: %+v %+v", d.Dropped, d.Warnings)
			}
		})
	}
}

// An approval lets the rule hold at the target. It does not lift self-protection.
func TestApprovedLinks(t *testing.T) {
	w := newWorld(t, "dir real", "symlink src real", "dir .git/hooks", "symlink build .git/hooks").mine(`
conversation.tools.t.access.fs = [{ path = ".", read = true }, { path = "src", read = true, write = true }, { path = "build", read = true, write = true }]`)
	w.approved[w.root+"/real"], w.approved[w.root+"/.git/hooks"] = true, true
	w.check(w.compile("t"), "write real/x\nwrite src/x", "write .git/hooks/x\nwrite build/x\ndelete src")
	if len(w.asked) != 2 || w.asked[0].RulePath != "src" || w.asked[1].RulePath != "build" {
		t.Errorf("%+v", w.asked)
	}
}

// A policy of a command line may not gain through a link; one of the wire is taken as it is.
func TestGivenThroughLinks(t *testing.T) {
	w := newWorld(t, "dir .git/hooks", "symlink build .git/hooks", "symlink less src", "dir src")
	given := func(access string, refuse bool) (*Declared, error) {
		a, err := jptool.DecodeAccess([]byte(access))
		if err != nil {
			t.Fatal(err)
		}
		return Given(a, w.root, Request{RefuseLinks: refuse})
	}
	const gains = `{"fs":[{"path":".","read":true},{"path":"build","read":true,"write":true}]}`
	if _, err := given(gains, true); err == nil || !strings.Contains(err.Error(), `the rule on "build" leads through a symlink to ".git/hooks"`) {
		t.Errorf("%v", err)
	}
	d, err := given(gains, false)
	if err != nil {
		t.Fatal(err)
	}
	w.check(d, "read build/x", "write build/x\nwrite .git/hooks/x")
	d, err = given(`{"fs":[{"path":".","read":true,"write":true},{"path":"less","read":true}]}`, true)
	if err != nil {
		t.Fatal(err)
	}
	w.check(d, "read src/x\nwrite x", "write src/x")
}
