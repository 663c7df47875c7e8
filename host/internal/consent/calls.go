package consent

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/state"
)

// Holds is the list of paths found changed after a call that should not have changed
// them (docs/host.md, "run"). While it is not empty, no writing call runs in the
// workspace. A broken file is never set aside by a call, because that would lift the holds.
type Holds struct{ f records[Hold] }

// OpenHolds returns the holds kept in dir.
func OpenHolds(dir *state.Dir) *Holds {
	return &Holds{records[Hold]{
		dir: dir, name: "holds.json", key: "holds", only: true,
		help: "writing calls are held until a person has looked: jphost trust accept",
	}}
}

// Hold is one path that a person must look at.
type Hold struct {
	// Path is workspace-relative, as shown to people.
	Path string `json:"path" required:""`
	// Reason says what was found.
	Reason string `json:"reason" required:""`
	// Tool is whose call it was found after.
	Tool string    `json:"tool,omitempty"`
	Held time.Time `json:"held_at" required:""`
	// Was is how it stood before the call; when it stands so again there is nothing to look at. "" when nobody knows.
	Was string `json:"was,omitempty"`
	// At is the absolute path of what lies outside of the workspace, where Path may lead elsewhere by now; "" inside.
	At string `json:"at,omitempty"`
}

// List returns the holds. An error means that nobody knows, so that writing calls
// must not run.
func (h *Holds) List() ([]Hold, error) {
	_, list, err := h.f.read()
	return list, err
}

// Check returns nil when writing calls may run, else an error that names every hold.
func (h *Holds) Check() error {
	list, err := h.List()
	if err != nil || len(list) == 0 {
		return err
	}
	text := ""
	for _, hold := range list {
		text += fmt.Sprintf("  %s: %s\n", show.Visible(hold.Path), show.Visible(hold.Reason))
	}
	return fmt.Errorf("an earlier call left changes that a person must look at first:\n%swhen they are in order: jphost trust accept", text)
}

// Settle releases the holds on what stands again as it did before; now says how that is.
func (h *Holds) Settle(ctx context.Context, now func(Hold) string) error {
	settled := func(hold Hold) bool { return hold.Was != "" && now(hold) == hold.Was }
	if list, err := h.List(); err != nil || !slices.ContainsFunc(list, settled) {
		return nil // Check says what is wrong
	}
	_, err := h.f.remove(ctx, settled)
	return err
}

// Add puts paths on hold. A path that is held already keeps its first reason, but no longer
// ends by itself if the new hold does not.
func (h *Holds) Add(ctx context.Context, add ...Hold) error {
	return h.f.update(ctx, func(list []Hold) ([]Hold, bool) {
		for _, hold := range add {
			if i := slices.IndexFunc(list, func(o Hold) bool { return o.Path == hold.Path && o.At == hold.At }); i >= 0 {
				if hold.Was == "" {
					list[i].Was = ""
				}
				continue
			}
			if hold.Held.IsZero() {
				hold.Held = h.f.dir.Now().UTC().Truncate(time.Second)
			}
			list = append(list, hold)
		}
		return list, true
	})
}

// Accept releases the paths, or all when none are named, after a person has looked, and
// returns what it released. With all, a broken file is set aside.
func (h *Holds) Accept(ctx context.Context, paths ...string) ([]Hold, error) {
	f := h.f
	if len(paths) == 0 {
		f.mend = f.setAside(nil)
	}
	return f.remove(ctx, func(hold Hold) bool { return len(paths) == 0 || slices.Contains(paths, hold.Path) })
}

// memoryAge is how long an answer is kept at most, however long its session lasts.
const memoryAge = 30 * 24 * time.Hour

// Remembered is an answer that a person gave for the rest of a session.
type Remembered struct {
	Tool string `json:"tool"`
	// On says what was asked: whether a call may be made, a question of the tool, and so on.
	// Question is the id of a question, or a path.
	On       string `json:"on"`
	Question string `json:"question,omitempty"`
	Yes      bool   `json:"yes"`
	// Covers are the ids of the questions that a yes to a call answers as well.
	Covers []string  `json:"covers,omitempty"`
	At     time.Time `json:"at"`
	// Scope is a digest of what it was answered for, such as the command and the policy of
	// the tool. For anything else the answer does not count.
	Scope string `json:"scope"`
	// Session is a digest of the session's id.
	Session string `json:"session"`
}

// same reports whether two answers are to the same question.
func (r Remembered) same(o Remembered) bool {
	return r.Tool == o.Tool && r.On == o.On && r.Question == o.Question && r.Session == o.Session
}

// Memory holds the answers of one session in one workspace. Without a session nothing is
// remembered, and every answer is for one call.
type Memory struct {
	f       records[Remembered]
	session string
}

// OpenMemory returns the memory of the session id, as state.SessionID gave it.
func OpenMemory(dir *state.Dir, id string) *Memory {
	if id == "" {
		return &Memory{}
	}
	sum := sha256.Sum256([]byte(id))
	return &Memory{session: fmt.Sprintf("%x", sum[:16]), f: records[Remembered]{
		dir: dir, name: "remembered.json", key: "answers",
		help: "remove the file: its answers are asked for again",
		// To lose answers only costs questions.
		mend: func(*brokenError) error { return nil },
	}}
}

// Remembers reports whether there is a session.
func (m *Memory) Remembers() bool { return m.session != "" }

// List returns what this session remembers, oldest first. A file that cannot be read is an
// error here; for calls it means that they ask.
func (m *Memory) List() ([]Remembered, error) {
	if !m.Remembers() {
		return nil, nil
	}
	_, list, err := m.f.read()
	return slices.DeleteFunc(list, func(r Remembered) bool { return r.Session != m.session || m.old(r) }), err
}

// Allows reports whether a call of the tool may have been allowed in this session.
func (m *Memory) Allows(tool string) bool {
	list, err := m.List()
	return err == nil && slices.ContainsFunc(list, func(r Remembered) bool { return r.Tool == tool && r.Yes })
}

// Recall finds the answer to the question of r in its scope.
func (m *Memory) Recall(r Remembered) (Remembered, bool) {
	list, err := m.List()
	if err != nil {
		return r, false
	}
	r.Session = m.session
	for _, old := range slices.Backward(list) {
		if old.same(r) && old.Scope == r.Scope {
			return old, true
		}
	}
	return r, false
}

// Remember keeps an answer in place of an older one to the same question.
func (m *Memory) Remember(ctx context.Context, r Remembered) error {
	if !m.Remembers() {
		return nil
	}
	r.Session, r.At = m.session, m.f.dir.Now().UTC().Truncate(time.Second)
	return m.f.update(ctx, func(list []Remembered) ([]Remembered, bool) {
		return append(slices.DeleteFunc(list, func(old Remembered) bool { return m.old(old) || old.same(r) }), r), true
	})
}

// Forget removes the answers of this session for a tool, or all of them for "", and
// returns how many there were.
func (m *Memory) Forget(ctx context.Context, tool string) (int, error) {
	if !m.Remembers() {
		return 0, nil
	}
	forgotten, err := m.f.remove(ctx, func(r Remembered) bool {
		return r.Session == m.session && (tool == "" || r.Tool == tool)
	})
	return len(forgotten), err
}

// old also covers a time in the future: a clock that was wrong must not make an answer last.
func (m *Memory) old(r Remembered) bool {
	age := m.f.dir.Now().Sub(r.At)
	return age > memoryAge || age < -memoryAge
}
