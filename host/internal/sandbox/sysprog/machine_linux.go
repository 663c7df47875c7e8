//go:build amd64 || arm64

package sysprog

import (
	"encoding/binary"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// machine is a program that can run. The child writes none of its pointers: it must not
// need a write barrier.
type machine struct {
	ops    []op
	labels []int
	slots  []uintptr
	mem    []byte
	base   uintptr   // address of mem
	pipe   uintptr   // where a failure is told, or noPipe
	failed [2]uint32 // instruction plus one, error number
	pc     int       // of the fork under way
	mask   uint64    // the parent's signal mask
	block  uint64    // all signals
	zero   [4]uint64 // a struct sigaction with SIG_DFL, and an empty mask
	has    [4]uint64 // what a signal has for an action
}

const (
	noPipe = ^uintptr(0)
	// lost is the exit status of a child whose program failed.
	lost = 253
	// maskSize is what the kernel wants to hear as the size of a signal set.
	maskSize = 8
	signals  = 64
	ignored  = 1 // SIG_IGN
)

// rawClone is clone(2) with nothing but flags. Its return address is not on the stack
// meanwhile: a child that shares the stack would overwrite it.
func rawClone(flags uintptr) (result uintptr)

// rawCloneOn is clone(2) with a stack for the child, and a place for what threads have of their own.
// The child calls entry with m. It does so as compiled code would, with registers (Go's internal ABI),
// since what the compiler makes for calls from assembly looks at the heap in race builds.
func rawCloneOn(flags, stack, local, entry uintptr, m *machine) (result uintptr)

// errnoOf is the error number in the result of a raw system call, or 0.
//
//go:nosplit
//go:norace
func errnoOf(result uintptr) syscall.Errno {
	if result <= ^uintptr(4095) { // the largest error number
		return 0
	}
	return syscall.Errno(-result)
}

// Exec runs the program in a child that shares the memory and returns its pid when that
// has executed something. flags are further CLONE_ flags.
func (p *Program) Exec(flags uintptr) (pid int, err error) {
	m := p.assemble()
	child, errno := m.start(flags|unix.CLONE_VM|unix.CLONE_VFORK|uintptr(unix.SIGCHLD), 0, 0)
	runtime.KeepAlive(m)
	if errno != 0 {
		return 0, &Error{What: "starting a process", Errno: errno}
	}
	if m.failed[0] != 0 {
		Reap(int(child))
		return 0, p.failure(m.failed[0], m.failed[1])
	}
	return int(child), nil
}

// Fork runs the program in a child with a copy of the memory that it needs and returns its pid at once;
// what it does meanwhile is told by Await. flags are further CLONE_ flags. pipe is the
// writing end, with close-on-exec set, of a pipe for failures: every branch of the program
// that executes nothing has to close it.
func (p *Program) Fork(flags uintptr, pipe int) (pid int, err error) {
	pad, err := newLaunchpad(p)
	if err != nil {
		return 0, &Error{What: "starting a process", Errno: err.(syscall.Errno)}
	}
	child, errno := pad.start(flags|uintptr(unix.SIGCHLD), uintptr(pipe), p)
	pad.free()
	if errno != 0 {
		return 0, &Error{What: "starting a process", Errno: errno}
	}
	return int(child), nil
}

// Await reads the other end of the pipe given to Fork (after the caller has closed its copy
// of the writing end) until every branch has executed something or closed it, and returns
// the failure if there is one. A child that was killed meanwhile has none. It reaps nothing.
func (p *Program) Await(pipe int) error {
	var b [8]byte
	for {
		n, err := unix.Read(pipe, b[:])
		switch {
		case err == unix.EINTR:
		case err != nil:
			return err
		case n < len(b):
			return nil
		default:
			return p.failure(binary.NativeEndian.Uint32(b[:]), binary.NativeEndian.Uint32(b[4:]))
		}
	}
}

// Reap waits for a child that is about to end, and takes its exit status.
func Reap(pid int) {
	for {
		if _, err := unix.Wait4(pid, nil, unix.WALL, nil); err != unix.EINTR {
			return
		}
	}
}

// assemble makes a machine that works with the memory of its program.
func (p *Program) assemble() *machine {
	m := &machine{ops: p.ops, labels: p.labels, slots: make([]uintptr, len(p.ops)), mem: p.mem, pipe: noPipe}
	m.link(p.links) // heap memory does not move
	return m
}

// link makes addresses out of places.
func (m *machine) link(links []link) {
	m.base, m.block = uintptr(unsafe.Pointer(unsafe.SliceData(m.mem))), ^uint64(0)
	for _, l := range links {
		binary.NativeEndian.PutUint64(m.mem[l.at:], uint64(m.base+uintptr(l.to)))
	}
}

// start forks. The child never returns from it. Without a stack of its own it uses this one, only below
// this frame, which the parent, held until then, leaves at once.
//
//go:noinline
//go:nosplit
//go:norace
func (m *machine) start(flags, stack, local uintptr) (pid uintptr, errno syscall.Errno) {
	run := (*machine).run // a pointer to a pointer to its code
	entry := **(**uintptr)(unsafe.Pointer(&run))
	syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&m.block)), uintptr(unsafe.Pointer(&m.mask)), maskSize, 0, 0)
	if stack != 0 {
		pid = rawCloneOn(flags, stack, local, entry, m)
	} else if pid = rawClone(flags); pid == 0 {
		m.run()
	}
	syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&m.mask)), 0, maskSize, 0, 0)
	return pid, errnoOf(pid)
}

