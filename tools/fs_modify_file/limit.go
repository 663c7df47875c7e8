package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/jptools/jptools/jptool"
)

// limited runs work until the time is up. Not all work can be interrupted, a search by the
// standard library least of all, so it runs on a goroutine of its own, which is left behind
// then: nothing of the change may be touched after that. Work that writes has no place here.
func (ch *change) limited(ctx context.Context, work func() error) error {
	type result struct {
		err   error
		fault any
	}
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if fault := recover(); fault != nil {
				r.fault = fmt.Sprintf("%v\n%s", fault, debug.Stack())
			}
			done <- r
		}()
		r.err = work()
	}()
	select {
	case r := <-done:
		switch {
		case r.fault != nil:
			panic(r.fault)
		case ctxDone(r.err):
			return timeUp(ctx)
		}
		return r.err
	case <-ctx.Done():
		ch.left = true
		return timeUp(ctx)
	}
}

// timeUp returns an error when the call has no time any more.
func timeUp(ctx context.Context) error {
	err := ctx.Err()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return jptool.Errorf(jptool.CodeDeadline, "the call was cancelled; nothing was changed")
	}
	return jptool.Errorf(jptool.CodeDeadline, "the time limit was reached before everything was matched; nothing was changed. Use plain text or simpler regexes, fewer patterns, or smaller files")
}

func ctxDone(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
