package safewrite

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jptools/jptools/jptool"
)

// lockWait bounds the wait for a lock; tests shorten it.
var lockWait = 10 * time.Second

// errLocked: somebody else holds the lock.
var errLocked = errors.New("locked by somebody else")

// limit is how long one call may wait for all of its locks.
type limit struct {
	ctx   context.Context
	until time.Time
	step  time.Duration
}

// wait takes the lock of f. It polls, because a wait in the kernel cannot be given up.
func (l *limit) wait(f *File) error {
	for {
		err := tryLock(f.f)
		if err == nil {
			return nil
		}
		if !errors.Is(err, errLocked) {
			return jptool.Errorf(jptool.CodeIO, "%s cannot be locked here, so that changes by others could be lost: %w", jptool.Quote(f.t.Path()), err)
		}
		if err := l.pause(f.t); err != nil {
			return err
		}
	}
}

// pause sleeps a little, or says that there is no time left.
func (l *limit) pause(t *jptool.Target) error {
	if !time.Now().Before(l.until) {
		return &jptool.Error{
			Code: jptool.CodeBusy, Transient: true,
			Message: jptool.Quote(t.Path()) + " is being changed by another call that has not finished; try again later",
		}
	}
	// Jitter, so that many waiting calls do not come in step.
	select {
	case <-l.ctx.Done():
		return &jptool.Error{
			Code: jptool.CodeDeadline, Transient: true,
			Message: "there was no time left to wait for " + jptool.Quote(t.Path()) + ", which another call is changing",
		}
	case <-time.After(l.step/2 + rand.N(l.step)):
	}
	l.step = min(l.step*2, 20*time.Millisecond)
	return nil
}

// LockAll is [Lock] for several files: all of them or none, in an order that is the
// same for every call, so that two calls cannot wait for each other. The Files come
// in the order of targets. Two targets that are the same file, by another name or a hard link, give
// CodeInvalidArguments.
func LockAll(ctx context.Context, targets []*jptool.Target) ([]*File, error) {
	return lockAll(ctx, targets, jptool.Update, false)
}

// HoldAll is LockAll as [Hold] is Lock, but a file that the system does not let this
// user read is passed over: its File is nil.
func HoldAll(ctx context.Context, targets []*jptool.Target) ([]*File, error) {
	return lockAll(ctx, targets, jptool.Read, true)
}

func lockAll(ctx context.Context, targets []*jptool.Target, need jptool.Caps, skip bool) ([]*File, error) {
	l := &limit{ctx: ctx, until: time.Now().Add(lockWait), step: time.Millisecond}
	for {
		files, retry, err := l.tryAll(targets, need, skip)
		if err == nil && !retry {
			return files, nil
		}
		for _, f := range files {
			if f != nil {
				f.Close()
			}
		}
		if err == nil {
			err = l.pause(targets[0])
		}
		if err != nil {
			return nil, err
		}
	}
}

// tryAll is lockAll once. retry means that a file was replaced meanwhile: with it the order
// may have changed, so that all locks have to be given back first.
func (l *limit) tryAll(targets []*jptool.Target, need jptool.Caps, skip bool) (files []*File, retry bool, err error) {
	type opened struct {
		*File
		info          fs.FileInfo
		device, inode uint64
	}
	files = make([]*File, len(targets))
	var order []opened
	for i, t := range targets {
		f, err := open(t, need)
		if skip && errors.Is(err, fs.ErrPermission) {
			continue
		}
		if err != nil {
			return files, false, err
		}
		files[i], f.ctx = f, l.ctx
		info, err := f.Stat()
		if err != nil {
			return files, false, err
		}
		for _, other := range order {
			if os.SameFile(info, other.info) {
				a, b := jptool.Quote(other.t.Path()), jptool.Quote(t.Path())
				return files, false, jptool.Errorf(jptool.CodeInvalidArguments, "%s and %s are the same file", a, b)
			}
		}
		device, inode := fileID(f.f, info)
		order = append(order, opened{f, info, device, inode})
	}
	// By what the lock is on, not by name: the same file may have several.
	slices.SortFunc(order, func(a, b opened) int {
		return cmp.Or(cmp.Compare(a.device, b.device), cmp.Compare(a.inode, b.inode), strings.Compare(a.t.Path(), b.t.Path()))
	})
	for _, f := range order {
		if err := l.wait(f.File); err != nil {
			return files, false, err
		}
		same, err := f.stillThere()
		if err != nil || !same {
			return files, err == nil, err
		}
	}
	return files, false, nil
}
