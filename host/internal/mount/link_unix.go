//go:build !windows

package mount

import (
	"errors"
	"fmt"

	"github.com/jptools/jptools/jptool/wspath"
)

// makeLink makes the symlink in the held workspace.
func makeLink(root *wspath.Dir, _, text string, l Link) error {
	return root.Symlink(text, l.Path.Slash())
}

// removeLink removes the symlink at path if it says text; "" takes any text.
func removeLink(root *wspath.Dir, _, path, text string) error {
	now, err := root.Readlink(path)
	if err != nil {
		return fmt.Errorf("it is no symlink: %w", err)
	}
	if text != "" && now != text {
		return errors.New("somebody replaced it")
	}
	return root.Remove(path)
}
