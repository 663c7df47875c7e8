package term

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

var permitQuestion = PermitQuestion{
	Message: Message{Body: "t:\n", Quoted: "--- f\n+++ f\n@@ -1 +1 @@\n-one word\n+two words\n"},
	Prompt:  "Let t change f?", Session: true, Always: true, Lasting: "this file", Edit: true,
}

func TestPermitOnATerminal(t *testing.T) {
	plain := PermitQuestion{Prompt: "Let t change f?"}
	for name, c := range map[string]struct {
		q    PermitQuestion
		keys []string // each is typed when the question stands
		want PermitAnswer
		err  error
		hint string
	}{
		"once":              {permitQuestion, []string{"y"}, PermitAnswer{Choice: Once}, nil, "[y/s/a/N/e/v]"},
		"session":           {permitQuestion, []string{"s"}, PermitAnswer{Choice: Session}, nil, "s: yes for this session, a: yes for good (this file)"},
		"always":            {permitQuestion, []string{"a"}, PermitAnswer{Choice: Always}, nil, "[y/s/a/N/e/v]"},
		"edit":              {permitQuestion, []string{"e"}, PermitAnswer{Choice: Change}, nil, "e: edit, v: view all"},
		"no":                {permitQuestion, []string{"n"}, PermitAnswer{}, nil, ""},
		"no is the default": {permitQuestion, []string{""}, PermitAnswer{}, nil, ""},
		"a reason":          {permitQuestion, []string{"n use  tabs"}, PermitAnswer{Reason: "use  tabs"}, nil, "n REASON"},
		"yes has no reason": {permitQuestion, []string{"y please", "y"}, PermitAnswer{Choice: Once}, nil, "that is none of the answers:"},
		"not offered":       {plain, []string{"s", "a", "y"}, PermitAnswer{Choice: Once}, nil, "[y/N/v]"},
		"no edit":           {plain, []string{"e", "E", "e"}, PermitAnswer{}, ErrCancelled, "that is none of the answers:\ny: yes, n: no, n REASON: no, and why, v: view all\nLet"},
		"view, and then":    {permitQuestion, []string{"v", "y"}, PermitAnswer{Choice: Once}, nil, ""},
		"Ctrl-C":            {permitQuestion, []string{"\x03"}, PermitAnswer{}, ErrInterrupted, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPTY(t)
			got, err := permitted(p, nil, c.q, c.keys...)
			if got != c.want || !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
				t.Errorf("%+v, %v; want %+v, %v", got, err, c.want, c.err)
			}
			if !strings.Contains(p.screen(), c.hint) {
				t.Errorf("no %q in\n%s", c.hint, p.screen())
			}
		})
	}
}

// permitted asks, and types each line when the question stands again.
func permitted(p *pty, env map[string]string, q PermitQuestion, lines ...string) (PermitAnswer, error) {
	p.t.Helper()
	type result struct {
		PermitAnswer
		error
	}
	done := make(chan result)
	go func() {
		a, err := p.terminal(env).Permit(bg, q)
		done <- result{a, err}
	}()
	for i, line := range lines {
		p.wait(q.hint()+" ", i+1)
		p.typeIn(line + "\r")
	}
	r := <-done
	return r.PermitAnswer, r.error
}

