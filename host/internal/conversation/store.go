package conversation

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jptools/jptools/host/internal/state"
)

// File is the config layer of a conversation, in its state directory.
const File = "config.toml"

// Load reads the layer of the conversation whose state directory is dir. One that does
// not parse is an error.
func Load(dir *state.Dir) (Delta, error) {
	data, err := dir.Read(File)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Delta{}, err
	}
	d, err := Parse(data)
	if err != nil {
		err = unusable(dir, err)
	}
	return d, err
}

func unusable(dir *state.Dir, err error) error {
	return fmt.Errorf("%s: %w\nrepair the file, or remove it with everything the conversation was granted", dir.File(File), err)
}

// Persist stores deltas in the layer of the conversation whose state directory is dir, on top of
// what is stored there, in one locked and durable step. A layer that does not parse is an
// error and stays as it is: read as empty it would lose restrictions.
func Persist(dir *state.Dir) func(context.Context, Delta) error {
	return func(ctx context.Context, later Delta) error {
		return dir.Update(ctx, File, func(old []byte) ([]byte, error) {
			d, err := Parse(old)
			if err != nil {
				return nil, unusable(dir, err)
			}
			d.Add(later)
			return d.TOML()
		})
	}
}
