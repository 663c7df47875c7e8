package consent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"github.com/jptools/jptools/host/internal/state"
)

// memoryAge is how long an answer is kept at most, however long its session lasts.
const memoryAge = 30 * 24 * time.Hour

// Remembered is an answer that a person gave for the rest of a session.
type Remembered struct {
	Tool string `json:"tool"`
	// On says what was asked: whether a call may be made, a question of the tool, and so on.
	// Question is the id of a question, or a path.
	On       string    `json:"on"`
	Question string    `json:"question,omitempty"`
	Yes      bool      `json:"yes"`
	At       time.Time `json:"at"`
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
	return &Memory{session: hex.EncodeToString(sum[:16]), f: records[Remembered]{
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
