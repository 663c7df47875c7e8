package sysprog

import (
	"encoding/binary"
	"slices"
	"syscall"
)

// Program is a list of instructions under construction. The zero value is empty. It is not
// safe for concurrent use, and can be started any number of times, one after the other.
type Program struct {
	ops    []op
	topics []uint16 // for each instruction, an index into names
	names  []topic
	topic  uint16
	labels []int
	mem    []byte
	links  []link
}

type topic struct {
	kind int
	what string
}

// Arg is an argument of a system call.
type Arg struct {
	kind  argKind
	value uintptr
}

type argKind uint8

const (
	argConst argKind = iota
	argMem
	argSlot
)

// Int is a number, also a negative one such as AT_FDCWD.
func Int[T ~int | ~int32 | ~int64 | ~uint | ~uint16 | ~uint32 | ~uint64 | ~uintptr](n T) Arg {
	return Arg{value: uintptr(n)}
}

// Slot is the result of an earlier instruction.
type Slot int

// Arg is the result as an argument.
func (s Slot) Arg() Arg { return Arg{argSlot, uintptr(s)} }

// Mem is a place in the memory of a program.
type Mem int

// Arg is the address as an argument.
func (m Mem) Arg() Arg { return Arg{argMem, uintptr(m)} }

// At is the place n bytes further on.
func (m Mem) At(n int) Mem { return m + Mem(n) }

// Label is a place in a program to jump to.
type Label int

type code uint8

const (
	opCall  code = iota
	opFork       // a plain fork: the child goes on at the label, with 0 as result
	opStore      // slot → memory
	opCheck      // memory must be the value
	opJump       // if slot == value
	opAdd        // number → slot
	opReset      // signals to their default action, none blocked
)

// anyError as the first accepted error accepts all.
const anyError = ^uint16(0)

// op is one instruction. It holds no pointers.
type op struct {
	code   code
	width  uint8 // of a store or check, 4 or 8 bytes
	not    bool  // jump if different
	exec   bool  // the end of a program
	kinds  [6]argKind
	accept [3]uint16 // errors that do not end the program; the result is then -errno
	nr     uintptr   // of the system call; the memory of a store or check; the slot of a jump or addition
	args   [6]uintptr
	label  int
}

// link is a word of memory that is to hold the address of another place.
type link struct{ at, to Mem }

// Grow makes room for so many instructions and bytes of memory at once.
func (p *Program) Grow(instructions, memory int) {
	p.ops, p.topics, p.mem = slices.Grow(p.ops, instructions), slices.Grow(p.topics, instructions), slices.Grow(p.mem, memory)
	p.names = slices.Grow(p.names, instructions/4)
}

// Topic says what the following instructions are about, for [Error].
func (p *Program) Topic(what string) { p.TopicOf(0, what) }

// TopicOf is Topic with a kind, which means something to the caller only.
func (p *Program) TopicOf(kind int, what string) {
	p.topic = uint16(len(p.names))
	p.names = append(p.names, topic{kind, what})
}

func (p *Program) add(o op) Slot {
	if len(p.names) == 0 {
		p.Topic("preparing the start")
	}
	p.ops = append(p.ops, o)
	p.topics = append(p.topics, p.topic)
	return Slot(len(p.ops) - 1)
}

// Call adds a system call with at most six arguments. An error ends the program, unless
// Accept follows.
func (p *Program) Call(nr uintptr, args ...Arg) Slot {
	o := op{code: opCall, nr: nr}
	for i, a := range args {
		o.kinds[i], o.args[i] = a.kind, a.value
	}
	return p.add(o)
}

// Accept lets the last instruction fail with one of at most three errors, or with any if
// none is named. Its result is then the negative error number.
func (p *Program) Accept(errs ...syscall.Errno) {
	o := &p.ops[len(p.ops)-1]
	if len(errs) == 0 {
		o.accept[0] = anyError
	}
	for i, e := range errs {
		o.accept[i] = uint16(e)
	}
}

// Clone adds a fork; flags are further CLONE_ flags. The child goes on at the label with 0 as
// result; when it has executed something or ended, the parent goes on with the next
// instruction and the child's pid. Until then they share the memory.
func (p *Program) Clone(flags uintptr, child Label) Slot {
	return p.add(op{code: opFork, args: [6]uintptr{flags}, label: int(child)})
}

// Store writes a result into memory, as a number of 4 or 8 bytes.
func (p *Program) Store(at Mem, s Slot, width int) {
	p.add(op{code: opStore, nr: uintptr(at), args: [6]uintptr{uintptr(s)}, width: uint8(width)})
}

