package call

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/jptool"
)

// proposal is a call as a person is asked about it: one question for the call and for all that its tool would ask.
type proposal struct {
	shown, full term.Message
	// data and token are those of the preview; the call is bound to the token.
	data  json.RawMessage
	token string
	// paths are what the call would change, as a built-in tool found them. Nobody else's word on that counts.
	paths []string
	// questions are those that a yes answers too, about says more of those of a built-in tool, by id.
	questions []jptool.Question
	about     map[string]subject
	// cut: the tool could not show all that it would do.
	cut bool
}

// shown is a part of what a preview shows a person: text, or a unified diff.
type shown struct {
	Text string `json:"text"`
	Diff bool   `json:"diff"`
}

// subject is what a question of a built-in tool is about (docs/wire.md, "Previews").
type subject struct {
	Paths       []string `json:"paths"`
	Uncommitted bool     `json:"uncommitted"`
}

// ids are what a yes for longer has to cover: the ids of the questions about one path, or for "" of all. One that also is
// about the loss of uncommitted work says so.
func (p *proposal) ids(path string) []string {
	ids := []string{}
	for _, q := range p.questions {
		about := p.about[q.ID]
		switch {
		case path != "" && about.Paths != nil && !slices.Contains(about.Paths, path):
		case about.Uncommitted:
			ids = append(ids, q.ID+uncommitted)
		default:
			ids = append(ids, q.ID)
		}
	}
	return ids
}

const uncommitted = ".uncommitted"

// includes reports whether a yes to the ids in list covers these.
func includes(ids, list []string) bool {
	return !slices.ContainsFunc(ids, func(id string) bool {
		return !slices.Contains(list, id) && !slices.Contains(list, id+uncommitted)
	})
}

// permitted lets a person allow the call by the run mode, or a preview by the mode of format.
func (k *call) permitted(ctx context.Context) error {
	mode, on := k.Tool.Run, OnRun
	if k.Preview {
		mode, on = k.Tool.Format, OnPreview
	}
	switch mode {
	case "unattended":
		return nil
	case "edit":
		// A closed editor is no consent: some return at once, and the person has not seen the arguments.
		if err := k.edit(ctx); err != nil {
			return err
		}
	}
	by, err := k.permit(ctx, mode, on, false)
	if by != "" {
		k.answered(on, "", by)
	}
	if no := (*absentError)(nil); errors.As(err, &no) {
		return k.nobody(mode, no)
	}
	return err
}

// declinedError is the answer no.
type declinedError struct{ reason string }

func (e *declinedError) Error() string {
	if e.reason == "" {
		return "declined"
	}
	return "declined: " + e.reason
}

// absentError: there is nobody to ask. call is what the question would have been about, as far as that is known.
type absentError struct {
	error
	call *proposal
}

func (e *absentError) Unwrap() error { return e.error }

// permit asks about the call until it is allowed, as it then is, or declined, and says who answered. What was
// answered for the session and what the configuration allows is not asked, unless again says that only a person can
// answer.
func (k *call) permit(ctx context.Context, mode, on string, again bool) (by string, err error) {
	absent := term.Absent(k.Prompter)
	// A yes to the questions of a tool is a yes to the call. Its arguments can no longer be edited: it has started.
	started := on == OnQuestion
	if started {
		on = OnRun
	}
	// Who edits every call looks at every call.
	lasting := mode != "edit"
	for strict := again || mode == "edit"; ; strict = true {
		if absent != nil && (strict || !k.builtIn() && k.allowedBefore(&proposal{}, on) == "") {
			return "", &absentError{absent, nil}
		}
		p, err := k.proposal(ctx, mode, started)
		if err != nil {
			return "", err
		}
		if by := k.allowedBefore(p, on); by != "" && !strict {
			k.take(p)
			return by, nil
		}
		if absent != nil {
			return "", &absentError{absent, p}
		}
		if p.cut {
			return "", k.notRun(ReasonRunMode, fmt.Errorf("what it would do is too long to be shown whole\n"+
				"make smaller changes, in several calls; to allow it unseen: %s", k.cfg("run", "=unattended")))
		}
		if again {
			p.shown.Body = "What " + show.Visible(k.Tool.Name) + " found has changed since it was shown. Now it is:\n"
		}
		answer, err := k.Prompter.Permit(ctx, term.PermitQuestion{
			Message: p.shown, Full: &p.full, Prompt: "Let " + k.doing(p), Shorter: k.shorter(p),
			Session: lasting && k.Memory.Remembers(), Edit: !started, Lasting: k.lasting(p),
			Always: lasting && k.OwnConfig != "" && k.entries(p) != "" && on == OnRun,
		})
		if errors.Is(err, term.ErrNoTerminal) {
			return "", &absentError{err, p}
		} else if err != nil {
			return "", k.notRun(ReasonDeclined, err)
		}
		switch answer.Choice {
		case term.Refuse:
			return ByPerson, k.notRun(ReasonDeclined, &declinedError{answer.Reason})
		case term.Change:
			if err := k.edit(ctx); err != nil {
				return "", err
			}
			k.warn("a person edited the arguments of this call: " + show.Short(show.Value(k.args), maxEdited))
			continue
		case term.Always:
			if written, err := k.always(ctx, p); err != nil {
				return "", k.notRun(ReasonDeclined, err)
			} else if !written {
				continue
			}
		case term.Session:
			k.keepAllowed(ctx, p, on)
		}
		k.take(p)
		k.report.DiffShown = k.Tool.Name == "fs_modify_file" && k.builtIn() && p.token != ""
		return ByPerson, nil
	}
}

