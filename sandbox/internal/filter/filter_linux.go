//go:build amd64 || arm64

package filter

import (
	"maps"
	"slices"

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

// The machine that runs a filter has one register. Jumps count instructions from the next one.
func load(word uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: word}
}

func and(mask uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: mask}
}

func equal(v uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: yes, Jf: no, K: v}
}

func anyBit(mask uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, Jt: yes, Jf: no, K: mask}
}

func atLeast(v uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, Jt: yes, Jf: no, K: v}
}

func jump(n int) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JA, K: uint32(n)}
}

func end(verdict uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: verdict}
}

func allow() unix.SockFilter { return end(unix.SECCOMP_RET_ALLOW) }

func refuse(e unix.Errno) unix.SockFilter { return end(unix.SECCOMP_RET_ERRNO | uint32(e)) }

// never, neverHere and clone3 are the system calls that are refused whatever their arguments are.
var never = []uint32{
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
var metadata = []uint32{
	unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT,
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT,
	unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR,
}

// shared are the calls on objects that belong to an IPC namespace.
var shared = []uint32{
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
	unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMCTL, unix.SYS_SEMTIMEDOP, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
}

// values are the calls that read extended attributes of a file by its path. Landlock does not judge them, and
// browsers keep there where a file is from, with what the address holds. What is open may be asked by its
// descriptor.
var values = []uint32{
	unix.SYS_GETXATTR, unix.SYS_LGETXATTR, unix.SYS_GETXATTRAT, unix.SYS_LISTXATTR, unix.SYS_LLISTXATTR, unix.SYS_LISTXATTRAT,
}

// The commands of ioctl(2) that are refused always, and those that change attributes of a file that need
// only be open. x/sys does not name them all.
var (
	commands = []uint32{
		unix.TIOCSTI, 0x541c, // TIOCLINUX: bytes into a terminal, as if they were typed
		0x5423, // TIOCSETD: another line discipline, which leaves a terminal dead
		// File systems make and remove entries by these where no other part of the kernel looks, Landlock
		// neither. A snapshot of what may be read is also one of what lies under masks.
		0x50009401, 0x50009417, // Btrfs: make a snapshot
		0x5000940e, 0x50009418, // Btrfs: make a subvolume
		0x5000940f, 0x5000943f, // Btrfs: remove either
		0x4020bc10, 0x4020bc11, // bcachefs: make and remove a subvolume
		0x40186f04,                                                        // OCFS2: make a file that shares content
		unix.FS_IOC_ADD_ENCRYPTION_KEY, unix.FS_IOC_REMOVE_ENCRYPTION_KEY, // they lock what the user has encrypted
	}
	attributes = []uint32{
		unix.FS_IOC_SETFLAGS, 0x40087602, 0x40086604, // and set the version; that of ext4
		0x40046602, 0x40047602, // the same with 32 bits
		0x401c5820,                            // FS_IOC_FSSETXATTR
		0x800c6613, unix.FS_IOC_ENABLE_VERITY, // set the encryption policy, enable verity
		0x40047211, 0x4008941a, 0xc0c89425, // FAT: attributes; Btrfs: flags, received subvolume
	}
)

const (
	personalityQuery = 0xffffffff
	addrNoRandomize  = 0x0040000
)

// judgements are the calls whose arguments decide.
func judgements(o Options) map[uint32][]unix.SockFilter {
	refused := commands
	if o.Frozen {
		refused = slices.Concat(refused, attributes)
	}
	judged := map[uint32][]unix.SockFilter{
		unix.SYS_CLONE:   notWith(0, spaces, unix.EPERM),
		unix.SYS_UNSHARE: notWith(0, spaces|spaceTime, unix.EPERM),
		unix.SYS_IOCTL:   choose(1, refused, refuse(unix.EPERM), allow()),
		// Who opens a file that has a lease waits, for 45 seconds by default.
		unix.SYS_FCNTL: choose(1, []uint32{unix.F_SETLEASE}, refuse(unix.EPERM), allow()),
		// Sending can connect as well, and Landlock looks at connect(2) only.
		unix.SYS_SENDTO:      notWith(3, unix.MSG_FASTOPEN, unix.EOPNOTSUPP),
		unix.SYS_SENDMSG:     notWith(2, unix.MSG_FASTOPEN, unix.EOPNOTSUPP),
		unix.SYS_SENDMMSG:    notWith(3, unix.MSG_FASTOPEN, unix.EOPNOTSUPP),
		unix.SYS_PERSONALITY: choose(0, []uint32{0, addrNoRandomize, personalityQuery}, allow(), refuse(unix.EPERM)),
		// Reading limits, and setting one's own, which is how libraries do it.
		unix.SYS_PRLIMIT64: {
			load(wordArg(0)),
			equal(0, 5, 0),
			load(wordArg(2)),
			equal(0, 0, 2),
			load(wordArg(2) + 4), // a pointer: both halves count
			equal(0, 1, 0),
			refuse(unix.EPERM),
			allow(),
		},
		unix.SYS_SOCKETPAIR: append([]unix.SockFilter{
			load(wordArg(0)),
			equal(unix.AF_UNIX, 1, 0),
			refuse(unix.EAFNOSUPPORT),
		}, connected()...),
	}
	if !o.Frozen {
		// A program with the user's identity on it, for whoever finds it. Without capabilities, to write to
		// a file takes the mark away, so that it does no harm where a file is made.
		identity := notWith(1, unix.S_ISUID, unix.EPERM)
		for _, nr := range modesHere {
			judged[nr] = identity
		}
		judged[unix.SYS_FCHMOD] = identity
		judged[unix.SYS_FCHMODAT] = notWith(2, unix.S_ISUID, unix.EPERM)
		judged[unix.SYS_FCHMODAT2] = judged[unix.SYS_FCHMODAT]
		// Nor is a file made with such a mark: who has capabilities may write to it later, and keeps the mark.
		judged[unix.SYS_OPENAT] = making(2)
		judged[unix.SYS_MKNODAT] = notWith(2, marks, unix.EPERM)
		maps.Copy(judged, makingHere())
	}
	if o.Net {
		// Landlock refuses to bind a port, but not to let the kernel choose one.
		judged[unix.SYS_LISTEN] = []unix.SockFilter{refuse(unix.EACCES)}
	}
	judged[unix.SYS_SOCKET] = families(o)
	return judged
}

// families judges socket(2). What is refused is what programs expect where a family, type or protocol is missing.
func families(o Options) []unix.SockFilter {
	list := []unix.SockFilter{load(wordArg(0))}
	family := func(number uint32, rest ...unix.SockFilter) { // the register holds the family at the end as well
		list = append(list, equal(number, 0, uint8(len(rest))))
		list = append(list, rest...)
	}
	if o.Net || o.Own {
		internet := []unix.SockFilter{
			load(wordArg(1)),
			and(sockTypeMask),
			equal(unix.SOCK_STREAM, 2, 0),
			equal(unix.SOCK_DGRAM, 5, 0),
			refuse(unix.EPROTONOSUPPORT),
			load(wordArg(2)),
			equal(0, 5, 0),
			equal(unix.IPPROTO_TCP, 4, 0),
			refuse(unix.EPROTONOSUPPORT), // so that libraries go on with TCP after MPTCP
			load(wordArg(2)),
			equal(0, 1, 0),
			equal(unix.IPPROTO_UDP, 0, 1),
			allow(),
			refuse(unix.EPROTONOSUPPORT),
		}
		family(unix.AF_INET, internet...)
		family(unix.AF_INET6, internet...)
	}
	if o.Own {
		// To change anything the kernel demands a capability.
		route := []unix.SockFilter{load(wordArg(2)), equal(unix.NETLINK_ROUTE, 0, 1), allow(), refuse(unix.EPROTONOSUPPORT)}
		family(unix.AF_NETLINK, route...)
	}
	if o.Local {
		family(unix.AF_UNIX, connected()...)
	}
	return append(list, refuse(unix.EAFNOSUPPORT))
}

// connected judges the type of a local socket. Stream and sequenced sockets are connected for good; datagrams can be
// sent elsewhere.
func connected() []unix.SockFilter {
	return []unix.SockFilter{
		load(wordArg(1)),
		and(sockTypeMask),
		equal(unix.SOCK_STREAM, 2, 0),
		equal(unix.SOCK_SEQPACKET, 1, 0),
		refuse(unix.EPROTONOSUPPORT),
		allow(),
	}
}

// marks are the bits of a mode that have a program run as its owner or group.
const marks = unix.S_ISUID | unix.S_ISGID

// making refuses to open a file that is made with marks; the mode, which follows the flags, counts where something
// is made only, and elsewhere may be anything.
func making(flags uint32) []unix.SockFilter {
	return []unix.SockFilter{
		load(wordArg(flags)),
		anyBit(unix.O_CREAT|unix.O_TMPFILE&^unix.O_DIRECTORY, 0, 3),
		load(wordArg(flags + 1)),
		anyBit(marks, 0, 1),
		refuse(unix.EPERM),
		allow(),
	}
}

const sockTypeMask = 0xf // the rest are flags

// notWith refuses if an argument has one of the bits.
func notWith(arg, bits uint32, e unix.Errno) []unix.SockFilter {
	return []unix.SockFilter{load(wordArg(arg)), anyBit(bits, 1, 0), allow(), refuse(e)}
}

// choose ends with one instruction if an argument is among the values, else with another.
func choose(arg uint32, values []uint32, among, other unix.SockFilter) []unix.SockFilter {
	list := make([]unix.SockFilter, 0, len(values)+3)
	list = append(list, load(wordArg(arg)))
	for i, v := range values {
		list = append(list, equal(v, uint8(len(values)-i), 0))
	}
	return append(list, other, among)
}

// span is what happens from a number on.
type span struct {
	from   uint32
	action []unix.SockFilter
}

// For returns the filter for these options, to be installed after no_new_privs. The error is ErrArchitecture where
// there is none.
//
// Numbers are found by halving, in eight steps at most: a chain of comparisons would cost more at the installation, when
// the kernel tries all numbers to learn which are always allowed, and on kernels that do not, at each call.
func For(o Options) ([]unix.SockFilter, error) {
	var actions [lastNr + 1][]unix.SockFilter // of each call
	set := func(action unix.SockFilter, calls []uint32) {
		for _, nr := range calls {
			actions[nr] = []unix.SockFilter{action}
		}
	}
	for nr := range actions {
		actions[nr] = []unix.SockFilter{allow()}
	}
	for nr, action := range judgements(o) {
		actions[nr] = action
	}
	set(refuse(unix.EPERM), never)
	set(refuse(unix.EPERM), neverHere)
	// Its flags lie behind a pointer. Libraries go on with clone then.
	set(refuse(unix.ENOSYS), []uint32{unix.SYS_CLONE3})
	if o.Frozen {
		set(refuse(unix.EPERM), metadata)
		set(refuse(unix.EPERM), metadataHere)
	}
	if !o.Namespaces {
		set(refuse(unix.ENOSYS), shared)     // as kernels without them
		set(refuse(unix.EOPNOTSUPP), values) // as file systems without them
	}
	var spans []span
	for nr, action := range actions {
		spans = append(spans, span{uint32(nr), action})
	}
	spans = append(spans, span{lastNr + 1, []unix.SockFilter{refuse(unix.ENOSYS)}}) // with the bit of x32 too
	return find([]unix.SockFilter{
		load(wordArch),
		equal(arch, 1, 0),
		end(unix.SECCOMP_RET_KILL_PROCESS),
		load(wordNr),
	}, spans), nil
}

// find writes the search for a number after what comes first. Neighbours that do the same are one.
func find(first []unix.SockFilter, spans []span) []unix.SockFilter {
	return search(first, slices.CompactFunc(spans, func(a, b span) bool { return slices.Equal(a.action, b.action) }))
}

func search(list []unix.SockFilter, spans []span) []unix.SockFilter {
	if len(spans) == 1 {
		return append(list, spans[0].action...)
	}
	left, right := spans[:len(spans)/2], spans[len(spans)/2:]
	if n := length(left); n > 255 { // too far for a conditional jump
		list = append(list, atLeast(right[0].from, 0, 1), jump(n))
	} else {
		list = append(list, atLeast(right[0].from, uint8(n), 0))
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
// The error is ErrArchitecture where there is none.
func Announcing(calls []uint32) ([]unix.SockFilter, error) {
	spans, next := []span{{0, []unix.SockFilter{allow()}}}, uint32(0)
	for _, nr := range slices.Sorted(slices.Values(calls)) {
		if nr > next && next > 0 {
			spans = append(spans, span{next, spans[0].action})
		}
		spans = append(spans, span{nr, []unix.SockFilter{end(unix.SECCOMP_RET_USER_NOTIF)}})
		next = nr + 1
	}
	return find([]unix.SockFilter{
		load(wordArch),
		equal(arch, 1, 0),
		allow(), // the other filter kills it
		load(wordNr),
	}, append(spans, span{next, spans[0].action})), nil
}
