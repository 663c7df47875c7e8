package observe

import (
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Again starts this program a second time, with this command line, environment and streams, and files
// as descriptors 3 and up, calls started, and returns its exit status when it has ended: 128 and the
// number of the signal if one ended it. It is told of signals as this process is, and by SIGTERM when
// this process ends first. What is ignored, as nohup has it, stays ignored.
func Again(argv, environ []string, streams [3]*os.File, files []*os.File, started func()) (int, error) {
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: argv, Env: environ,
		Stdin: streams[0], Stdout: streams[1], Stderr: streams[2], ExtraFiles: files,
		SysProcAttr: &syscall.SysProcAttr{Pdeathsig: unix.SIGTERM},
	}
	// A terminal sends these to both; the other one decides what they mean.
	signals := make(chan os.Signal, 8)
	NotifyUnignored(signals, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGHUP)
	defer signal.Stop(signals)
	// The parent that a death is told of is a thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	started()
	over := make(chan struct{})
	go func() {
		for {
			select {
			case sig := <-signals:
				if sig != unix.SIGQUIT {
					_ = cmd.Process.Signal(sig)
				}
			case <-over:
				return
			}
		}
	}()
	err := cmd.Wait()
	close(over)
	if cmd.ProcessState == nil {
		return 0, err
	}
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return status.ExitStatus(), nil
}

// NotifyUnignored is signal.Notify for those that are not ignored. To be notified of the others too would
// end what nohup has begun.
func NotifyUnignored(c chan<- os.Signal, signals ...os.Signal) {
	for _, sig := range signals {
		if !signal.Ignored(sig) {
			signal.Notify(c, sig)
		}
	}
}

// HasChildren reports whether this process has any, ended or not. One that has started none may have
// inherited some: whoever it was before its execve started them. Where the question is refused it is taken to have
// none: a second process would ask it too, and so on.
func HasChildren() bool {
	for {
		err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT|unix.WALL, nil)
		if err != unix.EINTR {
			return err == nil
		}
	}
}
