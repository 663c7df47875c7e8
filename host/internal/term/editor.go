package term

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/jptools/jptools/host/internal/show"
)

// maxEdited bounds what is read back.
const maxEdited = 16 << 20

// Edit opens $VISUAL, else $EDITOR, else vi (notepad on Windows) on a temporary file, mode 0600, in a new directory in
// the private directory, and returns the content of the file if the editor ends with status 0. The directory is removed
// in any case, with everything that the editor left there; if this process is killed, the next Edit removes it. Like
// git, Edit hands the variable to the shell, because it may hold arguments; it is the person's own setting.
func (t *Terminal) Edit(ctx context.Context, q EditQuestion) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lost {
		return "", ErrCancelled
	}
	dir, err := t.opts.PrivateDir()
	if err != nil {
		return "", err
	}
	sweepEdits(dir)
	own, err := os.MkdirTemp(dir, editPrefix)
	if err != nil {
		return "", fmt.Errorf("making a directory to edit in: %w", err)
	}
	lock := editLock(own)
	_, _ = lock.TryLock() // if locks do not work, nobody sweeps either, because that takes a lock
	defer func() {
		_ = lock.Close()
		_ = os.RemoveAll(own)
	}()
	path := filepath.Join(own, "edit"+q.Suffix)
	if err := os.WriteFile(path, []byte(q.Text), 0o600); err != nil {
		return "", fmt.Errorf("writing the file to edit: %w", err)
	}
	if err := t.runEditor(ctx, path); err != nil {
		return "", err
	}
	return readEdited(path)
}

const (
	editPrefix = "edit-"
	// unlocked is the age from which an unlocked directory counts as left behind by a killed process. It is long enough
	// for a process to lock its new directory.
	unlocked = time.Minute
)

// editLock is a file in the directory, because a file can be locked on every system. Only the person's editor works in
// the directory, so nobody replaces the file.
func editLock(dir string) *flock.Flock {
	return flock.New(filepath.Join(dir, ".lock"), flock.SetPermissions(0o600))
}

// sweepEdits removes the directories that killed processes left behind.
func sweepEdits(dir string) {
	left, _ := os.ReadDir(dir)
	for _, e := range left {
		is, err := e.Info()
		if err != nil || !is.IsDir() || !strings.HasPrefix(e.Name(), editPrefix) || time.Since(is.ModTime()) < unlocked {
			continue
		}
		own := filepath.Join(dir, e.Name())
		lock := editLock(own)
		ok, err := lock.TryLock()
		_ = lock.Close()
		if ok && err == nil {
			_ = os.RemoveAll(own)
		}
	}
}

func (t *Terminal) runEditor(ctx context.Context, path string) error {
	// With a blank editor the shell would run the file itself.
	editor := cmp.Or(strings.TrimSpace(t.opts.Getenv("VISUAL")), strings.TrimSpace(t.opts.Getenv("EDITOR")))
	var cmd *exec.Cmd
	if runtime.GOOS == "windows" {
		words := strings.Fields(cmp.Or(editor, "notepad"))
		cmd = exec.CommandContext(ctx, words[0], append(words[1:], path)...)
	} else {
		editor = cmp.Or(editor, "vi")
		cmd = exec.CommandContext(ctx, "/bin/sh", "-c", editor+` "$@"`, editor, path)
	}
	cmd.Dir = filepath.Dir(path)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = t.in, t.out, t.out
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("the editor %s failed (%w); nothing was changed\nset EDITOR to a program that waits until the file is closed", show.Visible(editor), err)
	}
	return nil
}

// readEdited reads the file by its name, because many editors replace it.
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
