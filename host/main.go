// Command jphost runs tools for language models under typed, declared limits. See
// docs/host.md.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/jptools/jptools/host/internal/cli"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/launch"
	"github.com/jptools/jptools/host/internal/sandbox/confine"
	"github.com/jptools/jptools/host/internal/sandbox/observe"
)

func main() { os.Exit(jphost()) }

func jphost() int {
	if launch.IsSupervisor(os.Args) {
		return launch.Supervise(confine.Starter())
	}
	ctx := observe.Inherit(context.Background(), os.Args)
	if !cli.PassesSignals(os.Args[1:]) {
		ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
		if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
			ends = append(ends, syscall.SIGHUP)
		}
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, ends...)
		defer stop()
	}
	return int(exit.Of(cli.Run(ctx, os.Environ(), os.Stdin, os.Stdout, os.Stderr, os.Args[1:])))
}
