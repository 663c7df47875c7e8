package state

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"time"
)

// sessionAge is how long what a session remembered is kept.
const sessionAge = 30 * 24 * time.Hour

// Session remembers, for one workspace and one session, which warnings were shown and
// which answers were to be remembered. It holds comfort, not consent: whoever
// cannot read it asks again.
type Session struct {
	dir  *Dir
	name string // "" remembers nothing
}

// Session returns what the session id, as SessionID gave it, remembers in this workspace.
func (d *Dir) Session(id string) (*Session, error) {
	sub, err := d.sub("sessions")
	if err != nil || id == "" {
		return &Session{}, err
	}
	sum := sha256.Sum256([]byte(id))
	return &Session{dir: sub, name: hex.EncodeToString(sum[:16]) + ".json"}, nil
}

// Recall returns the value remembered under key.
func (s *Session) Recall(key string) (value string, ok bool) {
	if s.name == "" {
		return "", false
	}
	data, err := s.dir.Read(s.name)
	if err != nil {
		return "", false
	}
	value, ok = parseSession(data)[key]
	return value, ok
}

// Remember keeps a value for the rest of the session; without a session it does nothing.
func (s *Session) Remember(ctx context.Context, key, value string) error {
	_, err := s.remember(ctx, key, value)
	return err
}

// Once reports whether key comes up for the first time in this session, and
// remembers it. Without a session every time is the first.
func (s *Session) Once(ctx context.Context, key string) (bool, error) {
	had, err := s.remember(ctx, key, "shown")
	return !had, err
}

func (s *Session) remember(ctx context.Context, key, value string) (had bool, err error) {
	if s.name == "" {
		return false, nil
	}
	if _, err := s.dir.sys.FS.Lstat(s.dir.File(s.name)); errors.Is(err, fs.ErrNotExist) {
		s.dir.sweep("", s.dir.Now().Add(-sessionAge))
	}
	err = s.dir.Update(ctx, s.name, func(old []byte) ([]byte, error) {
		m := parseSession(old)
		_, had = m[key]
		m[key] = value
		return json.Marshal(m)
	})
	return had, err
}

func parseSession(data []byte) map[string]string {
	m := map[string]string{}
	if json.Unmarshal(data, &m) != nil || m == nil {
		return map[string]string{}
	}
	return m
}
