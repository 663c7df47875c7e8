// Package engine starts one program, under a [fit.Plan] or without one, and makes sure that nothing of
// it is left when it is over. It decides nothing: it is given a finished plan, command line, directory and
// environment. Limits of time and of output, and what a program's output means, are the caller's.
//
// # The processes
//
// On Linux this program starts itself again (see [Main]), as a supervisor:
//
//	host ──socket──▶ supervisor ──▶ tool ──▶ …
//	  ╰──────── standard streams and other files ────────╯
//
// The supervisor ends what is to be ended. Under namespaces it is process 1 of its tree: it makes the
// private tree of mounts, and its death kills all. Elsewhere it is the subreaper of what the tool starts
// and, from Landlock 6 on, the one process that the tool's processes share a signal scope with, so that one
// kill(-1) reaches them all. Then it serves one call after the other. It learns of the death of the host,
// however it died, by the end of its socket, and then kills everything and ends.
//
// Process 1 starts the tool from a thread that it restricts for this. Elsewhere, and for a tool with limits, which
// belong to a process, the supervisor starts this program once more, as a starter, before the plan is known. It gets
// its orders and descriptors, restricts its one locked thread, and becomes the tool by execve, so that its limits and
// its /proc/self are exact. No code of this package runs between fork and exec.
//
// Supervisor and starter begin while the host still reads its configuration, if it calls [Engine.Warm] early.
//
// # What is not stopped
//
// Without a plan a program has all rights of the user. It can kill the supervisor (it dies too then, but
// what it has started may not), and it can ask a service to start something for it. A program that runs as
// another user (set-user-id) may be out of reach: [Process.Wait] says so. Where there are no supervisors
// (macOS, Windows) the program's process group is killed; what leaves the group survives, as does
// everything when the host dies, and a plan is refused.
package engine

import (
	"context"
	"os"
	"syscall"
	"time"

	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/internal/failure"
	"github.com/jptools/jptools/sandbox/machine"
)

// Main has to be the first call of every program that starts others with this package. In a helper process
// it does the helper's work and does not return; in any other it returns at once. remove removes the private
// directory of a call whose host has died.
func Main(remove func(dir string) error) { helperMain(remove) }

// Kind is what a helper is made for; it serves calls of that kind only.
type Kind struct {
	Tier fit.Tier
	// Scope: the program is kept in a signal scope, as the Landlock tier can from some version on. Warm finds that out.
	Scope bool
	// Network: the call shares the network of the host. Only the namespace tier can be without.
	Network bool
}

// KindOf returns the kind of a plan; nil is a start without any restriction.
func KindOf(p *fit.Plan) Kind {
	if p == nil || p.Tier == fit.TierNone {
		return Kind{Tier: fit.TierNone}
	}
	return Kind{
		Tier:    p.Tier,
		Scope:   p.Tier == fit.TierLandlock && p.ABI >= fit.ScopeABI,
		Network: p.Tier != fit.TierNamespace || p.Net.Open,
	}
}

var errClosed = &failure.Error{Kind: failure.Failed, Step: "the engine is closed"}

// Options are those of an Engine.
type Options struct {
	// Terminal leaves programs in the session and the process group of this process, so that the terminal's
	// job control reaches them. Otherwise each has a session of its own. In the namespace tier programs never
	// have a terminal: the caller passes signals on.
	Terminal bool
	// Once: this process starts a program or two and ends. Supervisors are not used again, and end with it.
	Once bool
}

// Engine starts programs. It is safe for concurrent use.
type Engine struct{ *engine }

// New returns an Engine. Nothing is started yet.
func New(o Options) *Engine { return &Engine{newEngine(o)} }

// Warm starts a helper of a kind in the background, unless one is waiting already, so that the next Start of
// that kind finds one. It returns at once and reports nothing: a failure shows in Start.
func (e *Engine) Warm(k Kind) { e.warm(k) }

// Start starts a program. It returns when the program has been executed.
//
// Errors are *failure.Error; nothing has run then and nothing is left, but for one of kind Control, which says what may be.
func (e *Engine) Start(c *Command) (*Process, error) { return e.start(c) }

// Close ends the helpers, and the calls that still run, and waits for them. A closed Engine starts nothing.
func (e *Engine) Close() error { return e.close() }

// Try makes namespaces as the namespace tier needs them, and a mount of each kind in them.
func Try(ctx context.Context) machine.Attempt { return try(ctx) }

// Command is one program to start, complete: nothing is taken from the environment or the working
// directory of this process.
type Command struct {
	// Plan is what the program is held by; nil starts it with all rights.
	Plan *fit.Plan
	// Path is the absolute path of the program; Args is its command line, Args[0] included; Env is its whole
	// environment.
	Path string
	Args []string
	Env  []string
	// Dir is its working directory; empty means /.
	Dir string
	// Stdin, Stdout and Stderr are its standard streams; nil is /dev/null. ExtraFiles are its descriptors from 3 on;
	// nil leaves one out. The caller keeps and closes them all.
	Stdin, Stdout, Stderr *os.File
	ExtraFiles            []*os.File
	// Linger is how long processes that the program leaves behind may go on after it; then they are killed.
	Linger time.Duration
	// Keep, if not nil, is what the supervisor keeps open until this process has ended, with Options.Once. The last close
	// of a descriptor that has watched files waits some 14 ms for the kernel; nobody waits for the end of a supervisor.
	Keep *os.File
	// Observer, if not nil, watches what the program asks for. It is for plans with Observe set.
	Observer *Observer
	// Faults is for tests.
	Faults Faults
}

// Observer is how a second system call filter announces calls to another process.
type Observer struct {
	// Socket is where the filter's descriptor is sent, along with Message.
	Socket  *os.File
	Message []byte
	// Answerer is where the process passes on the calls that the supervisor answers; nil if the plan has none.
	Answerer *os.File
	// Calls are the numbers of the system calls to announce.
	Calls []uint32
}

// Faults are mistakes made on purpose, by tests which show that they would be noticed.
type Faults struct {
	// Mapping, if not nil, is what capabilities become in place of the right mapping: Landlock rights for
	// read, create, update, delete and execute.
	Mapping *[5]uint64 `json:",omitempty"`
	// KeepCapabilities leaves a program its capabilities.
	KeepCapabilities bool `json:",omitempty"`
}

// Process is a program that was started.
type Process struct{ *process }

// Pid returns the number of a process whose death ends the program: the program itself or, in the namespace
// tier, process 1 above it.
func (p *Process) Pid() int { return p.pid }

// Signal sends a signal to every process of the call. It does not wait until it has arrived. When the call
// is over it does nothing.
func (p *Process) Signal(sig syscall.Signal) error { return p.signal(sig) }

// Kill kills every process of the call. Wait says when they are gone.
func (p *Process) Kill() error { return p.kill() }

// Wait returns when the program and all that it started are gone. What outlives the program is killed after
// Command.Linger. It may be called more than once.
//
// The error is an *failure.Error of kind Control if processes may be left, or it is not known how the program ended.
func (p *Process) Wait() (Exit, error) { return p.wait() }

// Exit is how a call ended.
type Exit struct {
	// Code is the exit status, or -1 if a signal ended the program; Signal is that signal, or 0.
	Code   int
	Signal syscall.Signal
	// Leftover counts the processes that the program had left running; they were killed.
	Leftover int
	// TooMany is the plan's limit of processes if the call was ended for passing it, or 0.
	TooMany int
	// Lost is a path whose mask or pin somebody outside has undone, for which the call was ended, or empty.
	Lost string
}
