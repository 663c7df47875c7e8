package policy

import (
	"strings"
	"testing"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

const writeAll = `conversation.tools.t.access.fs = [{ path = ".", read = true, write = true }]`

func TestSelfProtection(t *testing.T) {
	for _, tt := range []struct {
		name, mine, repo string
		tree             []string
		allowed, denied  string
	}{
		{
			"by default", "", "",
			[]string{"dir .git/hooks", "file .git/config x", "dir .jp", "dir sub/.git"},
			"read .jp/x\nexecute .git/hooks/x\nwrite .git/index\nwrite x\nwrite sub/.git/config\nwrite sub/.jp/x\nwrite sub/.jp.toml\nupdate .gitignore\nread .git/config",
			"create .jp/x\ndelete .jp\nwrite .jp.toml\ncreate .jp/config.toml\nupdate .git/config\ncreate .git/config.worktree\ncreate .git/commondir\ncreate .git/hooks/pre-commit\nwrite .git/modules/x/config\nwrite .git/worktrees/x",
		},
		{"no repository", writeAll, "", nil, "write x", "create .git\ncreate .git/config\nexecute .git/hooks/x\nexecute .jp"},
		{
			"a .git file", writeAll, "",
			[]string{`file .git gitdir: .bare\n`, "dir .bare/hooks", `file .bare/config x`},
			"write .bare/HEAD", "update .git\ndelete .git\nwrite .bare/config\ncreate .bare/hooks/x",
		},
		{
			"a .git file for what is not there yet", writeAll, "",
			[]string{`file .git gitdir: far/repo\n`, "dir far"},
			"write x\nwrite far/repo/HEAD", "update .git\nwrite far/repo/config\ncreate far/repo/hooks/x\ncreate far/repo/commondir",
		},
		{
			"a .git file through a link", writeAll, "",
			[]string{`file .git gitdir: via/../repo\n`, "dir far/away", "dir far/repo", "symlink via far/away"},
			"write x\nwrite far/repo/HEAD", "update .git\nwrite far/repo/config\ncreate far/repo/hooks/x\ncreate far/repo/commondir",
		},
		{
			"not yet a bare repository", writeAll, "",
			[]string{"dir objects", "dir refs", "dir config"},
			"write config/x\nwrite hooks/x\nwrite sub/HEAD", "create HEAD\nwrite HEAD",
		},
		{
			"a bare repository", writeAll, "",
			[]string{"file HEAD ref: refs/heads/main", "dir objects", "dir refs"},
			"write objects/x\nwrite x", "write HEAD\nwrite config\ncreate hooks/x\ncreate commondir\nwrite modules/x/config\nread HEAD/x",
		},
		{
			"a bare repository with a link", writeAll, "",
			[]string{"symlink HEAD refs/heads/main"},
			"write x", "delete HEAD\ncreate HEAD\nwrite config\ncreate hooks/x",
		},
		{
			"a worktree", writeAll, "",
			[]string{`file .git gitdir: $ROOT/.bare/worktrees/a\n`, "dir .bare/hooks", `file .bare/worktrees/a/commondir ../..\n`},
			"write x", "update .git\nwrite .bare/config\ncreate .bare/hooks/x\nwrite .bare/worktrees/a/config.worktree",
		},
		{
			"links", writeAll, "",
			[]string{"symlink .jp via", "symlink via conf/jp", "dir conf/jp", "symlink .git repo", "dir repo/hooks", "symlink .jp.toml conf/toml", "file conf/toml"},
			"write conf/x\nwrite repo/HEAD",
			"delete .jp\ncreate .jp\ndelete via\nwrite conf/jp/x\nwrite conf/jp/config.toml\ndelete .git\nwrite repo/config\ncreate repo/hooks/x\ndelete .jp.toml\nupdate conf/toml",
		},
		{
			"a link to a .git file elsewhere, which git reads from where the link is", writeAll, "",
			[]string{"symlink .git far/file", `file far/file gitdir: repo\n`, "dir repo/hooks", "dir far/repo"},
			"write repo/HEAD\nwrite far/repo/x", "delete .git\nupdate far/file\nwrite repo/config\ncreate repo/hooks/x",
		},
		{
			"links out", writeAll, "",
			[]string{"symlink .jp $OUT", "symlink .git $OUT/git"},
			"write x", "delete .jp\ncreate .jp\ndelete .git\nread .jp/x",
		},
		{
			"the user's own rule", `conversation.tools.t.access.fs = [{ path = ".", write = true }, { path = ".jp", write = true }, { path = ".git/hooks/x", update = true }]`, "",
			[]string{"dir .git/hooks", "dir .jp"},
			"write .jp/x\nupdate .git/hooks/x", "update .git/hooks/y\ncreate .git/hooks/x\nwrite .git/config",
		},
		{
			"the user's own deny", `conversation.tools.t.access.fs = [{ path = ".", write = true }, { path = ".jp/secret" }]`, "", nil,
			"write x", "write .jp/secret\nwrite .jp/x",
		},
		{
			"the repository's rules", writeAll, `conversation.tools.t.access.fs = [{ path = ".jp", write = true }, { path = ".git/hooks/x", read = true, write = true }, { path = ".jp.toml", update = true }, { path = "./alias/config", write = true }]`,
			[]string{"dir .git/hooks", "symlink alias .git"},
			"read .git/hooks/x\nwrite x", "write .jp/config.toml\nwrite .git/hooks/x\nupdate .jp.toml\nupdate .git/config\ndelete alias",
		},
		{
			"the repository after the user", `conversation.tools.t.access.fs = [{ path = ".", write = true }, { path = ".jp", read = true }]`, `conversation.tools.t.access.fs = [{ path = ".jp", write = true }]`, nil,
			"write x", "write .jp/x",
		},
		{"never more", `conversation.tools.t.access.fs = [{ path = ".", create = true }]`, "", nil, "create x", "read .jp/x\nexecute .git\nread .git/config\ncreate .jp"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, tt.tree...)
			if tt.mine != "" {
				w.mine(tt.mine)
			}
			if tt.repo != "" {
				w.repo(tt.repo)
			}
			w.check(w.compile("t"), tt.allowed, tt.denied)
		})
	}
}

