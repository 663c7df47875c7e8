package term

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/jptools/jptools/host/internal/show"
)

// Options connect a Terminal with the process around it.
type Options struct {
	// Getenv reads the environment: VISUAL, EDITOR, TERM, NO_COLOR.
	Getenv func(string) string
	// PrivateDir makes and returns a directory that other users cannot read, for the file in the editor.
	PrivateDir func() (string, error)
}

// Terminal asks on a terminal. It is safe for concurrent use: questions wait for each other.
type Terminal struct {
	in, out *os.File
	opts    Options

	mu sync.Mutex
	// lost: a reader that cannot be stopped still waits for input, and would take the answer to a later question.
	lost bool
}

// Open finds the terminal to ask on. If standard input or standard error is a terminal, that is the controlling
// terminal; without a controlling terminal both must be one. Otherwise, and in the background, where reading would stop
// the process, the error wraps ErrNoTerminal.
func Open(stdin, stderr *os.File, opts Options) (*Terminal, error) {
	in, out := IsTerminal(stdin), IsTerminal(stderr)
	if !in && !out {
		return nil, ErrNoTerminal
	}
	t, err := controlling(opts)
	if err != nil {
		if !in || !out {
			return nil, ErrNoTerminal
		}
		t = &Terminal{in: stdin, out: stderr, opts: opts}
	}
	if !foreground(t.in) {
		return nil, fmt.Errorf("%w: the process runs in the background", ErrNoTerminal)
	}
	return t, nil
}

