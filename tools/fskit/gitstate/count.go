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

const (
	// maxVisited bounds how many names one count looks at.
	maxVisited = 4 << 20
	// maxTrees bounds how many of HEAD's trees it reads: trees can name each other so that a few of them stand
	// for billions of directories.
	maxTrees = 256 << 10
)

// errLimit ends a count early; it is not a failure.
var errLimit = errors.New("limit reached")

// counter is one CountDirty call.
type counter struct {
	Count
	ctx   context.Context
	fsys  FS
	opt   Options
	limit int
	left  int // names that may still be looked at
	trees int // trees that may still be read
}

func (c *counter) run(dir string) error {
	if dir != "" {
		if err := checkPath(dir); err != nil {
			return err
		}
		info, err := lstat(c.fsys, dir)
		if err != nil {
			return err
		}
		if info != nil && !info.IsDir() {
			return unknownf("%q is not a directory", dir)
		}
	}
	r, err := find(c.fsys, dir, c.opt)
	if err != nil {
		return err
	}
	if r == nil {
		if _, err := outside(c.opt); err != nil {
			return err
		}
		return c.plain(dir)
	}
	return c.repo(r, dir)
}

// unknown records what could not be judged. Counting continues, so that the question can name a number, unless the
// error that it returns says that the time is over.
func (c *counter) unknown(err error) error {
	if !c.Unknown {
		c.Unknown, c.Reason = true, reason(err)
	}
	return c.ctx.Err()
}

func (c *counter) add(s State) error {
	if s == Clean {
		return nil
	}
	c.Dirty++
	if c.limit > 0 && c.Dirty >= c.limit {
		c.More = true
		return errLimit
	}
	return nil
}

var errTooMany = unknownf("there are too many files to look at")

func (c *counter) visit() error {
	if c.left--; c.left < 0 {
		return errTooMany
	}
	return c.ctx.Err()
}

// plain looks for repositories below a directory that is in none.
func (c *counter) plain(dir string) error {
	entries, err := c.readDir(dir)
	if err != nil {
		return c.unknown(err)
	}
	if hasDotGit(entries) {
		r, err := openAt(c.fsys, dir, c.opt)
		if err != nil {
			return c.unknown(err)
		}
		if r != nil {
			return c.repo(r, dir)
		}
	}
	for _, e := range entries {
		if err := c.visit(); err != nil {
			return err
		}
		if e.IsDir() && e.Name() != ".git" {
			if err := c.plain(wspath.JoinSlash(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// readDir gives nothing for a directory that is not there.
func (c *counter) readDir(dir string) ([]fs.DirEntry, error) {
	entries, err := c.fsys.ReadDir(dir)
	if err != nil && !notThere(err) {
		return nil, unreadable(dir, err)
	}
	return entries, nil
}

func hasDotGit(entries []fs.DirEntry) bool {
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == ".git" })
}

// repo counts what is below dir, which lies in the work tree of r.
func (c *counter) repo(r *repo, dir string) error {
	defer r.close()
	sub := r.sub(dir)
	self, index, err := r.indexEntries(c.ctx, sub)
	if self != nil && self.mode == modeGitlink {
		err = errInSubmodule
	}
	if err != nil {
		return c.unknown(err)
	}
	head, err := r.headEntry(c.ctx, sub)
	if err != nil {
		return c.unknown(err)
	}
	level := &level{repo: r, sub: sub, onDisk: true, index: index}
	if head != nil && head.isTree() {
		level.head = head
	}
	return c.level(level)
}

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
			return c.unknown(err)
		}
	}
	if hasDotGit(work) && l.sub != "" {
		if len(l.index) > 0 {
			return c.unknown(unknownf("%q is a repository of its own with files tracked outside", dir))
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
		return c.unknown(err)
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
			err = c.unknown(err)
		} else {
			err = c.add(state)
		}
		if err != nil {
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
