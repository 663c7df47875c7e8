package gitstate

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/jptools/jptools/jptool/wspath"
)

// level is one directory as its three versions show it.
type level struct {
	repo   *repo
	sub    string
	onDisk bool         // a directory in the work tree, too
	index  []indexEntry // everything below it
	head   *treeEntry   // nil: not in HEAD
}

// versions is what one name in a directory is: a file, a directory, or (in different versions) both.
type versions struct {
	entry   *indexEntry
	below   []indexEntry
	head    *treeEntry
	work    fs.DirEntry
	workDir bool
}

// level counts one directory.
func (c *counter) level(l *level) error {
	dir := wspath.JoinSlash(l.repo.top, l.sub)
	var work []fs.DirEntry
	if l.onDisk {
		var err error
		if work, err = c.readDir(dir); err != nil {
			c.unknown(err)
			return c.ctx.Err()
		}
	}
	if hasDotGit(work) && l.sub != "" {
		if len(l.index) > 0 {
			c.unknown(unknownf("%q is a repository of its own with files tracked outside", dir))
			return nil
		}
		if err := c.add(Untracked); err != nil {
			return err
		}
		work = nil // it counts as a whole; staged deletions below it still count
	}
	if l.head != nil {
		if c.trees--; c.trees < 0 {
			return errTooMany
		}
	}
	names, err := l.names(c.ctx, work)
	if err != nil {
		c.unknown(err)
		return c.ctx.Err()
	}
	for _, key := range slices.Sorted(maps.Keys(names)) {
		if err := c.visit(); err != nil {
			return err
		}
		if err := c.name(l, key, names[key]); err != nil {
			return err
		}
	}
	return nil
}

// names merges the three versions of a directory.
func (l *level) names(ctx context.Context, work []fs.DirEntry) (map[string]*versions, error) {
	all := make(map[string]*versions, len(work))
	get := func(key string) *versions {
		n := all[key]
		if n == nil {
			n = &versions{}
			all[key] = n
		}
		return n
	}
	for _, e := range work {
		if e.Name() != ".git" {
			n := get(e.Name())
			n.work, n.workDir = e, e.IsDir()
		}
	}
	if l.head != nil {
		entries, err := l.repo.tree(ctx, l.head.id)
		if err != nil {
			return nil, err
		}
		for i := range entries {
			get(entries[i].name).head = &entries[i]
		}
	}
	skip := len(l.sub)
	if skip > 0 {
		skip++
	}
	for i := 0; i < len(l.index); {
		rest := l.index[i].name[skip:]
		slash := strings.IndexByte(rest, '/')
		if slash < 0 {
			get(rest).entry = &l.index[i] // any stage of a conflict will do
			i++
			continue
		}
		prefix := l.index[i].name[:skip+slash+1]
		n := sort.Search(len(l.index)-i, func(k int) bool { return !strings.HasPrefix(l.index[i+k].name, prefix) })
		get(rest[:slash]).below = l.index[i : i+n]
		i += n
	}
	return all, nil
}

// name counts one name of a directory and what is below it.
func (c *counter) name(l *level, key string, n *versions) error {
	r := l.repo
	sub := wspath.JoinSlash(l.sub, key)
	path := wspath.JoinSlash(r.top, sub)
	headDir := n.head != nil && n.head.isTree()
	submodule := n.entry != nil && n.entry.mode == modeGitlink && n.workDir

	if n.entry != nil || n.head != nil && !headDir || n.work != nil && !n.workDir {
		state, err := c.judge(l, n, path, submodule)
		if err != nil {
			c.unknown(err)
			if c.ctx.Err() != nil {
				return c.ctx.Err()
			}
		} else if err := c.add(state); err != nil {
			return err
		}
	}
	if submodule || !n.workDir && len(n.below) == 0 && !headDir {
		return nil
	}
	below := &level{repo: r, sub: sub, onDisk: n.workDir, index: n.below}
	if headDir {
		below.head = n.head
	}
	return c.level(below)
}

// judge gives the state of the name as a file, link or submodule.
func (c *counter) judge(l *level, n *versions, path string, submodule bool) (State, error) {
	s := subject{
		path: path, index: n.entry,
		head:   func() (*treeEntry, error) { return n.head, nil },
		stored: func() error { return l.repo.listed(n.entry.id) },
	}
	if submodule {
		return c.submodule(l.repo, n, path)
	}
	if n.work != nil && !n.workDir {
		info, err := lstat(c.fsys, path)
		if err != nil {
			return Unknown, err
		}
		if info != nil && !info.IsDir() {
			s.info = info
		}
	}
	return l.repo.judge(c.ctx, s)
}

// submodule compares the commit that is checked out with the one recorded, and looks for changes inside.
func (c *counter) submodule(outer *repo, n *versions, path string) (State, error) {
	if n.entry.conflict {
		return Modified, nil
	}
	if n.head == nil || n.head.mode != n.entry.mode || n.head.id != n.entry.id {
		return Staged, nil
	}
	r, err := openAt(c.fsys, path, c.opt)
	if err != nil {
		return Unknown, err
	}
	if r == nil {
		entries, err := c.readDir(path)
		if err == nil && len(entries) > 0 {
			err = errInSubmodule
		}
		return Clean, err
	}
	commit, ok, err := r.head()
	if err != nil {
		r.close()
		return Unknown, err
	}
	if !ok || commit != n.entry.id || r.algo.size != outer.algo.size {
		r.close()
		return Modified, nil
	}
	inner := &counter{ctx: c.ctx, fsys: c.fsys, opt: c.opt, limit: 1, left: c.left, trees: c.trees}
	err = inner.repo(r, path)
	c.left, c.trees = inner.left, inner.trees
	switch {
	case inner.Dirty > 0:
		return Modified, nil
	case err != nil && !errors.Is(err, errLimit):
		return Unknown, err
	case inner.Unknown:
		return Unknown, &unknownError{text: strings.TrimSpace(inner.Reason)}
	}
	return Clean, nil
}
