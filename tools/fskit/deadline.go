package fskit

import (
	"context"
	"time"

	"github.com/jptools/jptools/jptool/toolmain"
)

// DefaultDeadline is how long a call that changes something may take, in seconds, where
// the option `deadline` does not say otherwise.
const DefaultDeadline = 60

// Bound bounds a call by its option `deadline`, in seconds; 0 is no limit. What would read longer
// then fails with CodeDeadline, and what was begun is undone. The caller must call cancel.
func Bound(c *toolmain.Call, seconds *int) (cancel context.CancelFunc) {
	s := DefaultDeadline
	if seconds != nil {
		s = *seconds
	}
	if s <= 0 {
		return func() {}
	}
	c.Context, cancel = context.WithTimeout(c.Context, time.Duration(s)*time.Second)
	return cancel
}
