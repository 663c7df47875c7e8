package gitstate

import (
	"context"
	"errors"
	"io/fs"
	"slices"

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

// unknown records what could not be judged. Counting continues, so that the question can name a number.
func (c *counter) unknown(err error) {
	if !c.Unknown {
		c.Unknown, c.Reason = true, reason(err)
	}
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
		c.unknown(err)
		return c.ctx.Err()
	}
	if hasDotGit(entries) {
		r, err := openAt(c.fsys, dir, c.opt)
		if err != nil {
			c.unknown(err)
			return nil
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
	index, err := r.entriesBelow(c.ctx, sub)
	if err != nil {
		c.unknown(err)
		return c.ctx.Err()
	}
	head, err := r.headEntry(c.ctx, sub)
	if err != nil {
		c.unknown(err)
		return c.ctx.Err()
	}
	level := &level{repo: r, sub: sub, onDisk: true, index: index}
	if head != nil && head.isTree() {
		level.head = head
	}
	return c.level(level)
}