// Self-protection may leave one of two nested mounts with nothing. That is no mount any more, and so no overlap.
func TestProtectedMountInAnother(t *testing.T) {
	w := newWorld(t, "symlink fork $OUT", "symlink sub $OUT/state").write("../out/state/f", "").mine(`
conversation.tools.t.access.fs = [{ path = "fork", external = true, write = true }, { path = "sub", external = true, write = true }]`)
	w.approved[w.outside], w.approved[w.outside+"/state"] = true, true
	w.state = w.outside + "/state"
	w.check(w.compile("t"), "write fork/x", "write sub/x\nwrite fork/state/x\ndelete sub")
}

// The host's own files are protected wherever a tool could reach them.
func TestHostFilesInReach(t *testing.T) {
	w := newWorld(t, "symlink fork $OUT").mine(`
conversation.tools.t.access.fs = [{ path = ".", read = true, write = true }, { path = "fork", external = true, read = true, write = true }]`)
	w.approved[w.outside] = true
	w.state = w.root + "/.local/share/jphost"
	d := w.compile("t")
	w.check(d, "write .local/share/x\nread .local/share/jphost/x", "write .local/share/jphost/ws/approvals.json\ndelete .local/share/jphost")
	w.state = w.outside + "/state"
	d = w.compile("t")
	w.check(d, "write fork/x", "write fork/state/x\ndelete fork/state")
	w.state = w.root
	w.check(w.compile("t"), "read x\nwrite fork/x", "write x\ncreate a/b")

	// The workspace is the home directory.
	w = newWorld(t)
	w.root = w.home
	w.mine(writeAll)
	d = w.compile("t")
	w.check(d, "write x\nwrite .config/x", "update .config/jphost/config.toml\ndelete .config/jphost/config.toml")
	e, err := d.ExplainFS("update", ".config/jphost/config.toml")
	if err != nil || e.Origin != SelfProtection || !strings.Contains(e.Remedy, "in your own configuration") {
		t.Errorf("%v %+v", err, e)
	}
}

// What the host will read or write one day is protected before it is there, also when links lead to it.
func TestHostFilesNotThereYet(t *testing.T) {
	// The directory of the user's configuration is a link into the workspace.
	w := newWorld(t, "dir dots/jphost")
	jptooltest.Tree(t, w.home, "dir .config", "symlink .config/jphost "+w.root+"/dots/jphost")
	w.check(w.compile("t"), "write x\nwrite dots/x\nwrite dots/jphost/x", "create dots/jphost/config.toml\nwrite dots/jphost/config.toml")

	// The workspace is a home directory that is known by a link.
	w = newWorld(t)
	jptooltest.Tree(t, w.dir, "symlink via home")
	w.root, w.user, w.state = w.home, w.dir+"/via/.config/jphost/config.toml", w.dir+"/via/.local/share/jphost"
	w.check(w.compile("t"), "write x\nwrite .config/x\nwrite .local/share/x",
		"create .config/jphost/config.toml\ncreate .local/share/jphost\ncreate .local/share/jphost/ws/approvals.json")

	// The way to it leads through links in the workspace: they stay where they are.
	w = newWorld(t, "dir st", "symlink link st")
	w.state = w.root + "/link/a/jphost"
	w.check(w.compile("t"), "write st/x", "create st/a/jphost\nwrite st/a/jphost/x\ndelete link\ndelete st/a/jphost")

	// A way that cannot be told is no way that can be protected.
	for _, tree := range [][]string{{"symlink link nowhere"}, {"symlink link link"}} {
		w = newWorld(t, tree...)
		w.state = w.root + "/link/jphost"
		_, err := Compile(t.Context(), w.request("t"))
		if err == nil || !strings.Contains(err.Error(), "cannot be protected from tools") || !strings.Contains(err.Error(), w.state) {
			t.Errorf("%v: %v", tree, err)
		}
	}
}

