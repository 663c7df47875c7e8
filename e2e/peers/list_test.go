package peers

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
)

// TestList measures the whole process against rg and fd on the same trees:
//
//	go test -run List -count=1 -peers /tmp/corpora -v .
func TestList(t *testing.T) {
	suite := Open(t, os.Stdout, "fs_list_files", 11)
	fd := Peer(os.Stdout, "FD", "fd", "fdfind")
	for _, c := range suite.Corpora {
		if c.Missing != "" {
			fmt.Printf("%s skipped: %s\n", c.Name, c.Missing)
			continue
		}
		commands := []Command{suite.Ours(c.Dir, map[string]any{"max_results": 1_000_000_000}, outcomePaths)}
		commands = append(commands, suite.Rg(c.Dir, "--files", nil)...)
		if fd != "" {
			commands = append(commands, Command{Name: "fd", Args: []string{fd, "--type", "f", "--hidden", "--no-global-ignore-file", "--exclude", ".git"}, Dir: c.Dir})
		}
		suite.Compare(t, "list "+c.Name, commands)
	}
}

func outcomePaths(out []byte) ([]string, error) {
	_, raw, err := Success(out)
	if err != nil {
		return nil, err
	}
	var data struct{ Paths []string }
	err = json.Unmarshal(raw, &data)
	return data.Paths, err
}
