package policy

import (
	"strings"
	"testing"
)

func (w *world) remarks(tool string) string {
	w.t.Helper()
	r := w.request(tool)
	d, err := Compile(w.t.Context(), r)
	if err != nil {
		w.t.Fatal(err)
	}
	var list []string
	for _, x := range d.Remarks(r.Config, r.Tool) {
		list = append(list, strings.NewReplacer(w.user, "USER", w.talk, "TALK").Replace(x.String()))
	}
	return strings.Join(list, "\n")
}

func TestRemarks(t *testing.T) {
	for _, tt := range []struct {
		name, mine, talk string
		tree             []string
		want             string
	}{
		{"nothing", "", "", nil, ""},
		{"in order", `conversation.tools.t.access.fs = [{ path = ".", read = true }, { path = "src" }, { path = ".env" }]`, "", []string{"dir src"}, ""},
		{
			"only withheld", `conversation.tools.t.access.fs = [{ path = "src" }, { path = ".env" }]`, "",
			[]string{"dir src"},
			`USER:1:35: the rules of t only withhold, so they grant nothing at all: writing any rule drops the default for "."
  add { path = ".", read = true, write = true, execute = true } to conversation.tools.t.access.fs`,
		},
		{
			"only withheld from what the tool needs", `conversation.tools.fs_read_file.access.fs = [{ path = ".env", delete = false }]`, "", nil,
			`USER:1:46: the rules of fs_read_file only withhold, so they grant nothing at all: writing any rule drops the default for "."
  add { path = ".", read = true } to conversation.tools.fs_read_file.access.fs`,
		},
		{
			"a pattern that covers nothing", "conversation.tools.'*'.access.deny = [\"**/.env*\", \"secrts/\", \"/keys/*.pem\", \"~/.netrc\"]", "",
			[]string{"file a/.env x", "file secrets/x", "file keys/a.pem"},
			`USER:1:51: deny = ["secrts/"] covers nothing that is in the workspace
  look whether it is as meant; it will cover what comes to be`,
		},
		{"withheld on purpose", `conversation.tools.t.access.fs = [{ path = "./" }]`, "", nil, ""},
		{
			"a slip", `conversation.tools.t.access.fs = [{ path = ".", read = true }, { path = "confg/Secrt" }, { path = "config/secrt/x" }, { path = "./readme.md", read = true, write = true }]`, "",
			[]string{"file config/secret/x", "file README.md"},
			`USER:1:64: the rule of t on "confg/Secrt" is on what is not there
  did you mean "config/Secrt"?
USER:1:90: the rule of t on "config/secrt/x" is on what is not there
  did you mean "config/secret/x"?
USER:1:119: the rule of t on "readme.md" is on what is not there
  did you mean "README.md"?`,
		},
		{
			"nothing there", `conversation.tools.t.access.fs = [{ path = "build", create = true }, { path = "data", read = true }, { path = "a/b" }, { path = "**/x", read = true }]`, "", nil,
			`USER:1:70: the rule of t on "data" is on what is not there
  look whether the path is as meant; as a file, create it before the call; as a directory, write it with a slash
USER:1:102: the rule of t on "a/b" is on what is not there
  look whether the path is as meant; the rule will hold for what is made there`,
		},
		{
			"replaced", `conversation.tools.t.access.fs = [{ path = "src" }, { path = ".", read = true }]`, `conversation.tools.t.access.fs = { strategy = "replace", value = [{ path = ".", read = true }] }`,
			[]string{"dir src"},
			`the rules of t at USER:1:35, USER:1:53 are replaced by the conversation
  see both with: jphost config show conversation.tools.t.access.fs; another conversation (--conversation ID) goes by the files, and so does this one without the access of t in TALK`,
		},
		{
			"a script out of reach", "conversation.tools.t.command = 'sh a.sh lib/b.sh none.sh data'\nconversation.tools.t.access.fs = [{ path = 'lib', read = true }]", "",
			[]string{"file a.sh", "file lib/b.sh", "dir data"},
			`USER:1:22: the command of t names "a.sh", which no rule lets it read
  if it is its script: add { path = "a.sh", read = true } to conversation.tools.t.access.fs`,
		},
		{
			"a mode for all tools", "conversation.tools.'*'.run = 'ask'\nconversation.tools.'*'.result = 'ask'\nconversation.tools.fs_read_file.result = 'edit'", "", nil,
			`USER:1:24: run = "ask" for all tools does not reach fs_read_file, which has its own: "unattended" at built-in:10:1
  set it by name: conversation.tools.fs_read_file.run`,
		},
		{"a mode that is the tool's own too", "conversation.tools.'*'.run = 'unattended' # as fs_read_file", "", nil, ""},
		{"added to", `conversation.tools.t.access.fs = [{ path = ".", read = true }]`, `conversation.tools.t.access.fs = [{ path = "src" }]`, []string{"dir src"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, tt.tree...)
			if tt.mine != "" {
				w.mine(tt.mine)
			}
			if tt.talk != "" {
				w.write(w.talk, tt.talk)
			}
			tool := "t"
			if strings.Contains(tt.mine, "fs_read_file") {
				tool = "fs_read_file"
			}
			if got := w.remarks(tool); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// One remedy names everything that was asked for, and why the default does not help.
func TestRemedyIsWhole(t *testing.T) {
	w := newWorld(t, "dir src").mine(`conversation.tools.t.access.fs = [{ path = "src" }, { path = "log", read = true }]`)
	d := w.compile("t")
	for _, tt := range []struct{ capability, path, reason, remedy string }{
		{"write", "doc/x", `no rule matches it; the built-in default for "." was dropped, because there are rules (the first at USER:1:35)`, `add { path = "doc", read = true, write = true } to conversation.tools.t.access.fs`},
		{"write", "src", `the rule on "src" decides, and grants nothing`, "change that rule: add read = true, write = true"},
		{"write", "log/x", `the rule on "log" decides, and grants only read`, "change that rule: add write = true"},
		{"update", "log/x", `the rule on "log" decides, and grants only read`, `change that rule, or add a more specific one to conversation.tools.t.access.fs: { path = "log/x", read = true, update = true }`},
		{"create", "doc/x", "", `add { path = "doc", create = true } to conversation.tools.t.access.fs`},
		{"create", "log", "", `change that rule: add create = true, and add { path = ".", create = true } to conversation.tools.t.access.fs`},
	} {
		e, err := d.ExplainFS(tt.capability, tt.path)
		if err != nil {
			t.Fatal(err)
		}
		if reason := strings.ReplaceAll(e.Reason, w.user, "USER"); e.Remedy != tt.remedy || tt.reason != "" && reason != tt.reason {
			t.Errorf("%s %s: %s\n%s", tt.capability, tt.path, reason, e.Remedy)
		}
	}
}
