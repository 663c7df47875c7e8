package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

var _ = add(map[string]attack{
	"vm-read":        vmRead,
	"vm-write":       vmWrite,
	"proc-mem":       procMem,
	"ptrace":         func(a []string) (string, error) { return "", seize(a) },
	"pidfd-getfd":    pidfdGetfd,
	"kill":           kill,
	"tgkill":         tgkill,
	"sigqueue":       sigqueue,
	"pidfd-signal":   pidfdSignal,
	"sigio":          sigio,
	"prlimit":        prlimit,
	"priority":       priority,
	"affinity":       affinity,
	"kcmp":           kcmp,
	"process-advice": processAdvice,
	"proc-fd":        procFD,
	"parent":         func(a []string) (string, error) { return read(fmt.Sprintf("/proc/%d/%s", os.Getppid(), a[0])) },
	"parent-kill":    func([]string) (string, error) { return "", unix.Kill(os.Getppid(), unix.SIGUSR1) },
	"parent-memory":  parentMemory,

	"env":        environment,
	"fds":        descriptors,
	"tiocsti":    tiocsti,
	"tioclinux":  tioclinux,
	"tiocsctty":  tiocsctty,
	"kill-group": killGroup,
})

func init() {
	parts["victim"] = victim
}

// part runs a part of this program; it worked if that exits with 42.
func part(name string, args ...string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	out, err := exec.Command(self, append([]string{name}, args...)...).CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		if exit.ExitCode() == 42 {
			return string(out), nil
		}
		return "", refused("%v %s", err, out)
	}
	if err == nil {
		err = refused("exit status 0 %s", out)
	}
	return "", err
}

// victim is somebody outside: it tells where its secret is, and then what happens to it, until its
// input ends.
func victim([]string) int {
	secret := []byte(os.Getenv("VICTIM_SECRET"))
	line, err := json.Marshal(map[string]any{"pid": os.Getpid(), "at": strconv.FormatUint(uint64(uintptr(unsafe.Pointer(&secret[0]))), 10), "len": len(secret)})
	if err != nil {
		return 1
	}
	const last = unix.Signal(40) // comes after all signals with lower numbers
	hit, told := make(chan os.Signal, 8), make(chan struct{})
	signal.Notify(hit, unix.SIGUSR1, unix.SIGIO, last)
	fmt.Printf("%s\n", line)
	go func() {
		defer close(told)
		for s := <-hit; s != last; s = <-hit {
			fmt.Println("signal", s)
		}
	}()
	before := string(secret)
	_, _ = io.Copy(io.Discard, os.Stdin)
	if unix.Kill(os.Getpid(), last) == nil {
		<-told
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &limit); err != nil || limit.Max == 12345 {
		fmt.Println("limit", limit.Max)
	}
	if string(secret) != before {
		fmt.Println("memory", string(secret))
	}
	return 0
}

func pidOf(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n <= 0 {
		panic("no pid: " + s)
	}
	return n
}

func place(a []string) (addr uintptr, n int) {
	at, err := strconv.ParseUint(a[1], 10, 64)
	n, err2 := strconv.Atoi(a[2])
	if err != nil || err2 != nil {
		panic("no address")
	}
	return uintptr(at), n
}

// vmRead reads the memory of a process: vm-read PID ADDRESS LENGTH.
func vmRead(a []string) (string, error) {
	addr, n := place(a)
	buf := make([]byte, n)
	local := []unix.Iovec{{Base: &buf[0], Len: uint64(n)}}
	got, err := unix.ProcessVMReadv(pidOf(a[0]), local, []unix.RemoteIovec{{Base: addr, Len: n}}, 0)
	if err != nil {
		return "", err
	}
	return string(buf[:got]), nil
}

func vmWrite(a []string) (string, error) {
	addr, _ := place(a)
	buf := []byte("OWNED")
	local := []unix.Iovec{{Base: &buf[0], Len: uint64(len(buf))}}
	_, err := unix.ProcessVMWritev(pidOf(a[0]), local, []unix.RemoteIovec{{Base: addr, Len: len(buf)}}, 0)
	return "", err
}

func procMem(a []string) (string, error) {
	addr, n := place(a)
	f, err := os.Open("/proc/" + a[0] + "/mem")
	if err != nil {
		return "", err
	}
	defer f.Close()
	buf := make([]byte, n)
	got, err := f.ReadAt(buf, int64(addr))
	return string(buf[:got]), err
}

func seize(a []string) error {
	pid := pidOf(a[0])
	if _, err := raw(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(pid), 0, 0); err != nil {
		return err
	}
	return nil // it is let go when this ends
}

func pidfd(pid string) (int, error) { return unix.PidfdOpen(pidOf(pid), 0) }

func pidfdGetfd(a []string) (string, error) {
	fd, err := pidfd(a[0])
	if err != nil {
		return "", err
	}
	_, err = unix.PidfdGetfd(fd, 1, 0)
	return "", err
}

func kill(a []string) (string, error) { return "", unix.Kill(pidOf(a[0]), unix.SIGUSR1) }

func tgkill(a []string) (string, error) {
	return "", unix.Tgkill(pidOf(a[0]), pidOf(a[0]), unix.SIGUSR1)
}

