package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/launch"
	"github.com/jptools/jptools/host/internal/sandbox/confine"
	"github.com/jptools/jptools/host/internal/sandbox/sysprog/nofile"
	"github.com/jptools/jptools/sandbox/observe"
)

// Process is [Run] as all that a process does, with the context that it needs for that; args begin with
// the program. The command line is read first: everything before the command itself depends on what it says.
func Process(environ []string, stdin io.Reader, stdout, stderr io.Writer, args []string) error {
	if _, most := nofile.Limit(); most > 0 && most < fewestFiles { // the Go runtime would end in a crash
		err := exit.Errorf(exit.Host, "no more than %d files can be open here, and jphost needs %d at least\nraise the limit: ulimit -n 256", most, fewestFiles)
		newOutput(environ, stdout, stderr).failure(err)
		return err
	}
	ctx := observe.Inherit(context.Background(), args)
	l, wrong := read(args[1:])
	launcher := warm(ctx, l, wrong)
	// What is ignored, as nohup and shells without job control have it, stays ignored.
	if ends := slices.DeleteFunc([]os.Signal{os.Interrupt, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP}, signal.Ignored); len(ends) > 0 && !l.passesSignals() {
		// It is not stopped: the process ends after this, and for each signal that takes as long again.
		ctx, _ = signal.NotifyContext(ctx, ends...)
	}
	return l.start(ctx, wrong, launcher, environ, stdin, stdout, stderr, args[1:])
}

// fewestFiles is the least limit of open files with which a call without namespaces starts.
const fewestFiles = 16

// passesSignals reports whether the command leaves it to another program what signals mean: then they do not end
// the context.
func (l *line) passesSignals() bool {
	_, is := l.run.(*sandboxExecCmd)
	return is
}

// warm starts a supervisor as early as can be when a tool is to be run: a fresh process needs longer
// until it can take a call than the host for all that comes before the call. It returns nil where none is
// needed.
func warm(ctx context.Context, l *line, wrong error) *launch.Launcher {
	c, is := l.run.(*runCmd)
	if !is || wrong != nil || c.DryRun || c.ExplainDenials && observe.From(ctx) == nil { // the observed jphost has its own
		return nil
	}
	warm := launch.New(confine.Start)
	warm.Warm()
	return warm
}
