package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jptools/jptools/host/internal/call"
	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/policy"
	"github.com/jptools/jptools/host/internal/record"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/host/internal/undo"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/sandbox/fit"
)

type undoCmd struct {
	ID []string `arg:"" optional:"" help:"Changes to take back, by their numbers in the list. Without any, and without --last and --conversation, list the changes."`

	Last   bool `help:"Take the last change back that is not taken back yet."`
	Diff   bool `help:"Show the differences."`
	DryRun bool `help:"Change nothing; show what would be done."`
	Force  bool `help:"Ask about files that were changed since, one by one, instead of refusing."`
	All    bool `help:"List all changes, not only the last 20."`
}

// listed is how many changes the list shows.
const listed = 20

// undoing is one run of the command.
type undoing struct {
	*undoCmd
	*app
	place   *place
	store   *undo.Store
	cfg     *config.Config
	records []*undo.Record
	undone  map[int]int
	// opened are the workspaces that were opened for it.
	opened []*jptool.Workspace
}

// undoing opens the workspace and its store.
func (a *app) undoing(c *undoCmd) (*undoing, error) {
	p, err := a.open()
	if err != nil {
		return nil, err
	}
	cfg, err := a.config()
	if err != nil {
		return nil, err
	}
	store, err := undo.Open(p.dir, undoLimits(cfg))
	return &undoing{undoCmd: c, app: a, place: p, cfg: cfg, store: store}, exit.With(exit.Host, err)
}

func (c *undoCmd) Run(a *app) error {
	u, err := a.undoing(c)
	if err != nil {
		return err
	}
	defer func() {
		for _, ws := range u.opened {
			ws.Close()
		}
	}()
	if len(c.ID) == 0 && !c.Last && a.global.Conversation == "" {
		u.load()
		return u.list()
	}
	if c.DryRun {
		return u.takeBack(a.Ctx)
	}
	// Two at once would judge what the other one is changing.
	return u.place.dir.Locked(a.Ctx, "undo", func() error { return u.takeBack(a.Ctx) })
}

func undoLimits(cfg *config.Config) undo.Limits {
	u := cfg.Undo()
	return undo.Limits{Bytes: u.Budget, Age: time.Duration(u.Days) * 24 * time.Hour}
}

func (u *undoing) load() {
	records, broken := u.store.List()
	for _, err := range broken {
		u.Out.Warn(err.Error())
	}
	u.records, u.undone = records, undo.Undone(records)
}

// workspace opens the workspace for taking back what a tool did: a person may write everywhere in it and in the mounts
// that the tool has now, but in the places that are protected from tools.
func (u *undoing) workspace(tool string) (*jptool.Workspace, error) {
	yes := true
	access := &jptool.AccessPolicy{FS: []jptool.FsRule{{Path: ".", Read: &yes, Write: &yes}}}
	if t, ok := u.cfg.Tool(tool); ok && t.Source.Kind == config.SourceLocal {
		host, err := u.host(u.cfg)
		if err != nil {
			return nil, err
		}
		var mounts []fit.Mount
		if d, err := host.Compile(u.Ctx, t, term.None{}); err == nil { // else nothing outside the workspace is reached
			mounts = d.Mounts()
		}
		for _, m := range mounts {
			if rel, inside := wspath.WithinAbs(filepath.ToSlash(u.place.root), m.Link); inside {
				access.FS = append(access.FS, jptool.FsRule{Path: rel, External: true, ApprovedTarget: &m.Target, Read: &yes, Write: &yes})
			}
		}
	}
	d, err := policy.Given(access, u.place.root, policy.Request{
		Config: u.cfg, Home: u.Home(), StateDir: u.place.dir.Base(), ConfigFile: config.UserGlobalPath(u.Environ),
		Programs: call.OwnPrograms(), AllowSecrets: true, // a tool was allowed what it did
	})
	if err != nil {
		return nil, err
	}
	c := jptool.Context{Root: u.place.root, Action: jptool.Run, Access: d.Access}
	ws, err := c.Open()
	if err == nil {
		u.opened = append(u.opened, ws)
	}
	return ws, err
}

// takeBack takes the chosen changes back.
func (u *undoing) takeBack(ctx context.Context) error {
	u.load()
	chosen, err := u.choose()
	if err != nil {
		return err
	}
	plan, err := u.store.Plan(chosen, u.workspace)
	if err != nil {
		return exit.With(exit.Host, err)
	}
	conflicts := plan.Conflicts()
	if u.Diff || len(conflicts) > 0 {
		plan.Diffs()
	}
	if u.DryRun {
		return u.result(plan, nil)
	}
	if len(conflicts) > 0 {
		if err := u.settle(ctx, plan); err != nil {
			return err
		}
	}
	ids := map[int]int{}
	for i, s := range plan.Steps {
		start := time.Now()
		id, err := plan.Apply(s)
		ids[s.Record.ID] = id
		u.log(s.Record, id, start, err)
		if err != nil {
			plan.Steps = plan.Steps[:i] // what was done before
			return errors.Join(u.result(plan, ids), exit.Errorf(exit.Refused, "change %d could not be taken back: %w", s.Record.ID, err))
		}
	}
	return u.result(plan, ids)
}

