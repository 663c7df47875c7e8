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

// Session remembers, for one workspace and one session, which warnings were shown. If it
// cannot be read, a warning is shown again; nothing else depends on it.
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

// Once reports whether key comes up for the first time in this session, and remembers it.
// Without a session every time is the first, and so it is where nothing can be read; an error
// says that it could not be remembered.
func (s *Session) Once(ctx context.Context, key string) (bool, error) {
	if s.name == "" {
		return true, nil
	}
	// Usually the key is known. Then the lock is not needed.
	if data, err := s.dir.Read(s.name); err == nil {
		if _, had := parseSession(data)[key]; had {
			return false, nil
		}
	} else if errors.Is(err, fs.ErrNotExist) {
		s.dir.sweep("", s.dir.Now().Add(-sessionAge))
	}
	had := false
	err := s.dir.Update(ctx, s.name, func(old []byte) ([]byte, error) {
		m := parseSession(old)
		_, had = m[key]
		m[key] = "shown"
		return json.Marshal(m)
	})
	return !had, err
}

func parseSession(data []byte) map[string]string {
	m := map[string]string{}
	if json.Unmarshal(data, &m) != nil || m == nil {
		return map[string]string{}
	}
	return m
}
