package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Spec is one start of a tool, complete: nothing is taken from the host's own
// environment or working directory.
type Spec struct {
	// Argv is the command line. Argv[0] is looked up with [Resolve], unless Program is
	// set, and passed on as it stands here.
	Argv []string
	// Program is the absolute path to start, for a caller that has resolved it already.
	Program string
	// SearchPath is the host's own PATH, for Resolve. The tool's PATH plays no part.
	SearchPath string
	// Dir is the absolute working directory: the root of the workspace.
	Dir string
	// Env is the whole environment; empty means none.
	Env []string
	// Stdin is written to standard input, which is then closed. A tool that reads none
	// of it is not held up and not an error.
	Stdin []byte
	// ExtraFiles are handed down as descriptors 3 and up, on Linux and other unixes. The
	// caller keeps and closes them.
	ExtraFiles []*os.File
	// Plan is given to the Start function; nil means that the tool is started plainly.
	Plan []byte
	// Kind says what kind of plan it is. On Linux the process that starts tools may keep what holds
	// one, so what has served one kind of call serves no other.
	Kind string
	// Limits bound the call; a zero field has the value of DefaultLimits.
	Limits Limits
}

// Limits bound one call.
type Limits struct {
	// Time is how long the tool may run.
	Time time.Duration
	// Stdout and Stderr are how many bytes it may print. One more ends it.
	Stdout, Stderr int
	// Grace is what is left between SIGTERM and SIGKILL on a time-out or cancellation;
	// negative means none. A cancellation whose cause has a method AtOnce() bool that returns true
	// leaves none either.
	Grace time.Duration
}

// DefaultLimits are used for fields that are zero.
var DefaultLimits = Limits{
	Time:   120 * time.Second,
	Stdout: 64 << 20,
	Stderr: 4 << 20,
	Grace:  250 * time.Millisecond,
}

func (l Limits) withDefaults() Limits {
	if l.Time == 0 {
		l.Time = DefaultLimits.Time
	}
	if l.Stdout == 0 {
		l.Stdout = DefaultLimits.Stdout
	}
	if l.Stderr == 0 {
		l.Stderr = DefaultLimits.Stderr
	}
	if l.Grace == 0 {
		l.Grace = DefaultLimits.Grace
	}
	return l
}

// drain is how long the host waits for the ends of the pipes once all processes of the
// call are gone. It is only ever used up by somebody outside of the tree who was given
// a descriptor.
const drain = time.Second

// giveUp is how long the host waits for a word that a tree is at its end after telling it
// to end; a variable for tests.
var giveUp = 10 * time.Second

// Result is what a tool did. All its processes are gone.
type Result struct {
	// Stdout and Stderr are what it printed, at most the limits.
	Stdout, Stderr []byte
	// Exit is how its first process ended.
	Exit Exit
	// Leftover counts the processes that it had left running; they were killed.
	Leftover int
	// Duration is the time from the start to the end of all processes.
	Duration time.Duration
}

// Exit is how a process ended.
type Exit struct {
	// Code is the exit status, or -1 if a signal ended it.
	Code int
	// Signal is the name of that signal (`SIGSEGV`), or empty.
	Signal string
}

// String is for messages: "exit status 3", "killed by SIGSEGV". Of the signals that limits of
// resources send it says so.
func (e Exit) String() string {
	switch e.Signal {
	case "":
	case "SIGXCPU":
		return "killed by SIGXCPU, at the limit of processor time (limits.cpu_seconds)"
	case "SIGXFSZ":
		return "killed by SIGXFSZ, at the limit of the size of a file (limits.file_size)"
	default:
		return "killed by " + e.Signal
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// Start starts cmd under the restrictions that plan describes; it is the place of a
// sandbox. It may set fields of cmd and call cmd.Start, or start the program in a way of its
// own, which has to do what the fields of cmd say. It is called on a locked thread that
// outlives the tool, and leaves it as it was. On Linux it runs in the supervisor, which
// shares no memory with the host: everything it needs must be in plan, in cmd, or in files
// handed down, and of an error that is no errno only the text and the Code arrive (see
// [RefusedError]). When it fails nothing of the tool may have run, and no process be left.
type Start func(plan []byte, cmd *exec.Cmd) (Started, error)

// Started is what a Start function has started.
type Started struct {
	// Pid is the child to wait for: the tool itself, or an init that it runs under, whose
	// death ends everything and which ends itself when nothing else is left.
	Pid int
	// Status is nil if Pid is the tool itself. Otherwise it brings the tool's wait status
	// (4 bytes) when the tool has ended; when it ends without, the tool was killed together
	// with its init. Then it may bring NothingLeft (4 bytes): nobody but the init is there any
	// more, which is about to end itself and need not be waited for. The caller closes it.
	Status *os.File
	// Processes is how many processes may be alive at a time, the init not counted; 0 is
	// no limit. More end the call with TooManyProcesses.
	Processes int
	// Signal, if not nil, sends a signal to all of the call at once, however fast it forks, and
	// reports whether it could. It is called on the thread that Start was called on.
	Signal func(syscall.Signal) bool
	// Watch, if not nil, is called now and then while the tool runs, and once when nothing
	// of it runs any more. It returns what somebody outside has undone of the restrictions (a
	// path), or nothing; then the call is ended with Exposed.
	Watch func() string
	// Close, if not nil, is called after that.
	Close func()
	// Orphaned, if not nil, is called when the host has gone before the end of the call, and
	// nothing of the call runs any more: it removes what the host would have removed.
	Orphaned func()
}

// NothingLeft is no wait status.
const NothingLeft = 1<<32 - 1

// Launcher runs tools. It is safe for concurrent use; each running call has a
// supervisor of its own.
type Launcher struct{ launcher }

// New returns a Launcher; nothing is started yet. The program's main must hand over to
// [Supervise] when [IsSupervisor] says so, with the same start function, or Run fails.
// A nil start refuses every Spec with a Plan.
func New(start Start) *Launcher { return &Launcher{newLauncher(start)} }

// Warm starts a supervisor in the background, so that the next Run finds one ready. It
// returns at once and reports nothing: a failure shows in Run.
func (l *Launcher) Warm() { l.warm() }

// Close ends the supervisors and waits for them. Calls that are still running are ended
// too, with a *ControlError. A closed Launcher refuses to run anything.
func (l *Launcher) Close() error { return l.close() }

// Run runs one tool to its end. It returns when all processes of the call are gone,
// which is some milliseconds (and the grace) after the time limit or the cancellation of
// ctx, and at worst half a minute, with a *ControlError, when they cannot be ended.
//
// Errors are a *StartError (nothing was started), a *StopError (the host ended the tool;
// the result is returned too, with what was printed until then), or a *ControlError. An
// exit status other than 0, or a signal, is no error here.
func (l *Launcher) Run(ctx context.Context, spec Spec) (*Result, error) {
	if len(spec.Argv) == 0 {
		return nil, &StartError{Err: errors.New("the command line is empty")}
	}
	if !filepath.IsAbs(spec.Dir) {
		return nil, &StartError{Program: spec.Argv[0], Err: fmt.Errorf("the working directory %q is not absolute", spec.Dir)}
	}
	if spec.Program == "" {
		var err error
		if spec.Program, err = Resolve(spec.Argv[0], spec.Dir, spec.SearchPath); err != nil {
			return nil, &StartError{Program: spec.Argv[0], Err: err}
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, &StopError{Reason: Cancelled, cause: context.Cause(ctx)}
	}
	spec.Limits = spec.Limits.withDefaults()
	if spec.Env == nil {
		spec.Env = []string{}
	}
	return l.run(ctx, &spec)
}
