// Package peers measures the tools against other programs that do the same, side by
// side in one run: it makes the trees to work on, runs the commands in turns and prints
// medians and ratios.
package peers

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Command is one of the programs that are compared.
type Command struct {
	Name  string
	Args  []string
	Dir   string
	Stdin string
	// Lines makes what the program found comparable: sorted lines of its output. Nil
	// is the output's own lines. Only Compare uses it.
	Lines func(output []byte) ([]string, error)
}

// Sample is what one run took: time by the clock, and time of the processor.
type Sample struct{ Wall, CPU time.Duration }

// Samples are those of one program.
type Samples []Sample

// Median returns the median of each time.
func (list Samples) Median() Sample {
	wall, cpu := list.sorted()
	return Sample{wall[len(wall)/2], cpu[len(cpu)/2]}
}

// Least returns the least time by the clock.
func (list Samples) Least() time.Duration {
	wall, _ := list.sorted()
	return wall[0]
}

func (list Samples) sorted() (wall, cpu []time.Duration) {
	for _, s := range list {
		wall, cpu = append(wall, s.Wall), append(cpu, s.CPU)
	}
	slices.Sort(wall)
	slices.Sort(cpu)
	return wall, cpu
}

// Build builds a tool as it is shipped, and returns its path.
func Build(t testing.TB, name string) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), name)
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", bin, ".")
	cmd.Dir, cmd.Env = filepath.Join("..", "..", "tools", name), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}

// InTurns calls run for 0 to n-1 in each round, in reverse every other round, and returns
// what the runs took. Round 0 is to warm up and does not count; rounds more follow.
func InTurns(rounds, n int, run func(round, i int) (Sample, error)) ([]Samples, error) {
	all := make([]Samples, n)
	for round := range rounds + 1 {
		for k := range n {
			i := k
			if round%2 == 1 {
				i = n - 1 - k
			}
			took, err := run(round, i)
			if err != nil {
				return nil, err
			}
			if round > 0 {
				all[i] = append(all[i], took)
			}
		}
	}
	return all, nil
}

// Run runs the program once. When it fails, an *exec.ExitError in the error has its stderr.
func (c *Command) Run(stdout io.Writer) (Sample, error) {
	var stderr bytes.Buffer
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.Dir, stdout, &stderr
	if c.Stdin != "" {
		cmd.Stdin = strings.NewReader(c.Stdin)
	}
	start := time.Now()
	err := cmd.Run()
	took := Sample{Wall: time.Since(start)}
	if cmd.ProcessState != nil {
		took.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		exit.Stderr = stderr.Bytes()
	}
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", c.Name, err, stderr.String())
	}
	return took, err
}
