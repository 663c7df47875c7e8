package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jptools/jptools/host/internal/policy"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/sandbox"
	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/machine"
)

var (
	explainN    = flag.Int("explain.n", 0, "how many calls TestExplainEqualsRun compares; 0 is 300, or 2000 with JPTOOLS_LONG")
	explainSeed = flag.Uint64("explain.seed", 1, "its seed; 0 takes another one each time, as make explain does")
	explainOnly = flag.Int("explain.only", -1, "only the call with this number, and show it")
)

// question is one random policy, tree and target, and what a call on it is held with.
type question struct {
	Tree       []string // as jptooltest.Tree reads it; the workspace is ws, and out lies outside
	Rules      []jptool.FsRule
	Needs      []string
	Sandbox    string // TOML below sandbox
	Approved   bool   // the mount
	Capability string
	Path       string
}

// tools by capability; the one that executes is declared in the configuration.
var toolFor = map[string]string{"read": "fs_read_file", "create": "fs_create_file", "update": "fs_modify_file", "delete": "fs_delete_file", "execute": "starts"}

func (q *question) config() string {
	var b strings.Builder
	tool := toolFor[q.Capability]
	fmt.Fprintf(&b, "%s\n[conversation.tools.%s]\nrun = \"unattended\"\n", q.Sandbox, tool)
	if tool == "starts" {
		b.WriteString("source = \"local\"\ncommand = { program = \"sh\", args = [\"-c\", 'exec \"./$1\"', \"sh\", \"{{tool.arguments.path}}\"] }\nparameters.path = { type = \"string\", required = true }\n")
	}
	if q.Needs != nil {
		fmt.Fprintf(&b, "needs.fs = [\"%s\"]\n", strings.Join(q.Needs, `", "`))
	}
	b.WriteString("access.fs = [\n")
	for i := range q.Rules {
		fmt.Fprintf(&b, "  %s,\n", fit.FsText(&q.Rules[i]))
	}
	b.WriteString("]\n")
	return b.String()
}

func (q *question) arguments() []string {
	args := []string{"run", toolFor[q.Capability], "path=" + q.Path, "--json", "--no-input", "--allow-sensitive"}
	switch q.Capability {
	case "create":
		args = append(args, "content=new")
	case "delete":
		args = append(args, "--answer", "delete_dirty_file=true")
	case "update":
		args = append(args[:2], append([]string{`patterns:=[{"paths":[` + string(jsonOf(q.Path)) + `],"old":"ran","new":"run"}]`, "--answer", "apply_changes=true", "--answer", "modify_dirty_file=true"}, args[3:]...)...)
	}
	return args
}

