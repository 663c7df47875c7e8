package engine

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/sandbox/fit"
	"golang.org/x/sys/unix"
)

// unconfined runs operations without any plan: the control.
func unconfined(t *testing.T, dir string, ops ...string) []string {
	t.Helper()
	cmd := &exec.Cmd{Path: self(t), Args: append([]string{probeName}, ops...), Dir: dir}
	out, err := cmd.Output()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || len(lines) != len(ops)+1 {
		t.Fatalf("%v: %s", err, out)
	}
	return lines[:len(ops)]
}

// What the filter refuses, a real process is refused; without it the kernel has other
// reasons, or none.
func TestCalls(t *testing.T) {
	refused := []int{
		unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT,
		unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV,
		unix.SYS_PIDFD_GETFD, unix.SYS_PROCESS_MADVISE, unix.SYS_KCMP, unix.SYS_BPF, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
		unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
		unix.SYS_KEXEC_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_REBOOT,
		unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_SYSLOG, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
		unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_FANOTIFY_INIT, unix.SYS_OPEN_BY_HANDLE_AT,
	}
	var ops, lines []string
	for _, nr := range refused {
		ops = append(ops, fmt.Sprint("syscall ", nr))
		lines = append(lines, fmt.Sprintf("syscall %d = EPERM", nr))
	}
	ws := jptooltest.OpenRoot(t)
	if jptooltest.Root(t) { // others are refused much of it anyway
		differ := 0
		for _, got := range unconfined(t, ws, ops...) {
			if got != "EPERM" {
				differ++
			}
		}
		if differ < len(ops)-4 {
			t.Errorf("only %d of %d calls have other results without a plan", differ, len(ops))
		}
	}
	// Not CLONE_FILES: the other threads of the probe would no longer share the descriptors that
	// Go's poller waits on, and the runtime would give up.
	lines = append(lines, fmt.Sprintf("syscall %d = ENOSYS", unix.SYS_CLONE3), fmt.Sprintf("syscall %d = ENOSYS", 0x40000000|unix.SYS_GETPID), "syscall 99999 = ENOSYS",
		fmt.Sprintf("unshare %d = EPERM", unix.CLONE_NEWUSER), fmt.Sprintf("unshare %d = EPERM", unix.CLONE_NEWNS), fmt.Sprintf("unshare %d = ok", unix.CLONE_FS),
		fmt.Sprintf("clone %d = EPERM", unix.CLONE_NEWUSER), "clone 0 = ok",
		"typing 0 = EPERM", "typing 0x5500000000 = EPERM")
	tiers(t, func(t *testing.T, tier fit.Tier) { wantProbes(t, plan(t, tier, ws), lines...) })
}

