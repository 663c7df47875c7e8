package consent

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/term"
)

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
	sum := sha256.Sum256(raw)
	return "sha256:" + hex.EncodeToString(sum[:])
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
		d.key(before[id], after[id])
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

// key compares the settings of one key. What both lists begin with and end with is unchanged;
// between, settings in the same position are compared.
func (d *Difference) key(was, now []Setting) {
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

// String renders the difference for a prompt; every value is made visible.
func (d Difference) String() string {
	var b strings.Builder
	for _, s := range d.Added {
		fmt.Fprintf(&b, "  + %s   (%s)\n", s.text(), where(s))
	}
	for _, c := range d.Changed {
		name := show.Visible(c.Now.Key)
		if c.Now.Runs != "" {
			name += " runs " + show.Visible(c.Now.Runs) + ", changed since it was accepted"
		}
		fmt.Fprintf(&b, "  ~ %s   (%s)\n      was: %s\n      now: %s\n", name, where(c.Now), show.Short(c.Was.Value, maxValue), show.Short(c.Now.Value, maxValue))
	}
	for _, s := range d.Removed {
		fmt.Fprintf(&b, "  - %s   (%s)\n", s.text(), show.Visible(s.File))
	}
	return b.String()
}

// Question asks a person to accept the difference. All of it is shown. At the end of a long one,
// where it is still on the screen, stand the number of settings and every program in it.
func (d Difference) Question() term.BoolQuestion {
	now := slices.Clone(d.Added)
	for _, c := range d.Changed {
		now = append(now, c.Now)
	}
	n := len(now) + len(d.Removed)
	text := d.String()
	m := term.Message{Body: "This workspace's own config asks for more than the defaults:\n", Quoted: text}
	programs := slices.DeleteFunc(slices.Clone(now), func(s Setting) bool { return !strings.Contains(s.Key+".", ".command.") })
	if len(text) > shortList && n > 1 && len(programs) > 0 {
		var b strings.Builder
		for _, s := range programs {
			fmt.Fprintf(&b, "%s   (%s)\n", show.Short(s.text(), maxProgram), where(s))
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

const (
	// shortList is how many bytes of settings are seen at a glance.
	shortList = 1200
	// maxValue is how many bytes of a value are shown, maxProgram how many of a program that is listed again.
	maxValue   = 1 << 10
	maxProgram = 160
)

// text is the setting on one line, made visible.
func (s Setting) text() string {
	if s.Runs != "" {
		return fmt.Sprintf("%s runs %s (%s)", show.Visible(s.Key), show.Visible(s.Runs), show.Short(s.Value, maxValue))
	}
	return show.Visible(s.Key) + " = " + show.Short(s.Value, maxValue)
}

func where(s Setting) string {
	if s.Line > 0 {
		return fmt.Sprintf("%s:%d", show.Visible(s.File), s.Line)
	}
	return show.Visible(s.File)
}
