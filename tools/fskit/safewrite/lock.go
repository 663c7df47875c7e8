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

func newLimit(ctx context.Context) *limit {
	return &limit{ctx: ctx, until: time.Now().Add(lockWait), step: time.Millisecond}
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
	return all(ctx, targets, open)
}

// HoldAll is LockAll as [Hold] is Lock, but a file that the system does not let this
// user read is passed over: its File is nil.
func HoldAll(ctx context.Context, targets []*jptool.Target) ([]*File, error) {
	return all(ctx, targets, func(t *jptool.Target) (*File, error) {
		f, err := openToHold(t)
		if errors.Is(err, fs.ErrPermission) {
			return nil, nil
		}
		return f, err
	})
}

type opener func(*jptool.Target) (*File, error)

func all(ctx context.Context, targets []*jptool.Target, open opener) ([]*File, error) {
	limit := newLimit(ctx)
	for {
		files, retry, err := lockAll(limit, targets, open)
		if err == nil && !retry {
			return files, nil
		}
		for _, f := range files {
			if f != nil {
				f.Close()
			}
		}
		if err != nil {
			return nil, err
		}
		if err := limit.pause(targets[0]); err != nil {
			return nil, err
		}
	}
}

// lockAll tries once. retry means that a file was replaced meanwhile: with it the order
// may have changed, so that all locks have to be given back first.
func lockAll(limit *limit, targets []*jptool.Target, open opener) (files []*File, retry bool, err error) {
	files = make([]*File, len(targets))
	infos := make([]os.FileInfo, len(targets))
	order := make([]int, 0, len(targets))
	for i, t := range targets {
		if files[i], err = open(t); err != nil {
			return files, false, err
		}
		if files[i] == nil {
			continue
		}
		files[i].ctx = limit.ctx
		if infos[i], err = files[i].Stat(); err != nil {
			return files, false, err
		}
		for j := range i {
			if files[j] != nil && os.SameFile(infos[i], infos[j]) {
				return files, false, jptool.Errorf(jptool.CodeInvalidArguments, "%s and %s are the same file", jptool.Quote(targets[j].Path()), jptool.Quote(t.Path()))
			}
		}
		order = append(order, i)
	}
	slices.SortFunc(order, func(a, b int) int {
		return compareFiles(files[a], infos[a], files[b], infos[b])
	})
	for _, i := range order {
		if err := limit.wait(files[i]); err != nil {
			return files, false, err
		}
		same, err := files[i].stillThere()
		if err != nil || !same {
			return files, err == nil, err
		}
	}
	return files, false, nil
}

// compareFiles orders by what the lock is on, not by name: the same file may have several.
func compareFiles(a *File, ai fs.FileInfo, b *File, bi fs.FileInfo) int {
	deviceA, inodeA := fileID(a.f, ai)
	deviceB, inodeB := fileID(b.f, bi)
	return cmp.Or(cmp.Compare(deviceA, deviceB), cmp.Compare(inodeA, inodeB), strings.Compare(a.t.Path(), b.t.Path()))
}
