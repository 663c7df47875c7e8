package gitstate

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"
)

// treeEntry is one line of a tree.
type treeEntry struct {
	name string
	mode uint32
	id   oid
}

func (e *treeEntry) isTree() bool { return e.mode == modeTree }

// parseTree returns the entries of a tree in their order.
func parseTree(data []byte, a algo) ([]treeEntry, error) {
	var all []treeEntry
	for len(data) > 0 {
		digits, rest, _ := bytes.Cut(data, []byte{' '})
		mode, err := strconv.ParseUint(string(digits), 8, 32)
		if err != nil || len(digits) > 7 {
			return nil, errObject
		}
		name, rest, ended := bytes.Cut(rest, []byte{0})
		if !ended || len(name) == 0 || len(rest) < a.size || bytes.IndexByte(name, '/') >= 0 {
			return nil, errObject
		}
		e := treeEntry{name: string(name), mode: canonMode(uint32(mode))}
		data = rest[copy(e.id[:a.size], rest):]
		all = append(all, e)
	}
	return all, nil
}

// canonMode folds the modes of old trees (100664) into those that the index has.
func canonMode(m uint32) uint32 {
	switch {
	case m&modeType == modeSymlink:
		return modeSymlink
	case m&modeType == modeTree:
		return modeTree
	case m&modeType != 0o100000:
		return modeGitlink
	case m&0o100 != 0:
		return modeExec
	default:
		return modeFile
	}
}

// tree reads a whole tree.
func (r *repo) tree(ctx context.Context, id oid) ([]treeEntry, error) {
	data, err := r.object(ctx, id, "tree")
	if err != nil {
		return nil, err
	}
	all, err := parseTree(data, r.algo)
	if err != nil {
		return nil, unknownf("tree %s is malformed", r.algo.hex(id))
	}
	return all, nil
}

// headEntry looks a path up in HEAD's tree, "" being the tree itself; nil if HEAD does not have it.
func (r *repo) headEntry(ctx context.Context, sub string) (*treeEntry, error) {
	commit, ok, err := r.head()
	if err != nil || !ok {
		return nil, err
	}
	entry := &treeEntry{mode: modeTree}
	if entry.id, err = r.commitTree(ctx, commit); err != nil {
		return nil, err
	}
	for rest := sub; rest != ""; {
		if !entry.isTree() {
			return nil, nil
		}
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		entries, err := r.tree(ctx, entry.id)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(entries, func(e treeEntry) bool { return e.name == name })
		if i < 0 {
			return nil, nil
		}
		entry = &entries[i]
	}
	return entry, nil
}
