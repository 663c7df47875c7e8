package call

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/jptools/jptools/host/internal/consent"
)

func (k *call) builtIn() bool { return k.Tool.BuiltIn() }

// written is what the calls of this conversation wrote.
func (k *call) written() (*consent.Written, error) {
	dir, err := k.State.Conversation(k.Conversation)
	if err != nil {
		return nil, err
	}
	return consent.OpenWritten(dir), nil
}

// changes are what the data of a built-in tool says of the files that a successful call changed.
type changes struct {
	changedFile
	DryRun bool          `json:"dry_run"`
	Method string        `json:"method"`
	Source string        `json:"source"`
	Target string        `json:"target"`
	Files  []changedFile `json:"files"`
	// Overwritten: the target of a move was there; Uncommitted: a file that was replaced had work that git does not have.
	Overwritten bool `json:"overwritten"`
	Uncommitted bool `json:"uncommitted"`
}

type changedFile struct {
	Path      string `json:"path"`
	OldDigest string `json:"old_digest"`
	Digest    string `json:"digest"`
}

func changesOf(out output) (c changes) {
	if out.success() && json.Unmarshal(rawData(out.Data), &c) != nil {
		return changes{}
	}
	return c
}

// wrote remembers what a successful call wrote. Content is the conversation's own only if the call really put it there and
// found nobody's uncommitted work there before: the new content may have that in it.
func (k *call) wrote(ctx context.Context, out output) {
	if !k.builtIn() || k.Preview {
		return
	}
	data := changesOf(out)
	if data.DryRun {
		return
	}
	w, err := k.written()
	if err != nil {
		return
	}
	files := map[string]string{}
	switch k.Tool.Name {
	case "fs_create_file":
		switch {
		case data.Method == "unchanged":
		case data.Uncommitted:
			files[data.Path] = ""
		default:
			files[data.Path] = data.Digest
		}
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
		if data.Overwritten {
			files[data.Target] = ""
		}
	}
	if len(files) > 0 {
		_ = w.Note(ctx, files) // else a person is asked again
	}
}
