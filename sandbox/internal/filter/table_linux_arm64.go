package filter

import "golang.org/x/sys/unix"

const arch = unix.AUDIT_ARCH_AARCH64

// neverHere are refused calls that other architectures do not have.
var neverHere []uint32

// metadataHere are changes of metadata that other architectures do not have.
var metadataHere []uint32

// modesHere are changes of modes that other architectures do not have.
var modesHere []uint32

// makingHere are calls that make files which other architectures do not have.
func makingHere() map[uint32][]unix.SockFilter { return nil }
