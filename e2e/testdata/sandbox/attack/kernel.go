package main

import (
	"fmt"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

var _ = add(map[string]attack{
	"clone-user":  func([]string) (string, error) { return "", forkedWith(uintptr(unix.SIGCHLD)|unix.CLONE_NEWUSER, nil) },
	"clone3-user": clone3,
	"unshare":     unshare,
	"setns":       setns,
	"mount":       mount,
	"bind":        bind,
	"new-mount":   newMount,
	"open-tree":   openTree,
	"mount-attr":  mountAttr,
	"umount":      umount,
	"remount":     remount,
	"pivot-root":  pivotRoot,
	"chroot":      chroot,
	"bpf":         bpf,
	"keyctl":      keyctl,
	"add-key":     addKey,
	"io-uring":    ioUring,
	"perf":        perf,
	"userfaultfd": userfaultfd,
	"fanotify":    fanotify,
	"personality": personality,
	"caps":        caps,
	"x32":         x32,
	"int80":       int80,
	"sysctl":      sysctl,
	"hostname":    hostname,
	"acct":        acct,
	"syslog":      syslogRead,
	"iopl":        iopl,
	"uid-map":     uidMap,
})

var spaces = map[string]uintptr{
	"user": unix.CLONE_NEWUSER, "mount": unix.CLONE_NEWNS, "net": unix.CLONE_NEWNET, "pid": unix.CLONE_NEWPID,
	"ipc": unix.CLONE_NEWIPC, "uts": unix.CLONE_NEWUTS, "cgroup": unix.CLONE_NEWCGROUP,
}

func unshare(a []string) (string, error) {
	flags := spaces[a[0]]
	if flags == 0 {
		return "", fmt.Errorf("no such namespace: %s", a[0])
	}
	steps := []step{call(unix.SYS_UNSHARE, flags)}
	if a[0] != "user" { // how an ordinary user would get the right to
		steps = append([]step{call(unix.SYS_UNSHARE, unix.CLONE_NEWUSER).orNot()}, steps...)
	}
	return "", forked(steps...)
}

func clone3([]string) (string, error) {
	args := [11]uint64{0: unix.CLONE_NEWUSER, 4: uint64(unix.SIGCHLD)}
	pid, _, errno := unix.RawSyscall(unix.SYS_CLONE3, at(&args), unsafe.Sizeof(args), 0)
	if errno != 0 {
		return "", errno
	}
	if pid == 0 {
		unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
	_, err := unix.Wait4(int(pid), nil, 0, nil)
	return "", err
}

// setns enters the namespaces of another process: setns PID KIND.
func setns(a []string) (string, error) {
	fd, err := unix.Open("/proc/"+a[0]+"/ns/"+a[1], unix.O_RDONLY, 0)
	if err != nil {
		return "", err
	}
	return "", forked(call(unix.SYS_SETNS, uintptr(fd), 0))
}

// private are the steps that make mounting harmless outside of a sandbox, and possible for
// an ordinary user. They may fail, as inside of one they are refused too.
func private() []step {
	return []step{
		call(unix.SYS_UNSHARE, unix.CLONE_NEWUSER|unix.CLONE_NEWNS).orNot(),
		call(unix.SYS_UNSHARE, unix.CLONE_NEWNS).orNot(),
		call(unix.SYS_MOUNT, text("none"), text("/"), 0, unix.MS_REC|unix.MS_PRIVATE, 0).orNot(),
	}
}

func mount(a []string) (string, error) {
	return "", forked(append(private(), call(unix.SYS_MOUNT, text("none"), text(a[0]), text("tmpfs"), 0, 0))...)
}

func bind(a []string) (string, error) {
	return "", forked(append(private(), call(unix.SYS_MOUNT, text(a[0]), text(a[1]), 0, unix.MS_BIND|unix.MS_REC, 0))...)
}

func newMount([]string) (string, error) {
	return "", forked(append(private(), call(unix.SYS_FSOPEN, text("tmpfs"), 0))...)
}

func openTree(a []string) (string, error) {
	return "", forked(append(private(), call(unix.SYS_OPEN_TREE, minus100, text(a[0]), unix.OPEN_TREE_CLONE))...)
}

// mountAttr makes a read-only mount writable; outside of a sandbox it makes one first.
func mountAttr(a []string) (string, error) {
	attr := unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}
	return "", forked(append(private(),
		call(unix.SYS_MOUNT, text("none"), text(a[0]), text("tmpfs"), unix.MS_RDONLY, 0).orNot(),
		call(unix.SYS_MOUNT_SETATTR, minus100, text(a[0]), 0, at(&attr), unsafe.Sizeof(attr)))...)
}

// umount takes a mount away from over a path; outside of a sandbox it makes one first.
func umount(a []string) (string, error) {
	return "", forked(append(private(),
		call(unix.SYS_MOUNT, text("none"), text(a[0]), text("tmpfs"), 0, 0).orNot(),
		call(unix.SYS_UMOUNT2, text(a[0]), unix.MNT_DETACH))...)
}

func remount(a []string) (string, error) {
	return "", forked(append(private(),
		call(unix.SYS_MOUNT, text("none"), text(a[0]), text("tmpfs"), 0, 0).orNot(),
		call(unix.SYS_MOUNT, text("none"), text(a[0]), 0, unix.MS_REMOUNT|unix.MS_BIND, 0))...)
}

func pivotRoot(a []string) (string, error) {
	return "", forked(append(private(),
		call(unix.SYS_MOUNT, text("none"), text(a[0]), text("tmpfs"), 0, 0).orNot(),
		call(unix.SYS_PIVOT_ROOT, text(a[0]), text(a[0])))...)
}

func chroot(a []string) (string, error) {
	return "", forked(append(private(), call(unix.SYS_CHROOT, text(a[0])))...)
}

func bpf([]string) (string, error) {
	attr := [18]uint32{unix.BPF_MAP_TYPE_ARRAY, 4, 4, 1}
	_, err := raw(unix.SYS_BPF, unix.BPF_MAP_CREATE, at(&attr), unsafe.Sizeof(attr))
	return "", err
}

func keyctl([]string) (string, error) {
	_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, true)
	return "", err
}

