package gitstate

import (
	"context"
	"errors"
	"strings"

	"github.com/jptools/jptools/jptool/wspath"
)

// eachEntry scans the repository's index. There is none before the first "git add".
func (r *repo) eachEntry(ctx context.Context, visit func(*indexEntry) error) error {
	file := wspath.JoinSlash(r.gitDir, "index")
	f, size, err := openRegular(r.fsys, file)
	if notThere(err) {
		return nil
	}
	if err != nil {
		return unreadable(file, err)
	}
	defer f.Close()
	n := 0
	err = scanIndex(f, size, r.algo, func(e *indexEntry) error {
		if n++; n&0xfff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		return visit(e)
	})
	var known indexError
	var u *unknownError
	if errors.As(err, &known) {
		return unknownf("%q: %s", file, known)
	}
	if err != nil && !errors.As(err, &u) && ctx.Err() == nil {
		return unreadable(file, err)
	}
	return err
}

// indexEntry looks up one path; nil if it is not in the index. Any stage counts: a conflict has no stage 0.
func (r *repo) indexEntry(ctx context.Context, sub string) (*indexEntry, error) {
	var found *indexEntry
	err := r.eachEntry(ctx, func(e *indexEntry) error {
		if e.mode == modeGitlink && strings.HasPrefix(sub, e.name+"/") {
			return errInSubmodule
		}
		if e.name == sub {
			found = e
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// errInSubmodule is for files below a submodule that has no repository of its own here.
var errInSubmodule = unknownf("it lies in a submodule that is not checked out")

// entriesBelow copies the entries below a directory of the work tree ("" for all).
func (r *repo) entriesBelow(ctx context.Context, sub string) ([]indexEntry, error) {
	prefix, names := "", 0
	if sub != "" {
		prefix = sub + "/"
	}
	var all []indexEntry
	err := r.eachEntry(ctx, func(e *indexEntry) error {
		name := e.name
		if e.mode == modeGitlink && (name == sub || strings.HasPrefix(prefix, name+"/")) {
			return errInSubmodule
		}
		if !strings.HasPrefix(name, prefix) {
			return nil
		}
		if names += len(name); names > maxIndex {
			return errIndexSize // version 4 names can expand
		}
		if err := checkPath(name); err != nil {
			return errIndex
		}
		all = append(all, *e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}
