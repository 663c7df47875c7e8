//go:build amd64 || arm64

package filter

import (
	"encoding/binary"
	"slices"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// judge runs the filter on one call. Its result is 0 for allowed, or an error number.
func judge(t *testing.T, o Options, architecture, nr uint32, args ...uint64) unix.Errno {
	t.Helper()
	program, err := For(o)
	if err != nil {
		t.Fatal(err)
	}
	return apply(t, program, architecture, nr, args...)
}

// apply is judge for any filter.
func apply(t *testing.T, code []unix.SockFilter, architecture, nr uint32, args ...uint64) unix.Errno {
	t.Helper()
	raw := make([]bpf.RawInstruction, len(code))
	for i, c := range code {
		raw[i] = bpf.RawInstruction{Op: c.Code, Jt: c.Jt, Jf: c.Jf, K: c.K}
	}
	list, all := bpf.Disassemble(raw)
	if !all {
		t.Fatal("there are instructions that do not exist")
	}
	vm, err := bpf.NewVM(list)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 64) // struct seccomp_data; this machine reads words as big-endian
	binary.BigEndian.PutUint32(data[wordNr:], nr)
	binary.BigEndian.PutUint32(data[wordArch:], architecture)
	for i, a := range args {
		binary.BigEndian.PutUint32(data[16+8*i:], uint32(a))
		binary.BigEndian.PutUint32(data[20+8*i:], uint32(a>>32))
	}
	got, err := vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	// The machine counts bytes of a packet to keep; it returns what the program did.
	switch v := uint32(got); {
	case v == unix.SECCOMP_RET_ALLOW:
		return 0
	case v&unix.SECCOMP_RET_ACTION_FULL == unix.SECCOMP_RET_ERRNO:
		return unix.Errno(v & unix.SECCOMP_RET_DATA)
	case v == unix.SECCOMP_RET_KILL_PROCESS:
		return killed
	case v == unix.SECCOMP_RET_USER_NOTIF:
		return announced
	default:
		t.Fatalf("the filter returned %#x", v)
		return 0
	}
}

const (
	killed    = unix.Errno(9999)
	announced = unix.Errno(9998)
)

// The second filter of an observed program announces what it is told to and refuses nothing.
func TestAnnouncing(t *testing.T) {
	calls := []uint32{unix.SYS_OPENAT, unix.SYS_EXECVE, unix.SYS_OPENAT2, unix.SYS_UNLINKAT}
	list, err := Announcing(calls)
	if err != nil {
		t.Fatal(err)
	}
	for nr := range uint32(lastNr + 100) {
		want := unix.Errno(0)
		if slices.Contains(calls, nr) {
			want = announced
		}
		if got := apply(t, list, arch, nr); got != want {
			t.Errorf("call %d: %d, want %d", nr, got, want)
		}
	}
	if got := apply(t, list, unix.AUDIT_ARCH_ARM, unix.SYS_OPENAT); got != 0 {
		t.Errorf("of another architecture: %d", got)
	}
	if got := apply(t, list, arch, 1<<30|unix.SYS_OPENAT); got != 0 {
		t.Errorf("x32: %d", got)
	}
}

