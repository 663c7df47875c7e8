package term

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/jptools/jptools/host/internal/show"
)

// pty is a pseudo-terminal: a person sits at the master side.
type pty struct {
	t      *testing.T
	master *os.File
	slave  *os.File

	mu   sync.Mutex
	seen bytes.Buffer
}

func newPTY(t *testing.T) *pty {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	p := &pty{t: t, master: master, slave: slave}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			p.mu.Lock()
			p.seen.Write(buf[:n])
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { slave.Close(); master.Close() })
	return p
}

func (p *pty) screen() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.ReplaceAll(p.seen.String(), "\r\n", "\n")
}

// wait waits until the screen shows text n times.
func (p *pty) wait(text string, n int) {
	p.t.Helper()
	for range 1000 {
		if strings.Count(p.screen(), text) >= n {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	p.t.Fatalf("the screen never showed %q %d times:\n%s", text, n, p.screen())
}

func (p *pty) typeIn(keys string) {
	p.t.Helper()
	if _, err := p.master.WriteString(keys); err != nil {
		p.t.Fatal(err)
	}
}

func (p *pty) terminal(env map[string]string) *Terminal {
	return &Terminal{in: p.slave, out: p.slave, opts: Options{
		Getenv:     func(name string) string { return env[name] },
		PrivateDir: func() (string, error) { return p.t.TempDir(), nil },
	}}
}

var bg = context.Background()

func TestBoolOnATerminal(t *testing.T) {
	yes, no := true, false
	for name, c := range map[string]struct {
		q    BoolQuestion
		keys string
		want BoolAnswer
		err  error
		hint string
	}{
		"y":                        {BoolQuestion{Default: &no}, "y\r", BoolAnswer{Yes: true}, nil, "[y/N]"},
		"n":                        {BoolQuestion{Default: &yes}, "n\r", BoolAnswer{}, nil, "[Y/n]"},
		"yes in capitals":          {BoolQuestion{}, "YES\r", BoolAnswer{Yes: true}, nil, "[y/n]"},
		"capital without remember": {BoolQuestion{}, "Y\r", BoolAnswer{Yes: true}, nil, "[y/n]"},
		"empty takes the default":  {BoolQuestion{Default: &no}, "\r", BoolAnswer{}, nil, "[y/N]"},
		"s is remembered":          {BoolQuestion{Remember: true}, "s\r", BoolAnswer{true, true}, nil, "[y/n, s: yes for this session]"},
		"Y is not remembered":      {BoolQuestion{Remember: true, Default: &no}, "Y\r", BoolAnswer{Yes: true}, nil, "[y/N, s: yes for this session]"},
		"corrected with backspace": {BoolQuestion{}, "n\x7fy\r", BoolAnswer{Yes: true}, nil, "[y/n]"},
		"Ctrl-C":                   {BoolQuestion{Default: &yes}, "\x03", BoolAnswer{}, ErrCancelled, "[Y/n]"},
		"Ctrl-D":                   {BoolQuestion{Default: &yes}, "\x04", BoolAnswer{}, ErrCancelled, "[Y/n]"},
		"Ctrl-C after half a word": {BoolQuestion{Default: &yes}, "y\x03", BoolAnswer{}, ErrCancelled, "[Y/n]"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPTY(t)
			before, err := term.GetState(int(p.slave.Fd()))
			if err != nil {
				t.Fatal(err)
			}
			c.q.Prompt = "Approve?"
			type result struct {
				a   BoolAnswer
				err error
			}
			done := make(chan result)
			go func() {
				a, err := p.terminal(nil).Bool(bg, c.q)
				done <- result{a, err}
			}()
			p.wait("Approve? ", 1)
			p.wait(c.hint, 1)
			p.typeIn(c.keys)
			r := <-done
			if r.a != c.want || !errors.Is(r.err, c.err) || (r.err == nil) != (c.err == nil) {
				t.Errorf("%+v, %v; want %+v, %v", r.a, r.err, c.want, c.err)
			}
			after, _ := term.GetState(int(p.slave.Fd()))
			if fmt.Sprint(*before) != fmt.Sprint(*after) {
				t.Error("the terminal was not put back")
			}
		})
	}
}

// The same on a real terminal, with a text that was made for its width: padded so that the terminal would
// break it where the host's words seem to begin, and long enough to push the real question off the screen.
func TestForgedQuestionOnATerminal(t *testing.T) {
	for _, columns := range []int{40, 80, 140} {
		t.Run(strconv.Itoa(columns), func(t *testing.T) {
			p := newPTY(t)
			const rows = 24
			if err := unix.IoctlSetWinsize(int(p.slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: uint16(columns)}); err != nil {
				t.Fatal(err)
			}
			pad := func(s string, used int) string {
				return s + strings.Repeat(" ", max(0, (columns-(len(s)+used)%columns)%columns))
			}
			forged := pad("x", len(Bar)) + strings.Repeat(" ", 10*columns) + pad("A call of fs_create_file:", 0) + pad("  | docs/hello.txt", 0) + "Let fs_create_file create docs/hello.txt? [y/n] y"
			text := strings.Repeat("\t宽e\u0301\u0301😀\x1b[H\u202e±☃ ", 40) + forged + "\n" + strings.Repeat(forged+"\n", 3)
			path := ".profile" + strings.Repeat(" ", columns) + "docs/hello.txt"
			done := make(chan BoolAnswer)
			go func() {
				a, _ := p.terminal(nil).Bool(bg, BoolQuestion{
					Message: Message{Body: "A call of fs_create_file:\n", Quoted: text},
					Prompt:  "Let fs_create_file create " + show.Name(path) + "?", Default: No(), Remember: true,
				})
				done <- a
			}()
			p.wait("for this session] ", 1)
			g := &glass{columns: columns, ambiguous: true, symbols: true, marks: true}
			g.write(p.screen())
			var own []string
			for _, row := range g.rows {
				if !strings.HasPrefix(row, Bar) {
					own = append(own, row)
				}
			}
			if g.broken > 0 || len(own) != 5 || !strings.HasPrefix(own[4], "[y/N, s: ") || own[0] != "A call of fs_create_file:" || !strings.HasSuffix(own[1], "the screen has 24)") ||
				own[2] != own[0] || !strings.HasPrefix(own[3], "Let fs_create_file create ") ||
				!strings.Contains(strings.ReplaceAll(strings.Join(g.rows, "\n"), "\n"+Bar, ""), "\nLet fs_create_file create "+show.Name(path)+"?\n[y/N, s: yes for this session] ") {
				t.Errorf("%d rows were broken, the host's are %q of\n%s", g.broken, own, p.screen())
			}
			// What is to be seen without looking back.
			seen := strings.Join(g.rows[len(g.rows)-rows:], "\n")
			if !strings.Contains(seen, own[0]) || !strings.Contains(seen, own[3]) {
				t.Errorf("on the screen stands\n%s", seen)
			}
			p.typeIn("\r")
			if a := <-done; a.Yes {
				t.Error("approved")
			}
		})
	}
}

func TestUnclearAnswersAreAskedAgainThenCancelled(t *testing.T) {
	p := newPTY(t)
	done := make(chan error)
	go func() {
		_, err := p.terminal(nil).Bool(bg, BoolQuestion{Prompt: "Sure?"})
		done <- err
	}()
	for i := range attempts {
		p.wait("Sure? [y/n] ", i+1)
		p.typeIn("maybe\r")
	}
	if err := <-done; !errors.Is(err, ErrCancelled) {
		t.Errorf("got %v", err)
	}
	p.wait("please answer y or n", attempts)
}

// Keys hit before the question was on the screen are no answer to it.
func TestTypeAheadApprovesNothing(t *testing.T) {
	p := newPTY(t)
	p.typeIn("y\r")
	time.Sleep(20 * time.Millisecond)
	done := make(chan BoolAnswer)
	go func() {
		a, _ := p.terminal(nil).Bool(bg, BoolQuestion{Prompt: "Approve?", Default: No()})
		done <- a
	}()
	p.wait("Approve? ", 1)
	select {
	case a := <-done:
		t.Fatalf("answered by what was typed before: %+v", a)
	case <-time.After(50 * time.Millisecond):
	}
	p.typeIn("n\r")
	if a := <-done; a.Yes {
		t.Error("approved")
	}
}

func TestSelectOnATerminal(t *testing.T) {
	one := 1
	for name, c := range map[string]struct {
		keys string
		def  *int
		want int
	}{
		"by number": {"3\r", nil, 2}, "by text": {"skip\r", nil, 1}, "default": {"\r", &one, 1}, "after a mistake": {"9\r", nil, -1},
		"an option called 1": {"1\r", nil, 3},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPTY(t)
			done := make(chan int)
			options := []string{"all\x1b[31m", "skip", "none"}
			if c.want == 3 {
				options = append(options, "1")
			}
			go func() {
				n, _ := p.terminal(nil).Select(bg, SelectQuestion{Prompt: "Which?", Options: options, Default: c.def})
				done <- n
			}()
			p.wait("Which? [1-", 1)
			p.typeIn(c.keys)
			if c.want < 0 {
				p.wait("please answer with a number from 1 to 3", 1)
				p.wait("Which? [1-", 2)
				p.typeIn("\x03")
			}
			if n := <-done; n != c.want {
				t.Errorf("chose %d, want %d", n, c.want)
			}
			if !strings.Contains(p.screen(), `1) "all\x1b[31m"`) {
				t.Errorf("screen:\n%s", p.screen())
			}
		})
	}
}

