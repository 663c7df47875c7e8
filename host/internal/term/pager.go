package term

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"

	"github.com/jptools/jptools/host/internal/show"
)

// maxPaged bounds the bytes of a quoted text that the pager shows.
const maxPaged = 4 << 20

// page shows all of a message: in $PAGER, or page by page. The pager gets what a screen would get, without colours:
// every character of others that does something is written out, and every row of theirs stands behind a bar. Like the
// editor, the variable is the person's own setting, so the shell reads it. all reports whether the person went
// through to the end.
func (t *Terminal) page(ctx context.Context, m Message) (all bool, err error) {
	v := t.view()
	l := newLayout(v.columns)
	l.whole = true
	pager := strings.TrimSpace(t.opts.Getenv("PAGER"))
	external := pager != "" && runtime.GOOS != "windows"
	l.colours = v.colours && !external
	l.message(m)
	shown := whole(m, maxPaged, maxPaged)
	if !external {
		all, err = t.pages(ctx, strings.SplitAfter(l.b.String(), "\n"), v.rows)
		return all && shown, err
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", pager)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(l.b.String()), t.out, t.out
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		fmt.Fprintf(t.out, "the pager %s failed (%v)\nset PAGER to another program, or to nothing\n", show.Visible(pager), err)
		return false, nil
	}
	return shown, nil
}

// pages is the built-in pager. It writes rows from top to bottom, a screen at a time, and never moves the cursor.
func (t *Terminal) pages(ctx context.Context, rows []string, screen int) (all bool, err error) {
	rows = rows[:len(rows)-1] // behind the last line end
	size := max(screen-1, 2)
	for at := 0; ; {
		next := min(at+size, len(rows))
		if _, err := io.WriteString(t.out, strings.Join(rows[at:next], "")); err != nil {
			return false, fmt.Errorf("%w: %w", ErrNoTerminal, err)
		}
		all = all || next == len(rows)
		if all {
			return true, nil
		}
		where := fmt.Sprintf("rows %d-%d of %d [Enter: more, b: back, q: to the question] ", at+1, next, len(rows))
		line, err := t.line(ctx, t.bold(where))
		if err != nil {
			return false, err
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "q":
			return false, nil
		case "b":
			at = max(at-size, 0)
		default:
			at = next
		}
	}
}
