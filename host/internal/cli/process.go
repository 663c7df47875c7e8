package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/sandbox"
	"github.com/jptools/jptools/sandbox/fit"
)

// Process is [Run] as all that a process does, with the context that it needs for that; args begin with
// the program. The command line is read first: everything before the command itself depends on what it says.
func Process(environ []string, stdin io.Reader, stdout, stderr io.Writer, args []string) error {
	if most := openFiles(); most > 0 && most < fewestFiles { // the Go runtime would end in a crash
		err := exit.Errorf(exit.Host, "no more than %d files can be open here, and jphost needs %d at least\nraise the limit: ulimit -n 256", most, fewestFiles)
		fail(term.NewOutput(environ, stdout, stderr), err)
		return err
	}
	ctx := context.Background()
	l, wrong := read(args[1:])
	helpers := warm(l, wrong)
	// What is ignored, as nohup and shells without job control have it, stays ignored.
	if ends := slices.DeleteFunc([]os.Signal{os.Interrupt, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP}, signal.Ignored); len(ends) > 0 && !l.passesSignals() {
		// It is not stopped: the process ends after this, and for each signal that takes as long again.
		ctx, _ = signal.NotifyContext(ctx, ends...)
	}
	return l.start(ctx, wrong, helpers, environ, stdin, stdout, stderr, args[1:])
}

// fewestFiles is the least limit of open files with which a call without namespaces starts.
const fewestFiles = 16

// passesSignals reports whether the command leaves it to another program what signals mean: then they do not end
// the context.
func (l *line) passesSignals() bool {
	_, is := l.run.(*sandboxExecCmd)
	return is
}

// warm starts the helpers of a call as early as can be: a fresh process needs about as long until it can take a call as
// the host needs for all that comes before the call. It returns nil if the command starts nothing.
func warm(l *line, wrong error) *sandbox.Helpers {
	if wrong != nil {
		return nil
	}
	switch c := l.run.(type) {
	case *runCmd:
		if c.DryRun {
			return nil
		}
		h := sandbox.NewHelpers(sandbox.HelperOptions{Once: true})
		h.Warm(likelyTier(!slices.Contains([]string{"fs_read_file", "fs_list_files", "fs_grep_files"}, c.Tool)))
		return h
	case *sandboxExecCmd:
		h := sandbox.NewHelpers(sandbox.HelperOptions{Terminal: true, Once: true})
		h.Warm(likelyTier(fit.ForcedTier(c.Tier) != fit.TierLandlock && (len(c.RW)+len(c.Grant) > 0 || len(c.RO) == 0)))
		return h
	}
	return nil
}

// likelyTier is the tier in which a program is likely to be started.
func likelyTier(writes bool) fit.Tier {
	if writes {
		return fit.TierNamespace
	}
	return fit.TierLandlock
}
