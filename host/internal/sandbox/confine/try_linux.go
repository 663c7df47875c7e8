package confine

import (
	"context"
	"errors"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/host/internal/sandbox/sysprog"
	"github.com/jptools/jptools/sandbox/machine"
)

// tryFor is how long an attempt may take.
const tryFor = 5 * time.Second

const tryFlags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWNET

// trial is what the child does; its topics are steps. It executes nothing.
func trial() *sysprog.Program {
	p := &sysprog.Program{}
	uid, gid := strconv.Itoa(os.Geteuid()), strconv.Itoa(os.Getegid())
	p.Topic(machine.StepMap)
	for _, f := range [][2]string{
		{"/proc/self/setgroups", "deny"}, {"/proc/self/uid_map", uid + " " + uid + " 1"}, {"/proc/self/gid_map", gid + " " + gid + " 1"},
	} {
		fd := p.Call(unix.SYS_OPENAT, sysprog.Int(unix.AT_FDCWD), p.String(f[0]).Arg(), sysprog.Int(unix.O_WRONLY))
		p.Call(unix.SYS_WRITE, fd.Arg(), p.String(f[1]).Arg(), sysprog.Int(len(f[1])))
	}
	none, proc := sysprog.Int(0), p.String("/proc").Arg()
	p.Topic(machine.StepMount)
	p.Call(unix.SYS_MOUNT, none, p.String("/").Arg(), none, sysprog.Int(unix.MS_REC|unix.MS_PRIVATE), none)
	kind := p.String("tmpfs").Arg()
	p.Call(unix.SYS_MOUNT, kind, proc, kind, sysprog.Int(unix.MS_NOSUID|unix.MS_NODEV), none)
	p.Topic(machine.StepProc)
	kind = p.String("proc").Arg()
	p.Call(unix.SYS_MOUNT, kind, proc, kind, sysprog.Int(unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC), none)
	return p
}

func try(ctx context.Context) machine.Attempt {
	if ctx.Err() != nil {
		return machine.Attempt{Step: machine.StepChild, Errno: int(unix.EINTR)}
	}
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return failedStep(machine.StepClone, err)
	}
	defer unix.Close(pipe[0])
	p := trial()
	pid, err := p.Fork(tryFlags, pipe[1])
	_ = unix.Close(pipe[1])
	if err != nil {
		return failedStep(machine.StepClone, err)
	}
	// The number of the child is nobody else's until it is waited for.
	var mu sync.Mutex
	waited := false
	end := func() {
		mu.Lock()
		defer mu.Unlock()
		if !waited {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
	defer time.AfterFunc(tryFor, end).Stop()
	defer context.AfterFunc(ctx, end)()
	err = p.Await(pipe[0])
	mu.Lock()
	waited = true
	mu.Unlock()
	var status unix.WaitStatus
	for {
		if _, err := unix.Wait4(pid, &status, unix.WALL, nil); err != unix.EINTR {
			break
		}
	}
	switch e := (*sysprog.Error)(nil); {
	case errors.As(err, &e):
		return failedStep(e.What, err)
	case err != nil:
		return failedStep(machine.StepChild, err)
	case !status.Exited():
		return machine.Attempt{Step: machine.StepChild, Errno: int(unix.EINTR)}
	}
	return machine.Attempt{}
}

func failedStep(step string, err error) machine.Attempt {
	errno := unix.EIO
	switch e := syscall.Errno(0); {
	case errors.As(err, &e):
		errno = e
	case errors.Is(err, errors.ErrUnsupported):
		errno = unix.ENOSYS
	}
	return machine.Attempt{Step: step, Errno: int(errno)}
}
