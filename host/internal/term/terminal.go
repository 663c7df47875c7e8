// Package term puts questions to a person on a terminal.
//
// Questions go to the terminal itself, never to standard output, which belongs to results. Without a terminal every
// question fails with [ErrNoTerminal], so that callers deny instead of taking a default for consent.
//
// Text of others (names, paths, questions of tools, diffs) cannot steer the terminal or pass for the host's own words.
// Control characters, bidirectional overrides and blank look-alikes are written out, and every row of such text begins
// with a bar. Only the host's own words begin at the first column; if they need a second row, that row has a bar too.
// The question names what it is about; if it fills its row, what can be answered stands on the next.
//
// This does not help against letters that look like other letters, a text that lies in plain words, terminals that move
// right-to-left letters across the row, and a window that is made narrower while the question stands.
package term

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/jptools/jptools/host/internal/show"
)

var (
	// ErrNoTerminal: there is nobody to ask. Callers deny.
	ErrNoTerminal = errors.New("there is no terminal to ask on")
	// ErrNoInput is the ErrNoTerminal of --no-input, even if there is a terminal.
	ErrNoInput error = special{"--no-input allows no questions", ErrNoTerminal}
	// ErrCancelled: the person ended the question (Ctrl-C, Ctrl-D), or no answer was usable.
	ErrCancelled = errors.New("cancelled")
	// ErrInterrupted is the ErrCancelled of Ctrl-C, with which people mean to end the whole command.
	ErrInterrupted error = special{"cancelled by Ctrl-C", ErrCancelled}
)

// special is an error that is also a more general one, and has words of its own.
type special struct {
	text    string
	general error
}

func (e special) Error() string { return e.text }

func (e special) Unwrap() error { return e.general }

// Prompter asks questions, one at a time. Without an answer every method returns an error that wraps ErrNoTerminal,
// ErrCancelled or the context's error, and the answer beside the error means no.
type Prompter interface {
	// Bool asks for yes or no.
	Bool(ctx context.Context, q BoolQuestion) (BoolAnswer, error)
	// Select asks for one of several options and returns its index.
	Select(ctx context.Context, q SelectQuestion) (int, error)
	// Text asks for a line.
	Text(ctx context.Context, q TextQuestion) (string, error)
	// Permit asks whether a call may be made.
	Permit(ctx context.Context, q PermitQuestion) (PermitAnswer, error)
	// Edit hands text to the person's editor and returns what became of it.
	Edit(ctx context.Context, q EditQuestion) (string, error)
}

// Message is what is shown before a question is asked.
type Message struct {
	// Body is the host's own text. Values of others in it went through [show.Visible], and none begins a line.
	Body string
	// Quoted is the text of somebody else. Each row of it is shown behind a bar.
	Quoted string
	// Prose: rows of Quoted end behind a word where they can.
	Prose bool
	// Diff: Quoted is a unified diff, and gets its colours.
	Diff bool
	// Then follows in the same way.
	Then []Message
}

// Whole reports whether all of the message is shown.
func (m Message) Whole() bool { return whole(m, MaxShown, MaxLines) }

func whole(m Message, size, count int) bool {
	return len(cut(m.Quoted, size, count)) == len(m.Quoted) && !slices.ContainsFunc(m.Then, func(t Message) bool { return !whole(t, size, count) })
}

// BoolQuestion is a yes-or-no question.
type BoolQuestion struct {
	Message
	// Prompt is the line that ends in the answer, such as "Let t create a.txt?". Values of others in it went through
	// [show.Name].
	Prompt string
	// Default is the answer to an empty line; nil means that there is none.
	Default *bool
	// Remember offers s, a yes for the rest of the session.
	Remember bool
}

// BoolAnswer is an answer and whether it is to be remembered for the session.
type BoolAnswer struct{ Yes, Remember bool }

// SelectQuestion is a choice from options.
type SelectQuestion struct {
	Message
	Prompt  string
	Options []string
	// Default is the index taken for an empty line; nil means that there is none.
	Default *int
}

// TextQuestion asks for a line of text.
type TextQuestion struct {
	Message
	Prompt string
	// Default is the answer to an empty line; nil takes the empty line as it is.
	Default *string
}

// EditQuestion asks for text to be edited.
type EditQuestion struct {
	// Text is what the editor starts with.
	Text string
	// Suffix is the ending of the temporary file's name, such as ".json", for the
	// editor's benefit.
	Suffix string
}

// None is the Prompter of a host that has nobody to ask: all of its methods fail.
type None struct {
	// Why wraps ErrNoTerminal; nil is ErrNoTerminal.
	Why error
}

