package call

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
)

// allowedBefore says who allowed such a call before: BySession, ByConfig, or nobody, "". A yes counts for the same
// paths, or if they are not known the same arguments, and for the questions that it was given to.
func (k *call) allowedBefore(p *proposal, on string) string {
	if on == OnRun && len(k.Tool.Unattended) > 0 && k.unattended(p) {
		return ByConfig
	}
	if !k.Memory.Remembers() {
		return ""
	}
	for _, r := range k.slots(p, on) {
		old, ok := k.Memory.Recall(r)
		if !ok || !old.Yes || !includes(r.Covers, old.Covers) {
			return ""
		}
	}
	return BySession
}

// unattended reports whether the configuration needs nobody for the call.
func (k *call) unattended(p *proposal) bool {
	covered := func(path string) bool {
		var yes []string
		found := false
		for _, u := range k.Tool.Unattended {
			_, below := wspath.Within(u.Path, path)
			at := path != "" && u.HasPath && (path == u.Path || u.Directory && below)
			if at || path == "" && !u.HasPath && sameJSON(u.Arguments, k.args) {
				found, yes = true, append(yes, u.YesTo...)
			}
		}
		return found && includes(p.ids(path), yes)
	}
	if k.builtIn() && len(p.paths) > 0 {
		return !slices.ContainsFunc(p.paths, func(path string) bool { return !covered(path) })
	}
	return !k.builtIn() && covered("")
}

// slots are where an answer for the call is remembered for the session, with what it has to cover: one for each path that
// it changes, so that each can be allowed by itself, with the questions about it; one for both of a move; and for a tool
// that is not built in one for exactly these arguments and questions, whose words can say anything under the same id.
func (k *call) slots(p *proposal, on string) (list []consent.Remembered) {
	add := func(what, subject string, covers []string) {
		r := k.slot(on, subject)
		r.Covers = covers
		r.Scope = scope(r.Scope, what, subject)
		r.Question = show.Short(subject, maxSubject)
		list = append(list, r)
	}
	switch {
	case len(p.paths) == 0:
		var covers []string
		for _, q := range p.questions {
			covers = append(covers, q.ID+" "+asked(&q))
		}
		add("arguments", canonical(k.args), covers)
	case k.Tool.Name == "fs_move_file":
		add("move of "+p.paths[0], strings.Join(p.paths, " to "), p.ids(""))
	default:
		for _, path := range p.paths {
			add("path", path, p.ids(path))
		}
	}
	return list
}

// maxSubject bounds what `jphost session list` shows of arguments.
const maxSubject = 200

// keepAllowed remembers a yes for the session.
func (k *call) keepAllowed(ctx context.Context, p *proposal, on string) {
	for _, r := range k.slots(p, on) {
		old, _ := k.Memory.Recall(r)
		r.Covers = slices.Compact(slices.Sorted(slices.Values(append(r.Covers, old.Covers...))))
		k.remember(ctx, r, true)
	}
}

// questionSlot is where an answer to a question of a tool that is not built in is remembered: for exactly these
// arguments and this question.
func (k *call) questionSlot(q *jptool.Question) consent.Remembered {
	r := k.slot(OnQuestion, q.ID)
	r.Scope = scope(r.Scope, "arguments", canonical(k.args), asked(q))
	return r
}

// asked is a digest of all that a question says, and of what its tool says that it is about.
func asked(q *jptool.Question) string {
	return scope(q.Token, q.ID, q.Text, q.Before(), q.AnswerType.Name, strings.Join(q.AnswerType.Options, "\x00"),
		fmt.Sprint(q.Default))
}

// canonical is a JSON object with its keys in order.
func canonical(args map[string]any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(args) != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func sameJSON(text string, args map[string]any) bool {
	var other map[string]any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber() // large numbers stay apart
	return d.Decode(&other) == nil && canonical(other) == canonical(args)
}
