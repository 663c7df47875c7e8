package grants

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/host/internal/call"
	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/enforcement"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/preset"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/sandbox"
	"github.com/jptools/jptools/sandbox/baseline"
	"github.com/jptools/jptools/sandbox/fit"
)

// Start runs the program with the streams and the terminal of this process, and waits for the end of all of it. Its
// error has the exit status of the program. swallowed says after a failure which of the program's arguments is probably
// meant as a flag of this command; "" for none.
func (c *Exec) Start(p *Process, argv []string, swallowed func() string) error {
	if err := enforcement.Explainable(c.ExplainDenials); err != nil {
		return err
	}
	if err := c.openReport(p); err != nil {
		return err
	}
	m, err := c.compile(p)
	if err != nil {
		return err
	}
	if base, err := state.OS(p.housed().Getenv).Base(); err == nil {
		call.OwnDirectories(m.declared, base, p.housed().Environ)
	}
	if err := m.presets.Make(); err != nil && !c.Quiet {
		p.Out.Warn(err.Error())
	}
	cmd, err := c.command(p, m, argv)
	if err != nil {
		return err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Explain = p.Stdin, p.Out.Stdout, p.Out.Stderr, c.ExplainDenials
	workspace := FindRoot(m.root, p.housed().Home()) // before the program can make another one
	signals := receiveSignals()
	cmd.BeforeStart = func(at *sandbox.Attempt) error {
		if err := c.unmatched(p.Ctx, m, at); err != nil {
			return err
		}
		if at.Plan.Tier == fit.TierNone {
			why := at.NotEnforced[0]
			return exit.Errorf(exit.Refused, "%s was not run: nothing can be held here: %s\n%s\nor start it without jphost", show.Visible(argv[0]), why.Why, why.Remedy)
		}
		if !c.Quiet {
			for _, w := range m.declared.Warnings {
				p.Out.Warn(w.String())
			}
			for _, text := range enforcement.Warnings(at.Report(), "jphost sandbox plan with the same flags and program, or --report FILE") {
				p.Out.Warn(text)
			}
		}
		if text := enforcement.Withheld(at.Withheld); text != "" && !c.Quiet && p.Out.OnTerminal {
			p.Out.Note(text)
		}
		if why := at.Explainable(); why != "" && c.ExplainDenials {
			p.Out.Warn(enforcement.ExplainDenials + ": " + why)
		}
		if err := p.Out.Flush(); err != nil {
			return exit.With(exit.Host, err)
		}
		if at.Plan.Tier == fit.TierNamespace {
			signals.listen()
		}
		if len(signals.ends) > 0 { // there was no program that could hear it
			return exit.Errorf(exit.Interrupted, "interrupted before the program was started")
		}
		return nil
	}
	if err := cmd.Start(); err != nil {
		return errors.Join(c.startError(m, err), c.report(cmd))
	}
	over, passing := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(passing)
		signals.pass(cmd, over)
	}()
	started := time.Now()
	err = cmd.Wait()
	lasted := time.Since(started)
	close(over)
	<-passing
	c.refused(p, m, cmd)
	if text := enforcement.Touched(cmd.State.Touched); text != "" && len(cmd.State.Changes) == 0 && !c.Quiet {
		p.Out.Warn(text)
	}
	// A call that was ended may have changed something too.
	if err := errors.Join(c.ended(err), hold(p, workspace, cmd), c.report(cmd)); err != nil {
		return err
	}
	if !c.Quiet && !cmd.State.Success() && !signals.heard {
		c.hints(p, m, cmd, argv[0], swallowed())
	}
	return programStatus(cmd.State, m.limits, lasted)
}

// startError gives what stands in the way of a start its exit status.
func (c *Exec) startError(m *merged, err error) error {
	var refused *fit.RefusedError
	var start *sandbox.StartError
	var program *baseline.ProgramError
	var extra *baseline.ExtraError
	switch {
	case errors.As(err, &refused) && refused.Always:
		return exit.With(exit.Refused, err)
	case errors.As(err, &refused):
		return exit.Errorf(exit.Refused, "%w\nleave out --required to run with what can be held", err)
	case errors.As(err, &program):
		return &exit.Error{Code: 126, Err: err} // as shells have it
	case errors.As(err, &extra):
		return exit.With(exit.Usage, err)
	case !errors.As(err, &start):
	case start.NotGranted != "":
		remedy := "grant it yourself: --ro " + show.Word(start.NotGranted)
		if name := preset.For(start.NotGranted); name != "" && len(c.Preset) == 0 {
			remedy = fmt.Sprintf("if it is yours, there is a preset: --preset %s; or %s", name, remedy)
		}
		return exit.Errorf(126, "%s needs %s to start, which is not granted: that a program names it is not enough outside of the system's directories\n%s",
			show.Visible(start.Program), show.Visible(start.NotGranted), remedy)
	case start.Directory():
		return exit.Errorf(126, "%w\nthe working directory is none that the program sees; start from the workspace: cd %s", err, show.Word(m.root))
	case start.Refused() && errors.Is(err, unix.ENOENT):
		return &exit.Error{Code: 127, Err: err}
	case start.Refused():
		return &exit.Error{Code: 126, Err: err}
	}
	return exit.With(exit.Host, err)
}

