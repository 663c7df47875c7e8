package peers

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Compare runs the commands in turns, see InTurns, with their output going to files. The
// first command is ours. It prints the medians, the least times, the processor time, the
// ratios of ours to each of the others, and what they found differently. On a machine that
// does other work the processor time tells most.
func Compare(out io.Writer, title string, rounds int, commands []Command) error {
	dir, err := os.MkdirTemp("", "peers")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := func(i int) string { return filepath.Join(dir, fmt.Sprint(i)) }
	all, err := InTurns(rounds, len(commands), func(_, i int) (Sample, error) { return commands[i].runTo(file(i)) })
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s\n", title)
	var ours []string
	own := all[0].Median()
	for i, c := range commands {
		lines, err := c.lines(file(i))
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		it := all[i].Median()
		fmt.Fprintf(out, "  %-22s median %8.1f ms  min %8.1f ms  cpu %8.1f ms  %8d lines",
			c.Name, ms(it.Wall), ms(all[i].Least()), ms(it.CPU), len(lines))
		if i == 0 {
			ours = lines
			fmt.Fprintln(out)
			continue
		}
		fmt.Fprintf(out, "  ours/it %.2f (min %.2f, cpu %.2f)", float64(own.Wall)/float64(it.Wall),
			float64(all[0].Least())/float64(all[i].Least()), float64(own.CPU)/float64(it.CPU))
		if more, less := difference(ours, lines); len(more)+len(less) > 0 {
			fmt.Fprintf(out, "  (only ours: %d, only it: %d; e.g. %q)", len(more), len(less), append(more, less...)[0])
		}
		fmt.Fprintln(out)
	}
	return nil
}

func (c *Command) runTo(file string) (Sample, error) {
	f, err := os.Create(file)
	if err != nil {
		return Sample{}, err
	}
	defer f.Close()
	took, err := c.Run(f)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 && len(exit.Stderr) == 0 {
		err = nil // nothing found
	}
	return took, err
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

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