func addKey([]string) (string, error) {
	_, err := unix.AddKey("user", "attack", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
	return "", err
}

func ioUring([]string) (string, error) {
	var params [30]uint32
	_, err := raw(unix.SYS_IO_URING_SETUP, 4, at(&params))
	return "", err
}

func perf([]string) (string, error) {
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: unix.PERF_ATTR_SIZE_VER0, Config: unix.PERF_COUNT_SW_CPU_CLOCK, Bits: 1<<5 | 1<<6}
	_, err := unix.PerfEventOpen(&attr, 0, -1, -1, 0)
	return "", err
}

func userfaultfd([]string) (string, error) {
	_, err := raw(unix.SYS_USERFAULTFD, 1) // UFFD_USER_MODE_ONLY
	return "", err
}

func fanotify([]string) (string, error) {
	_, err := unix.FanotifyInit(unix.FAN_CLASS_NOTIF, 0)
	return "", err
}

// personality asks for executable memory wherever there is readable memory.
func personality([]string) (string, error) {
	return "", forked(call(unix.SYS_PERSONALITY, 0x0400000))
}

// caps worked if any capability is left, or could come back by running a program.
func caps([]string) (string, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "", err
	}
	var left []string
	seen := 0
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimSpace(value)
		switch name {
		case "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb":
			seen++
			if strings.Trim(value, "0") != "" {
				left = append(left, name+"="+value)
			}
		case "NoNewPrivs":
			seen++
			if value != "1" {
				left = append(left, name+"="+value)
			}
		case "Seccomp":
			seen++
			if value != "2" {
				left = append(left, name+"="+value)
			}
		}
	}
	if seen != 7 {
		return "", fmt.Errorf("only %d of 7 lines in /proc/self/status", seen)
	}
	// With an emptied bounding set no program brings one back; no_new_privs does the same
	// for somebody who had no right to empty it.
	if len(left) == 0 || os.Getuid() != 0 && len(left) == 1 && strings.HasPrefix(left[0], "CapBnd=") {
		return "", refused("nothing is left")
	}
	return strings.Join(left, " "), nil
}

// x32 enters the kernel by the numbers of the third kind of programs.
func x32([]string) (string, error) {
	_, err := raw(0x40000000|unix.SYS_GETPID, 0)
	return "", err
}

// int80 enters the kernel as 32-bit programs do, for a datagram socket.
func int80([]string) (string, error) {
	return part("part-int80")
}

// sysctl writes a setting that every kernel has, back to what it is.
func sysctl(a []string) (string, error) {
	old, err := os.ReadFile(a[0])
	if err != nil {
		return "", err
	}
	return "", os.WriteFile(a[0], old, 0)
}

func hostname([]string) (string, error) {
	name := []byte("attacked")
	return "", forked(call(unix.SYS_UNSHARE, unix.CLONE_NEWUSER|unix.CLONE_NEWUTS).orNot(), call(unix.SYS_SETHOSTNAME, at(&name[0]), uintptr(len(name))))
}

func acct(a []string) (string, error) {
	_, err := raw(unix.SYS_ACCT, 0) // off, as it is
	return "", err
}

func syslogRead([]string) (string, error) {
	n, err := unix.Klogctl(unix.SYSLOG_ACTION_SIZE_BUFFER, nil)
	return fmt.Sprint(n), err
}

// uidMap makes somebody else of itself, where it can still have a new user namespace.
func uidMap([]string) (string, error) {
	zero := []byte(fmt.Sprintf("0 %d 1\n", os.Getuid()))
	fdcwd := minus100
	// The descriptor of the map is the lowest that is free; 200 is made free for it.
	return "", forked(
		call(unix.SYS_UNSHARE, unix.CLONE_NEWUSER),
		call(unix.SYS_CLOSE_RANGE, 3, ^uintptr(0)>>32, 0),
		call(unix.SYS_OPENAT, fdcwd, text("/proc/self/uid_map"), unix.O_WRONLY, 0),
		call(unix.SYS_WRITE, 3, at(&zero[0]), uintptr(len(zero))))
}
