package cli

import (
	"fmt"
	"time"

	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/undo"
)

// change is a row of `jphost undo`.
type change struct {
	Change       int       `json:"change"`
	Time         time.Time `json:"time"`
	Conversation string    `json:"conversation"`
	Tool         string    `json:"tool"`
	// Undoes is the change that this one took back, UndoneBy the one by which this one is taken back.
	Undoes      int  `json:"undoes,omitempty"`
	UndoneBy    int  `json:"undone_by,omitempty"`
	Interrupted bool `json:"interrupted,omitempty"`
	Partial     bool `json:"partial,omitempty"`

	Places []changed `json:"places"`
}

// changed is one place of a change.
type changed struct {
	What string `json:"what"`
	Path string `json:"path"`
	// From is where what was moved had been.
	From string `json:"from,omitempty"`
	// NotKept says why the content before the change cannot be put back.
	NotKept string `json:"not_kept,omitempty"`
	Diff    string `json:"diff,omitempty"`
}

// list lists the changes, the newest first.
func (u *undoing) list() error {
	var rows []change
	for i := len(u.records) - 1; i >= 0 && (u.All || len(rows) < listed); i-- {
		row, err := u.row(u.records[i], u.records[i+1:])
		if err != nil {
			return exit.With(exit.Host, err)
		}
		rows = append(rows, row)
	}
	if err := list(u.Out, rows, "nothing was changed here by the seven tools", u.print); err != nil || u.Out.JSON {
		return err
	}
	if more := len(u.records) - len(rows); more > 0 {
		u.Out.Note(fmt.Sprintf("there are %d older changes: jphost undo --all", more))
	}
	if len(rows) > 0 && u.Out.StdoutTerminal() {
		u.Out.Printf("\ntake one back: jphost undo NUMBER\n")
	}
	return nil
}

func (u *undoing) row(r *undo.Record, later []*undo.Record) (change, error) {
	row := change{
		Change: r.ID, Time: r.Time, Conversation: r.Conversation, Tool: r.Tool,
		Undoes: r.Undoes, UndoneBy: u.undone[r.ID], Interrupted: r.Running, Partial: r.Partial, Places: []changed{},
	}
	for i := range r.Items {
		item := &r.Items[i]
		what := r.What(i)
		if what == "" {
			continue
		}
		c := changed{What: what, Path: item.Name, NotKept: item.Before.NotKept}
		if what == "moved" {
			c.From = r.Items[0].Name
		} else if u.Diff {
			ws, err := u.workspace(r.Tool)
			if err != nil {
				return row, err
			}
			c.Diff = u.store.Diff(ws, r, item, later)
		}
		row.Places = append(row.Places, c)
	}
	return row, nil
}

func (u *undoing) print(c change) {
	about := ""
	switch {
	case c.UndoneBy != 0:
		about = fmt.Sprintf("  (taken back by %d)", c.UndoneBy)
	case c.Undoes != 0:
		about = fmt.Sprintf("  (took back %d%s)", c.Undoes, cond(c.Partial, ", in part", ""))
	case c.Interrupted:
		about = "  (interrupted)"
	}
	u.Out.Printf("%-4d %s  %s  %s%s\n", c.Change, c.Time.Local().Format("2006-01-02 15:04:05"), show.Visible(c.Conversation), show.Visible(c.Tool), about)
	for _, p := range c.Places {
		from := ""
		if p.From != "" {
			from = show.Visible(p.From) + " -> "
		}
		u.Out.Printf("     %-9s %s%s%s\n", p.What, from, show.Visible(p.Path), cond(p.NotKept != "", "  (not kept: "+show.Line(p.NotKept)+")", ""))
		if p.Diff != "" {
			u.Out.Diff("     ", p.Diff)
		}
	}
}

// undone is what became of one change, as JSON output has it.
type undone struct {
	Change int `json:"change"`
	// As is the change that taking it back is; 0 if nothing was done.
	As      int            `json:"as,omitempty"`
	Actions []*undo.Action `json:"actions"`
}

// result prints what was done, or would be; ids has the numbers of the changes that this is.
func (u *undoing) result(plan *undo.Plan, ids map[int]int) error {
	rows := []undone{}
	failed := false
	for _, s := range plan.Steps {
		rows = append(rows, undone{s.Record.ID, ids[s.Record.ID], append([]*undo.Action{}, s.Actions...)})
	}
	failed = u.DryRun && len(plan.Conflicts()) > 0
	var err error
	if failed {
		err = exit.Errorf(exit.Refused, "not all of this can be taken back")
	}
	if u.Out.JSON {
		_ = u.Out.Value(map[string]any{"dry_run": u.DryRun, "undone": rows})
		return err
	}
	for _, row := range rows {
		as := cond(row.As != 0, fmt.Sprintf(" (as change %d; to make it again: jphost undo %[1]d)", row.As), "")
		did := "took back"
		switch {
		case u.DryRun:
			did = "would take back"
		case row.As == 0:
			did = "nothing to do for"
		}
		u.Out.Printf("%s change %d%s\n", did, row.Change, as)
		for _, a := range row.Actions {
			u.printAction(a)
		}
	}
	return err
}

func (u *undoing) printAction(a *undo.Action) {
	if a.Skip && !u.DryRun {
		return
	}
	note := ""
	switch {
	case a.Conflict != "":
		note = "  NOT POSSIBLE: " + show.Line(a.Conflict)
	case a.Skip:
		note = "  (it is already)"
	}
	from := ""
	if a.From != "" {
		from = show.Visible(a.From) + " -> "
	}
	u.Out.Printf("  %s %s%s%s\n", a.Verb, from, show.Visible(a.Path), note)
	if u.Diff && a.Diff != "" {
		u.Out.Diff("  ", a.Diff)
	}
}
