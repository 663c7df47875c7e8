// Package observe finds out what the sandbox refuses a program, for `--explain-denials`.
//
// Besides its boundary filter an observed program gets a second one, which decides nothing: the
// calls that name files or addresses are announced to an observer (seccomp user notification),
// which looks at their arguments, predicts from the plan whether the kernel will refuse them, notes
// it, and answers each with "go on" (SECCOMP_USER_NOTIF_FLAG_CONTINUE), never with anything else.
// The kernel then decides as it would have without.
//
// # What it is not
//
// It is no part of the boundary. What it notes is a prediction from what it could read: a
// program can change its arguments after they were looked at, and can make refused calls to look
// guilty; nothing is granted by either. When the observer ends, announced calls fail with
// ENOSYS, and the helpers of jphost end the call. Each announced call costs some microseconds, and a
// stopped observer holds the program up until its time limit.
//
// # What it does not see
//
// What the boundary filter refuses is refused before anybody is told, sockets among it: [Unseen]
// names these in words. Refusals by ordinary permissions, and renames and links that fail because
// they would gain rights or cross a mount (EXDEV), are not predicted. What is done through
// descriptors that are open already is not looked at, except below a directory.
package observe

import (
	"os"
	"path"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox/fit"
)

// Observer looks at the calls of one program. It runs in the process that prepares the call: as an ancestor of the
// program it may read its memory also where only ancestors may (Yama). It is not the process that starts the program:
// that one is blocked until execve, which would wait for the observer.
type Observer struct {
	sock     int // brings the listener, once; -1 when it is closed
	theirs   *os.File
	quit     *os.File // ends the observer when it is closed
	listener int      // the descriptor of the program's filter, which announces calls; -1 for none
	judge    *judge
	calls    map[uint32]call
	stop     []string
	seen     Seen
	done     chan struct{}

	// passed are calls that are not looked at, but passed on to the program's supervisor, which decides over them:
	// only one process can be told of announced calls. answerer is its end of the socket, nil without such calls.
	passed   []uint32
	answers  int
	answerer *os.File
}

// Message is what a program sends to [Observer.Socket], along with the descriptor of its filter.
func Message() []byte { return []byte("L") }

// Socket is where the program's descriptor goes.
func (o *Observer) Socket() *os.File { return o.theirs }

// Answerer is where the program's supervisor gets the calls that it answers; nil if there are none.
func (o *Observer) Answerer() *os.File { return o.answerer }

// HandedOver closes Socket and Answerer in this process, when others have them, or never will.
func (o *Observer) HandedOver() {
	_ = o.theirs.Close()
	if o.answerer != nil {
		_ = o.answerer.Close()
	}
}

// End returns what was refused. All processes of the call should be gone: calls of those that are not are refused
// from here on.
func (o *Observer) End() *Seen {
	_ = o.quit.Close()
	<-o.done
	return &o.seen
}

// Most is how many different refusals are kept; further ones are counted.
const Most = 64

// mostBeside is how many refusals of one kind in one directory are listed. A program that may not read its
// libraries is refused thousands of files, which would be all that there is to see.
const mostBeside = 16

// Seen is what was refused during one start of a program, as far as it could be seen.
type Seen struct {
	// Refusals are in the order of their first times.
	Refusals []Refusal `json:"refusals"`
	// More counts refused calls that are not among Refusals, because there are Most.
	More int `json:"more,omitempty"`
	// Calls counts what was looked at, Unread what could not be: the arguments were not
	// readable, or led through something that was gone.
	Calls  int `json:"calls"`
	Unread int `json:"unread,omitempty"`
}

// Refusal is one thing that was refused, once or more often.
type Refusal struct {
	// Operation is one of the constants below.
	Operation Operation `json:"operation"`
	// Path is canonical and absolute; Address is set instead for connections.
	Path    string `json:"path,omitempty"`
	Address string `json:"address,omitempty"`
	// Need is what the operation takes at the path, Lacking what of it is not granted.
	Need    jptool.Caps `json:"need,omitempty"`
	Lacking jptool.Caps `json:"lacking,omitempty"`
	Why     Why         `json:"why"`
	Times   int         `json:"times"`
	// Beside counts calls that were refused likewise in the same directory, and are listed nowhere: it is
	// that of the last one of a kind that is listed.
	Beside int `json:"beside,omitempty"`
}

// Operation is what a program wanted to do, for people.
type Operation string

// The operations.
const (
	OpRead    Operation = "read"
	OpList    Operation = "list"
	OpWrite   Operation = "write"
	OpCreate  Operation = "create"
	OpDelete  Operation = "delete"
	OpExecute Operation = "execute"
	OpChange  Operation = "change metadata of"
	OpSee     Operation = "see"
	OpConnect Operation = "connect"
	OpListen  Operation = "listen"
)

// Why is how the kernel refuses.
type Why string

// The reasons.
const (
	// Lacks: no grant of the plan covers it.
	Lacks Why = "not_granted"
	// Hidden: a mask lies over it, or it is not in the private tree at all.
	Hidden Why = "hidden"
	// Kept: an entry that must stay where it is.
	Kept Why = "kept"
	// Special: a FIFO, socket or device would be made.
	Special Why = "special"
	// Port: the port is not open.
	Port Why = "port"
)

// note adds a refusal: to the same one, to those beside it in its directory, or to the list.
func (s *Seen) note(x Refusal) {
	kind, beside, last := x, 0, 0
	kind.Path = path.Dir(x.Path) // addresses have none, and are each of their own
	for i, old := range s.Refusals {
		old.Times, old.Beside = 0, 0
		if old == x {
			s.Refusals[i].Times++
			return
		}
		if old.Path = path.Dir(old.Path); old == kind {
			beside, last = beside+1, i
		}
	}
	switch {
	case beside == mostBeside:
		s.Refusals[last].Beside++
	case len(s.Refusals) == Most:
		s.More++
	default:
		x.Times = 1
		s.Refusals = append(s.Refusals, x)
	}
}

// Unseen says in words what a plan has the boundary filter refuse without anybody being told.
func Unseen(plan *fit.Plan) []string {
	list := []string{}
	const needs = "; if the program needs one: --net of sandbox exec, or access.net of the tool"
	switch {
	case plan.Net.Open:
		list = append(list, "sockets other than TCP and UDP, and listening for connections: always refused")
	case plan.Net.Own:
		list = append(list, "connections to the outside: there is a loopback and no other network"+needs,
			"connections to local sockets that were bound outside of the call, and local datagram sockets: always refused")
	default:
		list = append(list, "sockets: none can be made, as nothing allows a network"+needs)
	}
	if plan.Frozen {
		list = append(list, "changes of mode, owner, times and attributes: refused, as nothing may be written")
	}
	return append(list, "mounts, namespaces, tracing and the like: always refused")
}