func TestGitFileThatIsNone(t *testing.T) {
	for _, tree := range [][]string{{"fifo .git"}, {"file .git gitdir: /nowhere/at/all"}, {"file .git gitdir:"}, {"symlink .git .git"}, {"file .git gitdir: $ROOT"}, {"dir .git", "fifo .git/commondir"}} {
		w := newWorld(t, tree...).mine(writeAll)
		w.check(w.compile("t"), "write x", "create .git/config\nwrite .jp/x")
	}
}

// A file that --cfg names decides over later calls like any other layer.
func TestSelfProtectionOfArguments(t *testing.T) {
	w := newWorld(t, "dir ci", `file ci/jphost.toml conversation.tools.t.run = "ask"\n`, "symlink ci/alias jphost.toml").mine(writeAll)
	w.args = []string{"ci/alias", "conversation.tools.t.summary=ci/x"}
	w.check(w.compile("t"), "read ci/jphost.toml\nwrite ci/x", "update ci/jphost.toml\ndelete ci/jphost.toml\ndelete ci/alias\ncreate ci/alias")
}

// The directories of the host's own files are protected where they are missing, so that no tool puts a file
// there. No rule opens what is the host's own, also not one that names it.
func TestOwnFilesUnderEveryRule(t *testing.T) {
	w := newWorld(t)
	w.root = w.home
	w.user = w.dir + "/elsewhere/config.toml"
	w.state = w.home + "/.local/share/jphost"
	w.mine(`conversation.tools.t.access.fs = [{ path = ".", read = true, write = true }, { path = ".config/jphost", read = true, write = true }, { path = ".local/share/jphost/ws/x", write = true }]`)
	r := w.request("t")
	r.ConfigFile = w.home + "/.config/jphost/config.toml"
	d, err := Compile(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	w.check(d, "write x\nwrite .config/x\nread .config/jphost/x", "create .config/jphost\nwrite .config/jphost/config.toml\nwrite .local/share/jphost/ws/x\ncreate .local/share/jphost")
}

// A mount of what lies in the state is opened by no rule either.
func TestMountBelowTheState(t *testing.T) {
	w := newWorld(t, "symlink fork $OUT/state/ws").mine(`
conversation.tools.t.access.fs = [{ path = ".", read = true }, { path = "fork", external = true, read = true, write = true }]`)
	w.write("../out/state/ws/approvals.json", "{}")
	w.approved[w.outside+"/state/ws"] = true
	w.state = w.outside + "/state"
	w.check(w.compile("t"), "read fork/approvals.json", "write fork/approvals.json\nwrite fork/x")
}

// What a mount leads to may be a repository or a workspace itself.
func TestMountOfARepository(t *testing.T) {
	w := newWorld(t, "symlink fork $OUT").mine(`
conversation.tools.t.access.fs = [{ path = ".", read = true }, { path = "fork", external = true, read = true, write = true }]`)
	w.write("../out/.git/config", "x").write("../out/.git/hooks/pre-commit", "x")
	w.approved[w.outside] = true
	w.check(w.compile("t"), "write fork/x\nwrite fork/.git/HEAD", "write fork/.git/config\ncreate fork/.git/hooks/x\nwrite fork/.jp.toml\ncreate fork/.jp")
	w.mine(`
conversation.tools.t.access.fs = [{ path = ".", read = true }, { path = "fork", external = true, read = true, write = true }, { path = "fork/.git/hooks", read = true, write = true }]`)
	w.check(w.compile("t"), "write fork/.git/hooks/x", "write fork/.git/config")
}

// What a mount leads to may be a git directory, or become one.
func TestMountOfAGitDirectory(t *testing.T) {
	const rule = `conversation.tools.t.access.fs = [{ path = ".", read = true }, { path = "fork", external = true, read = true, write = true }]`
	w := newWorld(t, "symlink fork $OUT").mine(rule)
	w.approved[w.outside] = true
	w.check(w.compile("t"), "write fork/x\nwrite fork/config", "create fork/HEAD")
	w.write("../out/HEAD", "x").write("../out/config", "x").write("../out/hooks/pre-commit", "x")
	w.check(w.compile("t"), "write fork/HEAD\nwrite fork/refs/x\nwrite fork/x", "write fork/config\ncreate fork/hooks/x\nupdate fork/hooks/pre-commit\ncreate fork/commondir")
}

// The host's own programs are no content, where they lie in the workspace.
func TestOwnPrograms(t *testing.T) {
	w := newWorld(t, "file bin/jphost x", "file bin/fs_read_file x").mine(writeAll)
	r := w.request("t")
	r.Programs = []string{w.root + "/bin/jphost", w.root + "/bin/fs_read_file"}
	d, err := Compile(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	w.check(d, "write bin/x\nread bin/jphost", "update bin/jphost\ndelete bin/jphost\nupdate bin/fs_read_file")
}