// timeUp is the exit status of a program that was ended at its limit of time, as that of timeout(1).
const timeUp exit.Code = 124

// ended returns what is wrong with how the call ended, apart from the exit status of the program.
func (c *Exec) ended(err error) error {
	var why, changes error
	if changed := (*sandbox.ChangedError)(nil); errors.As(err, &changed) {
		changes = exit.Errorf(exit.Refused, "%s\nnothing was put back; writing calls of tools in this workspace are held until a person has looked: jphost trust accept\nundo what should not be there; what the program is to do, grant: --grant path=PATH,write", show.Text(changed.Error()))
	}
	lost, limit, control := (*sandbox.LostError)(nil), (*sandbox.LimitError)(nil), (*sandbox.ControlError)(nil)
	switch {
	case errors.As(err, &lost):
		why = exit.With(exit.Refused, lost)
	case errors.As(err, &limit) && limit.Processes == 0:
		why = exit.Errorf(timeUp, "the program was not done within %s and was ended\nraise --limit time if it needs longer", limit.Time)
	case errors.As(err, &limit):
		why = exit.Errorf(exit.Refused, "the program had more than %d processes and was ended\nlet it do less at a time, or raise --limit processes", limit.Processes)
	case errors.As(err, &control):
		why = exit.With(exit.Host, control)
	}
	return errors.Join(why, changes)
}

// hints says after a failure what people who see it may not know.
func (c *Exec) hints(p *Process, m *merged, cmd *sandbox.Cmd, program, swallowed string) {
	if swallowed != "" {
		p.Out.Note(fmt.Sprintf("%s stood after the program, so it was the program's\nwrite the flags of jphost before it: jphost sandbox exec %s … -- %s", swallowed, swallowed, show.Word(program)))
	}
	if !p.Out.OnTerminal {
		return
	}
	network := "--net"
	if name := preset.For(preset.Meant(program, m.root, p.Environ)); name != "" {
		network = "--preset " + name + preset.NetSuffix
		if len(c.Preset) == 0 {
			p.Out.Note(fmt.Sprintf("for what %s needs outside of the workspace there is a preset: --preset %s", show.Visible(program), name))
		}
	}
	switch net := cmd.Attempt.Plan.Net; {
	case net.Open:
	case net.Own:
		p.Out.Note("the program had a loopback and no other network; if it needs one: " + network)
	default:
		p.Out.Note("the program had no network; if it needs one: " + network + ", or only a loopback: --tier namespace")
	}
	if cmd.State.Signal == 0 && !c.ExplainDenials && cmd.Attempt.Explainable() == "" {
		p.Out.Note(enforcement.DenialHint + "\nto find out which grants it needs: jphost sandbox learn")
	}
}

// refused says what the program was refused, if that was observed.
func (c *Exec) refused(p *Process, m *merged, cmd *sandbox.Cmd) {
	seen := cmd.Refused()
	if seen == nil {
		return
	}
	x := enforcement.Explanation{Declared: m.declared, Attempt: cmd.Attempt, Home: p.Getenv("HOME"), Flags: c.Policy == ""}
	if len(c.RO)+len(c.RW)+len(c.Grant) == 0 {
		x.Before = "--rw . " // what holds without any
	}
	if c.denials, c.seen = x.Explain(seen); !c.Quiet || c.Report == "" {
		enforcement.PrintDenials(p.Out, c.denials, c.seen, false)
	}
}