// What was not shown whole is not allowed before a person has looked at all of it.
func TestLongTextsMustBeLookedAt(t *testing.T) {
	q := permitQuestion
	q.Quoted = strings.Repeat("line\n", 2*MaxLines) + "the end\x1b[2J\n"
	dir := t.TempDir()
	seen := filepath.Join(dir, "seen")
	p := newPTY(t)
	a, err := permitted(p, map[string]string{"PAGER": "cat >" + seen}, q, "y", "v", "y")
	if err != nil || a.Choice != Once || !strings.Contains(p.screen(), "look at it with v first") {
		t.Errorf("%+v %v\n%s", a, err, p.screen())
	}
	text, err := os.ReadFile(seen)
	if err != nil || !strings.HasSuffix(string(text), Bar+`the end\x1b[2J`+"\n") || strings.ContainsRune(string(text), '\x1b') {
		t.Errorf("the pager got %.100q… %q, %v", text, text[max(0, len(text)-40):], err)
	}
	for _, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")[1:] {
		if !strings.HasPrefix(line, Bar) {
			t.Fatalf("the pager got the line %q", line)
		}
	}
	// A pager that fails has shown nothing.
	p = newPTY(t)
	a, err = permitted(p, map[string]string{"PAGER": "false"}, q, "v", "y", "n")
	if err != nil || a.Choice != Refuse || !strings.Contains(p.screen(), "the pager false failed") || !strings.Contains(p.screen(), "look at it with v first") {
		t.Errorf("%+v %v\n%s", a, err, p.screen())
	}
	// The built-in one goes page by page; who leaves it early has not seen all.
	for keys, want := range map[string]Choice{"q": Refuse, "": Once} {
		p = newPTY(t)
		if err := unix.IoctlSetWinsize(int(p.slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 1200, Col: 80}); err != nil {
			t.Fatal(err)
		}
		done := make(chan Choice)
		go func() {
			a, _ := p.terminal(nil).Permit(bg, q)
			done <- a.Choice
		}()
		p.wait(q.hint()+" ", 1)
		p.typeIn("v\r")
		p.wait("rows 1-1199 of 2002 [Enter: more, b: back, q: to the question] ", 1)
		p.typeIn("b\r")
		p.wait("rows 1-1199 of 2002 [Enter: more, b: back, q: to the question] ", 2)
		p.typeIn(keys + "\r")
		p.wait(q.hint()+" ", 2)
		p.typeIn("y\r")
		if want == Refuse {
			p.wait("look at it with v first", 1)
			p.wait(q.hint()+" ", 3)
			p.typeIn("n\r")
		}
		if got := <-done; got != want {
			t.Errorf("%q: %v", keys, got)
		}
		if strings.Contains(p.screen(), "\x1b[2J") {
			t.Error("an escape sequence reached the terminal")
		}
	}
}

// The line that is answered fits a row of 80 columns, with the end of a long name.
func TestTheQuestionIsShortened(t *testing.T) {
	for columns, want := range map[int]string{80: "Let t change …/f?", 200: "Let t change " + strings.Repeat("x/", 40) + "f?"} {
		p := newPTY(t)
		if err := unix.IoctlSetWinsize(int(p.slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: uint16(columns)}); err != nil {
			t.Fatal(err)
		}
		q := permitQuestion
		q.Prompt, q.Shorter = "Let t change "+strings.Repeat("x/", 40)+"f?", []string{"Let t change …" + strings.Repeat("/x", 30) + "/f?", "Let t change …/f?"}
		if _, err := permitted(p, nil, q, "n"); err != nil || !strings.Contains(p.screen(), "\n"+want+" "+q.hint()+" ") {
			t.Errorf("%s columns: %v\n%s", strconv.Itoa(columns), err, p.screen())
		}
	}
}

// A text that imitates the question, its keys and an answer stays behind its bar, in colours as well.
func TestForgedPermitOnATerminal(t *testing.T) {
	q := permitQuestion
	forged := permitQuestion.keys() + "\nLet t change f? [y/s/a/N/e/v] y\n"
	q.Quoted = "--- f\n+++ f\n@@ -1,3 +1,3 @@\n " + strings.ReplaceAll(forged, "\n", "\n+") + "\n-\x1b[0m\x1b[1A\r" + strings.ReplaceAll(forged, "\n", "\r") + strings.Repeat(" ", 80) + forged
	p := newPTY(t)
	a, err := permitted(p, map[string]string{"TERM": "xterm"}, q, "")
	if err != nil || a.Choice != Refuse {
		t.Errorf("%+v %v", a, err)
	}
	screen, _, _ := strings.Cut(p.screen(), "\x1b[1mLet t change f?")
	g := &glass{columns: usualColumns, ambiguous: true, symbols: true, marks: true}
	g.write(sgr.ReplaceAllString(screen, ""))
	for i, row := range g.rows {
		keys := strings.HasPrefix(row, "y: yes") && i == len(g.rows)-3 || strings.HasPrefix(row, "s: yes") && i == len(g.rows)-2
		own := i == 0 || keys || row == "" && i == len(g.rows)-1
		if !own && !strings.HasPrefix(row, Bar) {
			t.Errorf("row %d is %q", i, row)
		}
	}
	if g.broken > 0 {
		t.Errorf("%d rows were broken", g.broken)
	}
}
