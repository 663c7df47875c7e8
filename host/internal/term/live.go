package term

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/jptools/jptools/host/internal/show"
)

// Live shows a person at a terminal what a tool does while it runs: what it prints, behind a bar, and before that how
// long it takes. It shows nothing of a tool that is done soon. Nil shows nothing at all.
//
// It writes to standard error only, and nothing else may until End. An Outcome is not shown while it comes: what
// begins as JSON is read when all of it is there.
type Live struct {
	w io.Writer
	// columns returns the width of the terminal; dim begins and plain ends the line about time.
	columns    func() int
	dim, plain string
	name       string
	quiet      bool
	start      time.Time
	stop       chan struct{}
	done       sync.WaitGroup

	mu sync.Mutex
	// early is what came before it was worth showing; late: it is now.
	early []piece
	late  bool
	ended bool
	// drawn: the line about time stands there. told: something that was printed stands there.
	drawn, told bool
	streams     [2]stream
	// open is the stream whose row is not complete, -1 for none; used are the cells in that row.
	open, used int
}

// The streams of a tool.
const (
	toolOut = iota
	toolErr
)

type piece struct {
	from int
	text []byte
}

// stream is what is known of one stream.
type stream struct {
	// begun: it has a character; held: that one begins an Outcome, so nothing is shown.
	begun, held bool
	// within: its last line is not complete.
	within bool
	// rest is the beginning of a character.
	rest []byte
}

// Times after which something is shown; variables for tests.
var (
	printsAfter = 500 * time.Millisecond
	timeAfter   = time.Second
	timeEvery   = time.Second
)

const eraseLine = "\r\x1b[K"

// Live returns the Live for a start of a tool; nil if standard error is no terminal, and if JSON goes to a terminal,
// which nothing may be mixed into. With quiet it shows only how long it takes.
func (o *Output) Live(name string, quiet bool) *Live {
	f, ok := o.Stderr.(*os.File)
	if !ok || !o.OnTerminal || o.dumb || o.JSON && o.stdoutTerminal || !foreground(f) {
		return nil
	}
	l := &Live{w: o.Stderr, name: name, quiet: quiet, open: -1, stop: make(chan struct{}), columns: func() int {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
		return usualColumns
	}}
	if o.styled {
		l.dim, l.plain = "\x1b[2m", "\x1b[0m"
	}
	return l
}

// Begin starts the clock.
func (l *Live) Begin() {
	if l == nil {
		return
	}
	l.start = time.Now()
	l.done.Go(func() {
		prints, clock := time.NewTimer(printsAfter), time.NewTimer(timeAfter)
		defer prints.Stop()
		defer clock.Stop()
		for {
			select {
			case <-l.stop:
				return
			case <-prints.C:
				l.show()
			case <-clock.C:
				l.tick()
				clock.Reset(timeEvery)
			}
		}
	})
}

// Stdout takes what the tool prints on standard output, Stderr what on standard error.
func (l *Live) Stdout(p []byte) { l.take(toolOut, p) }

// Stderr takes what the tool prints on standard error.
func (l *Live) Stderr(p []byte) { l.take(toolErr, p) }

// End ends it when the tool has ended. It returns whether all of standard output and of standard error was shown.
func (l *Live) End() (out, err bool) {
	if l == nil {
		return false, false
	}
	close(l.stop)
	l.done.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.erase()
	if l.ended = true; !l.late || l.quiet {
		return false, false
	}
	for i := range l.streams {
		if rest := l.streams[i].rest; len(rest) > 0 && !l.streams[i].held {
			l.print(i, string(rest))
		}
	}
	l.closeRow()
	return !l.streams[toolOut].held, !l.streams[toolErr].held
}

func (l *Live) take(from int, p []byte) {
	if l == nil || l.quiet || len(p) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.ended: // somebody else has the pipe, and writes on
	case l.late:
		l.feed(from, p)
	default:
		l.early = append(l.early, piece{from, append([]byte{}, p...)})
	}
}

// show shows what came so far; what comes from now on is shown at once.
func (l *Live) show() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.late = true
	for _, one := range l.early {
		l.feed(one.from, one.text)
	}
	l.early = nil
}

// tick shows how long it takes, as long as nothing else is there to be seen.
func (l *Live) tick() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.told {
		return
	}
	l.drawn = true
	text := fmt.Sprintf("%s is running, %d s", show.Name(l.name), int(time.Since(l.start).Seconds()))
	if room := l.columns() - 1; len(text) > room { // it could not be erased
		text = fmt.Sprintf("%d s", int(time.Since(l.start).Seconds()))
	}
	io.WriteString(l.w, eraseLine+l.dim+text+l.plain)
}

func (l *Live) erase() {
	if l.drawn {
		io.WriteString(l.w, eraseLine)
		l.drawn = false
	}
}

// feed shows as much of a stream as is complete characters.
func (l *Live) feed(from int, p []byte) {
	s := &l.streams[from]
	if !s.begun {
		first := strings.TrimLeft(string(p), " \t\r\n")
		s.begun = first != ""
		s.held = from == toolOut && strings.HasPrefix(first, "{")
	}
	if s.held {
		s.rest = nil
		return
	}
	if s.rest = append(s.rest, p...); !s.begun {
		return
	}
	n := len(s.rest)
	for back := 1; back < utf8.UTFMax && back <= n; back++ {
		if at := s.rest[n-back:]; utf8.RuneStart(at[0]) {
			if !utf8.FullRune(at) || at[0] == '\r' { // a line end may follow
				n -= back
			}
			break
		}
	}
	text := string(s.rest[:n])
	s.rest = append(s.rest[:0], s.rest[n:]...)
	l.print(from, text)
}

// print shows text of the tool. Each row begins with a bar, also one that continues the one above.
func (l *Live) print(from int, text string) {
	if text == "" {
		return
	}
	l.erase()
	if !l.told {
		l.told = true
		io.WriteString(l.w, show.Visible(l.name)+" is running, and prints:\n")
	}
	columns := max(l.columns(), leastColumns)
	var b strings.Builder
	s := &l.streams[from]
	for i, line := range strings.Split(show.Text(text), "\n") {
		if i > 0 {
			l.endLine(&b, from)
		}
		for line != "" {
			n, cells := cluster(line)
			shown := line[:n]
			if shown == "\t" {
				cells = tabStop - (l.used-len(Bar))%tabStop
				if l.open != from {
					cells = tabStop
				}
				shown = strings.Repeat(" ", cells)
			}
			if l.open != from || l.used+cells > columns-1 {
				if l.open >= 0 {
					b.WriteByte('\n')
				}
				b.WriteString(Bar)
				l.open, l.used = from, len(Bar)
			}
			b.WriteString(shown)
			l.used += cells
			s.within = true
			line = line[n:]
		}
	}
	io.WriteString(l.w, b.String())
}

// endLine ends a line of a stream, an empty one too.
func (l *Live) endLine(b *strings.Builder, from int) {
	s := &l.streams[from]
	switch {
	case l.open == from:
		b.WriteByte('\n')
		l.open = -1
	case !s.within:
		if l.open >= 0 {
			b.WriteByte('\n')
			l.open = -1
		}
		b.WriteString(Bar + "\n")
	}
	s.within = false
}

func (l *Live) closeRow() {
	if l.open >= 0 {
		io.WriteString(l.w, "\n")
		l.open = -1
	}
}