func TestTextOnATerminal(t *testing.T) {
	p := newPTY(t)
	def := "main"
	done := make(chan string, 3)
	tm := p.terminal(map[string]string{"TERM": "xterm"})
	go func() {
		for _, q := range []TextQuestion{{Prompt: "Branch?", Default: &def}, {Prompt: "Name?"}} {
			s, _ := tm.Text(bg, q)
			done <- s
		}
	}()
	p.wait("Branch? [main] ", 1)
	p.typeIn("\r")
	if s := <-done; s != "main" {
		t.Errorf("default: %q", s)
	}
	p.wait("Name? ", 1)
	p.typeIn("größe  x\r")
	if s := <-done; s != "größe  x" {
		t.Errorf("text: %q", s)
	}
	if !strings.Contains(p.screen(), "\x1b[1m") {
		t.Error("no colour on a terminal that has it")
	}
}

func TestContextEndsAQuestion(t *testing.T) {
	p := newPTY(t)
	tm := p.terminal(nil)
	ctx, cancel := context.WithCancel(bg)
	done := make(chan error)
	go func() {
		_, err := tm.Bool(ctx, BoolQuestion{Prompt: "Sure?"})
		done <- err
	}()
	p.wait("Sure? ", 1)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := tm.Bool(bg, BoolQuestion{Prompt: "Again?"}); !errors.Is(err, ErrCancelled) {
		t.Errorf("a terminal with a stray reader asked again: %v", err)
	}
}