func jsonOf(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// pick takes one of a list.
func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// usualCaps are the sets that people write.
var usualCaps = []jptool.Caps{
	0, jptool.Read, jptool.Read, jptool.Read | jptool.Write, jptool.Read | jptool.Write, jptool.AllCaps, jptool.AllCaps, jptool.Read | jptool.Execute,
	jptool.Read | jptool.Update, jptool.Read | jptool.Create, jptool.Create, jptool.Read | jptool.Delete, jptool.Write, jptool.AllCaps &^ jptool.Delete, jptool.Execute,
}

// ask draws a question. tiers are the settings that this machine has.
func ask(r *rand.Rand, tiers []string) *question {
	q := &question{Capability: pick(r, slices.Sorted(maps.Keys(toolFor)))}
	mode := pick(r, append(slices.Clone(tiers), tiers...))
	if q.Capability != "execute" && r.IntN(8) == 0 {
		mode = "sandbox.mode = \"off\"" // who asks nobody is held by nothing then
	}
	q.Sandbox = mode
	kinds := map[string]string{}
	add := func(p, kind, to string) {
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			if k := kinds[dir]; k != "" && k != "dir" {
				return
			}
		}
		if kinds[p] != "" {
			return
		}
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			kinds[dir] = "dir"
		}
		kinds[p] = kind
		q.Tree = append(q.Tree, strings.TrimSpace(kind+" "+p+" "+to))
	}
	name := func() string {
		parts := make([]string, 1+r.IntN(3))
		for i := range parts {
			parts[i] = pick(r, []string{"a", "b", "c"})
		}
		return strings.Join(parts, "/")
	}
	add("ws/.jp", "dir", "")
	for range 2 + r.IntN(6) {
		at := pick(r, []string{"ws/", "ws/", "ws/", "out/"}) + name()
		switch r.IntN(8) {
		case 0, 1:
			add(at, "dir", "")
		case 2:
			add(at, "symlink", strings.Repeat("../", strings.Count(at, "/")-1)+name())
		case 3:
			add(at, "symlink", "$ROOT/"+pick(r, []string{"ws/a", "ws/b", "out", "out/a", "other"}))
		default:
			add(at, "file", "")
		}
	}
	for _, p := range []string{"ws/.git/config", "ws/.git/hooks/x", "ws/.jp.toml"} {
		if r.IntN(6) == 0 {
			add(p, "file", "")
		}
	}
	rule := func(p string, caps jptool.Caps) *jptool.FsRule {
		q.Rules = append(q.Rules, fit.FsRule(p, caps))
		return &q.Rules[len(q.Rules)-1]
	}
	if r.IntN(3) == 0 {
		add("out/f", "file", "")
		add("ws/m", "symlink", "$ROOT/out")
		rule("m", pick(r, usualCaps)).External = true
		q.Approved = r.IntN(4) > 0
	}
	entries := func(top string) (list []string) {
		for _, p := range slices.Sorted(maps.Keys(kinds)) {
			if rest, ok := strings.CutPrefix(p, top); ok && rest != "" {
				list = append(list, rest)
			}
		}
		return append(list, "a")
	}
	wire := func() string {
		p := pick(r, entries("ws/"))
		if strings.HasPrefix(p, "m") && r.IntN(2) == 0 {
			p = "m/" + pick(r, entries("out/"))
		}
		return p
	}
	if r.IntN(6) > 0 {
		caps := pick(r, usualCaps)
		if c, _ := jptool.ParseCapability(q.Capability); r.IntN(3) == 0 {
			caps |= jptool.Read | c
		}
		rule(".", caps)
	}
	for range r.IntN(4) {
		p := wire()
		switch r.IntN(7) {
		case 0:
			p = name()
		case 1:
			p = path.Join(p, "n", name())
		case 2:
			p = pick(r, []string{".git/hooks", ".jp", ".jp.toml", ".git/config", "n/o/p", "n"})
		}
		if r.IntN(8) == 0 {
			p += "/"
		}
		caps := pick(r, usualCaps)
		if r.IntN(4) == 0 {
			caps = jptool.Caps(r.IntN(int(jptool.AllCaps) + 1))
		}
		rule(p, caps)
	}
	if q.Capability == "create" && r.IntN(4) == 0 {
		rule(path.Join(pick(r, []string{"", "", "a", "m"}), pick(r, []string{"n", "n/o", "b/n"})), jptool.Read|jptool.Create|pick(r, usualCaps))
		q.Path = path.Join(q.Rules[len(q.Rules)-1].Path, pick(r, []string{"", "new", "new", "deep/new"}))
	}
	if len(q.Rules) == 0 {
		rule(".", jptool.AllCaps)
	}
	if r.IntN(6) == 0 {
		q.Needs = pick(r, [][]string{{"read"}, {"read", "execute"}, {"read", "create"}, {"read", "update"}, {"read", "create", "update", "delete"}, {"read", "create", "update", "delete", "execute"}})
	}
	if q.Path != "" {
		return q
	}
	switch r.IntN(12) {
	case 0:
		q.Path = path.Join(strings.TrimSuffix(pick(r, q.Rules).Path, "/"), "new")
	case 1:
		q.Path = path.Join(strings.TrimSuffix(pick(r, q.Rules).Path, "/"), "deep", "new")
	case 2:
		q.Path = strings.TrimSuffix(pick(r, q.Rules).Path, "/")
	case 3:
		q.Path = name()
	default:
		for range 8 { // something that the capability is for
			q.Path = wire()
			k := kinds["ws/"+q.Path]
			if rest, ok := strings.CutPrefix(q.Path, "m/"); ok {
				k = kinds["out/"+rest]
			}
			if (q.Capability == "create") == (k == "dir") {
				break
			}
		}
		if q.Capability == "create" {
			q.Path = path.Join(q.Path, "new")
		}
	}
	return q
}

// answer is what `explain --json` says.
type answer struct {
	Allowed bool
	Code    string
	Reason  string
}

// asker runs questions.
type asker struct {
	t     *testing.T
	bin   string
	mu    sync.Mutex
	seen  map[string]int
	total int
}