// run interprets the program in the child. It does not return.
//
//go:noinline
//go:nosplit
//go:norace
//go:nocheckptr
func (m *machine) run() {
	var (
		a     [6]uintptr
		o     *op
		r     uintptr
		e     syscall.Errno
		pc, i int
	)
	for pc < len(m.ops) {
		o = &m.ops[pc]
		for i = 0; i < 6; i++ {
			a[i] = o.args[i]
			if o.kinds[i] == argMem {
				a[i] += m.base
			} else if o.kinds[i] == argSlot {
				a[i] = m.slots[a[i]]
			}
		}
		e = 0
		switch o.code {
		case opCall:
			r, _, e = syscall.RawSyscall6(o.nr, a[0], a[1], a[2], a[3], a[4], a[5])
			m.slots[pc] = r
		case opFork:
			// The child works in this very frame while the parent waits, so that the parent
			// finds nothing but m as it was.
			m.pc = pc
			r = rawClone(a[0] | unix.CLONE_VM | unix.CLONE_VFORK | uintptr(unix.SIGCHLD))
			if r == 0 {
				pc = m.labels[m.ops[m.pc].label]
				m.slots[m.pc] = 0
				continue
			}
			e = errnoOf(r)
			pc = m.pc
			o = &m.ops[pc]
			m.slots[pc] = r
			m.failed[0] = 0 // the child has told of its own
		case opStore:
			r = m.slots[o.args[0]]
			for i = 0; i < int(o.width); i++ {
				m.mem[int(o.nr)+i] = byte(r >> (8 * i)) // both architectures are little-endian
			}
		case opCheck:
			for i = 0; i < int(o.width); i++ {
				if m.mem[int(o.nr)+i] != byte(a[0]>>(8*i)) {
					e = syscall.Errno(a[1])
				}
			}
		case opJump:
			if o.nr == noSlot || (m.slots[o.nr] == a[0]) != o.not {
				pc = m.labels[o.label]
				continue
			}
		case opAdd:
			m.slots[o.nr] += a[0]
		case opReset:
			for i = 1; i <= signals; i++ {
				if i == int(unix.SIGHUP) || i == int(unix.SIGINT) {
					syscall.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(i), 0, uintptr(unsafe.Pointer(&m.has)), maskSize, 0, 0)
					if m.has[0] == ignored {
						continue
					}
				}
				syscall.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(i), uintptr(unsafe.Pointer(&m.zero)), 0, maskSize, 0, 0)
			}
			syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&m.zero)), 0, maskSize, 0, 0)
		}
		if e != 0 {
			m.slots[pc] = -uintptr(e)
			if o.accept[0] != anyError && uint16(e) != o.accept[0] && uint16(e) != o.accept[1] && uint16(e) != o.accept[2] {
				m.failed[0], m.failed[1] = uint32(pc+1), uint32(e)
				break
			}
		}
		pc++
	}
	if m.failed[0] != 0 && m.pipe != noPipe {
		syscall.RawSyscall6(unix.SYS_WRITE, m.pipe, uintptr(unsafe.Pointer(&m.failed)), unsafe.Sizeof(m.failed), 0, 0, 0)
	}
	for {
		syscall.RawSyscall6(unix.SYS_EXIT_GROUP, lost, 0, 0, 0, 0, 0)
	}
}