// hold has writing calls of tools in a workspace wait until a person has looked at the changes.
func hold(p *Process, root string, cmd *sandbox.Cmd) error {
	if len(cmd.State.Changes) == 0 {
		return nil
	}
	ws, err := state.OpenWorkspace(root)
	if err != nil {
		return exit.With(exit.Host, err)
	}
	dir, err := state.OS(p.housed().Getenv).Workspace(ws)
	if err != nil {
		return exit.With(exit.Host, err)
	}
	holds := call.HoldsOn(ws.Root(), "sandbox exec", cmd)
	return exit.With(exit.Host, consent.OpenHolds(dir).Add(context.WithoutCancel(p.Ctx), holds...))
}

// programStatus ends jphost as the program ended, as shells do.
func programStatus(s *sandbox.State, l fit.Limits, lasted time.Duration) error {
	code := exit.Code(s.Code)
	if s.Signal != 0 {
		code = exit.Code(128 + int(s.Signal))
	}
	if code == 0 {
		return nil
	}
	ended := call.Ended{Code: s.Code, Signal: s.SignalName()}
	if limit, did := ended.Limit(l, lasted); limit != "" {
		return exit.Errorf(code, "the program %s and was ended\nraise --limit %s", did, limit)
	}
	return &exit.Error{Code: code}
}

// openReport opens the file of --report before there is a program: afterwards its name may be a symlink that the
// program made, to a file that only this process may write. A link that an earlier program may have left is not followed
// either. The file is emptied, so that it never has the report of another call.
func (c *Exec) openReport(p *Process) error {
	if c.Report == "" {
		return nil
	}
	list, err := c.paths(p)
	if err != nil {
		return err
	}
	root, _ := filepath.Abs(cmp.Or(c.Root, p.Workspace)) // it fails without a working directory, which Placed says
	if isStream(c.Report) {
		c.file, err = os.OpenFile(c.Report, os.O_WRONLY|os.O_CREATE, 0o666)
	} else {
		to, _ := resolve(root)
		dir, refused := p.Placed("--report", filepath.Dir(c.Report), writable(to.Abs, list)...)
		if refused != nil {
			return refused
		}
		c.file, err = createHere(dir, filepath.Base(c.Report))
	}
	switch {
	case errors.Is(err, unix.ELOOP):
		return exit.Errorf(exit.Usage, "--report %s is a symlink, which a program may have put there\nremove it, or name the file that it leads to", show.Visible(c.Report))
	case err != nil:
		return exit.Errorf(exit.Usage, "--report: %w\nname a file that you may write", err)
	}
	return nil
}

// createHere opens an empty file for writing, in a directory that was resolved. No symlink is followed any more: not
// the file itself, and none that appears on the way meanwhile. A FIFO that nobody reads from does not block.
func createHere(dir, name string) (*os.File, error) {
	path := filepath.Join(dir, name)
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags:   unix.O_WRONLY | unix.O_CREAT | unix.O_TRUNC | unix.O_CLOEXEC | unix.O_NONBLOCK,
		Mode:    0o666,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) { // before Linux 5.6, or a filter that knows no openat2
		return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o666)
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// isStream reports whether a path names what is open already, by links of the kernel's own. Others in these places
// (/dev/shm, /proc/self/cwd) anybody can make.
func isStream(name string) bool {
	return name == filepath.Clean(name) && slices.ContainsFunc([]string{"/dev/std*", "/dev/fd/*", "/proc/*/fd/*"}, func(pattern string) bool {
		is, _ := filepath.Match(pattern, name)
		return is
	})
}

// report writes what was enforced to the file of --report.
func (c *Exec) report(cmd *sandbox.Cmd) error {
	if c.file == nil || cmd.Attempt == nil {
		return nil
	}
	report := struct {
		*enforcement.Report
		// Exit is how the program ended; absent if it was not started.
		Exit    *call.Ended          `json:"exit,omitempty"`
		Denials []enforcement.Denial `json:"denials,omitzero"`
	}{Report: &enforcement.Report{Report: cmd.Report(), Observed: c.seen}, Denials: c.denials}
	if s := cmd.State; s != nil {
		report.Exit = &call.Ended{Code: s.Code, Signal: s.SignalName()}
	}
	data, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	is, err := c.file.Stat()
	if err == nil && is.Mode().IsRegular() {
		err = c.file.Truncate(0)
	}
	if err == nil {
		_, err = c.file.Write(append(data, '\n'))
	}
	if err := errors.Join(err, c.file.Close()); err != nil {
		return exit.Errorf(exit.Host, "--report: %w", err)
	}
	if at, err := os.Lstat(c.Report); is.Mode().IsRegular() && (err != nil || !os.SameFile(is, at)) {
		return exit.Errorf(exit.Host, "--report: %s was removed or replaced while the program ran, so there is no report\nname a file where the program may not write", show.Visible(c.Report))
	}
	return nil
}

