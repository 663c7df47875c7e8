package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jptools/jptools/tools/fskit/peerbench"
)

var (
	peers  = flag.String("peers", "", "directory for the trees: measure against other programs there")
	rounds = flag.Int("rounds", 5, "how often -peers runs each program")
	only   = flag.String("query", "", "run only the queries whose name contains this")
)

// TestPeers measures the whole process against rg on the same trees, with the limits on
// results lifted:
//
//	go test -run Peers -count=1 -peers /tmp/corpora -v .
func TestPeers(t *testing.T) {
	if *peers == "" {
		t.Skip("no -peers directory given")
	}
	corpora, err := peerbench.Corpora(*peers)
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "fs_grep_files")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	rgs := map[string]string{"rg": peerbench.Peer(os.Stdout, "RG", "rg"), "rg15": peerbench.Peer(os.Stdout, "RG15", "rg15")}
	for _, q := range []struct {
		name, corpus, pattern string
		fold                  bool
	}{
		{"few", "linux", `PM_RESUME`, false},
		{"many", "linux", `return`, false},
		{"none", "linux", `ZQXJKVWPY_NOPE`, false},
		{"class and alternation", "linux", `[A-Z]+_(RESUME|SUSPEND)`, false},
		{"four literals", "linux", `PM_RESUME|ENOTSUPP_X|dma_alloc_wc|rcu_barrier_tasks`, false},
		{"ignoring case", "linux", `pm_resume`, true},
		{"no literal", "linux", `[a-z]+[0-9]{5,}`, false},
		{"few", "generated", `RARE_NEEDLE_XYZ`, false},
		{"few", "go", `ErrUnsupported`, false},
	} {
		if !strings.Contains(q.name, *only) {
			continue
		}
		var dir string
		for _, c := range corpora {
			if c.Name == q.corpus {
				dir = c.Dir
			}
		}
		if dir == "" {
			fmt.Printf("%s on %s skipped: no such tree here\n", q.name, q.corpus)
			continue
		}
		arguments, _ := json.Marshal(map[string]any{"pattern": q.pattern, "case_insensitive": q.fold, "max_results": 1_000_000_000})
		commands := []peerbench.Command{{
			Name: "fs_grep_files", Args: []string{binary}, Dir: dir, Lines: outcomeLines,
			Stdin: fmt.Sprintf(`{"context":{"root":%q,"action":"run"},"tool":{"name":"fs_grep_files","arguments":%s}}`, dir, arguments),
		}}
		flags := []string{"-n", "--no-heading", "--color=never", "--hidden", "--no-ignore-global", "--no-ignore-parent", "-g", "!.git"}
		if q.fold {
			flags = append(flags, "-i")
		}
		for _, name := range []string{"rg", "rg15"} {
			if rgs[name] != "" {
				// ASCII classes on both sides, and the path that makes rg walk.
				args := append(append([]string{rgs[name]}, flags...), "-e", "(?-u)"+q.pattern, ".")
				commands = append(commands, peerbench.Command{Name: name, Args: args, Dir: dir, Lines: plainLines})
			}
		}
		title := fmt.Sprintf("grep %s: %s `%s`", q.corpus, q.name, q.pattern)
		if err := peerbench.Compare(os.Stdout, title, *rounds, commands); err != nil {
			t.Error(err)
		}
	}
}

var place = regexp.MustCompile(`^(?:\./)?(.*?:[0-9]+):`)

// plainLines takes path and number of each line.
func plainLines(out []byte) ([]string, error) {
	var list []string
	for line := range strings.Lines(string(out)) {
		if m := place.FindStringSubmatch(line); m != nil {
			list = append(list, m[1])
		}
	}
	return list, nil
}

func outcomeLines(out []byte) ([]string, error) {
	var outcome struct{ Type, Message, Content string }
	if err := json.Unmarshal(out, &outcome); err != nil {
		return nil, err
	}
	if outcome.Type != "success" {
		return nil, fmt.Errorf("%s: %s", outcome.Type, strings.TrimSpace(outcome.Message))
	}
	return plainLines([]byte(outcome.Content))
}
