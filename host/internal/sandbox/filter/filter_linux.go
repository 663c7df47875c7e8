//go:build amd64 || arm64

package filter

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// The words of struct seccomp_data. Arguments have 8 bytes; where the kernel itself looks
// at 4 of them only (int, unsigned int), so does the filter: a test of all 8 could be
// passed by a value that the kernel then reads as another.
const (
	wordNr   = 0
	wordArch = 4
)

func wordArg(n uint32) uint32 { return 16 + 8*n } // little-endian: the low half

// lastNr is the highest number that this table was written for.
const lastNr = unix.SYS_RSEQ_SLICE_YIELD

// spaces are the flags of clone(2); unshare(2) has spaceTime too, a signal number in clone's.
const (
	spaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
		unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET
	spaceTime = unix.CLONE_NEWTIME
)

func allow() bpf.Instruction { return bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW} }

func refuse(e unix.Errno) bpf.Instruction {
	return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(e)}
}

// refused are the system calls that are refused whatever their arguments are.
func refused() map[uint32]unix.Errno {
	m := map[uint32]unix.Errno{
		// Its flags lie behind a pointer. Libraries go on with clone then.
		unix.SYS_CLONE3: unix.ENOSYS,
	}
	for _, nr := range slices.Concat(never[:], neverHere[:]) {
		m[nr] = unix.EPERM
	}
	return m
}

var never = [...]uint32{
	unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR,
	unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT,
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_PROCESS_MADVISE,
	unix.SYS_PROCESS_MRELEASE, unix.SYS_KCMP,
	unix.SYS_BPF, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_REBOOT, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_SYSLOG,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
	unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_VHANGUP,
	unix.SYS_FANOTIFY_INIT, unix.SYS_FANOTIFY_MARK, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_NFSSERVCTL,
}

// metadata are the calls that change no content.
var metadata = [...]uint32{
	unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT,
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT,
	unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR,
}

// shared are the calls on objects that belong to an IPC namespace.
var shared = [...]uint32{
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
	unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMCTL, unix.SYS_SEMTIMEDOP, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
}

// The commands of ioctl(2) that put bytes into a terminal as if they were typed, and those
// that change attributes of a file that need only be open.
const (
	tioclinux        = 0x541c
	fsIocSetVersion  = 0x40087602
	fsIoc32SetFlags  = 0x40046602
	fsIoc32SetVers   = 0x40047602
	fsIocFsSetXattr  = 0x401c5820
	fsIocSetEncrypt  = 0x800c6613
	personalityQuery = 0xffffffff
	addrNoRandomize  = 0x0040000
)

