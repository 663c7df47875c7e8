package main

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/jptools/jptools/tools/fskit/peerbench"
)

var suite = peerbench.NewSuite("fs_list_files", 11)

// TestPeers measures the whole process against rg and fd on the same trees:
//
//	go test -run Peers -count=1 -peers /tmp/corpora -v .
func TestPeers(t *testing.T) {
	suite.Open(t, os.Stdout)
	fd := peerbench.Peer(os.Stdout, "FD", "fd", "fdfind")
	for _, c := range suite.Corpora {
		if c.Missing != "" {
			fmt.Printf("%s skipped: %s\n", c.Name, c.Missing)
			continue
		}
		commands := []peerbench.Command{suite.Ours(c.Dir, map[string]any{"max_results": 1_000_000_000}, outcomePaths)}
		commands = append(commands, suite.Rg(c.Dir, "--files", nil)...)
		if fd != "" {
			commands = append(commands, peerbench.Command{Name: "fd", Args: []string{fd, "--type", "f", "--hidden", "--no-global-ignore-file", "--exclude", ".git"}, Dir: c.Dir})
		}
		suite.Compare(t, "list "+c.Name, commands)
	}
}

func outcomePaths(out []byte) ([]string, error) {
	_, raw, err := peerbench.Success(out)
	if err != nil {
		return nil, err
	}
	var data struct{ Paths []string }
	err = json.Unmarshal(raw, &data)
	return data.Paths, err
}
