package state

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/jptool/wspath"
)

// The environment variables that name a conversation and a session.
const (
	EnvConversation = "JPHOST_CONVERSATION"
	EnvSession      = "JPHOST_SESSION"
)

// DefaultConversation is the conversation of calls that name none.
const DefaultConversation = "default"

// maxID keeps file names made of an id within every file system's limit.
const maxID = 128

// ConversationID returns the id given by flag, else by JPHOST_CONVERSATION, else
// DefaultConversation. An id is used as a file name, so it holds only ASCII letters,
// digits, `.`, `_` and `-`, starts with a letter or digit, does not end in a dot,
// and is no name that Windows reserves.
func ConversationID(flag string, getenv func(string) string) (string, error) {
	id, from := flag, "--conversation"
	if id == "" {
		id, from = getenv(EnvConversation), EnvConversation
	}
	if id == "" {
		return DefaultConversation, nil
	}
	return checkID(from, id)
}

var (
	usableID   = settings.Pattern(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9_-])?$`)
	reservedID = settings.Pattern(`^(?i:con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)`)
)

// checkID returns an id that can be used as a file name; from says where it was given.
func checkID(from, id string) (string, error) {
	wrong := ""
	switch {
	case len(id) > maxID:
		wrong = fmt.Sprintf("the id is %d bytes long, the limit is %d", len(id), maxID)
	case !usableID().MatchString(id):
		wrong = fmt.Sprintf("%q is not a usable id", id)
	case reservedID().MatchString(id):
		wrong = fmt.Sprintf("%q is a reserved name on Windows", id)
	default:
		return id, nil
	}
	return "", fmt.Errorf("%s: %s\nuse letters, digits, `.`, `_` and `-`, starting with a letter or digit", from, wrong)
}

// SessionID returns the id of the session, for what counts "once per session": JPHOST_SESSION,
// else the terminal session (the id and the start time of its leader, because process ids are
// used again). "" means that there is no session; then nothing is remembered.
func SessionID(getenv func(string) string) (string, error) {
	if id := getenv(EnvSession); id != "" {
		_, err := checkID(EnvSession, id)
		return "env:" + id, err
	}
	if id := terminalSession(getenv); id != "" {
		return "terminal:" + id, nil
	}
	return "", nil
}

// Workspace is the identity of a workspace: its canonical root path. Only
// OpenWorkspace makes one.
type Workspace struct{ root string }

// OpenWorkspace resolves the directory root to a workspace. The error says what to do
// when there is no such directory.
func OpenWorkspace(root string) (Workspace, error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return Workspace{}, fmt.Errorf("the workspace %q: %w", root, err)
	}
	canonical, err := wspath.CanonicalRoot(abs)
	if err != nil {
		return Workspace{}, fmt.Errorf("the workspace %q cannot be opened: %w\nname an existing directory", root, wspath.Bare(err))
	}
	if fi, err := os.Stat(filepath.FromSlash(canonical)); err != nil || !fi.IsDir() {
		return Workspace{}, fmt.Errorf("the workspace %q is not a directory\nname an existing directory", root)
	}
	return Workspace{canonical}, nil
}

// Root is the canonical absolute path, with slashes.
func (w Workspace) Root() string { return w.root }

// ID is `<name>-<digest>`: the name is for people, the digest (128 bits of the SHA-256
// of the canonical path) is what tells workspaces apart.
func (w Workspace) ID() string {
	sum := sha256.Sum256([]byte(w.root))
	name := strings.TrimLeft(notPlain().ReplaceAllString(path.Base(w.root), "_"), "._-")
	return fmt.Sprintf("%s-%x", cmp.Or(name[:min(len(name), 40)], "root"), sum[:16])
}

// notPlain is what is not harmless in a file name everywhere.
var notPlain = settings.Pattern(`[^A-Za-z0-9._-]`)

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
	return &Session{dir: sub, name: fmt.Sprintf("%x.json", sum[:16])}, nil
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
