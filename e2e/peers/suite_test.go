package peers

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Suite is what a test has that measures a tool on the trees against other programs: the
// flags, and when it is open, the tool and the trees.
type Suite struct {
	Corpora []Corpus

	tool   string
	out    io.Writer
	rounds int
	binary string
	rgs    []Command
}

var (
	peersDir = flag.String("peers", "", "directory for the trees: measure against other programs there")
	rounds   = flag.Int("rounds", 0, "how often -peers runs each program; 0 is what each test takes for enough")
)

// Open makes the trees, builds the tool and looks for rg. It skips the test when there is no -peers. What is
// measured, and what is missing, goes to out.
func Open(t *testing.T, out io.Writer, tool string, enough int) *Suite {
	t.Helper()
	if *peersDir == "" {
		t.Skip("no -peers directory given")
	}
	s := &Suite{tool: tool, out: out, rounds: cmp.Or(*rounds, enough)}
	var err error
	if s.Corpora, err = Corpora(*peersDir); err != nil {
		t.Fatal(err)
	}
	s.binary = Build(t, s.tool)
	for _, name := range []string{"rg", "rg15"} {
		if path := Peer(out, strings.ToUpper(name), name); path != "" {
			s.rgs = append(s.rgs, Command{Name: name, Args: []string{path}})
		}
	}
	return s
}

// Ours is a call of the tool without rules.
func (s *Suite) Ours(dir string, arguments any, lines func(output []byte) ([]string, error)) Command {
	type object map[string]any
	request, err := json.Marshal(object{
		"context": object{"root": dir, "action": "run"}, "tool": object{"name": s.tool, "arguments": arguments},
	})
	if err != nil {
		panic(err) // the arguments are those of a test
	}
	return Command{Name: s.tool, Args: []string{s.binary}, Dir: dir, Stdin: string(request), Lines: lines}
}

// Rg returns the versions of rg that are there, made to see the files that the tools see.
// The mode is their first argument when it is not "", and part of their names.
func (s *Suite) Rg(dir, mode string, lines func(output []byte) ([]string, error), args ...string) []Command {
	var list []Command
	for _, rg := range s.rgs {
		c := Command{Name: rg.Name, Args: rg.Args[:1:1], Dir: dir, Lines: lines}
		if mode != "" {
			c.Name, c.Args = c.Name+" "+mode, append(c.Args, mode)
		}
		c.Args = append(c.Args, "--hidden", "--no-ignore-global", "--no-ignore-parent", "-g", "!.git")
		c.Args = append(c.Args, args...)
		list = append(list, c)
	}
	return list
}

// Compare is the function of that name, with the rounds of the flag.
func (s *Suite) Compare(t *testing.T, title string, commands []Command) {
	t.Helper()
	if err := Compare(s.out, title, s.rounds, commands); err != nil {
		t.Error(err)
	}
}

// Peer finds a program, first where the environment variable says, then in PATH. It
// returns "" and prints why when there is none.
func Peer(out io.Writer, variable string, names ...string) string {
	if path := os.Getenv(variable); path != "" {
		return path
	}
	for _, n := range names {
		if path, err := exec.LookPath(n); err == nil {
			return path
		}
	}
	fmt.Fprintf(out, "skipped: no %s in PATH; %s can name one\n", strings.Join(names, " or "), variable)
	return ""
}

// Success decodes the outcome of a call of a tool; any but a success is an error.
func Success(out []byte) (content string, data json.RawMessage, err error) {
	var outcome struct {
		Type, Message, Content string
		Data                   json.RawMessage
	}
	if err := json.Unmarshal(out, &outcome); err != nil {
		return "", nil, err
	}
	if outcome.Type != "success" {
		return "", nil, fmt.Errorf("%s: %s", outcome.Type, strings.TrimSpace(outcome.Message))
	}
	return outcome.Content, outcome.Data, nil
}
