package safewrite

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// Orderly keeps the signals that ask the process to end (SIGTERM, SIGINT, SIGHUP) from ending it until stop
// is called, so that the caller can finish or undo what is half done. [Ended] reports whether there was
// one. The caller must be done quickly: the sender of the signal usually kills the process soon after.
func Orderly(ctx context.Context) (_ context.Context, stop func()) {
	signals := []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP}
	signals = slices.DeleteFunc(signals, signal.Ignored) // as nohup has it
	ctx = context.WithoutCancel(ctx)
	if len(signals) == 0 { // none would mean all
		return ctx, func() {}
	}
	return signal.NotifyContext(ctx, signals...)
}

// Ended reports whether a signal asked the process to end since [Orderly] returned this context.
func Ended(ctx context.Context) bool { return ctx.Err() != nil }
