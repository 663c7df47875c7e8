package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/record"
	"github.com/jptools/jptools/host/internal/show"
)

type logCmd struct {
	Tool   string `placeholder:"NAME" help:"Only calls of this tool."`
	Since  string `placeholder:"TIME" help:"Only calls since then: a duration (90m, 2h, 3d), a date (2026-01-31) or a time (2026-01-31T15:04:05Z)."`
	Follow bool   `short:"f" help:"Go on with calls as they are made, until you press Ctrl-C."`
	All    bool   `help:"Show all calls, not only the last 50."`
}

// logged is how many calls are shown.
const logged = 50

func (c *logCmd) Run(a *app) error {
	p, err := a.open()
	if err != nil {
		return err
	}
	since, err := sinceTime(c.Since, time.Now())
	if err != nil {
		return err
	}
	log, err := record.Open(p.dir)
	if err != nil {
		return exit.With(exit.Host, err)
	}
	wanted := func(e *record.Entry) bool {
		return (c.Tool == "" || e.Tool == c.Tool) && !e.Time.Before(since) &&
			(a.global.Conversation == "" || e.Conversation == p.conversation)
	}
	a.Out.Answered = true // one line of JSON for each call, or none
	var list []*record.Entry
	damaged, err := log.Read(func(e *record.Entry) {
		if wanted(e) {
			list = append(list, e)
		}
	})
	if err != nil {
		return exit.With(exit.Host, err)
	}
	if damaged > 0 {
		a.Out.Warn(cond(damaged == 1, "1 line of the log is damaged and left out", fmt.Sprintf("%d lines of the log are damaged and left out", damaged)))
	}
	// Calls that run at the same time are written in the order in which they end.
	slices.SortStableFunc(list, func(x, y *record.Entry) int { return x.Time.Compare(y.Time) })
	if more := len(list) - logged; more > 0 && !c.All && c.Since == "" {
		if list = list[more:]; !a.Out.JSON {
			a.Out.Note(fmt.Sprintf("there are %d older calls: jphost log --all", more))
		}
	}
	for _, e := range list {
		c.print(a, e)
	}
	if !c.Follow {
		if len(list) == 0 && !a.Out.JSON {
			a.Out.Note("no calls are logged here")
		}
		return nil
	}
	if err := a.Out.Flush(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(a.Ctx)
	defer cancel()
	return exit.With(exit.Host, log.Follow(ctx, func(e *record.Entry) {
		if wanted(e) {
			c.print(a, e)
			if a.Out.Flush() != nil { // nobody reads any more
				cancel()
			}
		}
	}))
}

// sinceTime reads the value of --since.
func sinceTime(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return now.AddDate(0, 0, -int(n)), nil
		}
	}
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, s, now.Location()); err == nil {
			return t, nil
		}
	}
	return time.Time{}, exit.Errorf(exit.Usage, "--since %s is neither a duration nor a time\nwrite it like: --since 2h, --since 3d or --since 2026-01-31", show.Visible(s))
}

// print prints a call: what was called, and on a second line what became of it.
func (c *logCmd) print(a *app, e *record.Entry) {
	if a.Out.JSON {
		line, err := json.Marshal(e)
		if err == nil {
			a.Out.Write(append(line, '\n'))
		}
		return
	}
	did := cond(e.Interface == "undo", "undo of ", cond(e.Preview, "preview of ", ""))
	a.Out.Entry(fmt.Sprintf("%s  %s  %s%s %s", e.Time.Local().Format("2006-01-02 15:04:05"), show.Visible(e.Conversation), did, show.Visible(e.Tool), words(e.Arguments)))
	a.Out.Paragraph("    ", strings.Join(became(e), "; "))
}

// words are arguments in short.
func words(args map[string]any) string {
	var list []string
	for _, key := range sortedKeys(args) {
		text, isText := brief(args[key]).(string)
		if !isText {
			text = show.Short(show.Value(brief(args[key])), 160)
		}
		list = append(list, show.Visible(key)+"="+show.Word(text))
	}
	return strings.Join(list, " ")
}

// brief puts their sizes in the place of contents.
func brief(v any) any {
	switch v := v.(type) {
	case []any:
		list := []any{}
		for _, item := range v {
			list = append(list, brief(item))
		}
		return list
	case map[string]any:
		size, sized := v["bytes"].(float64)
		if _, digested := v["digest"].(string); sized && (len(v) == 1 || digested && len(v) == 2) {
			return fmt.Sprintf("<%d byte%s>", int64(size), cond(size == 1, "", "s"))
		}
		short := map[string]any{}
		for key, item := range v {
			short[key] = brief(item)
		}
		return short
	}
	return v
}

// became is what became of a call.
func became(e *record.Entry) (list []string) {
	result := e.Outcome
	for _, s := range []string{e.Reason, e.Code} {
		if s != "" {
			result += " (" + show.Visible(s) + ")"
		}
	}
	if e.Message != "" {
		result += ": " + show.Line(e.Message)
	}
	list = append(list, result)
	for _, answer := range e.Answers {
		said := ""
		if answer.Yes != nil {
			said = cond(*answer.Yes, " yes", " no")
		}
		list = append(list, show.Visible(cond(answer.Question == "", answer.On, answer.Question))+":"+said+" by "+answer.By)
	}
	for _, id := range e.Open {
		list = append(list, show.Visible(id)+": not answered")
	}
	if s := e.Sandbox; s != nil {
		list = append(list, "sandbox "+show.Visible(s.Tier)+cond(s.NotEnforced > 0, fmt.Sprintf(" (%d not enforced)", s.NotEnforced), ""))
	}
	list = append(list, fmt.Sprintf("%d ms", e.DurationMS))
	if e.Change != 0 {
		list = append(list, fmt.Sprintf("change %d", e.Change))
	}
	return list
}
