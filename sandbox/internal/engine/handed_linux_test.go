package engine

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/sandbox/fit"
)

// What a cover withholds is not handed down, whatever its name looks like, and also when it has
// lost that name.
func TestHandedDown(t *testing.T) {
	for name, remove := range map[string]bool{"guide": false, "guide, removed": true, "guide (deleted)": false, "guide (deleted), removed": true} {
		t.Run(name, func(t *testing.T) {
			ws := jptooltest.OpenRoot(t)
			path := write(t, filepath.Join(ws, strings.TrimSuffix(name, ", removed")), "read me\n", 0o644)
			p := plan(t, fit.TierNamespace, ws)
			p.Grants = []fit.Grant{grant(t, ws, all)} // of which the cover is to take something
			file, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			control := sh(p, "cat")
			control.Stdin = file
			if res, err := run(t, p, control); err != nil || res.out != "read me" {
				t.Fatalf("the control: %v, %+v", err, res)
			}
			p.Covers = append(p.Covers, fit.Cover{Node: node(t, path), ReadOnly: true})
			if remove {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			}
			cmd := sh(p, "cat")
			cmd.Stdin = file
			if res, err := run(t, p, cmd); err == nil || !strings.Contains(err.Error(), "which the rules withhold") {
				t.Errorf("%v, %+v", err, res)
			}
		})
	}
}

// What a cover leaves is handed down where the grants above it allow no more: a file that may only be read,
// beside a directory that may be written.
func TestHandedDownWhereNothingIsWithheld(t *testing.T) {
	for _, c := range []struct {
		name    string
		above   jptool.Caps
		cover   fit.Cover
		flags   int
		refused bool
	}{
		{"read-only, read above", r, fit.Cover{ReadOnly: true}, os.O_RDONLY, false},
		{"read-only, written above", all, fit.Cover{ReadOnly: true}, os.O_RDONLY, true},
		{"read-only, handed to be written", all, fit.Cover{ReadOnly: true}, os.O_RDWR, false},
		{"hidden, read above", r, fit.Cover{Hide: true}, os.O_RDONLY, false},
		{"hidden, written above", all, fit.Cover{Hide: true}, os.O_RDONLY, true},
		{"hidden, handed to be written", all &^ jptool.Execute, fit.Cover{Hide: true}, os.O_RDWR, false},
		{"hidden, executed above", r | jptool.Execute, fit.Cover{Hide: true}, os.O_RDONLY, true},
		{"not to be executed, executed above", r | jptool.Execute, fit.Cover{NoExec: true}, os.O_RDONLY, true},
		{"not to be executed, read above", r, fit.Cover{NoExec: true}, os.O_RDONLY, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			ws := jptooltest.OpenRoot(t)
			path := write(t, filepath.Join(ws, "guide"), "read me\n", 0o644)
			p := plan(t, fit.TierNamespace, ws)
			p.Grants = []fit.Grant{grant(t, ws, c.above)}
			c.cover.Node = node(t, path)
			p.Covers = append(p.Covers, c.cover)
			file, err := os.OpenFile(path, c.flags, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			cmd := sh(p, "cat")
			cmd.Stdin = file
			res, err := run(t, p, cmd)
			if refused := err != nil && strings.Contains(err.Error(), "which the rules withhold"); refused != c.refused || !refused && (err != nil || res.out != "read me") {
				t.Errorf("%v, %+v", err, res)
			}
			if c.refused {
				return
			}
			// By opening it again the program gains nothing.
			file2, err := os.OpenFile(path, c.flags, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer file2.Close()
			again := sh(p, "echo more >> /proc/self/fd/0")
			again.Stdin = file2
			res, err = run(t, p, again)
			if wrote := err == nil && res.status.ExitStatus() == 0; wrote != (c.flags == os.O_RDWR) {
				t.Errorf("written by opening it again: %v: %v, %+v", wrote, err, res)
			}
		})
	}
}

// What a supervisor is to keep is open until the engine ends, although nobody else has it any more; the program has
// not got it.
func TestKeep(t *testing.T) {
	tiers(t, func(t *testing.T, tier fit.Tier) {
		ours, kept, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer ours.Close()
		e := New(Options{Once: true})
		defer e.Close()
		p := plan(t, tier, jptooltest.OpenRoot(t))
		c := command(p, sh(p, "set -- /proc/self/fd/* && exit $#")) // with that of the list itself
		c.Keep = kept
		process, err := e.Start(c)
		if err != nil {
			t.Fatal(err)
		}
		kept.Close()
		if exit, err := process.Wait(); err != nil || exit.Code != 4 {
			t.Fatal(exit, err)
		}
		end := func() error {
			if err := ours.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
				t.Fatal(err)
			}
			_, err := ours.Read(make([]byte, 1))
			return err
		}
		if err := end(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("after the call: %v", err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		if err := end(); err != io.EOF {
			t.Errorf("after the engine: %v", err)
		}
	})
}
