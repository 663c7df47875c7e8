package consent

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/host/internal/term"
)

// maxAccepted is how many accepted lists a workspace keeps: enough to go back and
// forth between branches, and to accept tools one by one, without being asked again.
const maxAccepted = 64

// Trust remembers which widening settings of a workspace's own config a person accepted.
type Trust struct {
	f       records[Accepted]
	scripts scripts
}

// OpenTrust returns the trust store in dir.
func OpenTrust(dir *state.Dir, warn func(string)) *Trust {
	t := &Trust{f: records[Accepted]{dir: dir, name: "trust.json", key: "accepted"}, scripts: openScripts(dir)}
	t.f.mend = t.f.setAside(warn)
	t.f.take = (*Accepted).take
	return t
}

// Accepted is one list of settings that was accepted.
type Accepted struct {
	Digest     string    `json:"digest"`
	AcceptedAt time.Time `json:"accepted_at"`
	Settings   []Setting `json:"settings"`
}

// take refuses a list whose digest is another: the list is what a person sees as accepted, the
// digest what counts.
func (a *Accepted) take([]byte) error {
	if a.Digest != Digest(a.Settings) {
		return errors.New("the digest does not fit the settings")
	}
	return nil
}

// Check reports whether exactly these settings were accepted, and otherwise how they differ
// from what was accepted last. No settings need no trust. The settings of each tool are
// compared by themselves, beside those that concern all tools: if those of one tool change,
// the other tools stay trusted.
func (t *Trust) Check(ctx context.Context, now []Setting) (trusted bool, d Difference, err error) {
	if len(now) == 0 {
		return true, Difference{}, nil
	}
	known, err := t.f.load(ctx) // oldest first
	if err != nil {
		return false, Diff(nil, now), err
	}
	mine := group(now, Setting.tool)
	all := Digest(mine[""])
	lists := make([]map[string][]Setting, len(known))
	sameForAll := make([]bool, len(known))
	for i, a := range known {
		lists[i] = group(a.Settings, Setting.tool)
		sameForAll[i] = Digest(lists[i][""]) == all
	}
	var was []Setting
	trusted = true
	for tool, settings := range mine {
		digest, accepted := Digest(settings), false
		var last []Setting
		for i := 0; i < len(lists) && !accepted; i++ {
			accepted = sameForAll[i] && Digest(lists[i][tool]) == digest
			if list := lists[i][tool]; len(list) > 0 {
				last = list
			}
		}
		trusted = trusted && accepted
		was = append(was, last...)
	}
	if trusted {
		return true, Difference{}, nil
	}
	if d = Diff(was, now); len(d.Changed) > 0 {
		texts := t.scripts.texts()
		for i := range d.Changed {
			d.Changed[i].Was.Text = texts[d.Changed[i].Was.Value]
		}
	}
	if d.String() == "" { // each was accepted, but not beside what now is for all
		d = Diff(nil, now)
	}
	return false, d, nil
}

// Concerning are the settings that one tool goes by: its own, and those that concern all of them.
func Concerning(list []Setting, tool string) []Setting {
	return slices.DeleteFunc(slices.Clone(list), func(s Setting) bool {
		concerns := s.tool()
		return concerns != "" && concerns != tool
	})
}

// tool is the one that a setting concerns; "" stands for all of them.
func (s Setting) tool() string {
	parts, err := settings.SplitKey(s.Key)
	if err != nil || len(parts) < 4 || parts[0] != "conversation" || parts[1] != "tools" || parts[2] == "*" {
		return ""
	}
	return parts[2]
}

// Accept remembers exactly these settings: those that were shown, not what the files
// hold by now.
func (t *Trust) Accept(ctx context.Context, shown []Setting) error {
	a := Accepted{Digest: Digest(shown), AcceptedAt: t.f.dir.Now().UTC().Truncate(time.Second), Settings: sorted(shown)}
	if err := t.scripts.keep(ctx, shown); err != nil {
		return err
	}
	return t.f.update(ctx, func(list []Accepted) ([]Accepted, bool) {
		list = append(slices.DeleteFunc(list, func(o Accepted) bool { return o.Digest == a.Digest }), a)
		return list[max(0, len(list)-maxAccepted):], true
	})
}

// Revoke forgets everything that was accepted in this workspace, and reports whether there
// was anything.
func (t *Trust) Revoke(ctx context.Context) (bool, error) {
	revoked, err := t.f.remove(ctx, func(Accepted) bool { return true })
	if err == nil {
		err = t.scripts.forget(ctx)
	}
	return len(revoked) > 0, err
}

// ErrNotTrusted: the repository's own config asks for more than was accepted.
var ErrNotTrusted = errors.New("this workspace's own config widens access and was not accepted")