func TestFilter(t *testing.T) {
	const high = 1 << 32 // a bit that the kernel does not look at in an int
	closed, open, frozen := Options{}, Options{Net: true}, Options{Frozen: true}
	for _, c := range []struct {
		name string
		o    Options
		nr   uint32
		args []uint64
		want unix.Errno
	}{
		{"read", closed, unix.SYS_READ, nil, 0},
		{"openat", closed, unix.SYS_OPENAT, nil, 0},
		{"execve", closed, unix.SYS_EXECVE, nil, 0},
		{"the last one", closed, lastNr, nil, 0},
		{"newer ones", closed, lastNr + 1, nil, unix.ENOSYS},
		{"x32", closed, 0x40000000 | unix.SYS_READ, nil, unix.ENOSYS},
		{"negative", closed, 0xffffffff, nil, unix.ENOSYS},
		{"clone3", closed, unix.SYS_CLONE3, nil, unix.ENOSYS},
		{"a thread", closed, unix.SYS_CLONE, []uint64{unix.CLONE_VM | unix.CLONE_THREAD | unix.CLONE_SIGHAND | unix.CLONE_FS}, 0},
		{"a fork", closed, unix.SYS_CLONE, []uint64{uint64(unix.SIGCHLD)}, 0},
		{"a fork with a signal like CLONE_NEWTIME", closed, unix.SYS_CLONE, []uint64{0x80}, 0},
		{"clone, a user namespace", closed, unix.SYS_CLONE, []uint64{unix.CLONE_NEWUSER | uint64(unix.SIGCHLD)}, unix.EPERM},
		{"clone, a cgroup namespace and high bits", closed, unix.SYS_CLONE, []uint64{high | unix.CLONE_NEWCGROUP}, unix.EPERM},
		{"unshare files", closed, unix.SYS_UNSHARE, []uint64{unix.CLONE_FILES}, 0},
		{"unshare time", closed, unix.SYS_UNSHARE, []uint64{unix.CLONE_NEWTIME}, unix.EPERM},
		{"unshare mounts", closed, unix.SYS_UNSHARE, []uint64{unix.CLONE_NEWNS}, unix.EPERM},
		{"ioctl, a window size", closed, unix.SYS_IOCTL, []uint64{0, unix.TIOCGWINSZ}, 0},
		{"ioctl, typing", closed, unix.SYS_IOCTL, []uint64{0, unix.TIOCSTI}, unix.EPERM},
		{"ioctl, typing with high bits", closed, unix.SYS_IOCTL, []uint64{0, high | unix.TIOCSTI}, unix.EPERM},
		{"ioctl, pasting", closed, unix.SYS_IOCTL, []uint64{0, 0x541c}, unix.EPERM},
		{"ioctl, a snapshot", closed, unix.SYS_IOCTL, []uint64{0, 0x50009401}, unix.EPERM},
		{"ioctl, a snapshot with flags and high bits", open, unix.SYS_IOCTL, []uint64{0, high | 0x50009417}, unix.EPERM},
		{"ioctl, a subvolume", closed, unix.SYS_IOCTL, []uint64{0, 0x5000940e}, unix.EPERM},
		{"ioctl, a subvolume with flags", closed, unix.SYS_IOCTL, []uint64{0, 0x50009418}, unix.EPERM},
		{"ioctl, removing a subvolume", closed, unix.SYS_IOCTL, []uint64{0, 0x5000940f}, unix.EPERM},
		{"ioctl, removing a subvolume by number", closed, unix.SYS_IOCTL, []uint64{0, 0x5000943f}, unix.EPERM},
		{"ioctl, a subvolume of bcachefs", closed, unix.SYS_IOCTL, []uint64{0, 0x4020bc10}, unix.EPERM},
		{"ioctl, removing a subvolume of bcachefs", closed, unix.SYS_IOCTL, []uint64{0, 0x4020bc11}, unix.EPERM},
		{"ioctl, a copy by name of ocfs2", closed, unix.SYS_IOCTL, []uint64{0, 0x40186f04}, unix.EPERM},
		{"ioctl, adding a key", closed, unix.SYS_IOCTL, []uint64{0, 0xc0506617}, unix.EPERM},
		{"ioctl, removing a key", closed, unix.SYS_IOCTL, []uint64{0, 0xc0406618}, unix.EPERM},
		{"ioctl, a clone of what is open", closed, unix.SYS_IOCTL, []uint64{0, unix.FICLONE}, 0},
		{"ioctl, flags of a subvolume", closed, unix.SYS_IOCTL, []uint64{0, 0x4008941a}, 0},
		{"ioctl, flags of a subvolume, frozen", frozen, unix.SYS_IOCTL, []uint64{0, 0x4008941a}, unix.EPERM},
		{"ioctl, a version, frozen", frozen, unix.SYS_IOCTL, []uint64{0, 0x40086604}, unix.EPERM},
		{"fcntl, flags", closed, unix.SYS_FCNTL, []uint64{0, unix.F_SETFL}, 0},
		{"fcntl, a lock", closed, unix.SYS_FCNTL, []uint64{0, unix.F_OFD_SETLK}, 0},
		{"fcntl, a lease", closed, unix.SYS_FCNTL, []uint64{0, high | unix.F_SETLEASE}, unix.EPERM},
		{"ioctl, attributes of vfat, frozen", frozen, unix.SYS_IOCTL, []uint64{0, 0x40047211}, unix.EPERM},
		{"ioctl, flags of a file", closed, unix.SYS_IOCTL, []uint64{0, unix.FS_IOC_SETFLAGS}, 0},
		{"ioctl, flags of a file, frozen", frozen, unix.SYS_IOCTL, []uint64{0, unix.FS_IOC_SETFLAGS}, unix.EPERM},
		{"ioctl, encryption, frozen", frozen, unix.SYS_IOCTL, []uint64{0, 0x800c6613}, unix.EPERM},
		{"ioctl, a window size, frozen", frozen, unix.SYS_IOCTL, []uint64{0, unix.TIOCGWINSZ}, 0},
		{"ioctl, verity, frozen", frozen, unix.SYS_IOCTL, []uint64{0, unix.FS_IOC_ENABLE_VERITY}, unix.EPERM},
		{"sending", open, unix.SYS_SENDTO, []uint64{3, 0x1000, 1, unix.MSG_NOSIGNAL}, 0},
		{"sending that connects", open, unix.SYS_SENDTO, []uint64{3, 0x1000, 1, unix.MSG_FASTOPEN}, unix.EOPNOTSUPP},
		{"sending a message that connects", closed, unix.SYS_SENDMSG, []uint64{3, 0x1000, high | unix.MSG_FASTOPEN}, unix.EOPNOTSUPP},
		{"sending messages that connect", open, unix.SYS_SENDMMSG, []uint64{3, 0x1000, 1, unix.MSG_FASTOPEN | unix.MSG_NOSIGNAL}, unix.EOPNOTSUPP},
		{"personality, query", closed, unix.SYS_PERSONALITY, []uint64{0xffffffff}, 0},
		{"personality, no randomization", closed, unix.SYS_PERSONALITY, []uint64{addrNoRandomize}, 0},
		{"personality, readable means executable", closed, unix.SYS_PERSONALITY, []uint64{0x0400000}, unix.EPERM},
		{"socketpair, stream", closed, unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK, 0}, 0},
		{"socketpair, sequenced", open, unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_SEQPACKET, 0}, 0},
		{"socketpair, datagrams", open, unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_DGRAM, 0}, unix.EPROTONOSUPPORT},
		{"socketpair, raw, which is datagrams", closed, unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_RAW, 0}, unix.EPROTONOSUPPORT},
		{"socketpair, datagrams and high bits", closed, unix.SYS_SOCKETPAIR, []uint64{high | unix.AF_UNIX, high | unix.SOCK_DGRAM, 0}, unix.EPROTONOSUPPORT},
		{"socketpair, another family", closed, unix.SYS_SOCKETPAIR, []uint64{unix.AF_TIPC, unix.SOCK_STREAM, 0}, unix.EAFNOSUPPORT},
		{"TCP, closed", closed, unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_STREAM, 0}, unix.EAFNOSUPPORT},
		{"unix, closed", closed, unix.SYS_SOCKET, []uint64{unix.AF_UNIX, unix.SOCK_STREAM, 0}, unix.EAFNOSUPPORT},
		{"TCP", open, unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_STREAM | unix.SOCK_CLOEXEC, 0}, 0},
		{"TCP by its number, IPv6", open, unix.SYS_SOCKET, []uint64{unix.AF_INET6, unix.SOCK_STREAM, unix.IPPROTO_TCP}, 0},
		{"MPTCP", open, unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP}, unix.EPROTONOSUPPORT},
		{"MPTCP with high bits", open, unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_STREAM, high | unix.IPPROTO_MPTCP}, unix.EPROTONOSUPPORT},
		{"SCTP", open, unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP}, unix.EPROTONOSUPPORT},
		{"UDP", open, unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_DGRAM | unix.SOCK_NONBLOCK, 0}, 0},
		{"UDP by its number", open, unix.SYS_SOCKET, []uint64{unix.AF_INET6, unix.SOCK_DGRAM, unix.IPPROTO_UDP}, 0},
		{"ping", open, unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP}, unix.EPROTONOSUPPORT},
		{"UDP-Lite", open, unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_UDPLITE}, unix.EPROTONOSUPPORT},
		{"TCP as UDP", open, unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_TCP}, unix.EPROTONOSUPPORT},
		{"raw", open, unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_RAW, 0}, unix.EPROTONOSUPPORT},
		{"unix", open, unix.SYS_SOCKET, []uint64{unix.AF_UNIX, unix.SOCK_STREAM, 0}, unix.EAFNOSUPPORT},
		{"netlink", open, unix.SYS_SOCKET, []uint64{unix.AF_NETLINK, unix.SOCK_RAW, 0}, unix.EAFNOSUPPORT},
		{"vsock", open, unix.SYS_SOCKET, []uint64{unix.AF_VSOCK, unix.SOCK_STREAM, 0}, unix.EAFNOSUPPORT},
		{"packets", open, unix.SYS_SOCKET, []uint64{unix.AF_PACKET, unix.SOCK_RAW, 0}, unix.EAFNOSUPPORT},
		{"listening", open, unix.SYS_LISTEN, []uint64{3, 1}, unix.EACCES},
		{"own limit", closed, unix.SYS_PRLIMIT64, []uint64{0, unix.RLIMIT_CORE, 0x7fff0000_00001000, 0}, 0},
		{"another's limit, read", closed, unix.SYS_PRLIMIT64, []uint64{77, unix.RLIMIT_CORE, 0, 0x1000}, 0},
		{"another's limit", closed, unix.SYS_PRLIMIT64, []uint64{77, unix.RLIMIT_CORE, 0x1000, 0}, unix.EPERM},
		{"another's limit from a round address", closed, unix.SYS_PRLIMIT64, []uint64{77, unix.RLIMIT_CORE, 0x7fff_00000000, 0}, unix.EPERM},
		{"own limit with high bits", closed, unix.SYS_PRLIMIT64, []uint64{high, unix.RLIMIT_CORE, 0x1000, 0}, 0},
		{"shared memory", closed, unix.SYS_SHMAT, nil, unix.ENOSYS},
		{"removing a queue", closed, unix.SYS_MQ_UNLINK, nil, unix.ENOSYS},
		{"shared memory in a namespace", Options{Namespaces: true}, unix.SYS_SHMAT, nil, 0},
		{"chmod", closed, unix.SYS_FCHMODAT, nil, 0},
		{"chmod, of another's identity", closed, unix.SYS_FCHMODAT, []uint64{0, 0x1000, unix.S_ISUID | 0o755}, unix.EPERM},
		{"chmod2, of another's identity", open, unix.SYS_FCHMODAT2, []uint64{0, 0x1000, high | unix.S_ISUID | 0o755, 0}, unix.EPERM},
		{"fchmod, of another's identity", Options{Namespaces: true}, unix.SYS_FCHMOD, []uint64{3, unix.S_ISUID}, unix.EPERM},
		{"fchmod, for groups", closed, unix.SYS_FCHMOD, []uint64{3, unix.S_ISGID | unix.S_ISVTX | 0o775}, 0},
		{"opening, with anything for a mode", closed, unix.SYS_OPENAT, []uint64{0, 0x1000, unix.O_RDWR | unix.O_DIRECTORY, marks}, 0},
		{"making a file", closed, unix.SYS_OPENAT, []uint64{0, 0x1000, unix.O_RDWR | unix.O_CREAT, 0o1777}, 0},
		{"making a file of another's identity", closed, unix.SYS_OPENAT, []uint64{0, 0x1000, high | unix.O_RDWR | unix.O_CREAT, high | unix.S_ISUID | 0o755}, unix.EPERM},
		{"making an unnamed file of another's group", Options{Namespaces: true}, unix.SYS_OPENAT, []uint64{0, 0x1000, unix.O_RDWR | unix.O_TMPFILE, unix.S_ISGID}, unix.EPERM},
		{"making a node of another's identity", open, unix.SYS_MKNODAT, []uint64{0, 0x1000, unix.S_IFREG | unix.S_ISUID | 0o755}, unix.EPERM},
		{"making a pipe", open, unix.SYS_MKNODAT, []uint64{0, 0x1000, unix.S_IFIFO | 0o644}, 0},
		{"attributes by path", closed, unix.SYS_LGETXATTR, nil, unix.EOPNOTSUPP},
		{"attributes of what is open", closed, unix.SYS_FGETXATTR, nil, 0},
		{"attributes by path, in namespaces", Options{Namespaces: true}, unix.SYS_GETXATTR, nil, 0},
		{"ioctl, a line discipline", closed, unix.SYS_IOCTL, []uint64{0, unix.TIOCSETD}, unix.EPERM},
		{"chmod, frozen", frozen, unix.SYS_FCHMODAT, nil, unix.EPERM},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := judge(t, c.o, arch, c.nr, c.args...); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
			if got := judge(t, c.o, 0x40000003, c.nr, c.args...); got != killed { // i386
				t.Errorf("another architecture: %v", got)
			}
		})
	}
}

