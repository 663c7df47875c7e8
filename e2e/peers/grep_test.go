package peers

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

var only = flag.String("query", "", "run only the queries whose name contains this")

// TestGrep measures the whole process against rg on the same trees, with the limits on
// results lifted:
//
//	go test -run Grep -count=1 -peers /tmp/corpora -v .
func TestGrep(t *testing.T) {
	suite := Open(t, os.Stdout, "fs_grep_files", 5)
	for _, q := range []struct {
		name, corpus, pattern string
		fold                  bool
	}{
		{"few", "linux", `PM_RESUME`, false},
		{"many", "linux", `kmalloc`, false},
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
		for _, c := range suite.Corpora {
			if c.Name == q.corpus {
				dir = c.Dir
			}
		}
		if dir == "" {
			fmt.Printf("%s on %s skipped: no such tree here\n", q.name, q.corpus)
			continue
		}
		arguments := map[string]any{"pattern": q.pattern, "case_insensitive": q.fold, "max_results": 1_000_000_000}
		flags := []string{"-n", "--no-heading", "--color=never"}
		if q.fold {
			flags = append(flags, "-i")
		}
		// ASCII classes on both sides, and the path that makes rg walk.
		flags = append(flags, "-e", "(?-u)"+q.pattern, ".")
		commands := append([]Command{suite.Ours(dir, arguments, outcomeLines)}, suite.Rg(dir, "", plainLines, flags...)...)
		suite.Compare(t, fmt.Sprintf("grep %s: %s `%s`", q.corpus, q.name, q.pattern), commands)
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
	content, _, err := Success(out)
	if err != nil {
		return nil, err
	}
	return plainLines([]byte(content))
}
