package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/jptools/jptools/host/internal/enforcement"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/machine"
)

// lesser is a row of the table in docs/sandbox.md.
type lesser struct {
	limit          string
	reading, write held
}

// held is a cell: the tier, and words of what is said not to be held.
type held struct {
	tier string
	not  []string
}

// lessers reads the table, so that it stays true.
func lessers(t *testing.T) []lesser {
	text, err := os.ReadFile("../docs/sandbox.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| machine | reading | writing |\n|---|---|---|\n")
	var list []lesser
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 5 {
			break
		}
		cell := func(i int) (h held) {
			tier, not, some := strings.Cut(strings.TrimSpace(cells[i]), ": ")
			if h.tier = tier; some {
				h.not = strings.Split(not, ", ")
			}
			return h
		}
		limit := strings.Trim(strings.TrimSpace(cells[1]), "`")
		if limit == "a full one" {
			limit = ""
		}
		list = append(list, lesser{limit, cell(2), cell(3)})
	}
	if len(list) < 15 {
		t.Fatalf("the table in docs/sandbox.md has %d rows", len(list))
	}
	return list
}

// on says how to run jphost on this machine m so that it is that of the row: with what limit, which is
// empty where m is that machine by itself. It is false where m has not even that much.
func (l lesser) on(t *testing.T, m fit.Machine) (limit string, ok bool) {
	t.Helper()
	parsed, err := machine.ParseLimit(l.limit)
	if err != nil {
		t.Fatal(err)
	}
	full := fit.Machine{Landlock: max(m.Landlock, fit.ScopeABI), Namespaces: true, Seccomp: true}
	same := func(a, b fit.Machine) bool {
		nothing := a.Landlock == 0 && b.Landlock == 0 // whatever else there is
		return nothing || a.Landlock == b.Landlock && a.Namespaces == b.Namespaces && a.Seccomp == b.Seccomp
	}
	row := parsed.Apply(full)
	if same(row, m) {
		return "", true
	}
	return l.limit, same(row, parsed.Apply(m))
}

