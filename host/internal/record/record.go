// Package record keeps the log of calls: one line of JSON for each, in the private state of the workspace. Every
// interface through which a tool can be called writes it with [Log.Append], and `jphost log` reads it.
//
// The log says who called what and what became of it. It does not have what a tool said, and of arguments that hold
// contents only the size and the digest ([Arguments]). It is bounded: when the file is full it becomes the old one, and
// the old one goes.
package record

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"time"

	"github.com/jptools/jptools/host/internal/state"
)

// Entry is one line of the log. Readers skip keys that they do not know.
type Entry struct {
	// Time is when the call began, in UTC.
	Time         time.Time `json:"time"`
	Conversation string    `json:"conversation"`
	// Interface is how the call was made: `run`, or `undo` for what jphost undo did.
	Interface string `json:"interface"`
	Tool      string `json:"tool"`
	Preview   bool   `json:"preview,omitempty"`
	// Arguments are those that [Arguments] returns; none if they could not be used.
	Arguments map[string]any `json:"arguments"`
	// Outcome, Reason, Code and Message are those of the report of the call; Message is at most one line, and absent where
	// it could have content of files.
	Outcome string `json:"outcome"`
	Reason  string `json:"reason,omitempty"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	// Status is the exit status of jphost.
	Status  int      `json:"status"`
	Answers []Answer `json:"answers,omitempty"`
	// Open are the questions that nobody answered.
	Open []string `json:"open,omitempty"`
	// Sandbox is how the call was enforced; nil if nothing was started.
	Sandbox    *Sandbox `json:"sandbox,omitempty"`
	Starts     int      `json:"starts"`
	DurationMS int64    `json:"duration_ms"`
	// Change is the number of the change for jphost undo, 0 if there is none.
	Change int `json:"change,omitempty"`
}

// Answer says what was asked, who answered, and the answer if it was yes or no.
type Answer struct {
	On       string `json:"on"`
	Question string `json:"question,omitempty"`
	By       string `json:"by"`
	Yes      *bool  `json:"yes,omitempty"`
}

// Sandbox is the level of enforcement that a call reached.
type Sandbox struct {
	Mode string `json:"mode"`
	Tier string `json:"tier"`
	ABI  int    `json:"abi,omitempty"`
	// NotEnforced counts what was asked for and could not be enforced.
	NotEnforced int `json:"not_enforced,omitempty"`
}

// Log is the log of a workspace.
type Log struct{ dir *state.Dir }

// Open opens the log in the private state of a workspace.
func Open(workspace *state.Dir) (*Log, error) {
	dir, err := workspace.Log()
	return &Log{dir}, err
}

const (
	current  = "calls.jsonl"
	previous = "calls.1.jsonl"
	lockFile = "calls"
	// most bounds each of the two files, mostLine a line of them; both in bytes.
	most     = 4 << 20
	mostLine = 32 << 10
	// patience bounds the wait for other writers. Who waited in vain writes all the same: lines do not mix, but two may
	// rotate the files at once.
	patience = 2 * time.Second
)

// Append adds a line. It is whole or missing, whatever other processes write at the same time; after a power failure the
// last lines may be missing.
func (l *Log) Append(ctx context.Context, e *Entry) error {
	line, err := json.Marshal(e)
	if len(line) > mostLine {
		short := *e
		short.Arguments = map[string]any{"…": "too many to be logged"}
		line, err = json.Marshal(short)
	}
	if err != nil {
		return err
	}
	// It is written although the call was interrupted.
	unlock, err := l.dir.Lock(context.WithoutCancel(ctx), lockFile, patience)
	switch {
	case err == nil:
		defer unlock()
	case !errors.Is(err, state.ErrLocked):
		return err
	}
	if fi, err := os.Lstat(l.dir.File(current)); err == nil && fi.Size()+int64(len(line)) >= most {
		if err := os.Rename(l.dir.File(current), l.dir.File(previous)); err != nil {
			return err
		}
	}
	return l.dir.AppendLine(current, line)
}

// Read gives each entry to f, the oldest first, and returns how many lines are damaged. Such lines are skipped.
func (l *Log) Read(f func(*Entry)) (damaged int, err error) {
	for _, name := range []string{previous, current} {
		r, err := os.Open(l.dir.File(name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return damaged, err
		}
		data, err := io.ReadAll(io.LimitReader(r, 2*most))
		r.Close()
		if err != nil {
			return damaged, err
		}
		n, _ := entries(data, f)
		damaged += n
	}
	return damaged, nil
}

// entries gives the entries of whole lines to f. It returns how many lines are damaged, and what follows the last line.
func entries(data []byte, f func(*Entry)) (damaged int, rest []byte) {
	for {
		line, after, whole := bytes.Cut(data, []byte{'\n'})
		if !whole {
			return damaged, data
		}
		data = after
		e := &Entry{}
		switch err := json.Unmarshal(line, e); {
		case len(line) == 0:
		case err != nil || e.Time.IsZero() || e.Tool == "":
			damaged++
		default:
			f(e)
		}
	}
}

// followEvery is how often the file is looked at.
const followEvery = 200 * time.Millisecond

// Follow gives the entries to f that are written from now on, until the context ends.
func (l *Log) Follow(ctx context.Context, f func(*Entry)) error {
	var file *os.File
	defer func() { file.Close() }()
	var rest []byte
	for first := true; ; first = false {
		rotated := l.rotated(file) // before it is read to its end, so that nothing is written behind that
		if file != nil {
			more, err := io.ReadAll(file)
			if err != nil {
				return err
			}
			_, rest = entries(append(rest, more...), f)
		}
		if rotated {
			file.Close()
			file, rest = nil, nil
			if next, err := os.Open(l.dir.File(current)); err == nil {
				file = next
				if first {
					_, err = file.Seek(0, io.SeekEnd)
				}
				if err != nil {
					return err
				}
				continue
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followEvery):
		}
	}
}

// rotated reports whether another file than the open one is the current one by now.
func (l *Log) rotated(file *os.File) bool {
	if file == nil {
		return true
	}
	now, err := os.Stat(l.dir.File(current))
	if err != nil {
		return false
	}
	was, err := file.Stat()
	return err != nil || !os.SameFile(now, was)
}
