package e2e

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A flag of every command means the same wherever it stands: before the command, in the middle of its name, and
// after it.
func TestFlagsMeanTheSameInEveryPosition(t *testing.T) {
	w := newWorld(t, root)
	w.user = "ordinary" // who has no need of it
	w.own()
	needTier(t, w.user, landlocked)
	flags := [][]string{
		{"-C", w.root},
		{"--workspace=" + w.root},
		{"--conversation", "c"},
		{"--cfg", "conversation.tools.fs_read_file.run=unattended"},
		{"--format", "json"},
		{"--json"},
		{"--no-input"},
	}
	// The places where flags may stand are marked.
	for _, line := range []string{
		"@ run @ fs_read_file @ path=src/a.txt @",
		"@ run @ fs_read_file @ path=missing @",
		"@ run @ --dry-run @ fs_read_file path=src/a.txt @",
		"@ tools @ fs_read_file @",
		"@ config @ check @",
		"@ version @",
		"@ --version @",
		"@ help @ run",
		"@ run @ --help @",
		"@ sandbox @ exec @ --rw . @ -- sh -c pwd;exit@7",
		"@ sandbox @ exec @ --required @ sh -c ls;kill@-TERM@$$",
	} {
		for _, flag := range flags {
			var first ran
			for n, argv := range positions(line, flag) {
				r := w.run(argv...)
				r.stdout = took.ReplaceAllString(r.stdout, "")
				if n == 0 {
					first = r
				} else if r != first {
					t.Errorf("%q:\n%s\nbut with the flag in front:\n%s", argv[1:], r, first)
				}
			}
		}
	}
}

// took is what differs between two runs.
var took = regexp.MustCompile(`"duration_ms": *\d+`)

// positions are the command lines with a flag in each of the marked places.
func positions(line string, flag []string) (lines [][]string) {
	words := strings.Fields(line)
	for n := range strings.Count(" "+line+" ", " @ ") {
		argv, at := []string{filepath.Join(bin, "jphost")}, 0
		for _, word := range words {
			switch {
			case word != "@":
				argv = append(argv, strings.ReplaceAll(word, "@", " "))
			case at == n:
				argv = append(argv, flag...)
				fallthrough
			default:
				at++
			}
		}
		lines = append(lines, argv)
	}
	return lines
}

// What a signal to jphost means does not depend on where flags stand either: it is the program's.
func TestSignalsMeanTheSameWhereverFlagsStand(t *testing.T) {
	w := newWorld(t, root)
	w.user = "ordinary"
	w.own()
	needTier(t, w.user, landlocked)
	line := "@ sandbox @ exec @ --report r.json @ -- sh -c rm@r.json;trap@'exit@0'@TERM;touch@ready;while@:;do@sleep@.01;done"
	for _, flag := range [][]string{{"-C", w.root}, {"--no-input"}} {
		for _, argv := range positions(line, flag) {
			_ = os.Remove(w.root + "/ready")
			cmd := w.command(context.Background(), argv...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			awaitFile(t, w.root+"/ready")
			_ = cmd.Process.Signal(unix.SIGTERM)
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != 3 || !strings.Contains(stderr.String(), "there is no report") {
				t.Errorf("%q: exit status %d\n%s", argv[1:], code, stderr.String())
			}
		}
	}
}