// Require checks the settings, asks for them as a difference when they are new, and
// remembers a yes. Anything else is an error: ErrNotTrusted with the difference and what to
// do, or what went wrong.
func (t *Trust) Require(ctx context.Context, p term.Prompter, now []Setting) error {
	trusted, d, err := t.Check(ctx, now)
	if trusted || err != nil {
		return err
	}
	q := d.Question()
	if !q.Whole() && term.Absent(p) == nil {
		return fmt.Errorf("%w: that is too much to be shown in a question\nlook at all of it with: jphost trust show\n"+
			"and accept it with: jphost trust accept --digest DIGEST", ErrNotTrusted)
	}
	answer, err := p.Bool(ctx, q)
	if err != nil && !errors.Is(err, term.ErrNoTerminal) {
		return err
	}
	if err == nil && !answer.Yes {
		return fmt.Errorf("%w: declined\nto look at it again: jphost trust show", ErrNotTrusted)
	}
	if err != nil {
		return fmt.Errorf("%w:\n%slook at them and run: jphost trust accept", ErrNotTrusted, d.String())
	}
	return t.Accept(ctx, now)
}

// Setting is one setting of a repository's own config that could widen access.
type Setting struct {
	// Key is the dotted path, such as conversation.tools.lint.run.
	Key string `json:"key"`
	// Value is the setting in canonical rendering: equal values, equal text.
	Value string `json:"value"`
	// File is workspace-relative.
	File string `json:"file"`
	// Runs is the workspace-relative path of a file that the command at Key names. The
	// setting is about its content then, and Value says which that is.
	Runs string `json:"runs,omitempty"`
	// Text is that content, if it is a short text; it is kept beside the list of what was accepted.
	Text string `json:"-"`
	// Line is where it stands now. Moving a setting within its file changes nothing.
	Line int `json:"line,omitempty"`
}

// id names what the setting is about. That of a file which runs is no key, so that it cannot
// be taken for one.
func (s Setting) id() string {
	if s.Runs == "" {
		return s.Key
	}
	return s.Key + " runs " + s.Runs
}

// same reports whether consent to one setting is consent to the other.
func (s Setting) same(o Setting) bool {
	return s.id() == o.id() && s.Value == o.Value && s.File == o.File
}

// Digest names a list of settings: `sha256:…` over key (with the file that it runs), value and
// file of each, sorted by key. The order of settings with one key counts, since later ones win.
func Digest(list []Setting) string {
	triples := [][3]string{}
	for _, s := range sorted(list) {
		triples = append(triples, [3]string{s.id(), s.Value, s.File})
	}
	raw, err := json.Marshal(triples)
	if err != nil { // strings always marshal
		panic(err)
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(raw))
}

func sorted(list []Setting) []Setting {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Setting) int { return strings.Compare(a.id(), b.id()) })
	return list
}

// Change is a setting whose value or file is another than before.
type Change struct{ Was, Now Setting }

// Difference is what came, went and changed between two lists of settings.
type Difference struct {
	Added, Removed []Setting
	Changed        []Change
}

// Diff compares two lists. It is empty exactly when their digests are equal.
func Diff(was, now []Setting) Difference {
	before, after := group(was, Setting.id), group(now, Setting.id)
	ids := slices.AppendSeq(slices.Collect(maps.Keys(before)), maps.Keys(after))
	slices.Sort(ids)
	var d Difference
	for _, id := range slices.Compact(ids) {
		d.compare(before[id], after[id])
	}
	return d
}

// group keeps the order of the settings in each group.
func group(list []Setting, by func(Setting) string) map[string][]Setting {
	groups := map[string][]Setting{}
	for _, s := range list {
		groups[by(s)] = append(groups[by(s)], s)
	}
	return groups
}

// compare compares the settings of one key. What both lists begin with and end with is unchanged;
// between, settings in the same position are compared.
func (d *Difference) compare(was, now []Setting) {
	for len(was) > 0 && len(now) > 0 && was[0].same(now[0]) {
		was, now = was[1:], now[1:]
	}
	for len(was) > 0 && len(now) > 0 && was[len(was)-1].same(now[len(now)-1]) {
		was, now = was[:len(was)-1], now[:len(now)-1]
	}
	n := min(len(was), len(now))
	for i := range n {
		if !was[i].same(now[i]) {
			d.Changed = append(d.Changed, Change{was[i], now[i]})
		}
	}
	d.Removed = append(d.Removed, was[n:]...)
	d.Added = append(d.Added, now[n:]...)
}

// String renders the difference for a message; every value is made visible, and the middle of a long one is left out.
func (d Difference) String() string { return d.text(false) }

// Full is all that somebody accepts: String with whole values and the differences of scripts.
func (d Difference) Full() string { return d.text(true) }