// judged are the calls whose arguments decide.
func judged(o Options) map[uint32][]bpf.Instruction {
	commands := []uint32{unix.TIOCSTI, tioclinux}
	if o.Frozen {
		commands = append(commands, unix.FS_IOC_SETFLAGS, fsIocSetVersion, fsIoc32SetFlags, fsIoc32SetVers, fsIocFsSetXattr, fsIocSetEncrypt, unix.FS_IOC_ENABLE_VERITY)
	}
	m := map[uint32][]bpf.Instruction{
		unix.SYS_CLONE:   notWith(0, spaces, unix.EPERM),
		unix.SYS_UNSHARE: notWith(0, spaces|spaceTime, unix.EPERM),
		unix.SYS_IOCTL:   choose(1, commands, refuse(unix.EPERM), allow()),
		// Sending can connect as well, and Landlock looks at connect(2) only.
		unix.SYS_SENDTO:      notWith(3, unix.MSG_FASTOPEN, unix.EOPNOTSUPP),
		unix.SYS_SENDMSG:     notWith(2, unix.MSG_FASTOPEN, unix.EOPNOTSUPP),
		unix.SYS_SENDMMSG:    notWith(3, unix.MSG_FASTOPEN, unix.EOPNOTSUPP),
		unix.SYS_PERSONALITY: choose(0, []uint32{0, addrNoRandomize, personalityQuery}, allow(), refuse(unix.EPERM)),
		// Reading limits, and setting one's own, which is how libraries do it.
		unix.SYS_PRLIMIT64: {
			load(wordArg(0)),
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 5},
			load(wordArg(2)),
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 0, SkipTrue: 2},
			load(wordArg(2) + 4), // a pointer: both halves count
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 1},
			refuse(unix.EPERM),
			allow(),
		},
		// Stream and sequenced pairs are connected for good. Datagrams can be sent elsewhere.
		unix.SYS_SOCKETPAIR: append(
			[]bpf.Instruction{
				load(wordArg(0)),
				bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_UNIX, SkipTrue: 1},
				refuse(unix.EAFNOSUPPORT),
			}, socketType(unix.SOCK_STREAM, unix.SOCK_SEQPACKET)...),
		unix.SYS_SOCKET: {refuse(unix.EAFNOSUPPORT)},
	}
	if o.Net {
		// Landlock refuses to bind a port, but not to let the kernel choose one.
		m[unix.SYS_LISTEN] = []bpf.Instruction{refuse(unix.EACCES)}
		m[unix.SYS_SOCKET] = []bpf.Instruction{
			load(wordArg(0)),
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET, SkipTrue: 2},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET6, SkipTrue: 1},
			refuse(unix.EAFNOSUPPORT), // what programs expect where a family is missing
			load(wordArg(1)),
			bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: sockTypeMask},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SOCK_STREAM, SkipTrue: 2},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SOCK_DGRAM, SkipTrue: 5},
			refuse(unix.EPROTONOSUPPORT),
			load(wordArg(2)),
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 5},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.IPPROTO_TCP, SkipTrue: 4},
			refuse(unix.EPROTONOSUPPORT), // so that libraries go on with TCP after MPTCP
			load(wordArg(2)),
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 1},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.IPPROTO_UDP, SkipFalse: 1},
			allow(),
			refuse(unix.EPROTONOSUPPORT),
		}
	}
	return m
}

const sockTypeMask = 0xf // the rest are flags

func load(word uint32) bpf.Instruction { return bpf.LoadAbsolute{Off: word, Size: 4} }

// notWith refuses if an argument has one of the bits.
func notWith(arg, bits uint32, e unix.Errno) []bpf.Instruction {
	return []bpf.Instruction{load(wordArg(arg)), bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: bits, SkipTrue: 1}, allow(), refuse(e)}
}

// choose ends with one instruction if an argument is among the values, else with another.
func choose(arg uint32, values []uint32, among, other bpf.Instruction) []bpf.Instruction {
	list := []bpf.Instruction{load(wordArg(arg))}
	for i, v := range values {
		list = append(list, bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipTrue: uint8(len(values) - i)})
	}
	return append(list, other, among)
}

func socketType(types ...uint32) []bpf.Instruction {
	list := choose(1, types, allow(), refuse(unix.EPROTONOSUPPORT))
	return slices.Insert(list, 1, bpf.Instruction(bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: sockTypeMask}))
}

// span is what happens from a number on.
type span struct {
	from   uint32
	action []bpf.Instruction
}