func TestEdit(t *testing.T) {
	script := filepath.Join(t.TempDir(), "my editor")
	write := func(body string) {
		if err := os.WriteFile(script, []byte("#!/bin/sh\n"+body), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p := newPTY(t)
	dir := t.TempDir()
	tm := p.terminal(map[string]string{"VISUAL": " ", "EDITOR": "'" + script + "' --wait"})
	tm.opts.PrivateDir = func() (string, error) { return dir, nil }
	for name, c := range map[string]struct{ body, want, err string }{
		"changed":            {`[ "$1" = --wait ] && stat -c %a "$2" && echo more >> "$2"`, "text\nmore\n", ""},
		"replaced":           {`echo new > "$2.x" && mv "$2.x" "$2"`, "new\n", ""},
		"failed":             {`echo half > "$2"; exit 3`, "", "exit status 3"},
		"file removed":       {`rm "$2"`, "", "cancelled"},
		"became a directory": {`rm "$2"; mkdir "$2"`, "", "not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			write(c.body)
			got, err := tm.Edit(bg, EditQuestion{Text: "text\n", Suffix: ".json"})
			if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q, %v; want %q, %q", got, err, c.want, c.err)
			}
		})
	}
	write(`echo backup > "$2~"`)
	if _, err := tm.Edit(bg, EditQuestion{Suffix: ".json"}); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	p.wait("600\n", 1) // the editor saw a private file, and wrote to the terminal
	write(`exit 0`)
	tm.opts.Getenv = func(string) string { return "/no/such/editor" }
	if _, err := tm.Edit(bg, EditQuestion{}); err == nil || !strings.Contains(err.Error(), "\nset EDITOR") {
		t.Errorf("missing editor: %v", err)
	}
}