// maxEdited bounds the bytes of edited arguments in a warning, which a model reads.
const maxEdited = 2 << 10

// take binds the call to what was allowed.
func (k *call) take(p *proposal) { k.allowed, k.previewToken = p.questions, p.token }

// proposal makes the preview, if previews are made without asking, and what a person is shown. A preview goes by the
// same policy, answers and options as the call. One that fails ends the call, since the call would fail too.
// Once the tool has started, its questions are shown with a preview in any case.
func (k *call) proposal(ctx context.Context, mode string, started bool) (*proposal, error) {
	k.take(&proposal{}) // what was allowed before an edit is for something else
	args, err := indented(k.args)
	if err != nil {
		return nil, err
	}
	if !term.Viewable(args) && mode != "edit" {
		return nil, k.notRun(ReasonRunMode, fmt.Errorf("its arguments are too long to be shown, %d bytes\n"+
			"to look at them in your editor: %s", len(args), k.cfg("run", "=edit")))
	}
	p := &proposal{}
	var preview []shown
	if !k.Preview && (k.Tool.Format == "unattended" || started) {
		out, err := k.ask(ctx, true)
		if err == nil && !out.success() {
			err = k.settle(ctx, out)
		}
		if err != nil {
			return nil, err
		}
		preview = p.read(k, &out)
	}
	return p, k.present(p, args, preview)
}

// read takes the data of a preview: the token that the call is bound to, and the questions that the call would ask. It
// returns what is shown: what is a diff is never read from a text, because others choose what stands in files.
func (p *proposal) read(k *call, out *output) []shown {
	var preview struct {
		Token     string          `json:"token"`
		Paths     []string        `json:"paths"`
		Questions json.RawMessage `json:"questions"`
	}
	var more struct {
		Shown []shown            `json:"shown"`
		Cut   bool               `json:"cut"`
		About map[string]subject `json:"about"`
	}
	p.data = rawData(out.Data)
	// A tool of somebody else may mean something else by the keys.
	if !k.builtIn() || json.Unmarshal(p.data, &more) != nil || len(more.Shown) == 0 {
		more.Shown = []shown{{Text: out.Content}}
	}
	p.cut = more.Cut
	if json.Unmarshal(p.data, &preview) != nil {
		return more.Shown
	}
	p.token = preview.Token
	if k.builtIn() && p.token != "" {
		p.paths, p.about = preview.Paths, more.About
	}
	questions, _ := jptool.DecodeQuestions(preview.Questions)
	p.questions = k.coverable(questions)
	return more.Shown
}

// nobody is the refusal when there is no person to ask. If the call is known, the message names the one setting that
// allows it with all its questions.
func (k *call) nobody(mode string, no *absentError) error {
	key := "run"
	if k.Preview {
		key = "format"
	}
	at := "the default"
	if o := k.Tool.Origin(key); !o.IsZero() {
		at = o.String()
	}
	if all, _ := k.Tool.Overridden(key); all != nil {
		at += fmt.Sprintf("; that for all tools at %s is for those without their own", all.Origin)
	}
	return refuse(ReasonRunMode, "%s is asked for before it runs, and %w (%s = %q at %s)\nto allow it without asking: %s",
		k.Tool.Name, no, key, mode, at, k.allowing(key, mode, no.call))
}

// allowing says what allows the call.
func (k *call) allowing(key, mode string, p *proposal) string {
	const own = "\nor set that in your own config"
	flags := k.cfg(key, "=unattended")
	switch {
	case p == nil || len(p.paths) == 0 || mode != "ask":
		return flags + own
	case k.entries(p) == "":
		for _, q := range p.questions {
			flags += " --answer " + show.Word(q.ID+"=true")
		}
		return flags
	}
	var list []map[string]any
	for _, path := range p.paths {
		entry := map[string]any{"path": path}
		if ids := p.ids(path); len(ids) > 0 {
			entry["yes_to"] = ids
		}
		list = append(list, entry)
	}
	value, err := json.Marshal(list)
	if err != nil {
		panic(err) // texts
	}
	return k.cfg("unattended", ":+="+string(value)) + own
}
