package term

import (
	"strings"
	"testing"
)

func TestTableFitsTheTerminal(t *testing.T) {
	rows := [][]string{{"fs_read_file", "ask", strings.Repeat("word ", 20)}, {"", "", "access: 宽宽 (read)\n  and why"}}
	for terminal, want := range map[bool]string{
		false: "  fs_read_file  ask  " + strings.Repeat("word ", 20) + "\n                     access: 宽宽 (read)\n  and why\n",
		true: "  fs_read_file  ask  " + strings.TrimSpace(strings.Repeat("word ", 11)) + "\n                     " + strings.Repeat("word ", 9) +
			"\n                     access: 宽宽 (read)\n                       and why\n",
	} {
		o := &Output{stdoutTerminal: terminal}
		o.Table("  ", rows)
		if got := o.String(); got != want {
			t.Errorf("at a terminal: %v\n%q\nwant\n%q", terminal, got, want)
		}
	}
	// Where the last column would get too narrow, each cell has lines of its own.
	wide := strings.Repeat("w", 50)
	o := &Output{stdoutTerminal: true}
	o.Table("  ", [][]string{{wide, "ask", strings.Repeat("word ", 20)}, {"", "", "access\n  and why"}})
	if want := "  " + wide + "\n      ask\n      " + strings.TrimSpace(strings.Repeat("word ", 14)) + "\n      " +
		strings.TrimSpace(strings.Repeat("word ", 6)) + "\n      access\n      and why\n"; o.String() != want {
		t.Errorf("a wide one is\n%q\nwant\n%q", o.String(), want)
	}
	o = &Output{stdoutTerminal: true}
	if o.Table("", [][]string{{"a", "b"}, {"ccc", "d"}}); o.String() != "a    b\nccc  d\n" {
		t.Errorf("a narrow one is %q", o.String())
	}
}
