package fit

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/sandbox/internal/failure"
)

// Want is what must be true of a path after a call.
type Want string

const (
	// StillMissing: nothing may have come to be there. While the call runs a [Watcher] looks after it.
	StillMissing Want = "missing"
	// NoLink: what has come to be there is no symlink, nor reached by one: the next call
	// would find the rule's rights where it leads.
	NoLink Want = "no link"
	// SameEntry: the same object stands there, and a symlink leads to where it led.
	SameEntry Want = "same entry"
	// Unchanged: it is the same object, with the same content and mode and no further name,
	// and so is all that is below it.
	Unchanged Want = "unchanged"
	// Opened: the same object stands there. What is in it may change, also where the path lies
	// below one that is to be Unchanged.
	Opened Want = "opened"
)

// Check is one thing to look at after a call; nothing is ever repaired, since
// somebody else may have made the change. It cannot tell who made one.
type Check struct {
	Path string `json:"path"`
	Want Want   `json:"want"`
	// Node is what stood there when the plan was made.
	Node Node `json:"node,omitzero"`
	// Text, if there is any, is what the symlink said when the places of rules were found.
	Text string `json:"text,omitempty"`
}

// Entries are what must stay in its place for the plan to hold: covers and pins. A tree is
// mounted where nobody else can change anything, and needs no care.
func (p *Plan) Entries() []Node {
	var list []Node
	for _, c := range p.Covers {
		if !slices.ContainsFunc(p.Trees, func(t Node) bool { return t.Path == c.Path }) {
			list = append(list, c.Node)
		}
	}
	return append(list, p.Pins...)
}

// Change is a check that failed.
type Change struct {
	Path string `json:"path"`
	// What is appeared, disappeared, replaced, link, content, mode, name, grown or unreadable; or
	// momentary or unwatched, which a [Watcher] has noticed.
	What string `json:"what"`
}

// String is the change for people.
func (c Change) String() string {
	says := map[string]string{
		"link": "a symlink stands there or on the way", "content": "its content changed", "mode": "its mode changed",
		"name":       "it has got another name (a hard link), under which it could be changed",
		"grown":      "it holds more than can be compared now",
		"unreadable": "it cannot be looked at any more",
		"momentary":  "it was there while the call ran, and is gone again",
		"unwatched":  "it may have been there while the call ran",
	}
	if s, ok := says[c.What]; ok {
		return fmt.Sprintf("%q: %s", c.Path, s)
	}
	return fmt.Sprintf("%q %s", c.Path, c.What)
}

const (
	// maxCompared bounds how many files are compared by content or at all, maxDigest the
	// size up to which the content is read: larger ones are told by their times.
	maxCompared = 16384
	maxDigest   = 1 << 20
)

// mark is one entry as it was.
type mark struct {
	Node
	mode         uint32
	links        uint64
	size         int64
	mtime, ctime int64  // ns
	digest       string // of the content; "" if it was not read
}

// Before is how things were before a call.
type Before struct {
	checks []Check
	marks  map[string]mark
	// links are what symlinks lead to: a new one may have the number of the old.
	links map[string]string
	// opened are the paths of checks for Opened.
	opened []string
	// Incomplete are the checks that hold too much to be compared: of what is beyond the
	// limit no change is noticed.
	Incomplete []string
	left       int
	// Touched are entries that Verify found to be as they were but for the time of their last change: somebody
	// may have changed them and put them back, or has only touched them.
	Touched []string
}

// Snapshot looks at everything that checks speak of. The error names what cannot be looked at. It is of the kind
// [failure.Changed] if a symlink leads elsewhere than when the places of rules were found.
func Snapshot(ctx context.Context, checks []Check) (*Before, error) {
	b := &Before{checks: checks, marks: map[string]mark{}, links: map[string]string{}, left: maxCompared}
	for _, c := range checks {
		if c.Want == Opened {
			b.opened = append(b.opened, c.Path)
		}
	}
	for _, c := range checks {
		var err error
		switch {
		case c.Want == SameEntry && c.Node.Kind == Link:
			if b.links[c.Path], err = readLink(c.Path); c.Text != "" && (err != nil || b.links[c.Path] != c.Text) {
				return nil, &failure.Error{Kind: failure.Changed, Path: c.Path}
			}
		case c.Want == Unchanged:
			if err = b.walk(ctx, c.Path, b.marks); b.left < 0 {
				b.Incomplete = append(b.Incomplete, c.Path)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Path, err)
		}
	}
	return b, nil
}

// walk marks an entry and all below it.
func (b *Before) walk(ctx context.Context, p string, marks map[string]mark) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if slices.Contains(b.opened, p) {
		return nil
	}
	if b.left--; b.left < 0 {
		return nil
	}
	m, err := measure(p)
	if err != nil {
		return err
	}
	if old, known := b.marks[p]; m.Kind == File && (!known || !old.same(m)) {
		m.readDigest()
	}
	marks[p] = m
	if m.Kind != Dir {
		return nil
	}
	names, more, err := readNames(p, b.left)
	if err != nil {
		return err
	}
	if more {
		b.left = -1
		return nil
	}
	for _, name := range names {
		if err := b.walk(ctx, path.Join(p, name), marks); err != nil {
			return err
		}
	}
	return nil
}