// text is String or Full.
func (d Difference) text(full bool) string {
	most := maxValue
	if full {
		most = math.MaxInt
	}
	var b strings.Builder
	for _, s := range d.Added {
		fmt.Fprintf(&b, "  + %s   (%s)\n", s.text(most), where(s))
	}
	for _, c := range d.Changed {
		name := show.Visible(c.Now.Key)
		if c.Now.Runs != "" {
			name += " runs " + show.Visible(c.Now.Runs) + ", changed since it was accepted"
		}
		if diff := c.scriptDiff(); full && diff != "" {
			fmt.Fprintf(&b, "  ~ %s   (%s)\n%s", name, where(c.Now), diff)
			continue
		}
		fmt.Fprintf(&b, "  ~ %s   (%s)\n      was: %s\n      now: %s\n", name, where(c.Now), show.Short(c.Was.Value, most), show.Short(c.Now.Value, most))
	}
	for _, s := range d.Removed {
		fmt.Fprintf(&b, "  - %s   (%s)\n", s.text(most), show.Visible(s.File))
	}
	return b.String()
}

// Question asks a person to accept the difference. All of it is shown. At the end of a long one,
// where it is still on the screen, stand the number of settings and every program in it.
func (d Difference) Question() term.BoolQuestion {
	if q, ok := d.scriptQuestion(); ok {
		return q
	}
	now := slices.Clone(d.Added)
	for _, c := range d.Changed {
		now = append(now, c.Now)
	}
	n := len(now) + len(d.Removed)
	// Programs stand last, where they are still on the screen.
	d.Added = append(slices.DeleteFunc(slices.Clone(d.Added), Setting.program), slices.DeleteFunc(slices.Clone(d.Added), func(s Setting) bool { return !s.program() })...)
	text := d.Full()
	m := term.Message{Body: "This workspace's own config asks for more than the defaults:\n", Quoted: text, Prose: true}
	programs := slices.DeleteFunc(slices.Clone(now), func(s Setting) bool { return !s.program() })
	if len(text) > shortList && n > 1 && len(programs) > 0 {
		var b strings.Builder
		for _, s := range programs {
			fmt.Fprintf(&b, "%s   (%s)\n", show.Short(s.text(maxProgram), maxProgram), where(s))
		}
		m.Then = []term.Message{{Body: "Of these, programs that they start:\n", Quoted: b.String()}}
	}
	prompt := fmt.Sprintf("Accept these %d settings", n)
	if n == 1 {
		prompt = "Accept this setting"
	}
	files := []string{}
	for _, s := range append(now, d.Removed...) {
		if !slices.Contains(files, s.File) {
			files = append(files, s.File)
		}
	}
	if len(files) > 0 {
		prompt += " of " + show.Name(files[0])
	}
	if more := len(files) - 1; more > 0 {
		prompt += fmt.Sprintf(" and %d more files", more)
	}
	return term.BoolQuestion{Message: m, Prompt: prompt + "?", Default: term.No()}
}

// scriptQuestion is the question if nothing but one script changed, and how it did is known.
func (d Difference) scriptQuestion() (q term.BoolQuestion, ok bool) {
	if len(d.Added)+len(d.Removed) > 0 || len(d.Changed) != 1 || d.Changed[0].scriptDiff() == "" || d.Changed[0].Now.tool() == "" {
		return q, false
	}
	c := d.Changed[0].Now
	tool := c.tool()
	return term.BoolQuestion{
		Message: term.Message{
			Body:   fmt.Sprintf("%s runs %s, changed since you accepted it (%s):\n", show.Visible(tool), show.Visible(c.Runs), where(c)),
			Quoted: d.Changed[0].scriptDiff(), Diff: true,
		},
		Prompt: fmt.Sprintf("Let %s run %s as it is now?", show.Name(tool), show.Name(c.Runs)), Default: term.No(),
	}, true
}

const (
	// shortList is how many bytes of settings are seen at a glance.
	shortList = 3 << 10
	// maxValue is how many bytes of a value a message shows, maxDigest how many of a script's digest, maxProgram how many of
	// a program that is listed again.
	maxValue   = 1 << 10
	maxDigest  = len("sha256:") + 12
	maxProgram = 160
)

// program reports whether the setting says what is run.
func (s Setting) program() bool { return strings.Contains(s.Key+".", ".command.") }

// text is the setting on one line, made visible, with most bytes of the value.
func (s Setting) text(most int) string {
	if s.Runs != "" {
		value := show.Short(s.Value, most)
		if strings.HasPrefix(value, "sha256:") {
			value = value[:min(len(value), maxDigest)]
		}
		return fmt.Sprintf("%s runs %s (%s)", show.Visible(s.Key), show.Visible(s.Runs), value)
	}
	return show.Visible(s.Key) + " = " + show.Short(s.Value, most)
}

func where(s Setting) string {
	if s.Line > 0 {
		return fmt.Sprintf("%s:%d", show.Visible(s.File), s.Line)
	}
	return show.Visible(s.File)
}
