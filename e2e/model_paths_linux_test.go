package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// modelCase is one call and what it is made in.
type modelCase struct {
	name string
	// place is that of a call that is one of many on it.
	place string
	// config is added to the user's own configuration, repo is that of the repository.
	config, repo string
	// env is added to the environment; setup is a script that runs in the workspace before.
	env   []string
	setup string
	args  []string
	// want are words that show that the call went the way that is meant.
	want string
}

// modelWorld is a workspace with mounts, and everything that lies outside: $BASE is all of it.
type modelWorld struct {
	t    *testing.T
	base string
	env  []string
}

const modelConfig = `
[conversation.tools.'*']
run = "unattended"
`

// mounted are rules for a tool: the workspace, a mount with a part that is withheld, one for reading only, and two
// that do not work.
const mountedRules = `access.fs = [
  { path = ".", read = true, write = true, execute = true },
  { path = "fork", external = true, read = true, write = true },
  { path = "fork/secret", external = true },
  { path = "ro", external = true, read = true },
  { path = "waits", external = true, read = true, write = true },
  { path = "moved", external = true, read = true, write = true },
  { path = "gone", external = true, read = true, write = true },
]
`

func newModelWorld(t *testing.T) *modelWorld {
	t.Helper()
	base, err := os.MkdirTemp("/var/tmp", "jptools-model-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	w := &modelWorld{t: t, base: base}
	w.env = []string{
		"HOME=" + base + "/home", "XDG_DATA_HOME=" + base + "/data", "XDG_CONFIG_HOME=" + base + "/conf", "TMPDIR=" + base + "/tmp", "JPHOST_SESSION=model",
		"PATH=" + bin + ":" + base + "/bin:/usr/local/bin:/usr/bin:/bin", "LANG=C",
	}
	w.shell(`mkdir -p ws/.jp ws/src ws/dir out/sub out/secret out/dir ro away home data conf/jphost tmp bin other
		echo alpha > ws/src/a.txt; echo beta > ws/src/b.txt; echo beta >> ws/src/b.txt; echo x > ws/dir/f
		echo out > out/f; echo s > out/secret/s; echo d > out/dir/d; echo ro > ro/f; echo away > away/f; echo o > other/f
		ln -s ../out ws/fork; ln -s ../ro ws/ro; ln -s ../away ws/waits; ln -s ../out/nothing ws/dangling; ln -s ../other ws/stray; ln -s $BASE/other/f ws/straysfile
		ln -s ../away out/inner; ln -s ../other ws/moved; ln -s ../gone ws/gone; mkdir gone; echo g > gone/f
		printf 'a\000b' > ws/src/binary; mkfifo ws/pipe; mkfifo out/pipe; chmod 755 $BASE`)
	return w
}

func (w *modelWorld) shell(script string) {
	w.t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir, cmd.Env = w.base, append(slices.Clone(w.env), "BASE="+w.base, "WS="+w.base+"/ws")
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

func (w *modelWorld) jphost(env []string, args ...string) (stdout, stderr string) {
	w.t.Helper()
	cmd := exec.Command(filepath.Join(bin, "jphost"), append([]string{"-C", w.base + "/ws"}, args...)...)
	var out, said bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = append(slices.Clone(w.env), env...), &out, &said
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		w.t.Fatal(err)
	}
	return out.String(), said.String()
}

// absolute finds absolute paths: after the beginning, a blank, a quote or a bracket.
var absolute = regexp.MustCompile("(?:^|[\\s\"'`(\\[{<=:,;|>])(/[^\\s\"'`)\\]}>,;]+)")

// outside are the absolute paths in a text that do not lie in the workspace, but for those that the caller named.
func (w *modelWorld) outside(text string, args []string) (list []string) {
	for _, m := range absolute.FindAllStringSubmatch(text, -1) {
		p := strings.TrimRight(m[1], ".:")
		in := p == w.base+"/ws" || strings.HasPrefix(p, w.base+"/ws/")
		named := slices.ContainsFunc(args, func(arg string) bool { return strings.Contains(arg, p) })
		if !in && !named && p != "/" && !strings.HasPrefix(p, "//") {
			list = append(list, p)
		}
	}
	// Also where something stands before it.
	for _, dir := range []string{"out", "ro", "away", "other", "gone", "home", "data", "conf", "tmp", "bin"} {
		if p := w.base + "/" + dir; strings.Contains(text, p) && !slices.ContainsFunc(args, func(arg string) bool { return strings.Contains(arg, p) }) {
			list = append(list, p)
		}
	}
	if strings.Contains(text, bin) {
		list = append(list, bin)
	}
	return list
}

// seven is a configuration with the same rules for all seven tools.
func seven(more string) string {
	var b strings.Builder
	for _, tool := range tools {
		b.WriteString("[conversation.tools." + tool + "]\n" + more + mountedRules)
		if !strings.Contains(more, "run =") {
			b.WriteString("run = \"unattended\"\n")
		}
	}
	return b.String()
}

// local is a tool of one's own that runs a script.
func local(name, script, more string) string {
	return "[conversation.tools." + name + "]\nsource = \"local\"\ncommand = { program = \"sh\", args = [\"-c\", '''" + script + "'''] }\n" + more + "\n"
}

// modelCases are the ways to fail that can be reached.
func modelCases() (list []modelCase) {
	add := func(name, want string, args ...string) *modelCase {
		list = append(list, modelCase{name: name, config: seven(""), args: args, want: want})
		return &list[len(list)-1]
	}
	set := func(c *modelCase, config string) *modelCase { c.config = config; return c }

	// Every tool on every kind of place.
	places := []string{
		"src/a.txt", "none", "none/x", "dir", "pipe", "fork", "fork/f", "fork/none", "fork/dir", "fork/pipe", "fork/secret", "fork/secret/s", "fork/secret/none", "fork/inner", "fork/inner/f",
		"ro", "ro/f", "ro/none", "waits", "waits/f", "moved", "moved/f", "gone", "gone/f", "dangling", "dangling/x", "stray", "stray/f", "straysfile", "/etc/passwd", "../out/f", "fork/../../out/f", "src/../../x", ".jp/config.toml", ".git/hooks/x",
	}
	for _, p := range places {
		first := len(list)
		q := string(must(json.Marshal(p)))
		add("read "+p, "", "fs_read_file", "path="+p)
		add("create "+p, "", "fs_create_file", "path="+p, "content=x")
		add("create below "+p, "", "fs_create_file", "path="+p+"/new/deep", "content=x")
		add("overwrite "+p, "", "fs_create_file", "path="+p, "content=x", "--answer", "overwrite_file=true")
		add("stale "+p, "", "fs_create_file", "path="+p, "content=x", "expected_digest=sha256:"+strings.Repeat("0", 64))
		add("modify "+p, "", "fs_modify_file", `patterns:=[{"paths":[`+q+`],"old":"nowhere","new":"b"}]`)
		add("ambiguous "+p, "", "fs_modify_file", `patterns:=[{"paths":[`+q+`],"old":"o","new":"b"}]`)
		add("delete "+p, "", "fs_delete_file", "path="+p)
		add("declined "+p, "", "fs_delete_file", "path="+p, "--answer", "delete_dirty_file=false")
		add("move from "+p, "", "fs_move_file", "source="+p, "destination=dir/moved")
		add("move to "+p, "", "fs_move_file", "source=src/a.txt", "destination="+p)
		add("grep "+p, "", "fs_grep_files", "pattern=.", "paths="+p)
		add("list "+p, "", "fs_list_files", "prefixes="+p)
		add("preview "+p, "", "fs_modify_file", `patterns:=[{"paths":[`+q+`],"old":"a","new":"b"}]`, "--preview")
		add("preview of deleting "+p, "", "fs_delete_file", "path="+p, "--preview")
		for i := range list[first:] {
			list[first+i].place = "place " + p
		}
	}
	add("wrong argument", "invalid_arguments", "fs_read_file", "pth=x")
	add("wrong type", "invalid_arguments", "fs_read_file", "path:=[1]")
	add("regular expression", "invalid_arguments", "fs_grep_files", "pattern=(")
	add("no match", "no_match", "fs_modify_file", `patterns:=[{"paths":["fork/f"],"old":"nowhere","new":"b"}]`)
	add("ambiguous", "ambiguous_match", "fs_modify_file", `patterns:=[{"paths":["src/b.txt"],"old":"beta","new":"b"}]`, "replace_all:=false")
	add("declined", "declined", "fs_modify_file", `patterns:=[{"paths":["fork/f"],"old":"out","new":"b"}]`, "--answer", "apply_changes=false")
	add("question", "needs_input", "fs_modify_file", `patterns:=[{"paths":["fork/f"],"old":"out","new":"b"}]`)
	add("answer of the wrong type", "", "fs_modify_file", `patterns:=[{"paths":["fork/f"],"old":"out","new":"b"}]`, "--answer", "apply_changes=perhaps")
	add("binary", "", "fs_read_file", "path=src/binary")
	set(add("suppressed", "suppressed", "fs_read_file", "path=fork/f"), "[conversation.tools.fs_read_file]\noptions.suppress = [\"fork\"]\n"+mountedRules)
	set(add("deadline", "", "fs_grep_files", "pattern=x", "paths=fork"), "[conversation.tools.fs_grep_files]\noptions.deadline = 0.000001\n"+mountedRules)
	set(add("unknown option", "", "fs_read_file", "path=src/a.txt"), "[conversation.tools.fs_read_file]\noptions.supress = [\"x\"]\n"+mountedRules)

	// What the host refuses.
	set(add("off", "run_mode", "fs_read_file", "path=src/a.txt"), seven("enable = false\n"))
	set(add("skip", "run_mode", "fs_read_file", "path=src/a.txt"), seven("run = \"skip\"\n"))
	set(add("ask", "run_mode", "fs_read_file", "path=fork/f"), seven("run = \"ask\"\n"))
	set(add("result skip", "result_mode", "fs_read_file", "path=fork/f"), seven("result = \"skip\"\n"))
	set(add("result ask", "result_mode", "fs_read_file", "path=fork/f"), seven("result = \"ask\"\n"))
	add("untrusted", "untrusted", "fs_read_file", "path=src/a.txt").repo = "[conversation.tools.fs_read_file]\nrun = \"unattended\"\naccess.net = [{ host = \"x\", allow = true }]\n"
	add("sensitive", "sensitive", "fs_read_file", "path=fork/id_rsa").config = "[conversation.tools.fs_read_file]\naccess.sensitive_paths = [\"**/id_rsa\"]\naccess.fs = [{ path = \".\", read = true }, { path = \"fork\", external = true, read = true }]\n"
	list[len(list)-1].setup = "echo k > out/id_rsa"
	set(add("required", "sandbox", "fs_modify_file", `patterns:=[{"paths":["fork/f"],"old":"out","new":"b"}]`), seven("")+"[sandbox]\nmode = \"required\"\n").env = []string{"JPHOST_SANDBOX_LIMIT=namespaces=no,seccomp=no"}
	set(add("a wrong configuration", "", "fs_read_file", "path=src/a.txt"), "[conversation.tools.fs_read_file]\nno_such_key = 1\n")
	set(add("no TOML", "", "fs_read_file", "path=src/a.txt"), "[[[\n")
	add("a wrong configuration of the repository", "", "fs_read_file", "path=src/a.txt").repo = "no_such_key = 1\n"
	set(add("a rule that leads outside", "", "fs_read_file", "path=src/a.txt"), "[conversation.tools.fs_read_file]\naccess.fs = [{ path = \"stray\", read = true }]\n")
	set(add("mounts that overlap", "", "fs_read_file", "path=src/a.txt"), "[conversation.tools.fs_read_file]\naccess.fs = [{ path = \"fork\", external = true, read = true }, { path = \"again\", external = true, write = true }]\n").setup = "ln -s ../out ws/again; jphost -C ws approvals approve again --target $BASE/out >/dev/null"
	add("no such tool", "", "fs_reed_file", "path=src/a.txt")
	add("mount what is missing", "", "fs_read_file", "--mount", "fs_read_file:new="+"/none/x", "path=new")
	set(add("sandbox.paths through a link", "", "fs_read_file", "path=src/a.txt"), seven("")+"[sandbox]\npaths = [\"~/planted\"]\n").setup = "ln -s $BASE/ws/stray home/planted"
	add("no private directory", "", "fs_read_file", "path=src/a.txt").env = []string{"TMPDIR=/proc/none"}
	add("an unreadable store of approvals", "", "fs_read_file", "path=fork/f").setup = "for f in $(find data -name approvals.json); do echo '{' > $f; done"
	add("a mount that was retargeted", "", "fs_read_file", "path=fork/f").setup = "rm ws/fork; ln -s $BASE/away ws/fork"
	add("a target that is gone", "", "fs_read_file", "path=fork/f").setup = "rm -r out"
	add("a target that became a file", "", "fs_create_file", "path=fork/f", "content=x").setup = "rm -r out; echo > out"

	// Tools of one's own: how they start and end.
	own := func(name, want, script, more string) *modelCase {
		return set(add(name, want, "t"), local("t", script, "run = \"unattended\"\n"+more))
	}
	own("fails silently", "", "exit 3", mountedRules)
	own("is killed", "", "kill -9 $$", mountedRules)
	own("takes too long", "", "sleep 30", "limits.time = \"200ms\"\n"+mountedRules)
	own("says too much", "", "yes | head -c 3000000", "limits.output = 1000\n"+mountedRules)
	own("half an Outcome", "", `echo '{"type":"success"'; exit 1`, mountedRules)
	own("a wrong Outcome", "", `echo '{"type":"error"}'`, mountedRules)
	own("a question for ever", "", `echo '{"type":"needs_input","question":{"id":"q","text":"?","answer_type":"Boolean","default":true}}'`, mountedRules+"questions.q.answer = true\n")
	set(add("a program that is missing", "", "t"), "[conversation.tools.t]\nsource = \"local\"\nrun = \"unattended\"\ncommand = \"no-such-program\"\n")
	set(add("a program that may not be executed", "", "t"), "[conversation.tools.t]\nsource = \"local\"\nrun = \"unattended\"\ncommand = \"./src/a.txt\"\n")
	set(add("a program in a mount", "", "t"), "[conversation.tools.t]\nsource = \"local\"\nrun = \"unattended\"\ncommand = \"./fork/f\"\n"+mountedRules)
	set(add("a program of the user's", "", "t"), "[conversation.tools.t]\nsource = \"local\"\nrun = \"unattended\"\ncommand = \"mine\"\n"+mountedRules).setup = "printf '#!/none/such\\n' > bin/mine; chmod 755 bin/mine"
	set(add("a program by its path", "", "t"), "[conversation.tools.t]\nsource = \"local\"\nrun = \"unattended\"\ncommand = \"~/mine\"\n"+mountedRules)
	set(add("a template", "", "t"), "[conversation.tools.t]\nsource = \"local\"\nrun = \"unattended\"\ncommand = \"echo {{tool.arguments.none}}\"\n"+mountedRules)

	// What the rules withhold and cannot be enforced before: found while the call runs or afterwards.
	after := func(name, want, script, rules string) {
		for _, tier := range []string{"landlock", "namespace"} {
			set(add(name+", "+tier, want, "t"), "[sandbox]\ntier = \""+tier+"\"\n"+local("t", script, "run = \"unattended\"\n"+rules))
		}
	}
	forkOnly := "access.fs = [{ path = \".\", read = true }, { path = \"fork\", external = true, read = true, write = true }, { path = \"fork/newsecret\", external = true }, { path = \"fork/dir\" }]\n"
	after("something appears", "", "echo x > fork/newsecret; sleep 0.3", forkOnly)
	after("something appears and goes", "", "echo x > fork/newsecret; sleep 0.3; rm -f fork/newsecret", forkOnly)
	after("a repository appears in a mount", "", "mkdir fork/.git; sleep 0.3", forkOnly)
	after("what is protected changes", "", "echo x >> fork/.git/config; sleep 0.3", forkOnly)
	list[len(list)-1].setup, list[len(list)-2].setup = "mkdir out/.git; echo > out/.git/config", "mkdir out/.git; echo > out/.git/config"
	after("a mask is moved away", "", "mv fork/dir fork/gone; sleep 0.3", forkOnly)
	after("denied in a mount", "", "cat fork/dir/d fork/secret/s ro/f; echo x > ro/f; exit 1", mountedRules)
	for i := range list {
		if c := &list[i]; strings.HasPrefix(c.name, "denied in a mount") {
			c.args = append(c.args, "--explain-denials")
		}
	}
	held := own("held", "held", "true", forkOnly)
	held.setup = "! jphost -C ws run broke --json > said || { cat said; exit 1; }"
	held.config += local("broke", "echo x > fork/newsecret", "run = \"unattended\"\n"+forkOnly)
	set(add("a dry run", "", "fs_read_file", "path=fork/none", "--dry-run"), seven(""))
	return list
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A model learns no absolute path outside of the workspace: not where mounts lead, nor where the home directory, the
// host's own files, temporary files and programs are, whatever goes wrong.
func TestNoPathOfOutsideReachesAModel(t *testing.T) {
	jptooltest.NotAnnounced(t) // many cases need namespaces
	codes := map[string]int{}
	// Of the calls on one place each finds what the one before left.
	groups := map[string][]modelCase{}
	var order []string
	for _, c := range modelCases() {
		name := c.name
		if c.place != "" {
			name = c.place
		}
		if groups[name] == nil {
			order = append(order, name)
		}
		groups[name] = append(groups[name], c)
	}
	ran := 0
	for _, name := range order {
		t.Run(name, func(t *testing.T) {
			ran++
			w := newModelWorld(t)
			w.write(&groups[name][0])
			for i := range groups[name] {
				c := &groups[name][i]
				w.look(c, false, codes)
				if c.place == "" {
					w.look(c, true, codes)
				}
			}
		})
	}
	if ran < len(order) {
		return // -run names some of them
	}
	for _, code := range []string{
		"absolute_path", "path_escape", "access_denied", "not_found", "already_exists", "wrong_type", "no_match", "ambiguous_match", "stale", "declined", "suppressed",
		"invalid_arguments", "run_mode", "untrusted", "sandbox", "result_mode", "sensitive", "held", "changed", "success", "needs_input",
	} {
		if codes[code] == 0 {
			t.Errorf("no call ended with %s: %v", code, codes)
		}
	}
	t.Log(codes)
}

// write puts the configuration in place, and approves the mounts.
func (w *modelWorld) write(c *modelCase) {
	w.t.Helper()
	w.file("conf/jphost/config.toml", seven(""))
	for link, target := range map[string]string{"fork": "out", "ro": "ro", "moved": "away", "gone": "gone"} {
		w.shell("rm -f ws/" + link + "; ln -s ../" + target + " ws/" + link)
		if _, said := w.jphost(nil, "approvals", "approve", link, "--target", w.base+"/"+target); strings.Contains(said, "jphost:") {
			w.t.Fatal(said)
		}
	}
	// One that leads elsewhere since it was approved, and one that leads nowhere.
	w.shell("rm ws/moved; ln -s ../other ws/moved; rm -rf gone")
	w.file("conf/jphost/config.toml", modelConfig+c.config)
	if c.repo != "" {
		w.file("ws/.jp.toml", c.repo)
	}
	if c.setup != "" {
		w.shell(c.setup)
	}
}

func (w *modelWorld) file(name, content string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.base, name), []byte(content), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// look makes the call and looks at what a model is given of it.
func (w *modelWorld) look(c *modelCase, text bool, codes map[string]int) {
	w.t.Helper()
	if text {
		if out, _ := w.jphost(c.env, append([]string{"run"}, c.args...)...); len(w.outside(out, c.args)) > 0 && !strings.Contains(strings.Join(c.args, " "), "--dry-run") {
			w.t.Errorf("standard output has %q:\n%s", w.outside(out, c.args), out)
		}
		return
	}
	out, said := w.jphost(c.env, append([]string{"run", "--format", "json", "--no-input"}, c.args...)...)
	var report struct {
		Outcome  map[string]any
		Denials  any
		Withheld any `json:"withheld_env"`
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		w.t.Fatalf("%v: %s%s", err, out, said)
	}
	for _, part := range []any{report.Outcome, report.Denials, report.Withheld} {
		for _, s := range texts(part) {
			if found := w.outside(s, c.args); len(found) > 0 {
				w.t.Errorf("a model is given %q:\n%s", found, s)
			}
		}
	}
	for _, key := range []string{"code", "reason", "type"} {
		if word, ok := report.Outcome[key].(string); ok {
			codes[word]++
		}
	}
	if c.want != "" && !strings.Contains(out, `"`+c.want+`"`) {
		w.t.Errorf("no %s: %s%s", c.want, out, said)
	}
}

// texts are all texts in a value of JSON, keys too.
func texts(v any) (list []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, one := range v {
			list = append(list, texts(one)...)
		}
	case map[string]any:
		for key, one := range v {
			list = append(append(list, key), texts(one)...)
		}
	}
	return list
}
