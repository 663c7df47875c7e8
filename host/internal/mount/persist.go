package mount

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jptools/jptools/host/internal/state"
)

// ConversationFile is the config layer of a conversation, in its state directory.
const ConversationFile = "config.toml"

// StoredIn reads the layer of the conversation whose state directory is dir. One that does
// not parse is an error.
func StoredIn(dir *state.Dir) (ConversationDelta, error) {
	data, err := dir.Read(ConversationFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return ConversationDelta{}, err
	}
	d, err := ParseDelta(data)
	if err != nil {
		err = unusable(dir, err)
	}
	return d, err
}

func unusable(dir *state.Dir, err error) error {
	return fmt.Errorf("%s: %w\nrepair the file, or remove it with everything the conversation was granted", dir.File(ConversationFile), err)
}

// PersistIn stores deltas in the layer of the conversation whose state directory is dir, on top of
// what is stored there, in one locked and durable step. A layer that does not parse is an
// error and stays as it is: read as empty it would lose restrictions.
func PersistIn(dir *state.Dir) func(context.Context, ConversationDelta) error {
	return func(ctx context.Context, later ConversationDelta) error {
		return dir.Update(ctx, ConversationFile, func(old []byte) ([]byte, error) {
			d, err := ParseDelta(old)
			if err != nil {
				return nil, unusable(dir, err)
			}
			d.Add(later)
			return d.TOML()
		})
	}
}