func controlling(opts Options) (*Terminal, error) {
	in, err := os.OpenFile(ttyIn, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if ttyIn == ttyOut {
		return &Terminal{in: in, out: in, opts: opts}, nil
	}
	out, err := os.OpenFile(ttyOut, os.O_RDWR, 0)
	if err != nil {
		in.Close()
		return nil, err
	}
	return &Terminal{in: in, out: out, opts: opts}, nil
}

// attempts is how often an answer that cannot be understood is asked for again.
const attempts = 3

// Bool asks for yes or no.
func (t *Terminal) Bool(ctx context.Context, q BoolQuestion) (BoolAnswer, error) {
	hint := "[y/n]"
	switch {
	case q.Default != nil && *q.Default:
		hint = "[Y/n]"
	case q.Default != nil:
		hint = "[y/N]"
	}
	if q.Remember {
		// Capitals mean something else here, so the default is spelled out.
		hint = "[y/n, Y/N: for this session too]"
		if q.Default != nil {
			hint += fmt.Sprintf(" (default %s)", map[bool]string{true: "y", false: "n"}[*q.Default])
		}
	}
	var answer BoolAnswer
	err := t.ask(ctx, q.Message, nil, q.Prompt+" "+hint+" ", func(line string) string {
		answer = BoolAnswer{}
		switch word := strings.TrimSpace(line); {
		case word == "" && q.Default != nil:
			answer.Yes = *q.Default
		case q.Remember && word == "Y":
			answer = BoolAnswer{Yes: true, Remember: true}
		case q.Remember && word == "N":
			answer = BoolAnswer{Remember: true}
		case strings.EqualFold(word, "y"), strings.EqualFold(word, "yes"):
			answer.Yes = true
		case strings.EqualFold(word, "n"), strings.EqualFold(word, "no"):
		default:
			if q.Remember {
				return "please answer y or n; Y or N to be asked no more"
			}
			return "please answer y or n"
		}
		return ""
	})
	return answer, err
}

// Select asks for one of the options, by number or by its exact text, and returns
// its index.
func (t *Terminal) Select(ctx context.Context, q SelectQuestion) (int, error) {
	if len(q.Options) == 0 {
		return -1, errors.New("a choice without options cannot be answered")
	}
	list := make([]string, len(q.Options))
	for i, o := range q.Options {
		list[i] = fmt.Sprintf("  %d) %s", i+1, show.Visible(o))
	}
	hint := fmt.Sprintf("[1-%d]", len(q.Options))
	if q.Default != nil && *q.Default >= 0 && *q.Default < len(q.Options) {
		hint = fmt.Sprintf("[1-%d, default %d]", len(q.Options), *q.Default+1)
	} else {
		q.Default = nil
	}
	chosen := -1
	err := t.ask(ctx, q.Message, list, q.Prompt+" "+hint+" ", func(line string) string {
		word := strings.TrimSpace(line)
		if word == "" && q.Default != nil {
			chosen = *q.Default
			return ""
		}
		// The text first: an option may be called "2".
		for i, o := range q.Options {
			if o == line || strings.TrimSpace(o) == word && word != "" {
				chosen = i
				return ""
			}
		}
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > len(q.Options) {
			return fmt.Sprintf("please answer with a number from 1 to %d", len(q.Options))
		}
		chosen = n - 1
		return ""
	})
	return chosen, err
}

// Text asks for a line.
func (t *Terminal) Text(ctx context.Context, q TextQuestion) (string, error) {
	prompt := q.Prompt
	if q.Default != nil {
		prompt += " [" + show.Name(*q.Default) + "]"
	}
	var answer string
	err := t.ask(ctx, q.Message, nil, prompt+" ", func(line string) string {
		answer = line
		if line == "" && q.Default != nil {
			answer = *q.Default
		}
		return ""
	})
	return answer, err
}

// ask shows the message and the list, then reads lines until take has no complaint.
func (t *Terminal) ask(ctx context.Context, m Message, list []string, prompt string, take func(line string) (complaint string)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lost {
		return ErrCancelled
	}
	columns, rows := t.size()
	above, question := screen(m, list, prompt, columns, rows)
	at := strings.LastIndexByte(question, '\n') + 1
	first, last := t.bold(question[:at]), t.bold(question[at:])
	for range attempts {
		if _, err := io.WriteString(t.out, above+first); err != nil {
			return fmt.Errorf("%w: %w", ErrNoTerminal, err)
		}
		above = ""
		line, err := t.line(ctx, last)
		if err != nil {
			return err
		}
		complaint := take(line)
		if complaint == "" {
			return nil
		}
		fmt.Fprintln(t.out, complaint)
	}
	return fmt.Errorf("%w: no usable answer", ErrCancelled)
}

// size is that of the screen, or the usual one if the terminal does not know it.
func (t *Terminal) size() (columns, rows int) {
	columns, rows, err := term.GetSize(int(t.out.Fd()))
	if err != nil || columns <= 0 {
		columns = usualColumns
	}
	if err != nil || rows <= 0 {
		rows = usualRows
	}
	return columns, rows
}

func (t *Terminal) bold(s string) string {
	if s == "" || !t.colour() {
		return s
	}
	return "\x1b[1m" + s + "\x1b[0m"
}

func (t *Terminal) colour() bool {
	kind := t.opts.Getenv("TERM")
	return t.opts.Getenv("NO_COLOR") == "" && kind != "" && kind != "dumb"
}

// line reads one line in raw mode, where Ctrl-C is a key and not a signal, so that the terminal is always restored. It
// discards keys that were typed before the prompt: nobody answers a question that they have not seen.
func (t *Terminal) line(ctx context.Context, prompt string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	fd := int(t.in.Fd())
	discardInput(fd)
	old, err := term.MakeRaw(fd)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoTerminal, err)
	}
	defer term.Restore(fd, old)
	typed := &keys{Reader: t.in}
	editor := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{typed, t.out}, prompt)
	_ = editor.SetSize(t.size())
	var line string
	done := make(chan error, 1)
	go func() {
		var err error
		line, err = editor.ReadLine()
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			io.WriteString(t.out, "\r\n")
			if typed.interrupt {
				return "", ErrInterrupted
			}
			return "", ErrCancelled
		}
		return line, nil
	case <-ctx.Done():
		t.lost = true
		io.WriteString(t.out, "\r\n")
		return "", ctx.Err()
	}
}

// keys reads what is typed, and remembers a Ctrl-C, which the line editor does not tell from Ctrl-D.
type keys struct {
	io.Reader
	interrupt bool
}

func (k *keys) Read(p []byte) (int, error) {
	n, err := k.Reader.Read(p)
	k.interrupt = k.interrupt || bytes.IndexByte(p[:n], 3) >= 0
	return n, err
}
