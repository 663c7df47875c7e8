package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jptools/jptools/tools/fskit/peerbench"
)

var (
	peers  = flag.String("peers", "", "directory for the trees: measure against other programs there")
	rounds = flag.Int("rounds", 11, "how often -peers runs each program")
)

// TestPeers measures the whole process against rg and fd on the same trees:
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
	binary := filepath.Join(t.TempDir(), "fs_list_files")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	rg := peerbench.Peer(os.Stdout, "RG", "rg")
	rg15 := peerbench.Peer(os.Stdout, "RG15", "rg15")
	fd := peerbench.Peer(os.Stdout, "FD", "fd", "fdfind")
	for _, c := range corpora {
		if c.Missing != "" {
			fmt.Printf("%s skipped: %s\n", c.Name, c.Missing)
			continue
		}
		commands := []peerbench.Command{{
			Name: "fs_list_files", Args: []string{binary}, Dir: c.Dir, Lines: outcomePaths,
			Stdin: fmt.Sprintf(`{"context":{"root":%q,"action":"run"},"tool":{"name":"fs_list_files","arguments":{"max_results":1000000000}}}`, c.Dir),
		}}
		flags := []string{"--files", "--hidden", "--no-ignore-global", "--no-ignore-parent", "-g", "!.git"}
		for name, path := range map[string]string{"rg --files": rg, "rg15 --files": rg15} {
			if path != "" {
				commands = append(commands, peerbench.Command{Name: name, Args: append([]string{path}, flags...), Dir: c.Dir})
			}
		}
		if fd != "" {
			commands = append(commands, peerbench.Command{Name: "fd", Args: []string{fd, "--type", "f", "--hidden", "--no-global-ignore-file", "--exclude", ".git"}, Dir: c.Dir})
		}
		if err := peerbench.Compare(os.Stdout, "list "+c.Name, *rounds, commands); err != nil {
			t.Error(err)
		}
	}
}

func outcomePaths(out []byte) ([]string, error) {
	var outcome struct {
		Type, Message string
		Data          struct{ Paths []string }
	}
	if err := json.Unmarshal(out, &outcome); err != nil {
		return nil, err
	}
	if outcome.Type != "success" {
		return nil, fmt.Errorf("%s: %s", outcome.Type, strings.TrimSpace(outcome.Message))
	}
	return outcome.Data.Paths, nil
}
