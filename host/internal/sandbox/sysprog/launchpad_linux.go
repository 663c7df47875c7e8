//go:build amd64 || arm64

package sysprog

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// launchpad is all of the memory that a child with a copy of it needs: the machine with its program, a
// stack, and what threads have of their own. It lies apart from the heap, so that the heap can be left out of
// the copy. To copy the heap, fault on every page of it that either side writes to, and take it down
// at the end, would cost more than all of the program's system calls.
type launchpad struct {
	mem []byte
	m   *machine
}

const (
	padPage = 4 << 10 // what threads have of their own is around its middle
	padHead = padPage + 8<<10
	// heapArena is how much of the address space the heap takes at once, and how it is aligned.
	heapArena = 64 << 20
)

// newLaunchpad puts a program on a new launchpad.
func newLaunchpad(p *Program) (*launchpad, error) {
	if len(p.mem) == 0 {
		p.Reserve(1)
	}
	sizes := [...]uintptr{
		unsafe.Sizeof(machine{}), uintptr(len(p.ops)) * unsafe.Sizeof(op{}), uintptr(len(p.labels)) * unsafe.Sizeof(0),
		uintptr(len(p.ops)) * unsafe.Sizeof(uintptr(0)), uintptr(len(p.mem)),
	}
	var parts [len(sizes)]uintptr
	end := uintptr(padHead)
	for i, size := range sizes {
		parts[i], end = end, end+(size+15)&^15
	}
	mem, err := unix.Mmap(-1, 0, int(end), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
	if err != nil {
		return nil, err
	}
	at := func(part int) unsafe.Pointer { return unsafe.Pointer(&mem[parts[part]]) }
	m := (*machine)(at(0))
	m.ops = unsafe.Slice((*op)(at(1)), len(p.ops))
	m.labels = unsafe.Slice((*int)(at(2)), len(p.labels))
	m.slots = unsafe.Slice((*uintptr)(at(3)), len(p.ops))
	m.mem = unsafe.Slice((*byte)(at(4)), len(p.mem))
	copy(m.ops, p.ops)
	copy(m.labels, p.labels)
	copy(m.mem, p.mem)
	m.link(p.links)
	return &launchpad{mem, m}, nil
}

// start forks. What the heap has is not in the child, unless it lies in a further arena, or the kernel does
// not want to leave it out: the child has no use for it. Others who fork meanwhile have: package syscall
// does so for some attributes of a command.
func (l *launchpad) start(flags, pipe uintptr, p *Program) (pid uintptr, errno syscall.Errno) {
	l.m.pipe = pipe
	stack, local := uintptr(unsafe.Pointer(&l.mem[padHead-64])), uintptr(unsafe.Pointer(&l.mem[padPage/2]))
	// By the memory, which no program is without: of a null pointer's arena the child needs the code.
	heap := uintptr(unsafe.Pointer(unsafe.SliceData(p.mem))) &^ (heapArena - 1)
	syscall.ForkLock.Lock()
	defer syscall.ForkLock.Unlock()
	syscall.RawSyscall(unix.SYS_MADVISE, heap, heapArena, unix.MADV_DONTFORK)
	pid, errno = l.m.start(flags|unix.CLONE_SETTLS, stack, local)
	syscall.RawSyscall(unix.SYS_MADVISE, heap, heapArena, unix.MADV_DOFORK)
	return pid, errno
}

func (l *launchpad) free() { _ = unix.Munmap(l.mem) }
