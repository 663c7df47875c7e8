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

// roomy has the stack grown at once, while there is next to nothing on it to be moved. In small
// steps it would be moved four times on the way into a command, which takes longer than to parse it.
//
//go:noinline
func roomy(touch bool) (b byte) {
	if touch {
		var frame [14 << 10]byte
		for i := range frame {
			frame[i] = b
		}
		b = frame[len(os.Args)]
	}
	return b
}

func jphost() int {
	roomy(false)
	if launch.IsSupervisor(os.Args) {
		return launch.Supervise(confine.Start)
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
