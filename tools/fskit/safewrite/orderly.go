package safewrite

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// Orderly keeps the signals that ask the process to end (SIGTERM, SIGINT, SIGHUP) from ending it until stop
// is called: then what is half done can be finished or undone. [Ended] says whether there was one. Who
// calls it must be done in a moment: whoever sent the signal kills the process soon after.
func Orderly(ctx context.Context) (_ context.Context, stop func()) {
	signals := []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP}
	signals = slices.DeleteFunc(signals, signal.Ignored) // by who started the process (nohup)
	ctx = context.WithoutCancel(ctx)
	if len(signals) == 0 { // none would mean all
		return ctx, func() {}
	}
	return signal.NotifyContext(ctx, signals...)
}

// Ended reports whether a signal asked the process to end since [Orderly] returned this context.
func Ended(ctx context.Context) bool { return ctx.Err() != nil }