// TestExplainEqualsRun: what explain says of a path is what a call of the matching tool then does, whatever the
// tree, the rules, what the tool needs, and the tier.
//
// -explain.n N compares N calls instead of 300; a failure prints the seed and the number to see it again.
func TestExplainEqualsRun(t *testing.T) {
	n := *explainN
	if n == 0 {
		n = 300
		if os.Getenv("JPTOOLS_LONG") != "" {
			n = 2000
		}
	}
	seed := *explainSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	found := machine.Look().Settle(sandbox.Try(t.Context()))
	tiers := []string{}
	if found.Landlock > 0 {
		tiers = append(tiers, "sandbox.tier = \"landlock\"", "sandbox.tier = \"auto\"")
	}
	if found.Landlock > 0 && found.Namespaces {
		tiers = append(tiers, "sandbox.tier = \"namespace\"")
	}
	if len(tiers) == 0 {
		t.Skipf("nothing is enforced on this machine: %v", found.Why)
	}
	k := &asker{t: t, bin: build(t), seen: map[string]int{}}
	draw := func(i int) *question { return ask(rand.New(rand.NewPCG(seed, uint64(i))), tiers) }
	if *explainOnly >= 0 {
		q := draw(*explainOnly)
		t.Logf("%s\n%s", jsonOf(q), q.config())
		if bad := k.compare(q); bad != "" {
			t.Error(bad)
		}
		return
	}
	// Some questions are about rules that are refused; so more are drawn than are counted.
	var group sync.WaitGroup
	next, numbers := 0, make(chan int)
	for range 2 {
		group.Go(func() {
			for i := range numbers {
				if bad := k.compare(draw(i)); bad != "" {
					t.Errorf("-explain.seed %d -explain.only %d\n%s\n%s", seed, i, jsonOf(draw(i)), bad)
				}
			}
		})
	}
	for ; next < 3*n && k.count() < n; next++ {
		numbers <- next
	}
	close(numbers)
	group.Wait()
	t.Logf("seed %d: %d drawn, %d compared: %v", seed, next, k.total, k.seen)
	if k.total < n {
		t.Errorf("only %d of %d calls were compared", k.total, n)
	}
	for capability := range toolFor {
		for _, verdict := range []string{"allowed", "denied"} {
			if got := k.seen[capability+" "+verdict]; got < n/60 {
				t.Errorf("%s was %s only %d times in %d calls", capability, verdict, got, n)
			}
		}
	}
	for _, what := range append(tiers, "less than declared", "made", "mount", "through a link", "self-protection") {
		if k.seen[what] < n/100 {
			t.Errorf("%s: only %d times in %d calls", what, k.seen[what], n)
		}
	}
}

func (k *asker) count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.total
}

// compare says where explain and run differ, "" where they do not.
func (k *asker) compare(q *question) string {
	dir, err := os.MkdirTemp(os.TempDir(), "explain")
	if err != nil {
		return err.Error()
	}
	defer os.RemoveAll(dir)
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err.Error()
	}
	b := &bench{t: k.t, ws: dir + "/ws", ext: dir + "/out", user: dir + "/conf/jphost/config.toml"}
	b.env = []string{
		"HOME=" + dir + "/home", "XDG_DATA_HOME=" + dir + "/data", "XDG_CONFIG_HOME=" + dir + "/conf", "JPHOST_SESSION=s", "TMPDIR=" + dir + "/tmp",
		"PATH=" + k.bin + string(filepath.ListSeparator) + os.Getenv("PATH"),
	}
	tree := append([]string{"dir ws", "dir out", "dir other", "dir home", "dir tmp"}, q.Tree...)
	jptooltest.Tree(k.t, dir, slices.DeleteFunc(slices.Clone(tree), func(l string) bool { return strings.Contains(l, "symlink ") })...)
	for _, line := range tree {
		f := strings.Fields(line)
		switch {
		case f[0] == "file":
			err = os.WriteFile(dir+"/"+f[1], []byte("#!/bin/sh\necho ran\n"), 0o755)
			if f[1] == "ws/.jp.toml" {
				err = os.WriteFile(dir+"/"+f[1], []byte("# ran\n"), 0o755)
			}
			err = errors.Join(err, os.Chmod(dir+"/"+f[1], 0o755))
		case f[0] == "symlink":
			if err = os.MkdirAll(path.Dir(dir+"/"+f[1]), 0o755); err == nil {
				err = os.Symlink(strings.ReplaceAll(f[2], "$ROOT", dir), dir+"/"+f[1])
			}
		}
		if err != nil {
			return err.Error()
		}
	}
	b.write(b.user, q.config())
	if q.Approved {
		if code, _, said := b.output("approvals", "approve", "m", "--target", b.ext); code != 0 {
			return said
		}
	}
	code, out, said := b.output("explain", toolFor[q.Capability], q.Capability, q.Path, "--json")
	if code == 2 { // rules that are refused; the call is refused likewise
		if status, _ := k.run(b, q); status != 2 {
			return fmt.Sprintf("explain says %s, and the call ends with %d", said, status)
		}
		return ""
	}
	var e struct {
		answer
		Declared []string
		Notes    []string
		Rule     *struct{ Origin string }
	}
	if err := json.Unmarshal([]byte(out), &e); err != nil || e.Allowed != (code == 0) {
		return fmt.Sprintf("explain ends with %d: %v: %s%s", code, err, out, said)
	}
	before := b.listing()
	fit := q.suits(b.ws)
	if _, err := os.Lstat(filepath.Join(b.ws, q.Path)); q.Capability == "create" && err == nil {
		return "" // it would be replaced, which is another question
	}
	status, report := k.run(b, q)
	after := b.listing()
	did := report.Outcome.Type == "success"
	denied := slices.Contains([]string{"access_denied", "path_escape"}, report.Outcome.Code)
	if q.Capability == "execute" {
		did = did && strings.Contains(report.content(), "ran")
		denied = !did
	}
	got := fmt.Sprintf("explain: %sthe call: %d %s\n", out, status, jsonOf(report))
	switch {
	case report.Outcome.Type != "success" && report.Outcome.Type != "error":
		return got + "this is no answer of a tool"
	case e.Allowed && fit && !did:
		return got + "explain allows it"
	case e.Allowed && denied && q.Capability != "execute":
		return got + "explain allows it, and the call is denied"
	case !e.Allowed && did:
		return got + "explain denies it"
	case !e.Allowed && report.Outcome.Code == "wrong_type" && slices.Contains(report.Sandbox.Made, q.Path):
		return "" // a rule with a slash: the call finds the directory that was made for it
	case !e.Allowed && fit && !denied && report.Outcome.Code != e.Code:
		return got + "explain denies it, and the call fails of something else"
	case !did && before != after:
		return fmt.Sprintf("%sthe call failed and changed something:\n%s\n%s", got, before, after)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !fit {
		return "" // there is nothing that could be done
	}
	k.total++
	verdict := "denied"
	if e.Allowed {
		verdict = "allowed"
	}
	k.seen[q.Capability+" "+verdict]++
	k.seen[q.Sandbox]++
	for what, is := range map[string]bool{
		"less than declared": e.Declared != nil, "made": len(e.Notes) > 0, "mount": q.Approved && strings.HasPrefix(q.Path, "m/"),
		"through a link": throughLink(b.ws, q.Path), "self-protection": e.Rule != nil && e.Rule.Origin == policy.SelfProtection,
	} {
		if is {
			k.seen[what]++
		}
	}
	return ""
}

