package call

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/settings"
)

// builtIn reports whether the command of the tool is the one that comes with the host, so that what it says of its
// calls can be believed: which paths they change, what its questions mean, what it wrote.
func (k *call) builtIn() bool { return k.Tool.Command.Origin.Layer == settings.LayerDefault }

// written is what the calls of this conversation wrote.
func (k *call) written() (*consent.Written, error) {
	dir, err := k.State.Conversation(k.Conversation)
	if err != nil {
		return nil, err
	}
	return consent.OpenWritten(dir), nil
}

// wrote remembers what a successful call wrote. Content that was changed in parts is the conversation's own only if
// nothing in it was somebody else's before, that is, if the tool did not have to ask about uncommitted work.
func (k *call) wrote(ctx context.Context, out output) {
	if !k.builtIn() || k.Preview {
		return
	}
	var data struct {
		Path   string `json:"path"`
		Digest string `json:"digest"`
		DryRun bool   `json:"dry_run"`
		Source string `json:"source"`
		Target string `json:"target"`
		Files  []struct {
			Path   string `json:"path"`
			Digest string `json:"digest"`
		} `json:"files"`
	}
	if json.Unmarshal(rawData(out.Data), &data) != nil || data.DryRun {
		return
	}
	w, err := k.written()
	if err != nil {
		return
	}
	files := map[string]string{}
	switch k.Tool.Name {
	case "fs_create_file":
		files[data.Path] = data.Digest
	case "fs_modify_file":
		for _, f := range data.Files {
			if files[f.Path] = f.Digest; slices.Contains(out.Answered, "modify_dirty_file") {
				files[f.Path] = ""
			}
		}
	case "fs_delete_file":
		files[data.Path] = ""
	case "fs_move_file":
		files[data.Source], files[data.Target] = "", w.List()[data.Source]
	}
	if len(files) > 0 {
		_ = w.Note(ctx, files) // else a person is asked again
	}
}
