package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
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
	"linger":     linger,
	"outlive":    outlive,
	"chain":      chain,
	"kill-group": killGroup,
	"wait":       wait,

	"forkbomb":      forkbomb,
	"memory":        func(a []string) (string, error) { return memory(a, unix.MAP_PRIVATE) },
	"memory-shared": func(a []string) (string, error) { return memory(a, unix.MAP_SHARED) },
	"cpu":           cpu,
	"file-size":     fileSize,
})

func init() {
	parts["victim"] = victim
	parts["part-sleep"] = sleeper
	parts["part-linger"] = lingerer
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
	hit := make(chan os.Signal, 8)
	signal.Notify(hit, unix.SIGUSR1, unix.SIGIO)
	fmt.Printf("%s\n", line)
	go func() {
		for s := range hit {
			fmt.Println("signal", s)
		}
	}()
	before := string(secret)
	_, _ = io.Copy(io.Discard, os.Stdin)
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

// linger leaves a process behind in every way there is: linger MARK.
func linger(a []string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	for _, session := range []bool{false, true} {
		cmd := exec.Command(self, "part-linger", a[0], "2")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: session}
		in, err := cmd.StdoutPipe()
		if err != nil {
			return "", err
		}
		if err := cmd.Start(); err != nil {
			return "", err
		}
		if line, err := bufio.NewReader(in).ReadString('\n'); err != nil {
			return "", refused("%q, %v", line, err)
		}
		if err := cmd.Wait(); err != nil {
			return "", err
		}
	}
	return "", nil
}

// outlive leaves processes behind and is then itself no longer killed with whoever started it:
// outlive MARK READY.
func outlive(a []string) (string, error) {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0); err != nil {
		return "", err
	}
	if _, err := linger(a[:1]); err != nil {
		return "", err
	}
	return wait([]string{"60", a[1]})
}

// lingerer is started, starts another and ends; that one stays, hears no signal and is in a
// session of its own.
func lingerer(a []string) int {
	signal.Ignore(unix.SIGHUP, unix.SIGTERM, unix.SIGINT, unix.SIGQUIT, unix.SIGPIPE, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM)
	_, _ = unix.Setsid()
	if a[1] == "0" {
		fmt.Println("stays")
		for f := 0; f < 3; f++ {
			_ = unix.Close(f)
		}
		time.Sleep(60 * time.Second)
		return 0
	}
	next, err := strconv.Atoi(a[1])
	self, err2 := os.Executable()
	if err != nil || err2 != nil {
		return 1
	}
	cmd := exec.Command(self, "part-linger", a[0], strconv.Itoa(next-1))
	cmd.Stdout = os.Stdout
	if cmd.Start() != nil {
		return 1
	}
	return 0
}

// chain leaves some processes behind that each start another and end, as that does, as fast as it
// goes: chain SECONDS. After so long the last ones do not. They keep standard error open.
func chain(a []string) (string, error) {
	seconds, err := strconv.Atoi(a[0])
	if err != nil {
		return "", err
	}
	var now, end unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &end); err != nil {
		return "", err
	}
	end.Sec += int64(seconds)
	// In a child nothing of Go works, so there are only system calls.
	fork := func() uintptr {
		pid, _, _ := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		return pid
	}
	if pid := fork(); int(pid) < 0 {
		return "", refused("the first fork")
	} else if pid != 0 {
		return "", nil
	}
	for fd := range uintptr(2) {
		_, _, _ = syscall.RawSyscall(unix.SYS_CLOSE, fd, 0, 0)
	}
	for range 4 { // 16 of them
		_ = fork()
	}
	for now.Sec < end.Sec {
		_, _, _ = syscall.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_MONOTONIC, uintptr(unsafe.Pointer(&now)), 0)
		if pid := fork(); int(pid) > 0 {
			break
		}
	}
	for {
		_, _, _ = syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
}

// wait says that it runs and waits to be ended: wait SECONDS. It worked if nobody did.
func wait(a []string) (string, error) {
	seconds, err := strconv.Atoi(a[0])
	if err != nil {
		return "", err
	}
	if a[1] != "" {
		if err := os.WriteFile(a[1], []byte("ready\n"), 0o644); err != nil {
			return "", err
		}
	}
	time.Sleep(time.Duration(seconds) * time.Second)
	return "", nil
}

func sleeper([]string) int {
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// forkbomb has many processes at once: forkbomb COUNT. It worked if all were there.
func forkbomb(a []string) (string, error) {
	count, err := strconv.Atoi(a[0])
	if err != nil {
		return "", err
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return "", err
	}
	var list []*exec.Cmd
	defer func() {
		_ = w.Close()
		for _, cmd := range list {
			_ = cmd.Wait()
		}
	}()
	for range count {
		cmd := exec.Command(self, "part-sleep")
		cmd.Stdin = r
		if err := cmd.Start(); err != nil {
			return "", fmt.Errorf("after %d: %w", len(list), err)
		}
		list = append(list, cmd)
	}
	time.Sleep(500 * time.Millisecond) // they stay, and are looked for every now and then
	return strconv.Itoa(len(list)), nil
}

// memory uses memory: memory MEBIBYTES.
func memory(a []string, kind int) (string, error) {
	n, err := strconv.Atoi(a[0])
	if err != nil {
		return "", err
	}
	b, err := unix.Mmap(-1, 0, n<<20, unix.PROT_READ|unix.PROT_WRITE, kind|unix.MAP_ANONYMOUS)
	if err != nil {
		return "", err
	}
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
	return "", nil
}

// cpu uses the processor: cpu SECONDS.
func cpu(a []string) (string, error) {
	n, err := strconv.Atoi(a[0])
	if err != nil {
		return "", err
	}
	for {
		var use unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_SELF, &use); err != nil {
			return "", err
		}
		if use.Utime.Sec+use.Stime.Sec >= int64(n) {
			return "", nil
		}
	}
}

// fileSize writes a file: file-size FILE MEBIBYTES.
func fileSize(a []string) (string, error) {
	n, err := strconv.Atoi(a[1])
	if err != nil {
		return "", err
	}
	signal.Ignore(unix.SIGXFSZ)
	return "", os.WriteFile(a[0], make([]byte, n<<20), 0o644)
}