// same: nothing happened to the file. An unprivileged program cannot set the time of the
// last change of an inode.
func (m mark) same(n mark) bool {
	return m.Node == n.Node && m.mode == n.mode && m.size == n.size && m.mtime == n.mtime && m.ctime == n.ctime
}

func (m *mark) readDigest() {
	if m.size > maxDigest {
		return
	}
	d, err := wspath.OpenDir(path.Dir(m.Path))
	if err != nil {
		return // then times tell
	}
	defer d.Close()
	f, err := d.Open(path.Base(m.Path))
	if err != nil {
		return
	}
	defer f.Close()
	hash := sha256.New()
	if n, err := io.Copy(hash, io.LimitReader(f, maxDigest+1)); err == nil && n <= maxDigest {
		m.digest = string(hash.Sum(nil))
	}
}

// Verify says what is not as the checks want it, by path.
func (b *Before) Verify(ctx context.Context) []Change {
	var out []Change
	b.Touched = nil
	for _, c := range b.checks {
		now, err := Look(c.Path)
		switch {
		case err == errLink || c.Want == NoLink && err == nil && now.Kind == Link:
			out = append(out, Change{c.Path, "link"})
		case err != nil:
			out = append(out, Change{c.Path, "unreadable"})
		case c.Want == StillMissing && now.Kind != Missing:
			out = append(out, Change{c.Path, "appeared"})
		case c.Want == StillMissing || c.Want == NoLink:
		case now.Kind == Missing:
			out = append(out, Change{c.Path, "disappeared"})
		case now.Kind != c.Node.Kind || now.ID != c.Node.ID || !b.leadsOn(c.Path):
			out = append(out, Change{c.Path, "replaced"})
		case c.Want == Unchanged:
			out = append(out, b.compare(ctx, c.Path)...)
		}
	}
	slices.Sort(b.Touched)
	slices.SortFunc(out, func(x, y Change) int { return strings.Compare(x.Path+"\x00"+x.What, y.Path+"\x00"+y.What) })
	return slices.Compact(out)
}

// leadsOn reports whether what stands at a path is no link that was marked, or leads to where it led.
func (b *Before) leadsOn(p string) bool {
	to, marked := b.links[p]
	if !marked {
		return true
	}
	now, err := readLink(p)
	return err == nil && now == to
}

// compare looks at a tree again.
func (b *Before) compare(ctx context.Context, top string) []Change {
	now := map[string]mark{}
	again := &Before{marks: b.marks, opened: b.opened, left: maxCompared}
	if err := again.walk(ctx, top, now); err != nil {
		return []Change{{top, "unreadable"}}
	}
	incomplete := slices.Contains(b.Incomplete, top)
	if again.left < 0 && !incomplete {
		// It could be compared before. What else changed is lost among what was added.
		return []Change{{top, "grown"}}
	}
	var out []Change
	for p, n := range now {
		old, known := b.marks[p]
		switch {
		case !known && incomplete:
		case !known:
			out = append(out, Change{p, "appeared"})
		case old.Kind != n.Kind || old.ID != n.ID:
			out = append(out, Change{p, "replaced"})
		case old.mode != n.mode:
			out = append(out, Change{p, "mode"})
		case n.Kind == File && n.links > old.links:
			out = append(out, Change{p, "name"})
		case old.same(n):
		case n.Kind == Dir:
			if !slices.ContainsFunc(b.opened, func(o string) bool { return path.Dir(o) == p }) {
				b.Touched = append(b.Touched, p)
			}
		case old.size != n.size, n.digest == "", old.digest != n.digest:
			out = append(out, Change{p, "content"})
		default:
			b.Touched = append(b.Touched, p)
		}
	}
	for p := range b.marks {
		if _, still := now[p]; !still && Holds(top, p) && !incomplete {
			out = append(out, Change{p, "disappeared"})
		}
	}
	return out
}

// Was is how the path of a change stood before the call, in the words of [State]. It is "" where that was not looked at,
// and for a directory that is another one now: neither [Before.Verify] nor State looks at what is in it.
func (b *Before) Was(c Change) string {
	m, marked := b.marks[c.Path]
	to, isLink := b.links[c.Path]
	switch {
	case c.What == "appeared", c.What == "link" && !marked:
		return "missing"
	case !slices.Contains([]string{"link", "disappeared", "replaced", "content", "mode", "name"}, c.What):
		return ""
	case !marked && isLink:
		return "link to " + to
	case !marked, m.Kind == Dir && c.What != "mode":
		return ""
	}
	return m.state()
}

// State says how something stands now, so that equal words mean the same kind, content, mode and number of names; "" where
// that cannot be told. It cannot tell an object from another one that is the same in all this.
func State(abs string) string {
	m, err := measure(path.Clean(abs))
	switch {
	case err != nil:
		return ""
	case m.Kind == Link:
		if to, err := readLink(m.Path); err == nil {
			return "link to " + to
		}
	case m.Kind == File:
		m.readDigest()
	}
	return m.state()
}

func (m mark) state() string {
	switch {
	case m.Kind == Missing:
		return "missing"
	case m.Kind == Dir:
		return fmt.Sprintf("directory %o", m.mode)
	case m.Kind == File && m.digest != "":
		return fmt.Sprintf("file %o %d sha256:%x", m.mode, m.links, m.digest)
	}
	return ""
}