// suits reports whether there is something that the capability could be used on.
func (q *question) suits(ws string) bool {
	name := filepath.Join(ws, q.Path)
	switch q.Capability {
	case "create":
		if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
		for dir := filepath.Dir(name); ; dir = filepath.Dir(dir) {
			if fi, err := os.Stat(dir); err == nil {
				return fi.IsDir()
			}
			if _, err := os.Lstat(dir); err == nil {
				return false // a link that leads nowhere
			}
		}
	case "delete":
		fi, err := os.Lstat(name)
		return err == nil && !fi.IsDir()
	}
	fi, err := os.Stat(name)
	// As a program .jp.toml does nothing: it has to be TOML.
	return err == nil && fi.Mode().IsRegular() && (q.Capability != "execute" || !strings.HasSuffix(q.Path, ".jp.toml"))
}

func throughLink(ws, name string) bool {
	for p := name; p != "." && p != "/"; p = path.Dir(p) {
		if fi, err := os.Lstat(filepath.Join(ws, p)); err == nil && fi.Mode()&fs.ModeSymlink != 0 {
			return true
		}
	}
	return false
}

// called is what a call reports.
type called struct {
	Outcome struct {
		Type, Code, Message string
		Reason              string
		Content             *string
	}
	Sandbox struct {
		Tier string
		Made []string
	}
	Warnings []string
}

func (c *called) content() string {
	if c.Outcome.Content == nil {
		return ""
	}
	return *c.Outcome.Content
}

func (k *asker) run(b *bench, q *question) (status int, report called) {
	cmd := exec.Command("jphost", append([]string{"-C", b.ws}, q.arguments()...)...)
	cmd.Env = b.env
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		status = exit.ExitCode()
	} else if err != nil {
		status = -1
	}
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		report.Outcome.Message = err.Error() + out.String() + said.String()
	}
	return status, report
}

// listing is what the workspace and the outside hold.
func (b *bench) listing() string {
	var list []string
	for _, top := range []string{b.ws, b.ext} {
		_ = filepath.WalkDir(top, func(p string, e fs.DirEntry, err error) error {
			data, _ := os.ReadFile(p)
			to, _ := os.Readlink(p)
			list = append(list, fmt.Sprintf("%s %q %s", p, data, to))
			return nil
		})
	}
	return strings.Join(list, "\n")
}