// The search finds for every number what the tables say.
func TestEveryNumber(t *testing.T) {
	for _, o := range []Options{{}, {Net: true}, {Frozen: true}, {Net: true, Frozen: true}, {Namespaces: true}, {Net: true, Frozen: true, Namespaces: true}} {
		decided := map[uint32]unix.Errno{unix.SYS_CLONE3: unix.ENOSYS}
		for _, nr := range slices.Concat(never, neverHere) {
			decided[nr] = unix.EPERM
		}
		if !o.Namespaces {
			for _, nr := range shared {
				decided[nr] = unix.ENOSYS
			}
			for _, nr := range values {
				decided[nr] = unix.EOPNOTSUPP
			}
		}
		if o.Frozen {
			for _, nr := range slices.Concat(metadata, metadataHere) {
				decided[nr] = unix.EPERM
			}
		}
		n := 0
		skip := judgements(o)
		for nr := range uint32(lastNr + 1) {
			if _, depends := skip[nr]; depends {
				continue
			}
			if got := judge(t, o, arch, nr); got != decided[nr] {
				t.Errorf("%+v: system call %d: %v, want %v", o, nr, got, decided[nr])
			}
			n++
		}
		if n < 400 || len(decided) < 50 {
			t.Errorf("%d numbers and %d decisions only", n, len(decided))
		}
		code, err := For(o)
		if err != nil || len(code) > 400 {
			t.Errorf("%d instructions, %v", len(code), err)
		}
		t.Logf("%+v: %d instructions", o, len(code))
	}
}

func TestNoNumberTwice(t *testing.T) {
	seen := map[uint32]bool{}
	for nr := range judgements(Options{Frozen: true}) {
		seen[nr] = true
	}
	for _, nr := range slices.Concat(never, neverHere, metadata, metadataHere, shared, []uint32{unix.SYS_CLONE3}) {
		if seen[nr] {
			t.Errorf("system call %d is decided twice", nr)
		}
		seen[nr] = true
	}
}

// What making one costs.
func BenchmarkProgram(b *testing.B) {
	for b.Loop() {
		_, _ = For(Options{Frozen: true})
	}
}