// Without a network there are no sockets, with one TCP and UDP; never a way to a service on
// this machine that acts with rights of its own.
func TestSockets(t *testing.T) {
	ws := jptooltest.OpenRoot(t)
	path := filepath.Join(ws, "service")
	service, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if errors.Is(err, unix.EPROTONOSUPPORT) {
		t.Skipf("not run: the filter of a sandbox around this process refuses the control: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = service.Close() }()
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	tcp, udp, mptcp, local, raw := "socket 2/1/0", "socket 2/2/17", "socket 2/1/262", "socket 1/1/0", "socket 16/3/0"
	for i, got := range unconfined(t, ws, tcp, udp, local, raw, "pair 2", "divert 2 "+path) {
		if got != "ok" {
			t.Errorf("control %d: %s", i, got)
		}
	}
	tiers(t, func(t *testing.T, tier fit.Tier) {
		p := plan(t, tier, ws)
		p.Grants = []fit.Grant{grant(t, ws, all)}
		always := []string{
			local + " = EAFNOSUPPORT", raw + " = EAFNOSUPPORT", "socket 40/1/0 = EAFNOSUPPORT", "socket 17/3/0 = EAFNOSUPPORT", "pair 1 = ok", "pair 5 = ok",
			"pair 2 = EPROTONOSUPPORT", "divert 2 " + path + " = EPROTONOSUPPORT", "divert 1 " + path + " = EISCONN", "divert 5 " + path + " = EISCONN",
		}
		wantProbes(t, p, append(always, tcp+" = EAFNOSUPPORT", udp+" = EAFNOSUPPORT", mptcp+" = EAFNOSUPPORT", "socket 10/1/6 = EAFNOSUPPORT")...)
		p.Net.Open = true
		wantProbes(t, p, append(always, tcp+" = ok", udp+" = ok", mptcp+" = EPROTONOSUPPORT", "socket 10/1/6 = ok|EAFNOSUPPORT", "socket 2/3/1 = EPROTONOSUPPORT")...)
	})
}

// A port that is named can be connected to, another cannot.
func TestPorts(t *testing.T) {
	needs(t, fit.TierLandlock, fit.NetABI)
	jptooltest.NotAnnounced(t)
	var ports [2]uint16
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		ports[i] = uint16(l.Addr().(*net.TCPAddr).Port)
	}
	tiers(t, func(t *testing.T, tier fit.Tier) {
		p := plan(t, tier, jptooltest.OpenRoot(t))
		p.Net = fit.Net{Open: true, Ports: ports[:1]}
		wantProbes(t, p, fmt.Sprintf("connect %d = ok", ports[0]), fmt.Sprintf("connect %d = EACCES", ports[1]), "listen = EACCES")
		p.Net.Ports = nil
		wantProbes(t, p, fmt.Sprintf("connect %d = ok", ports[1]), "listen = EACCES")
		p.Net.Ports = []uint16{}
		wantProbes(t, p, fmt.Sprintf("connect %d = EACCES", ports[1]))
	})
}

// A plan for a machine without filters starts without one; what Landlock and namespaces hold
// is held.
func TestNoFilter(t *testing.T) {
	jptooltest.NotAnnounced(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	port := l.Addr().(*net.TCPAddr).Port
	tiers(t, func(t *testing.T, tier fit.Tier) {
		ws := jptooltest.OpenRoot(t)
		write(t, filepath.Join(ws, "file"), "", 0o644)
		p := plan(t, tier, ws)
		p.Grants, p.NoFilter, p.Frozen = []fit.Grant{grant(t, ws, r)}, true, true
		without := "ok"
		if tier == fit.TierNamespace {
			without = "ENETUNREACH"
		}
		wantProbes(t, p, "read file = ok", "update file = EACCES", "socket 2/2/17 = ok", fmt.Sprintf("connect %d = %s", port, since(t, fit.NetABI, "EACCES", without)), "chmod file = ok",
			fmt.Sprintf("syscall %d = EPERM", unix.SYS_SETHOSTNAME))
		if got := mustRun(t, p, "grep Seccomp: /proc/$$/status; grep NoNewPrivs /proc/$$/status"); strings.Join(strings.Fields(got), " ") != "Seccomp: 0 NoNewPrivs: 1" {
			t.Errorf("%q", got)
		}
	})
}

// A plan that writes nowhere changes no metadata either.
func TestFrozen(t *testing.T) {
	tiers(t, func(t *testing.T, tier fit.Tier) {
		ws := jptooltest.OpenRoot(t)
		file := write(t, filepath.Join(ws, "file"), "", 0o644)
		p := plan(t, tier, ws)
		p.Grants = []fit.Grant{grant(t, ws, r)}
		wantProbes(t, p, "chmod file = ok") // Landlock does not hold it
		if err := os.Chmod(file, 0o644); err != nil {
			t.Fatal(err)
		}
		p.Frozen = true
		wantProbes(t, p, "chmod file = EPERM", "chown file = EPERM", "utime file = EPERM", "setxattr file = EPERM", "setflags file = EPERM", "read file = ok")
		if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o644 {
			t.Errorf("%v %v", st, err)
		}
	})
}
