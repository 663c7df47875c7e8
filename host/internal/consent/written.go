package consent

import (
	"context"
	"slices"

	"github.com/jptools/jptools/host/internal/state"
)

// maxWritten is how many files a conversation keeps, the latest ones.
const maxWritten = 500

// Written is what the calls of one conversation wrote: by canonical path, the digest of the content. While a file has
// it, nobody else's uncommitted work is in it. If the list is lost, a person is asked more often.
type Written struct{ f records[WrittenFile] }

// WrittenFile is one file.
type WrittenFile struct {
	Path   string `json:"path"`
	Digest string `json:"digest"`
}

// OpenWritten returns the list kept in dir, the directory of a conversation.
func OpenWritten(dir *state.Dir) *Written {
	return &Written{records[WrittenFile]{
		dir: dir, name: "written.json", key: "files", help: "remove the file: what it says is asked for again",
		mend: func(*brokenError) error { return nil },
	}}
}

// List returns the digests by path.
func (w *Written) List() map[string]string {
	_, list, err := w.f.read()
	if err != nil {
		return nil
	}
	files := map[string]string{}
	for _, f := range list {
		files[f.Path] = f.Digest
	}
	return files
}

// Note changes the list after a call: files has the new digest of each path, "" where the call left something that is
// not the conversation's own.
func (w *Written) Note(ctx context.Context, files map[string]string) error {
	return w.f.update(ctx, func(list []WrittenFile) ([]WrittenFile, bool) {
		was := len(list)
		list = slices.DeleteFunc(list, func(f WrittenFile) bool { _, ok := files[f.Path]; return ok })
		changed := len(list) != was
		for path, digest := range files {
			if digest != "" {
				list, changed = append(list, WrittenFile{path, digest}), true
			}
		}
		return list[max(0, len(list)-maxWritten):], changed
	})
}
