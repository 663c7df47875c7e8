package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// denied is the part of the report of `sandbox exec --explain-denials` that is looked at here.
type denied struct {
	Denials  []denial
	Observed struct {
		Outside      []denial
		More, Unread int
	}
}

type denial struct {
	Operation, Path, Reason, Remedy string
	NearestGrant                    string `json:"nearest_grant"`
	Times, Beside                   int
}

// explained runs a script under grants with the flag and returns how it ended and what was reported.
func (w *world) explained(tier string, grants []string, script string) (ran, denied) {
	w.t.Helper()
	file := filepath.Join(w.home, "report.json")
	r := w.exec(tier, append([]string{"--explain-denials", "--report", file}, grants...), "sh", "-c", script)
	var d denied
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &d)
	}
	if err != nil {
		w.t.Fatalf("no report: %v\n%s", err, r)
	}
	return r, d
}

// What is refused is found for every user and in every tier, also in processes that the program
// starts, and the effects are those of the same run without the flag.
func TestDenialsAreExplained(t *testing.T) {
	eachUser(t, func(t *testing.T, user string) {
		eachTier(t, user, func(t *testing.T, tier string) {
			w := newWorld(t, user)
			w.files(map[string]string{"ws/build/keep": ""})
			script := `echo x > build/out.o; (cd docs && cat ../src/a.txt >/dev/null && rm ./guide); sh -c 'mkdir src/new build/new' & wait; cat ` + w.outside + `/victim.txt; exit 9`
			grants := []string{"--ro", ".", "--rw", "src"}
			r, d := w.explained(tier, grants, script)
			if r.code != 9 || d.Observed.Unread != 0 || d.Observed.More != 0 {
				t.Fatalf("%+v\n%s", d, r)
			}
			var got []string
			for _, x := range d.Denials {
				got = append(got, fmt.Sprintf("%s %s %d %s", x.Operation, x.Path, x.Times, x.NearestGrant))
			}
			want := []string{"create build/out.o 1 src", "delete docs/guide 1 src", "create build/new 1 src"}
			if !slices.Equal(got, want) {
				t.Errorf("refused %q, want %q", got, want)
			}
			if !slices.ContainsFunc(d.Observed.Outside, func(x denial) bool { return x.Operation == "read" && x.Path == w.outside+"/victim.txt" }) {
				t.Errorf("outside: %+v", d.Observed.Outside)
			}
			if !strings.Contains(r.stderr, "refused: create build/out.o: the rule on \".\" decides") || strings.Contains(r.stdout, w.secret) {
				t.Error(r)
			}
			if _, err := os.Stat(w.root + "/src/new"); err != nil {
				t.Error(err)
			}
			for _, name := range []string{"build/out.o", "build/new"} {
				if _, err := os.Lstat(w.root + "/" + name); err == nil {
					t.Errorf("%s was made", name)
				}
			}
			// What the remedy says helps.
			grants = append(grants, "--grant", "path=build,read,create,update")
			if r, d := w.explained(tier, grants, "echo x > build/out.o"); r.code != 0 || len(d.Denials) != 0 {
				t.Errorf("%+v\n%s", d, r)
			}
		})
	})
}

// Ten thousand refused calls are counted, and few of them kept.
func TestManyDenials(t *testing.T) {
	eachTier(t, root, func(t *testing.T, tier string) {
		w := newWorld(t, root)
		r, d := w.explained(tier, []string{"--ro", "."}, "i=0; while [ $i -lt 10000 ]; do true >> docs/guide; true >> src/f$i; i=$((i+1)); done 2>/dev/null")
		if n := len(d.Denials); n != 1+16 || d.Denials[0].Times != 10000 || d.Denials[n-1].Beside != 10000-16 || d.Observed.More != 0 {
			t.Errorf("%d denials, %+v, %d more\n%.500s", n, d.Denials, d.Observed.More, r.stderr)
		}
	})
}

// When the observer is killed the program ends, also one that ignores being told, and nothing
// is left of it.
func TestObserverIsKilled(t *testing.T) {
	eachUser(t, func(t *testing.T, user string) {
		eachTier(t, user, func(t *testing.T, tier string) {
			w := newWorld(t, user)
			ctx, cancel := context.WithTimeout(context.Background(), w.limit)
			defer cancel()
			argv := contain(tier, []string{"--explain-denials", "--ro", "."}, "sh", "-c", "trap '' TERM INT HUP; echo $$; while :; do cat docs/guide; done 2>/dev/null")
			cmd := w.command(ctx, argv...)
			pr, pw, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer pr.Close()
			cmd.Stdout = pw
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			_ = pw.Close()
			lines := bufio.NewScanner(pr)
			for i := 0; i < 5 && lines.Scan(); i++ { // it runs
			}
			group := family(cmd.Process.Pid)
			if len(group) < 2 {
				t.Errorf("the observer has no child: %v", group)
			}
			_ = cmd.Process.Signal(unix.SIGKILL)
			_ = cmd.Wait()
			for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
				left := slices.DeleteFunc(slices.Clone(group), func(pid int) bool { return !alive(pid) })
				if len(left) == 0 {
					break
				}
				if time.Now().After(end) {
					for _, pid := range left {
						_ = unix.Kill(pid, unix.SIGKILL)
					}
					t.Fatalf("still there: %v", left)
				}
			}
		})
	})
}

// family is a process and all below it.
func family(pid int) []int {
	list := []int{pid}
	for i := 0; i < len(list); i++ {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", list[i]))
		for _, file := range tasks {
			data, _ := os.ReadFile(file)
			for f := range strings.FieldsSeq(string(data)) {
				if child, err := strconv.Atoi(f); err == nil {
					list = append(list, child)
				}
			}
		}
	}
	return list
}

// alive reports whether a process is more than its exit status.
func alive(pid int) bool {
	if unix.Kill(pid, syscall.Signal(0)) == unix.ESRCH {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(rest, "Z")
}
