package ask

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// maxEdited bounds what is read back.
const maxEdited = 16 << 20

// Edit opens $VISUAL, else $EDITOR, else vi (notepad on Windows) on a temporary file, mode 0600, in the
// private directory, and returns its content when the editor ends with status 0. The
// file is removed in any case. Like git it hands the variable to the shell, since it
// may hold arguments; it is the person's own setting.
func (t *Terminal) Edit(ctx context.Context, q EditQuestion) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lost {
		return "", ErrCancelled
	}
	if t.opts.PrivateDir == nil {
		return "", errors.New("there is no private directory to edit in")
	}
	dir, err := t.opts.PrivateDir()
	if err != nil {
		return "", err
	}
	if strings.ContainsAny(q.Suffix, `*/\`) {
		return "", fmt.Errorf("%q is not usable as the ending of a file name", q.Suffix)
	}
	// CreateTemp makes it 0600 and new.
	f, err := os.CreateTemp(dir, "edit-*"+q.Suffix)
	if err != nil {
		return "", fmt.Errorf("making a file to edit: %w", err)
	}
	path := f.Name()
	defer os.Remove(path)
	_, err = io.WriteString(f, q.Text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return "", fmt.Errorf("writing the file to edit: %w", err)
	}
	if err := t.runEditor(ctx, path); err != nil {
		return "", err
	}
	return readEdited(path)
}

func (t *Terminal) runEditor(ctx context.Context, path string) error {
	// A blank one would leave the shell to run the file itself.
	editor := strings.TrimSpace(t.opts.Getenv("VISUAL"))
	if editor == "" {
		editor = strings.TrimSpace(t.opts.Getenv("EDITOR"))
	}
	var cmd *exec.Cmd
	if runtime.GOOS == "windows" {
		if editor == "" {
			editor = "notepad"
		}
		words := strings.Fields(editor)
		cmd = exec.CommandContext(ctx, words[0], append(words[1:], path)...)
	} else {
		if editor == "" {
			editor = "vi"
		}
		cmd = exec.CommandContext(ctx, "/bin/sh", "-c", editor+` "$@"`, editor, path)
	}
	cmd.Dir = filepath.Dir(path)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = t.in, t.out, t.out
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("the editor %s failed (%w); nothing was changed\nset EDITOR to a program that waits until the file is closed", Visible(editor), err)
	}
	return nil
}

// readEdited reads by name: many editors replace the file.
func readEdited(path string) (string, error) {
	fi, err := os.Lstat(path)
	if err != nil {
		return "", fmt.Errorf("%w: the editor removed the file", ErrCancelled)
	}
	if !fi.Mode().IsRegular() || fi.Size() > maxEdited {
		return "", errors.New("the edited file is too large or not a regular file; nothing was changed")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("reading the edited file: %w", err)
	}
	return string(data), nil
}
