package peerbench

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Command is one of the programs that are compared.
type Command struct {
	Name  string
	Args  []string
	Dir   string
	Stdin string
	// Lines makes what the program found comparable: sorted lines of its output. Nil
	// is the output's own lines.
	Lines func(output []byte) ([]string, error)
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

// Compare runs the commands in turns, rounds times after one run to warm up, with their
// output going to files. The first command is ours. It prints the medians, the least
// times, the processor time, the ratios of ours to each of the others, and what they found
// differently. On a machine that does other work the processor time tells most.
func Compare(out io.Writer, title string, rounds int, commands []Command) error {
	dir, err := os.MkdirTemp("", "peerbench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	times := make([][]time.Duration, len(commands))
	cpu := make([][]time.Duration, len(commands))
	files := make([]string, len(commands))
	for i := range commands {
		files[i] = filepath.Join(dir, fmt.Sprint(i))
	}
	for round := range rounds + 1 {
		order := make([]int, len(commands))
		for i := range order {
			order[i] = i
			if round%2 == 1 {
				order[i] = len(commands) - 1 - i
			}
		}
		for _, i := range order {
			took, used, err := once(&commands[i], files[i])
			if err != nil {
				return fmt.Errorf("%s: %w", commands[i].Name, err)
			}
			if round > 0 {
				times[i] = append(times[i], took)
				cpu[i] = append(cpu[i], used)
			}
		}
	}
	fmt.Fprintf(out, "%s\n", title)
	var ours []string
	own, ownCPU := median(times[0]), median(cpu[0])
	for i, c := range commands {
		lines, err := c.lines(files[i])
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		fmt.Fprintf(out, "  %-22s median %8.1f ms  min %8.1f ms  cpu %8.1f ms  %8d lines",
			c.Name, ms(median(times[i])), ms(slices.Min(times[i])), ms(median(cpu[i])), len(lines))
		if i == 0 {
			ours = lines
			fmt.Fprintln(out)
			continue
		}
		fmt.Fprintf(out, "  ours/it %.2f (min %.2f, cpu %.2f)", float64(own)/float64(median(times[i])),
			float64(slices.Min(times[0]))/float64(slices.Min(times[i])), float64(ownCPU)/float64(median(cpu[i])))
		if more, less := difference(ours, lines); len(more)+len(less) > 0 {
			fmt.Fprintf(out, "  (only ours: %d, only it: %d; e.g. %q)", len(more), len(less), append(more, less...)[0])
		}
		fmt.Fprintln(out)
	}
	return nil
}

func once(c *Command, file string) (took, used time.Duration, err error) {
	f, err := os.Create(file)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	var stderr bytes.Buffer
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Dir, strings.NewReader(c.Stdin), f, &stderr
	start := time.Now()
	err = cmd.Run()
	took = time.Since(start)
	if cmd.ProcessState != nil {
		used = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	if exit, ok := err.(*exec.ExitError); ok && exit.ExitCode() == 1 && stderr.Len() == 0 {
		err = nil // nothing found
	}
	if err != nil {
		err = fmt.Errorf("%w: %s", err, stderr.String())
	}
	return took, used, err
}

func (c *Command) lines(file string) ([]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var list []string
	if c.Lines != nil {
		list, err = c.Lines(text)
	} else {
		for line := range strings.Lines(string(text)) {
			list = append(list, strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "./"))
		}
	}
	slices.Sort(list)
	return list, err
}

// difference returns what only a and what only b has; both are sorted.
func difference(a, b []string) (onlyA, onlyB []string) {
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0] < b[0]:
			onlyA, a = append(onlyA, a[0]), a[1:]
		case len(a) == 0 || b[0] < a[0]:
			onlyB, b = append(onlyB, b[0]), b[1:]
		default:
			a, b = a[1:], b[1:]
		}
	}
	return onlyA, onlyB
}

func median(list []time.Duration) time.Duration {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