// program is the whole filter. Numbers are found by halving, in eight steps at most: a chain of
// comparisons would cost more at the installation, when the kernel tries all numbers to
// learn which are always allowed, and on kernels that do not, at each call.
func program(o Options) ([]bpf.Instruction, error) {
	actions := judged(o)
	for nr, e := range refused() {
		actions[nr] = []bpf.Instruction{refuse(e)}
	}
	if o.Frozen {
		for _, nr := range slices.Concat(metadata[:], metadataHere[:]) {
			actions[nr] = []bpf.Instruction{refuse(unix.EPERM)}
		}
	}
	if !o.OwnIPC {
		for _, nr := range shared {
			actions[nr] = []bpf.Instruction{refuse(unix.ENOSYS)} // as kernels without them
		}
	}
	spans := []span{{0, []bpf.Instruction{allow()}}}
	next := uint32(0)
	for _, nr := range slices.Sorted(maps.Keys(actions)) {
		if nr > lastNr {
			return nil, fmt.Errorf("system call %d is above %d", nr, lastNr)
		}
		if nr > next && next > 0 {
			spans = append(spans, span{next, spans[0].action})
		}
		spans = append(spans, span{nr, actions[nr]})
		next = nr + 1
	}
	spans = append(spans, span{next, spans[0].action}, span{lastNr + 1, []bpf.Instruction{refuse(unix.ENOSYS)}}) // with the bit of x32 too
	return find([]bpf.Instruction{
		load(wordArch),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: arch, SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS},
		load(wordNr),
	}, spans), nil
}

// find writes the search for a number. Neighbours that do the same are one.
func find(list []bpf.Instruction, spans []span) []bpf.Instruction {
	return search(list, slices.CompactFunc(spans, func(a, b span) bool { return slices.Equal(a.action, b.action) }))
}

func search(list []bpf.Instruction, spans []span) []bpf.Instruction {
	if len(spans) == 1 {
		return append(list, spans[0].action...)
	}
	left, right := spans[:len(spans)/2], spans[len(spans)/2:]
	if n := length(left); n > 255 { // too far for a conditional jump
		list = append(list, bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: right[0].from, SkipFalse: 1}, bpf.Jump{Skip: uint32(n)})
	} else {
		list = append(list, bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: right[0].from, SkipTrue: uint8(n)})
	}
	return search(search(list, left), right)
}

// length is that of a search.
func length(spans []span) int {
	if len(spans) == 1 {
		return len(spans[0].action)
	}
	left, right := length(spans[:len(spans)/2]), length(spans[len(spans)/2:])
	if left > 255 {
		left++
	}
	return 1 + left + right
}

// Announcing returns a filter that refuses nothing and announces these calls to its listener. It
// is for a second one beside that of [For]: what any filter refuses stays refused, unannounced.
func Announcing(calls []uint32) ([]unix.SockFilter, error) {
	return encode(announcing(calls))
}

func announcing(calls []uint32) []bpf.Instruction {
	spans, next := []span{{0, []bpf.Instruction{allow()}}}, uint32(0)
	for _, nr := range slices.Sorted(slices.Values(calls)) {
		if nr > next && next > 0 {
			spans = append(spans, span{next, spans[0].action})
		}
		spans = append(spans, span{nr, []bpf.Instruction{bpf.RetConstant{Val: unix.SECCOMP_RET_USER_NOTIF}}})
		next = nr + 1
	}
	return find([]bpf.Instruction{
		load(wordArch),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: arch, SkipTrue: 1},
		allow(), // the other filter kills it
		load(wordNr),
	}, append(spans, span{next, spans[0].action}))
}

var made [8]struct {
	sync.Once
	code []unix.SockFilter
	err  error
}

// For returns the filter for these options, to be installed after no_new_privs. It is made
// once and must not be changed. The error is ErrArchitecture where there is none.
func For(o Options) ([]unix.SockFilter, error) {
	i := 0
	if o.Net {
		i |= 1
	}
	if o.Frozen {
		i |= 2
	}
	if o.OwnIPC {
		i |= 4
	}
	f := &made[i]
	f.Do(func() { f.code, f.err = assemble(o) })
	return f.code, f.err
}

func assemble(o Options) ([]unix.SockFilter, error) {
	list, err := program(o)
	if err != nil {
		return nil, err
	}
	return encode(list)
}

func encode(list []bpf.Instruction) ([]unix.SockFilter, error) {
	raw, err := bpf.Assemble(list)
	if err != nil {
		return nil, err
	}
	code := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		code[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	return code, nil
}