// TestLesserMachines runs a reading and a writing tool on the machines of the table, as far as this one is
// one of them or can be made one by taking away: the tier and the report are as documented, it is said
// once a session what is not held, and "required" refuses for the same reasons.
func TestLesserMachines(t *testing.T) {
	bin := build(t)
	if _, err := os.Stat(filepath.Join(bin, "jphost")); err != nil { // -tools may have it
		if out, err := exec.Command("go", "build", "-o", filepath.Join(bin, "jphost"), ".").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	users := map[string]*syscall.Credential{"as this user": nil}
	if jptooltest.Root(t) {
		users["as an ordinary user"] = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	for name, user := range users {
		t.Run(name, func(t *testing.T) {
			l := newLesserBench(t, bin, user)
			ran, itself := 0, 0
			for i, row := range lessers(t) {
				limit, ok := row.on(t, l.machine)
				if !ok {
					continue
				}
				ran++
				if limit == "" {
					itself++
				}
				if user == nil && len(users) > 1 && i%4 != 0 && limit != "" {
					continue // root takes some rows: it matters there that masks hold
				}
				l.try(t, fmt.Sprintf("r%d", i), limit, row.reading, "fs_read_file", "path=a")
				l.try(t, fmt.Sprintf("w%d", i), limit, row.write, "fs_create_file", "path=new", "content=x", "--cfg", "conversation.tools.fs_create_file.run=unattended")
			}
			if itself == 0 {
				t.Errorf("this machine is none of the table: %+v", l.machine)
			}
			t.Logf("%d machines of the table, of which %d without taking anything away: %+v", ran, itself, l.machine)
		})
	}
}

type lesserBench struct {
	dir, bin string
	user     *syscall.Credential
	// machine is this one, as the user has it.
	machine fit.Machine
}

func newLesserBench(t *testing.T, bin string, user *syscall.Credential) *lesserBench {
	// Not below t.TempDir, which nobody else may enter.
	dir, err := os.MkdirTemp("", "lesser")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l := &lesserBench{dir: dir, bin: filepath.Join(dir, "bin"), user: user}
	if err := os.CopyFS(l.bin, os.DirFS(bin)); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"ws/.git/hooks", "home", "data", "conf"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"a", ".git/config", ".git/HEAD"} {
		if err := os.WriteFile(filepath.Join(dir, "ws", f), []byte("content\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && (d.IsDir() || filepath.Dir(path) == l.bin) {
			err = os.Chmod(path, 0o755)
		}
		if err == nil && user != nil {
			err = os.Lchown(path, int(user.Uid), int(user.Gid))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var d struct{ Machine fit.Machine }
	stdout, stderr, _ := l.jphost(t, "", "", "doctor", "--json")
	if err := json.Unmarshal([]byte(stdout), &d); err != nil {
		t.Fatalf("%v\n%s%s", err, stdout, stderr)
	}
	l.machine = d.Machine
	return l
}

// run calls a tool in a session of its own name.
func (l *lesserBench) run(t *testing.T, session, limit string, args ...string) (stdout, stderr string, code exit.Code) {
	t.Helper()
	return l.jphost(t, session, limit, append([]string{"run", "--no-input"}, args...)...)
}

func (l *lesserBench) jphost(t *testing.T, session, limit string, args ...string) (stdout, stderr string, code exit.Code) {
	t.Helper()
	var out, errs strings.Builder
	cmd := exec.Command(filepath.Join(l.bin, "jphost"), args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Join(l.dir, "ws"), &out, &errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: l.user}
	cmd.Env = []string{
		"PATH=" + l.bin + ":" + os.Getenv("PATH"), "HOME=" + l.dir + "/home", "XDG_DATA_HOME=" + l.dir + "/data",
		"XDG_CONFIG_HOME=" + l.dir + "/conf", "JPHOST_SESSION=" + session, "JPHOST_SANDBOX_LIMIT=" + limit,
	}
	err := cmd.Run()
	if ended := (*exec.ExitError)(nil); err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), exit.Code(cmd.ProcessState.ExitCode())
}

func (l *lesserBench) try(t *testing.T, session, limit string, want held, call ...string) {
	t.Helper()
	where := fmt.Sprintf("%s with %q", call[0], limit)
	made := filepath.Join(l.dir, "ws/new")
	defer os.Remove(made)

	// The first call of a session says what is not held, and works.
	stdout, stderr, code := l.run(t, session, limit, append(call, "--json", "--verbose")...)
	var r struct {
		Warnings []string
		Sandbox  *enforcement.Report
	}
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || r.Sandbox == nil || code != 0 {
		t.Fatalf("%s: %d, %v\n%s%s", where, code, err, stdout, stderr)
	}
	s := r.Sandbox
	if string(s.Tier) != want.tier || s.Mode != "auto" || s.ABI == 0 != (want.tier == "none") || len(s.Rules) == 0 || len(s.Narrowed) > 0 {
		t.Errorf("%s: %+v, want tier %s", where, s, want.tier)
	}
	warned := strings.Join(r.Warnings, "\n")
	for _, n := range s.NotEnforced {
		if n.Known {
			continue
		}
		said := false
		for _, w := range want.not {
			said = said || strings.Contains(n.What, w)
		}
		if !said || n.Why == "" || n.Remedy == "" {
			t.Errorf("%s: not enforced, and not in the table or without a remedy: %+v", where, n)
		}
		if want.tier != "none" && !strings.Contains(warned, n.What) || !strings.Contains(warned, n.Why) {
			t.Errorf("%s: not warned of %q:\n%s", where, n.What, warned)
		}
	}
	if len(want.not) == 0 && warned != "" {
		t.Errorf("%s: warned of\n%s", where, warned)
	}

	// The second says nothing any more.
	os.Remove(made)
	if _, stderr, code := l.run(t, session, limit, call...); code != 0 || stderr != "" {
		t.Errorf("%s, again: %d, %s", where, code, stderr)
	}

	// Required: it runs only if nothing is missing.
	os.Remove(made)
	stdout, stderr, code = l.run(t, session, limit, append(call, "--cfg", "sandbox.mode=required")...)
	if len(want.not) == 0 {
		if code != 0 || stderr != "" {
			t.Errorf("%s, required: %d, %s", where, code, stderr)
		}
		return
	}
	if code != exit.Refused || stdout != "" {
		t.Errorf("%s, required: %d, %s", where, code, stdout)
	}
	if _, err := os.Lstat(made); err == nil {
		t.Errorf("%s, required: the tool ran", where)
	}
	for _, w := range append(want.not, `sandbox.mode = "auto"`) {
		if !strings.Contains(stderr, w) {
			t.Errorf("%s, required: %q is not in\n%s", where, w, stderr)
		}
	}
	remedies := []string{"unset it", "use Linux "}
	for lacks := range l.machine.Why {
		_, remedy := l.machine.Lacks(lacks)
		remedies = append(remedies, remedy)
	}
	if !slices.ContainsFunc(remedies, func(r string) bool { return strings.Contains(stderr, r) }) {
		t.Errorf("%s, required: no remedy in\n%s", where, stderr)
	}
}