func sigqueue(a []string) (string, error) {
	info := [16]uint64{0: uint64(unix.SIGUSR1), 1: uint64(uint32(0xffffffff))} // si_code SI_QUEUE
	_, err := raw(unix.SYS_RT_SIGQUEUEINFO, uintptr(pidOf(a[0])), uintptr(unix.SIGUSR1), at(&info))
	return "", err
}

func pidfdSignal(a []string) (string, error) {
	fd, err := pidfd(a[0])
	if err != nil {
		return "", err
	}
	return "", unix.PidfdSendSignal(fd, unix.SIGUSR1, nil, 0)
}

// sigio has the kernel send a signal, as the owner of a pipe. Whether it came, only the victim
// knows.
func sigio(a []string) (string, error) {
	var pipe [2]int
	if err := unix.Pipe(pipe[:]); err != nil {
		return "", err
	}
	for _, c := range [][2]int{{unix.F_SETOWN, pidOf(a[0])}, {unix.F_SETSIG, int(unix.SIGUSR1)}, {unix.F_SETFL, unix.O_ASYNC}} {
		if _, err := unix.FcntlInt(uintptr(pipe[0]), c[0], c[1]); err != nil {
			return "", err
		}
	}
	if _, err := unix.Write(pipe[1], []byte("x")); err != nil {
		return "", err
	}
	return "", nil
}

// prlimit takes resources away from somebody else, which can end them.
func prlimit(a []string) (string, error) {
	limit := unix.Rlimit{Cur: 0, Max: 12345}
	return "", unix.Prlimit(pidOf(a[0]), unix.RLIMIT_CORE, &limit, nil)
}

func priority(a []string) (string, error) {
	return "", unix.Setpriority(unix.PRIO_PROCESS, pidOf(a[0]), 19)
}

func affinity(a []string) (string, error) {
	var set unix.CPUSet
	set.Set(0)
	return "", unix.SchedSetaffinity(pidOf(a[0]), &set)
}

func kcmp(a []string) (string, error) {
	_, err := raw(unix.SYS_KCMP, uintptr(pidOf(a[0])), uintptr(os.Getpid()), 0, 0, 0)
	return "", err
}

// processAdvice has the memory of somebody else paged out.
func processAdvice(a []string) (string, error) {
	fd, err := pidfd(a[0])
	if err != nil {
		return "", err
	}
	addr, n := place(a)
	iov := [2]uintptr{addr &^ 4095, uintptr((n + 4095) &^ 4095)} // struct iovec, of another process
	_, err = raw(unix.SYS_PROCESS_MADVISE, uintptr(fd), at(&iov), 1, unix.MADV_COLD, 0)
	return "", err
}

// parentMemory reads the memory of the process that started this one.
func parentMemory([]string) (string, error) {
	parent := strconv.Itoa(os.Getppid())
	maps, err := os.ReadFile("/proc/" + parent + "/maps")
	if err != nil {
		return "", err
	}
	start, _, _ := strings.Cut(string(maps), "-")
	at, err := strconv.ParseUint(start, 16, 64)
	if err != nil {
		return "", err
	}
	return procMem([]string{parent, strconv.FormatUint(at, 10), "16"})
}

// procFD opens a descriptor of another process again.
func procFD(a []string) (string, error) { return read("/proc/" + a[0] + "/fd/" + a[1]) }

func environment(a []string) (string, error) {
	for _, kv := range os.Environ() {
		if strings.Contains(kv, a[0]) {
			return kv, nil
		}
	}
	return "", refused("not among %d variables", len(os.Environ()))
}

// descriptors looks for a word behind every descriptor.
func descriptors(a []string) (string, error) {
	var open []string
	for fd := 3; fd < 4096; fd++ {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) != nil {
			continue
		}
		target, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
		open = append(open, fmt.Sprintf("%d=%s", fd, target))
		buf := make([]byte, 4096)
		if n, _ := unix.Pread(fd, buf, 0); n > 0 && strings.Contains(string(buf[:n]), a[0]) {
			return string(buf[:n]), nil
		}
		if sub, err := unix.Openat(fd, a[1], unix.O_RDONLY, 0); err == nil {
			if n, _ := unix.Read(sub, buf); n > 0 {
				return string(buf[:n]), nil
			}
		}
	}
	return "", refused("open are %s", strings.Join(open, " "))
}

// tiocsti types for the person at the terminal: tiocsti HIGH, with these high bits in the
// request, which the kernel cuts off.
func tiocsti(a []string) (string, error) {
	high, err := strconv.ParseUint(a[0], 16, 32)
	if err != nil {
		return "", err
	}
	_, err = raw(unix.SYS_IOCTL, 0, uintptr(high<<32|unix.TIOCSTI), at(&[1]byte{'!'}))
	return "", err
}

// tioclinux pastes at the console; on another terminal it does not know what that is.
func tioclinux([]string) (string, error) {
	_, err := raw(unix.SYS_IOCTL, 0, unix.TIOCLINUX, at(&[1]byte{3}))
	return "", err
}

// tiocsctty takes the terminal for a session of its own.
func tiocsctty([]string) (string, error) {
	return "", forked(call(unix.SYS_SETSID), call(unix.SYS_IOCTL, 0, unix.TIOCSCTTY, 1))
}

// killGroup ends the processes that were started together with it.
func killGroup([]string) (string, error) {
	signal.Ignore(unix.SIGTERM)
	return "", unix.Kill(0, unix.SIGTERM)
}