// signals are those that are the program's business, and that jphost outlives: a terminal sends them to the program too,
// which may go on. What was ignored before, as nohup has it, stays ignored, here and by the program.
type signals struct {
	// ends receives those that somebody wants the program to end with.
	ends chan os.Signal
	// typed receives what else a terminal tells of its keys and its size, after listen.
	typed chan os.Signal
	// quit: SIGQUIT was not ignored.
	quit bool
	// alone: the program does not hear the terminal, since it is in a session of its own.
	alone bool
	// heard: a signal came that somebody wants the program to end with.
	heard bool
}

// receiveSignals receives signals from now to the end of this process.
func receiveSignals() *signals {
	s := &signals{ends: make(chan os.Signal, 8), typed: make(chan os.Signal, 8), quit: !signal.Ignored(unix.SIGQUIT)}
	notifyUnignored(s.ends, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	signal.Ignore(unix.SIGQUIT)
	return s
}

// listen receives what is typed, too, for a program that is in a session of its own and hears nothing of a terminal. That
// cannot be taken back, since the Go runtime does not restore the default action of SIGTSTP.
func (s *signals) listen() {
	s.alone = true
	if _, terminal := foreground(); !terminal {
		return
	}
	notifyUnignored(s.typed, unix.SIGTSTP, unix.SIGWINCH)
	if s.quit {
		signal.Notify(s.typed, unix.SIGQUIT)
	}
}

// notifyUnignored is signal.Notify for those that are not ignored: to receive the others would end what nohup has begun.
func notifyUnignored(c chan<- os.Signal, list ...os.Signal) {
	for _, sig := range list {
		if !signal.Ignored(sig) {
			signal.Notify(c, sig)
		}
	}
}

// pass passes signals on to a program until it is over, unless the terminal has sent them to the program as well.
func (s *signals) pass(cmd *sandbox.Cmd, over <-chan struct{}) {
	for {
		var sig os.Signal
		select {
		case sig = <-s.ends:
		case sig = <-s.typed:
		case <-over:
			s.heard = s.heard || len(s.ends) > 0
			return
		}
		s.heard = s.heard || sig != unix.SIGTSTP && sig != unix.SIGWINCH
		switch sig {
		case unix.SIGTSTP:
			suspend(cmd)
			continue
		case unix.SIGINT, unix.SIGQUIT, unix.SIGWINCH:
			if group, _ := foreground(); !s.alone && group == unix.Getpgrp() {
				continue
			}
		}
		_ = cmd.Signal(sig.(unix.Signal)) // the program may have ended
		if sig != unix.SIGWINCH {
			_ = cmd.Signal(unix.SIGCONT) // one that is stopped would not end
		}
	}
}

// suspend does what Ctrl-Z is for: the program stops, and jphost with it, until somebody has jphost go on. If nobody
// would, nothing is stopped.
func suspend(cmd *sandbox.Cmd) {
	if orphaned() {
		return
	}
	// A program in a session of its own cannot be stopped by SIGTSTP.
	_ = cmd.Signal(unix.SIGSTOP)
	// Sent to this very thread it is there before the call returns.
	runtime.LockOSThread()
	_ = unix.Tgkill(unix.Getpid(), unix.Gettid(), unix.SIGSTOP)
	runtime.UnlockOSThread()
	_ = cmd.Signal(unix.SIGCONT)
}

// orphaned reports whether nobody would have this process go on after a stop: no shell with job control is
// above its process group. The kernel spares such groups the stop of a terminal.
func orphaned() bool {
	group := unix.Getpgrp()
	session, err := unix.Getsid(0)
	for pid := os.Getppid(); err == nil && pid > 0; {
		above, gone := unix.Getpgid(pid)
		if gone != nil {
			return true
		}
		if above != group {
			s, err := unix.Getsid(pid)
			return err != nil || s != session
		}
		// The name stands in parentheses and may hold anything, also parentheses.
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		pid = 0
		_, _ = fmt.Sscanf(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " %c %d", new(rune), &pid)
	}
	return true
}

// foreground returns the process group that hears what is typed on the terminal that controls this process; 0 if that is
// not known. Without such a terminal nothing is typed.
func foreground() (group int, terminal bool) {
	tty, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return 0, false
	}
	defer unix.Close(tty)
	group, _ = unix.IoctlGetInt(tty, unix.TIOCGPGRP)
	return group, true
}
