package call

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/jptools/jptools/host/internal/state"
)

// memoryFile lies in the private state of the workspace, for all sessions.
const memoryFile = "remembered.json"

// memoryAge is how long an answer is kept at most, however long its session lasts.
const memoryAge = 30 * 24 * time.Hour

// What an answer was given to.
const (
	// OnRun and OnPreview: whether a call, or its preview, may be made.
	OnRun     = "run"
	OnPreview = "preview"
	// OnQuestion: a question of the tool.
	OnQuestion = "question"
	// OnSensitive: that the tool may reach places of secrets.
	OnSensitive = "sensitive"
	// OnApproval: where an external path may lead. Only a no is remembered here.
	OnApproval = "approval"
)

// Remembered is an answer that a person gave for the rest of a session.
type Remembered struct {
	Tool string `json:"tool"`
	// On is one of OnRun, OnPreview, OnQuestion, OnSensitive and OnApproval; Question the id of a question, or the path.
	On       string    `json:"on"`
	Question string    `json:"question,omitempty"`
	Yes      bool      `json:"yes"`
	At       time.Time `json:"at"`
	// Scope is a digest of what it was answered for: of the command and the policy of the
	// tool, or of the places. For anything else it does not count.
	Scope string `json:"scope"`
	// Session is a digest of the session's id.
	Session string `json:"session"`
}

// Memory holds the answers of one session in one workspace. Without a session nothing is
// remembered, and every answer is for one call.
type Memory struct {
	dir     *state.Dir
	session string
}

// OpenMemory returns the memory of the session id, as state.SessionID gave it.
func OpenMemory(dir *state.Dir, id string) *Memory {
	if id == "" {
		return &Memory{}
	}
	return &Memory{dir: dir, session: scope(id)}
}

// Remembers reports whether there is a session.
func (m *Memory) Remembers() bool { return m.session != "" }

// List returns what this session remembers, oldest first. A file that cannot be read is an
// error here; for calls it means that they ask.
func (m *Memory) List() ([]Remembered, error) {
	if !m.Remembers() {
		return nil, nil
	}
	data, err := m.dir.Read(memoryFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all, err := parseMemory(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w\nremove the file: its answers are asked for again", m.dir.File(memoryFile), err)
	}
	return slices.DeleteFunc(all, func(r Remembered) bool { return r.Session != m.session || m.old(r) }), nil
}

// Forget removes the answers of this session for a tool, or all of them for "", and
// returns how many there were.
func (m *Memory) Forget(ctx context.Context, tool string) (int, error) {
	if !m.Remembers() {
		return 0, nil
	}
	n := 0
	err := m.update(ctx, func(r Remembered) bool {
		gone := r.Session == m.session && (tool == "" || r.Tool == tool)
		if gone {
			n++
		}
		return gone
	})
	return n, err
}

// recall finds the answer for r, of which At and Yes do not count.
func (m *Memory) recall(r Remembered) (Remembered, bool) {
	list, err := m.List()
	if err != nil {
		return r, false
	}
	for _, old := range slices.Backward(list) {
		if old.same(r) && old.Scope == r.Scope {
			return old, true
		}
	}
	return r, false
}

// remember keeps an answer in place of an older one.
func (m *Memory) remember(ctx context.Context, r Remembered) error {
	if !m.Remembers() {
		return nil
	}
	r.Session, r.At = m.session, m.dir.Now().UTC().Truncate(time.Second)
	return m.update(ctx, func(old Remembered) bool { return old.Session == m.session && old.same(r) }, r)
}

// update removes answers, those that are too old too, and adds others. A file that cannot
// be understood is replaced: it only spares questions.
func (m *Memory) update(ctx context.Context, remove func(Remembered) bool, add ...Remembered) error {
	return m.dir.Update(ctx, memoryFile, func(old []byte) ([]byte, error) {
		list, err := parseMemory(old)
		if err != nil {
			list = nil
		}
		list = slices.DeleteFunc(list, func(r Remembered) bool { return m.old(r) || remove(r) })
		if list = append(list, add...); len(list) == 0 && old == nil {
			return nil, nil
		}
		return json.Marshal(list)
	})
}

func (m *Memory) old(r Remembered) bool {
	age := m.dir.Now().Sub(r.At)
	return age > memoryAge || age < -memoryAge
}

func (r Remembered) same(o Remembered) bool {
	return r.Tool == o.Tool && r.On == o.On && r.Question == o.Question
}

func parseMemory(data []byte) ([]Remembered, error) {
	if len(data) == 0 {
		return nil, nil
	}
	var list []Remembered
	err := json.Unmarshal(data, &list)
	return list, err
}

// scope is a digest of the parts.
func scope(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// slot is where the answer of this call to something is remembered. It counts only while the
// tool is the same program under the same policy.
func (k *call) slot(on, question string) Remembered {
	c := k.Tool.Command
	return Remembered{Tool: k.Tool.Name, On: on, Question: question, Scope: scope(k.report.Policy.Digest, fmt.Sprint(c.Shell), c.Program, strings.Join(c.Args, "\x00"))}
}

// recall finds the answer of an earlier call of this session and reports it.
func (k *call) recall(r Remembered) (Remembered, bool) {
	got, ok := k.Memory.recall(r)
	if ok {
		k.answered(r.On, r.Question, BySession)
	}
	return got, ok
}

// keep remembers an answer. That it cannot is no reason to stop the call.
func (k *call) keep(ctx context.Context, r Remembered, yes bool) {
	r.Yes = yes
	if err := k.Memory.remember(ctx, r); err != nil {
		k.warn(fmt.Sprintf("the answer holds for this call only: %v", err))
	}
}

// answered reports by whom something was answered.
func (k *call) answered(on, question, by string) {
	k.report.Answers = append(k.report.Answers, Answered{On: on, Question: question, By: by})
}
