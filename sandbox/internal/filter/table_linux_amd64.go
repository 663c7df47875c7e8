package filter

import "golang.org/x/sys/unix"

const arch = unix.AUDIT_ARCH_X86_64

// neverHere are refused calls that other architectures do not have.
var neverHere = []uint32{
	unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_USELIB, unix.SYS_CREATE_MODULE, unix.SYS_QUERY_MODULE, unix.SYS_GET_KERNEL_SYMS, unix.SYS__SYSCTL,
}

// metadataHere are changes of metadata that other architectures do not have.
var metadataHere = []uint32{
	unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT,
}

// modesHere are changes of modes that other architectures do not have.
var modesHere = []uint32{unix.SYS_CHMOD}

// makingHere are calls that make files which other architectures do not have.
func makingHere() map[uint32][]unix.SockFilter {
	special := notWith(1, marks, unix.EPERM)
	return map[uint32][]unix.SockFilter{unix.SYS_OPEN: making(1), unix.SYS_CREAT: special, unix.SYS_MKNOD: special}
}
