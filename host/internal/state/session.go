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
	if _, err := s.dir.Read(s.name); errors.Is(err, fs.ErrNotExist) {
		s.dir.sweep("", s.dir.Now().Add(-sessionAge))
	}
	had := false
	err := s.dir.Update(ctx, s.name, func(old []byte) ([]byte, error) {
		shown := map[string]string{}
		if json.Unmarshal(old, &shown) != nil || shown == nil {
			shown = map[string]string{} // not readable: every warning is shown again
		}
		had = shown[key] != ""
		shown[key] = "shown"
		return json.Marshal(shown)
	})
	return !had, err
}
