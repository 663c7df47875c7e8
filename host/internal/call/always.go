package call

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/jptool"
)

// maxEntry bounds the bytes of the arguments that `a` writes down.
const maxEntry = 1 << 10

// entries are the lines of configuration that allow the calls of p for good: for a built-in tool its paths, for any
// other exactly these arguments. They are "" if there is no narrow setting: a move leaves its source behind, and the ids
// of questions of other tools do not say what is asked.
func (k *call) entries(p *proposal) string {
	head := "[[" + settings.JoinKey("conversation", "tools", k.Tool.Name, "unattended") + "]]\n"
	quoted := func(ids []string) string {
		if len(ids) == 0 {
			return ""
		}
		list := make([]string, len(ids))
		for i, id := range ids {
			list[i] = settings.Quote(id)
		}
		return "yes_to = [" + strings.Join(list, ", ") + "]\n"
	}
	switch {
	case k.builtIn() && (len(p.paths) == 0 || k.Tool.Name == "fs_move_file"), !k.builtIn() && len(p.questions) > 0:
		return ""
	case k.builtIn():
		text := ""
		for _, path := range p.paths {
			text += head + "path = " + settings.Quote(path) + "\n" + quoted(p.ids(path))
		}
		return text
	}
	args := canonical(k.args)
	if len(args) > maxEntry {
		return ""
	}
	return head + "arguments = " + settings.Quote(args) + "\n"
}

// always writes the entries to the user's own configuration of this workspace, after the person has seen them. No
// file of the repository is ever written. It reports whether they are written.
func (k *call) always(ctx context.Context, p *proposal) (bool, error) {
	entries, file := k.entries(p), k.State.File(k.OwnConfig)
	answer, err := k.Prompter.Bool(ctx, term.BoolQuestion{
		Message: term.Message{
			Body: "From now on without a question: " + k.lasting(p) + ".\n" +
				"Your own configuration of this workspace gets these lines:\n" +
				"(" + show.Visible(show.Home(file, jptool.LookupEnv(k.Environ, "HOME"))) + ")\n",
			Quoted: entries,
		},
		Prompt: "Write it, and " + k.let(p), Default: term.No(),
	})
	if err != nil || !answer.Yes {
		return false, err
	}
	if err := k.writeEntries(ctx, entries); err != nil {
		k.warn(fmt.Sprintf("nothing was written: %v\nadd the lines yourself, or answer y", err))
		return false, nil
	}
	return true, nil
}

func (k *call) writeEntries(ctx context.Context, entries string) error {
	file := k.State.File(k.OwnConfig)
	switch fi, err := os.Lstat(file); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case !fi.Mode().IsRegular():
		return fmt.Errorf("%s is a link or no regular file, and is not replaced", show.Visible(file))
	case fi.Mode().Perm()&0o200 == 0:
		return fmt.Errorf("%s is read-only", show.Visible(file))
	}
	return k.State.Update(ctx, k.OwnConfig, func(old []byte) ([]byte, error) {
		now := string(old)
		if now != "" {
			now = strings.TrimRight(now, "\n") + "\n\n"
		}
		now += entries
		// What is there is kept as it is. The lines fit behind it unless it writes the same list in another form.
		if _, err := config.ParseLayer([]byte(now), settings.LayerUserWorkspace, file); err != nil {
			return nil, fmt.Errorf("with these lines the file cannot be read: %w", err)
		}
		return []byte(now), nil
	})
}
