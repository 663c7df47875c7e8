package state

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/jptools/jptools/jptool/wspath"
)

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
	return plainName(path.Base(w.root)) + "-" + hex.EncodeToString(sum[:16])
}

// plainName keeps what is harmless in a file name everywhere.
func plainName(s string) string {
	name := strings.Map(func(r rune) rune {
		if isPlain(r) {
			return r
		}
		return '_'
	}, s)
	name = strings.TrimLeft(name, "._-")
	if len(name) > 40 {
		name = name[:40]
	}
	if name == "" {
		return "root"
	}
	return name
}

func isPlain(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-'
}
