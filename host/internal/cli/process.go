package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/sandbox"
	"github.com/jptools/jptools/sandbox/fit"
)

// Process is [Run] as all that a process does, with the context that it needs for that; args begin with
// the program. After the start of helpers the command line is read: all else before the command depends on it.
func Process(environ []string, stdin io.Reader, stdout, stderr io.Writer, args []string) error {
	if most := openFiles(); most > 0 && most < fewestFiles { // the Go runtime would end in a crash
		err := exit.Errorf(exit.Host, "no more than %d files can be open here, and jphost needs %d at least\nraise the limit: ulimit -n 256", most, fewestFiles)
		newOutput(environ, stdout, stderr).failure(err)
		return err
	}
	ctx := context.Background()
	helpers := warm(args[1:])
	l, wrong := read(args[1:])
	// What is ignored, as nohup and shells without job control have it, stays ignored.
	if ends := slices.DeleteFunc([]os.Signal{os.Interrupt, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP}, signal.Ignored); len(ends) > 0 && !l.passesSignals() {
		// It is not stopped: the process ends after this, and for each signal that takes as long again.
		ctx, _ = signal.NotifyContext(ctx, ends...)
	}
	return l.start(ctx, wrong, helpers.of(l.run), environ, stdin, stdout, stderr, args[1:])
}

// fewestFiles is the least limit of open files with which a call without namespaces starts.
const fewestFiles = 16

// passesSignals reports whether the command leaves it to another program what signals mean: then they do not end
// the context.
func (l *line) passesSignals() bool {
	_, is := l.run.(*sandboxExecCmd)
	return is
}

// warmed are helpers that were started on a guess.
type warmed struct {
	*sandbox.Helpers
	exec bool // for `sandbox exec`, else for `run`
}

// warm starts the helpers of a call before the command line is read: a fresh process needs about as long until it can
// take a call as the host needs for all that comes before the call. What the words mean is only guessed here. A helper
// that was started for nothing ends with this process.
func warm(args []string) warmed {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	has := func(words ...string) bool {
		return slices.ContainsFunc(args, func(arg string) bool {
			flag, value, _ := strings.Cut(arg, "=")
			return slices.Contains(words, flag) || flag == "--tier" && slices.Contains(words, value)
		})
	}
	w := warmed{exec: has("sandbox") && has("exec")}
	reads := has("fs_read_file", "fs_list_files", "fs_grep_files")
	switch {
	case w.exec:
		reads = has("landlock") || has("--ro") && !has("--rw", "--grant")
	case !has("run") || has("--dry-run"):
		return warmed{}
	}
	tier := fit.TierNamespace
	if reads {
		tier = fit.TierLandlock
	}
	w.Helpers = sandbox.NewHelpers(sandbox.HelperOptions{Terminal: w.exec, Once: true})
	w.Warm(tier)
	runtime.Gosched() // it comes first: everything else waits for it in the end
	return w
}

// of returns the helpers of a command; nil if it starts nothing, or makes its own.
func (w warmed) of(run command) *sandbox.Helpers {
	_, exec := run.(*sandboxExecCmd)
	_, call := run.(*runCmd)
	switch {
	case exec && !w.exec:
		return sandbox.NewHelpers(sandbox.HelperOptions{Terminal: true, Once: true})
	case exec, call && !w.exec:
		return w.Helpers
	}
	return nil
}
