package toolmain

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Progress counts what a call has done so far. It is safe for concurrent use, and nil counts nothing.
type Progress struct {
	tool string
	unit atomic.Pointer[string]
	done atomic.Int64
}

// Of says what is counted, such as "files searched".
func (p *Progress) Of(unit string) {
	if p != nil {
		p.unit.Store(&unit)
	}
}

// Add counts n more.
func (p *Progress) Add(n int) {
	if p != nil {
		p.done.Add(int64(n))
	}
}

// Long work is shown after patience, and again after each pause; variables for tests.
var (
	patience = time.Second
	pause    = 250 * time.Millisecond
)

// eraseLine moves a terminal to the beginning of the line, and empties it.
const eraseLine = "\r\x1b[K"

// watch shows on a terminal how far the call is, if it takes long. The returned function ends that, and erases it.
func (p *Progress) watch(terminal io.Writer) (end func()) {
	start, stop := time.Now(), make(chan struct{})
	var shown sync.WaitGroup
	shown.Go(func() {
		next := time.NewTimer(patience)
		defer next.Stop()
		drawn := false
		for {
			select {
			case <-stop:
				if drawn {
					io.WriteString(terminal, eraseLine)
				}
				return
			case <-next.C:
				drawn = true
				fmt.Fprintf(terminal, "%s%s", eraseLine, p.line(time.Since(start)))
				next.Reset(pause)
			}
		}
	})
	return func() {
		close(stop)
		shown.Wait()
	}
}

func (p *Progress) line(since time.Duration) string {
	text := p.tool + ": "
	if unit := p.unit.Load(); unit != nil {
		text += fmt.Sprintf("%d %s, ", p.done.Load(), *unit)
	}
	return text + fmt.Sprintf("%d s", int(since.Seconds()))
}
