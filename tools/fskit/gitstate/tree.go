package gitstate

import (
	"bytes"
	"context"
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

// parseTree calls visit for each entry until it returns false.
func parseTree(data []byte, a algo, visit func(mode uint32, name, id []byte) bool) error {
	for len(data) > 0 {
		space := bytes.IndexByte(data, ' ')
		if space < 1 || space > 7 {
			return errObject
		}
		mode, err := strconv.ParseUint(string(data[:space]), 8, 32)
		if err != nil {
			return errObject
		}
		data = data[space+1:]
		end := bytes.IndexByte(data, 0)
		if end < 1 || len(data) < end+1+a.size || bytes.IndexByte(data[:end], '/') >= 0 {
			return errObject
		}
		if !visit(canonMode(uint32(mode)), data[:end], data[end+1:end+1+a.size]) {
			return nil
		}
		data = data[end+1+a.size:]
	}
	return nil
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
	var all []treeEntry
	err = parseTree(data, r.algo, func(mode uint32, name, id []byte) bool {
		e := treeEntry{name: string(name), mode: mode}
		copy(e.id[:], id)
		all = append(all, e)
		return true
	})
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
	at := &treeEntry{mode: modeTree}
	if at.id, err = r.commitTree(ctx, commit); err != nil {
		return nil, err
	}
	for rest := sub; rest != ""; {
		if !at.isTree() {
			return nil, nil
		}
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		data, err := r.object(ctx, at.id, "tree")
		if err != nil {
			return nil, err
		}
		var next *treeEntry
		err = parseTree(data, r.algo, func(mode uint32, n, id []byte) bool {
			if string(n) == name {
				next = &treeEntry{name: name, mode: mode}
				copy(next.id[:], id)
			}
			return next == nil
		})
		if err != nil {
			return nil, unknownf("tree %s is malformed", r.algo.hex(at.id))
		}
		if next == nil {
			return nil, nil
		}
		at = next
	}
	return at, nil
}