// Check ends the program with the error unless the 4 or 8 bytes of memory hold the value.
func (p *Program) Check(at Mem, width int, value uint64, otherwise syscall.Errno) {
	p.add(op{code: opCheck, nr: uintptr(at), args: [6]uintptr{uintptr(value), uintptr(otherwise)}, width: uint8(width)})
}

// Label makes a label, to be placed once.
func (p *Program) Label() Label {
	p.labels = append(p.labels, -1)
	return Label(len(p.labels) - 1)
}

// Place puts a label before the next instruction.
func (p *Program) Place(l Label) { p.labels[l] = len(p.ops) }

// JumpIf goes on at the label if a result is the value: a number, a negative error number,
// or another result.
func (p *Program) JumpIf(s Slot, value Arg, l Label) {
	p.add(op{code: opJump, nr: uintptr(s), kinds: [6]argKind{value.kind}, args: [6]uintptr{value.value}, label: int(l)})
}

// JumpUnless is JumpIf for any other value.
func (p *Program) JumpUnless(s Slot, value Arg, l Label) {
	p.JumpIf(s, value, l)
	p.ops[len(p.ops)-1].not = true
}

// Jump goes on at the label.
func (p *Program) Jump(l Label) { p.add(op{code: opJump, nr: noSlot, label: int(l)}) }

// Counter makes a number for loops. It is 0.
func (p *Program) Counter() Slot {
	return p.add(op{code: opAdd, nr: uintptr(len(p.ops))})
}

// Add adds a number to a counter.
func (p *Program) Add(s Slot, n int) {
	p.add(op{code: opAdd, nr: uintptr(s), args: [6]uintptr{uintptr(n)}})
}

// Execve adds the usual end of a program: signals as a new program expects them, and
// execve(2). Its Error has Exec set. SIGHUP and SIGINT stay ignored if this process ignores
// them: that is how nohup and shells without job control say that they are not for a program.
func (p *Program) Execve(path, argv, env Mem) {
	p.add(op{code: opReset})
	p.Call(execve, path.Arg(), argv.Arg(), env.Arg())
	p.ops[len(p.ops)-1].exec = true
}

const noSlot = ^uintptr(0)

// Reserve makes n bytes of zeroed memory, aligned for any structure.
func (p *Program) Reserve(n int) Mem {
	at := (len(p.mem) + 7) &^ 7
	p.mem = append(p.mem, make([]byte, at+n-len(p.mem))...)
	return Mem(at)
}

// Bytes makes memory with this content.
func (p *Program) Bytes(b []byte) Mem {
	m := p.Reserve(len(b))
	copy(p.mem[m:], b)
	return m
}

// String makes memory with s and a final NUL. A NUL inside of s ends it early: callers
// check.
func (p *Program) String(s string) Mem {
	m := p.Reserve(len(s) + 1)
	copy(p.mem[m:], s)
	return m
}

// Words makes memory with these numbers of 8 bytes.
func (p *Program) Words(words ...uint64) Mem {
	m := p.Reserve(8 * len(words))
	for i, w := range words {
		binary.NativeEndian.PutUint64(p.mem[int(m)+8*i:], w)
	}
	return m
}

// Link makes the word at one place the address of another.
func (p *Program) Link(at, to Mem) { p.links = append(p.links, link{at, to}) }

// Strings makes an array of pointers to strings that ends with a null, as execve wants.
func (p *Program) Strings(list []string) Mem {
	array := p.Reserve(8 * (len(list) + 1))
	for i, s := range list {
		p.Link(array.At(8*i), p.String(s))
	}
	return array
}

// failure is the error of the instruction before next.
func (p *Program) failure(next, errno uint32) error {
	pc := int(next) - 1
	if pc < 0 || pc >= len(p.ops) {
		return &Error{What: "starting", Errno: syscall.Errno(errno)}
	}
	about := p.names[p.topics[pc]]
	return &Error{Kind: about.kind, What: about.what, Errno: syscall.Errno(errno), Exec: p.ops[pc].exec}
}

// Error says which instruction failed.
type Error struct {
	// What is the topic of the instruction, Kind its kind.
	Kind  int
	What  string
	Errno syscall.Errno
	// Exec: it was the last step, execve itself, so the program is what is wrong.
	Exec bool
}

// Error names the step and the reason.
func (e *Error) Error() string { return e.What + ": " + e.Errno.Error() }

// Unwrap returns the error number.
func (e *Error) Unwrap() error { return e.Errno }