// choose returns the records that the command line means, the newest first.
func (u *undoing) choose() (list []*undo.Record, err error) {
	talk := u.global.Conversation
	open := func(r *undo.Record) bool { return r.Undoes == 0 && u.undone[r.ID] == 0 }
	switch {
	case len(u.ID) > 0 && (u.Last || talk != ""), u.Last && talk != "":
		return nil, exit.Errorf(exit.Usage, "numbers, --last and --conversation do not go together\ngive one of them")
	case u.Last, talk != "":
		for _, r := range slices.Backward(u.records) {
			if open(r) && (u.Last || r.Conversation == u.place.conversation) {
				list = append(list, r)
			}
		}
		if len(list) == 0 {
			return nil, exit.Errorf(exit.Refused, "there is nothing to take back\nlist the changes with: jphost undo")
		}
		if u.Last {
			list = list[:1]
		}
		return list, nil
	}
	for _, word := range u.ID {
		id, err := strconv.Atoi(word)
		if err != nil || id < 1 {
			return nil, exit.Errorf(exit.Usage, "%s is not the number of a change\nlist them with: jphost undo", show.Visible(word))
		}
		i := slices.IndexFunc(u.records, func(r *undo.Record) bool { return r.ID == id })
		switch by := u.undone[id]; {
		case i < 0:
			return nil, exit.Errorf(exit.Usage, "there is no change %d, or its record is too old or damaged\nlist the changes with: jphost undo --all", id)
		case by != 0:
			return nil, exit.Errorf(exit.Usage, "change %d is taken back already, by change %d\nto make it again: jphost undo %[2]d", id, by)
		case !slices.Contains(list, u.records[i]):
			list = append(list, u.records[i])
		}
	}
	slices.SortFunc(list, func(a, b *undo.Record) int { return b.ID - a.ID })
	return list, nil
}

// settle asks a person about places that were changed since. Without --force, and where nothing can be done, it refuses
// all of the plan: then nothing is changed.
func (u *undoing) settle(ctx context.Context, plan *undo.Plan) error {
	conflicts := plan.Conflicts()
	never := slices.ContainsFunc(conflicts, func(a *undo.Action) bool { return !a.Changed })
	if !u.Force || never {
		if u.Out.JSON {
			_ = u.result(plan, nil)
		}
		return u.refuse(plan, never)
	}
	for _, a := range conflicts {
		prompt := fmt.Sprintf("Let jphost undo %s %s as shown?", a.Verb, show.Name(a.Path))
		body := fmt.Sprintf("%s: %s. This is what undo would do to it:\n", show.Visible(a.Path), a.Conflict)
		if !term.Whole(a.Diff) {
			return exit.Errorf(exit.Refused, "the difference of %s is too long to be shown in a question\nlook at it with: jphost undo %s --dry-run --diff, and put the file back by hand", show.Visible(a.Path), strings.Join(u.ID, " "))
		}
		answer, err := u.ask().Bool(ctx, term.BoolQuestion{Message: term.Message{Body: body, Quoted: a.Diff, Diff: true}, Prompt: prompt, Default: term.No()})
		if err != nil {
			return exit.Errorf(exit.Refused, "nothing was taken back: %w\n--force asks before it replaces what was changed since", err)
		}
		if answer.Yes {
			a.Conflict = ""
		} else {
			a.Skip = true
		}
	}
	return nil
}

func (u *undoing) refuse(plan *undo.Plan, never bool) error {
	var b strings.Builder
	for _, s := range plan.Steps {
		for _, a := range s.Actions {
			if a.Conflict == "" || a.Skip {
				continue
			}
			fmt.Fprintf(&b, "\n  change %d, %s: %s%s", s.Record.ID, show.Visible(a.Path), show.Line(a.Conflict), u.since(s.Record, a))
			if a.Diff != "" && a.Changed && !u.Out.JSON {
				u.Out.Quote(fmt.Sprintf("undo of change %d would do this to %s:", s.Record.ID, show.Visible(a.Path)), a.Diff)
			}
		}
	}
	help := "to be asked about each of these files: add --force"
	if never {
		help = "leave these changes out; what was kept of them: jphost undo --diff"
	}
	return exit.Errorf(exit.Refused, "nothing was taken back:%s\n%s", b.String(), help)
}

// since names later changes of the same place.
func (u *undoing) since(r *undo.Record, a *undo.Action) string {
	var ids []string
	for _, later := range u.records {
		touches := slices.ContainsFunc(later.Items, func(item undo.Item) bool { return item.Name == a.Path })
		if later.ID > r.ID && touches && u.undone[later.ID] == 0 && later.Undoes == 0 {
			ids = append(ids, strconv.Itoa(later.ID))
		}
	}
	if len(ids) == 0 {
		return ""
	}
	return " (by " + cond(len(ids) > 1, "changes ", "change ") + strings.Join(ids, ", ") + ", which could be taken back too)"
}

// log adds what was done to the log of calls.
func (u *undoing) log(r *undo.Record, id int, start time.Time, err error) {
	e := &record.Entry{
		Time: start.UTC(), Conversation: r.Conversation, Interface: "undo", Tool: r.Tool, Arguments: map[string]any{"change": r.ID},
		Outcome: "success", DurationMS: time.Since(start).Milliseconds(), Change: id,
	}
	if err != nil {
		e.Outcome, e.Message, e.Status = "failed", show.Short(strings.SplitN(err.Error(), "\n", 2)[0], 200), int(exit.Refused)
	}
	log, failed := record.Open(u.place.dir)
	if failed == nil {
		failed = log.Append(u.Ctx, e)
	}
	if failed != nil {
		u.Out.Warn("this is not in the log: " + failed.Error())
	}
}