func (n None) err() error { return cmp.Or(n.Why, ErrNoTerminal) }

func (n None) Bool(context.Context, BoolQuestion) (BoolAnswer, error) { return BoolAnswer{}, n.err() }

func (n None) Permit(context.Context, PermitQuestion) (PermitAnswer, error) {
	return PermitAnswer{}, n.err()
}

func (n None) Select(context.Context, SelectQuestion) (int, error) { return -1, n.err() }

func (n None) Text(context.Context, TextQuestion) (string, error) { return "", n.err() }

func (n None) Edit(context.Context, EditQuestion) (string, error) { return "", n.err() }

// Absent says why p has nobody to ask, so that callers need not prepare a question. It is nil if there may be somebody.
func Absent(p Prompter) error {
	if none, ok := p.(None); ok {
		return none.err()
	}
	return nil
}

// No is the default of questions that grant something.
func No() *bool { return new(bool) }

// Options connect a Terminal with the process around it.
type Options struct {
	// Getenv reads the environment: VISUAL, EDITOR, TERM, NO_COLOR.
	Getenv func(string) string
	// PrivateDir makes and returns a directory that other users cannot read, for the file in the editor.
	PrivateDir func() (string, error)
}

// Terminal is the Prompter of a terminal. It is safe for concurrent use: questions wait for each other.
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
	t := &Terminal{opts: opts}
	var err error
	if t.in, err = os.OpenFile(ttyIn, os.O_RDWR, 0); err == nil {
		t.out, err = os.OpenFile(ttyOut, os.O_RDWR, 0)
	}
	switch {
	case err == nil:
	case in && out:
		t.in, t.out = stdin, stderr
	default:
		return nil, ErrNoTerminal
	}
	if !foreground(t.in) {
		return nil, fmt.Errorf("%w: the process runs in the background", ErrNoTerminal)
	}
	return t, nil
}

// attempts is how often an answer that cannot be understood is asked for again.
const attempts = 3

func (t *Terminal) Bool(ctx context.Context, q BoolQuestion) (BoolAnswer, error) {
	letters := []string{"y", "n"}
	if q.Default != nil {
		at := map[bool]int{true: 0, false: 1}[*q.Default]
		letters[at] = strings.ToUpper(letters[at])
	}
	hint := "[" + strings.Join(letters, "/") + "]"
	if q.Remember {
		hint = "[" + strings.Join(letters, "/") + ", s: yes for this session]"
	}
	var answer BoolAnswer
	err := t.ask(ctx, q.Message, nil, q.Prompt, hint+" ", func(line string) string {
		answer = BoolAnswer{}
		switch word := strings.TrimSpace(line); {
		case word == "" && q.Default != nil:
			answer.Yes = *q.Default
		case q.Remember && strings.EqualFold(word, "s"):
			answer = BoolAnswer{Yes: true, Remember: true}
		case strings.EqualFold(word, "y"), strings.EqualFold(word, "yes"):
			answer.Yes = true
		case strings.EqualFold(word, "n"), strings.EqualFold(word, "no"):
		default:
			if q.Remember {
				return "please answer y or n, or s for yes for the rest of this session"
			}
			return "please answer y or n"
		}
		return ""
	})
	return answer, err
}

// Select reads the number of an option, or its exact text.
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
	err := t.ask(ctx, q.Message, list, q.Prompt, hint+" ", func(line string) string {
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

func (t *Terminal) Text(ctx context.Context, q TextQuestion) (string, error) {
	hint := ""
	if q.Default != nil {
		hint = "[" + show.Name(*q.Default) + "] "
	}
	var answer string
	err := t.ask(ctx, q.Message, nil, q.Prompt, hint, func(line string) string {
		answer = line
		if line == "" && q.Default != nil {
			answer = *q.Default
		}
		return ""
	})
	return answer, err
}

// ask shows the message and the list, then reads lines until take has no complaint.
func (t *Terminal) ask(ctx context.Context, m Message, list []string, prompt, hint string, take func(line string) (complaint string)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lost {
		return ErrCancelled
	}
	above, question := t.view().screen(m, list, "", prompt, hint)
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

func (t *Terminal) view() view {
	columns, rows := t.size()
	kind := t.opts.Getenv("TERM")
	return view{columns, rows, t.opts.Getenv("NO_COLOR") == "" && kind != "" && kind != "dumb"}
}

func (t *Terminal) bold(s string) string {
	if s == "" || !t.view().colours {
		return s
	}
	return "\x1b[" + inkBold + "m" + s + "\x1b[0m"
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
