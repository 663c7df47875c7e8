package launch

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	supervisorName = "jphost-supervisor"
	// socketFD is where the host puts its socket.
	socketFD = 3
	// linger is how long processes that the tool left behind may still print after it has
	// ended itself (`cmd > >(tee log)`); then they are killed.
	linger = 100 * time.Millisecond
	// killFor is how long a supervisor tries to end a tree before it reports that it
	// cannot, and outlast how long it goes on after a report of what is not gone yet.
	killFor = 3 * time.Second
	outlast = 30 * time.Second
	// watch is how often processes are counted, and mounts are looked at, where that is
	// asked for.
	watch = 20 * time.Millisecond
)

func isSupervisor(args []string) bool { return len(args) == 1 && args[0] == supervisorName }

// frame is what the socket brought; closed when there will be no more.
type frame struct {
	fields []string
	fds    []int
}

// exited is one process that was waited for.
type exited struct {
	pid    int
	status unix.WaitStatus
}

func supervise(start Start) int {
	// Tools are killed when the thread that started them ends (Pdeathsig), and the main
	// thread ends last.
	runtime.LockOSThread()
	kind, err := unix.GetsockoptInt(socketFD, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil || kind != unix.SOCK_STREAM {
		return 2 // somebody tried the name by hand
	}
	unix.CloseOnExec(socketFD)
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 1
	}
	// The host is waiting for the first tool to start: what is only needed after that is set up after
	// that. Until then there is nothing to end, and signals and the end of the host do what they do.
	var next frame
	if next.fields, next.fds, err = receiveFrame(socketFD); err != nil {
		return 0
	}
	signals := make(chan os.Signal, 1)
	var frames chan frame
	for {
		c, err := newCall(next)
		if err != nil || c == nil && frames == nil {
			return 1
		}
		again := true
		if c != nil { // else a stop that came too late
			c.start(start)
			if frames == nil {
				signal.Notify(signals, unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
				frames = make(chan frame)
				go listen(frames)
			}
			again = c.serve(frames, signals)
			c.release()
		}
		if !again {
			return 0
		}
		var open bool
		select {
		case next, open = <-frames:
			if !open {
				return 0
			}
		case <-signals:
			return 0
		}
	}
}

// listen passes on what the host sends.
func listen(frames chan<- frame) {
	defer close(frames)
	for {
		fields, fds, err := receiveFrame(socketFD)
		if err != nil {
			closeFDs(fds)
			return
		}
		frames <- frame{fields, fds}
	}
}

// call is one tool from start to end.
type call struct {
	cmd   *exec.Cmd
	plan  []byte
	files []*os.File
	exits chan exited

	child  Started
	status chan unix.WaitStatus // of the tool, from its init; nil without one
	empty  chan struct{}        // holds something when nobody but the init is left
	report report
	ended  bool // it is known how the tool's first process ended
	orphan bool // the host has gone
}

// newCall reads a run frame. It returns nil for a stop of a call that is over.
func newCall(f frame) (*call, error) {
	c := &call{exits: make(chan exited)}
	for i, fd := range f.fds {
		c.files = append(c.files, os.NewFile(uintptr(fd), "fd"+strconv.Itoa(i)))
	}
	if len(f.fields) > 0 && f.fields[0] == frameStop {
		closeAll(c.files...)
		return nil, nil
	}
	if len(f.fields) < 7 || f.fields[0] != frameRun || len(c.files) < 3 {
		closeAll(c.files...)
		return nil, errFrame
	}
	n, err := strconv.Atoi(f.fields[5])
	if rest := f.fields[6:]; err == nil && n > 0 && n <= len(rest) {
		c.report.call = f.fields[1]
		c.plan = []byte(f.fields[4])
		c.cmd = &exec.Cmd{
			Path: f.fields[2], Dir: f.fields[3],
			Args: rest[:n], Env: rest[n:],
			Stdin: c.files[0], Stdout: c.files[1], Stderr: c.files[2], ExtraFiles: c.files[3:],
			SysProcAttr: &syscall.SysProcAttr{Setsid: true, Pdeathsig: unix.SIGKILL},
		}
		return c, nil
	}
	closeAll(c.files...)
	return nil, errFrame
}

// start starts the tool and closes our copies of its files. It is on the main thread.
func (c *call) start(start Start) {
	var err error
	switch {
	case len(c.plan) == 0:
		if err = c.cmd.Start(); err == nil {
			c.child.Pid = c.cmd.Process.Pid
		}
	case start == nil:
		err = errors.New("the call has a plan, but this program has nothing that could hold it")
	default:
		c.child, err = start(c.plan, c.cmd)
	}
	closeAll(c.files...)
	var coded interface{ Code() string }
	switch errno := unix.Errno(0); {
	case err == nil:
	case errors.As(err, &coded):
		c.report.problem, c.report.code = err.Error(), coded.Code()
	case errors.As(err, &errno):
		c.report.errno = errno
	default:
		c.report.problem = err.Error()
	}
	if status := c.child.Status; status != nil {
		ended, empty := make(chan unix.WaitStatus, 1), make(chan struct{}, 1)
		c.status, c.empty = ended, empty
		go func() {
			var b [8]byte
			n, _ := io.ReadAtLeast(status, b[:], 4) // mostly both come at once
			if n < 4 {
				binary.NativeEndian.PutUint32(b[:], uint32(unix.SIGKILL)) // with its init
			}
			ended <- unix.WaitStatus(binary.NativeEndian.Uint32(b[:]))
			if n >= 4 && n < len(b) {
				m, _ := io.ReadFull(status, b[n:])
				n += m
			}
			_ = status.Close()
			if n == len(b) && binary.NativeEndian.Uint32(b[4:]) == NothingLeft {
				empty <- struct{}{}
			}
		}()
	}
	// Wait for children only from here on: a start that fails waits for its own.
	go func() {
		defer close(c.exits)
		for {
			var status unix.WaitStatus
			pid, err := unix.Wait4(-1, &status, unix.WALL, nil)
			switch {
			case err == unix.EINTR:
			case err != nil:
				return // ECHILD: nothing is left
			default:
				c.exits <- exited{pid, status}
			}
		}
	}()
}

// release lets go of what the start has left.
func (c *call) release() {
	if c.orphan && c.child.Orphaned != nil {
		c.child.Orphaned()
	}
	if c.child.Close != nil {
		c.child.Close()
	}
	if c.cmd.Process != nil {
		_ = c.cmd.Process.Release()
	}
}

func (c *call) send() error {
	frame := encodeFrame(c.report.fields()...)
	for len(frame) > 0 {
		n, err := unix.SendmsgN(socketFD, frame, nil, nil, unix.MSG_NOSIGNAL)
		if err != nil && err != unix.EINTR {
			return err
		}
		frame = frame[max(n, 0):]
	}
	return nil
}

func closeFDs(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}

func treeControl() error { return nil }