// What a killed process was editing is removed, and nothing that is still edited.
func TestSweepEdits(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-2 * unlocked)
	for _, name := range []string{"edit-dead", "edit-alive", "edit-new", "other"} {
		at := filepath.Join(dir, name)
		if err := os.Mkdir(at, 0o700); err != nil {
			t.Fatal(err)
		}
		lock := editLock(at)
		if ok, err := lock.TryLock(); !ok || err != nil {
			t.Fatal(ok, err)
		}
		defer lock.Close()
		if name != "edit-alive" {
			lock.Close()
		}
		if err := os.WriteFile(at+"/edit.json", []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
		if name != "edit-new" {
			if err := os.Chtimes(at, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	sweepEdits(dir)
	left, _ := filepath.Glob(dir + "/*")
	if want := []string{dir + "/edit-alive", dir + "/edit-new", dir + "/other"}; !slices.Equal(left, want) {
		t.Errorf("left are %v", left)
	}
}

func TestNoTerminal(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if _, err := Open(r, w, Options{}); !errors.Is(err, ErrNoTerminal) {
		t.Errorf("on pipes: %v", err)
	}
	var p Prompter = None{}
	_, e1 := p.Bool(bg, BoolQuestion{})
	_, e2 := p.Select(bg, SelectQuestion{})
	_, e3 := p.Text(bg, TextQuestion{})
	_, e4 := p.Edit(bg, EditQuestion{})
	for _, err := range []error{e1, e2, e3, e4} {
		if !errors.Is(err, ErrNoTerminal) {
			t.Errorf("got %v", err)
		}
	}
}

const child = "ASK_TEST_CHILD"

func TestMain(m *testing.M) {
	if how := os.Getenv(child); how != "" {
		os.Exit(asChild(how))
	}
	os.Exit(m.Run())
}

// asChild asks a question on the controlling terminal and prints the result on standard output.
func asChild(how string) int {
	if how == "background" {
		// A group of its own that the terminal does not know of.
		if err := syscall.Setpgid(0, 0); err != nil {
			fmt.Println(err)
			return 3
		}
	}
	tm, err := Open(os.Stdin, os.Stderr, Options{Getenv: os.Getenv})
	if err != nil {
		fmt.Println("error:", err)
		return 1
	}
	a, err := tm.Bool(bg, BoolQuestion{Message: Message{Body: "Body on the terminal"}, Prompt: "Approve?"})
	fmt.Printf("answer %v %v\n", a.Yes, err)
	return 0
}

// Whatever is redirected, questions appear on the terminal and not on standard output.
func TestOpenInAProcess(t *testing.T) {
	for name, c := range map[string]struct {
		how        string
		pipeStdin  bool
		pipeStderr bool
		want       string
	}{
		"terminal":          {"ask", false, false, "answer true <nil>\n"},
		"piped stdin":       {"ask", true, false, "answer true <nil>\n"},
		"piped stderr":      {"ask", false, true, "answer true <nil>\n"},
		"both piped":        {"ask", true, true, "error: there is no terminal to ask on\n"},
		"in the background": {"background", false, false, "error: there is no terminal to ask on: the process runs in the background\n"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPTY(t)
			var stdout, stderr bytes.Buffer
			cmd := exec.Command(os.Args[0])
			if c.how == "background" {
				// The session leader cannot leave its group: a shell leads, and stays in front.
				cmd = exec.Command("/bin/sh", "-c", `"$0"; exit $?`, os.Args[0])
			}
			cmd.Env = append(os.Environ(), child+"="+c.how, "TERM=dumb")
			cmd.Stdout = &stdout
			cmd.Stdin, cmd.Stderr = p.slave, p.slave
			if c.pipeStdin {
				cmd.Stdin = strings.NewReader("n\n")
			}
			if c.pipeStderr {
				cmd.Stderr = &stderr
			}
			cmd.ExtraFiles = []*os.File{p.slave}
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(c.want, "answer") {
				p.wait("Body on the terminal\nApprove? [y/n] ", 1)
				p.typeIn("y\r")
			}
			_ = cmd.Wait()
			if stdout.String() != c.want || stderr.Len() > 0 {
				t.Errorf("stdout %q, stderr %q; want %q", stdout.String(), stderr.String(), c.want)
			}
		})
	}
}
