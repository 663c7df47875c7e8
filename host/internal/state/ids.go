package state

import (
	"fmt"
	"strings"
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
	if err := checkID(id); err != nil {
		return "", fmt.Errorf("%s: %w\nuse letters, digits, `.`, `_` and `-`, starting with a letter or digit", from, err)
	}
	return id, nil
}

func checkID(id string) error {
	if len(id) > maxID {
		return fmt.Errorf("the id is %d bytes long, the limit is %d", len(id), maxID)
	}
	if strings.IndexFunc(id, func(r rune) bool { return !isPlain(r) }) >= 0 ||
		strings.IndexByte("._-", id[0]) >= 0 || strings.HasSuffix(id, ".") {
		return fmt.Errorf("%q is not a usable id", id)
	}
	stem, _, _ := strings.Cut(strings.ToLower(id), ".")
	switch {
	case stem == "con", stem == "prn", stem == "aux", stem == "nul",
		len(stem) == 4 && (strings.HasPrefix(stem, "com") || strings.HasPrefix(stem, "lpt")) && stem[3] >= '0' && stem[3] <= '9':
		return fmt.Errorf("%q is a reserved name on Windows", id)
	}
	return nil
}

// SessionID returns the id of the session, for what counts "once per session": JPHOST_SESSION,
// else the terminal session (the id and the start time of its leader, because process ids are
// used again). "" means that there is no session; then nothing is remembered.
func SessionID(getenv func(string) string) (string, error) {
	if id := getenv(EnvSession); id != "" {
		if err := checkID(id); err != nil {
			return "", fmt.Errorf("%s: %w\nuse letters, digits, `.`, `_` and `-`, starting with a letter or digit", EnvSession, err)
		}
		return "env:" + id, nil
	}
	if id := terminalSession(getenv); id != "" {
		return "terminal:" + id, nil
	}
	return "", nil
}
