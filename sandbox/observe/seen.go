package observe

import (
	"path"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox/fit"
)

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

// The ways.
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

// record bounds what is noted.
type record struct {
	Seen
	index map[Refusal]int
	alike map[Refusal]*alike
}

// alike is what was refused in one directory in one way: how many of it are listed, and the last of them.
type alike struct{ listed, last int }

func (r *record) note(x Refusal) {
	if i, ok := r.index[x]; ok {
		r.Refusals[i].Times++
		return
	}
	k := r.like(x)
	if k.listed == mostBeside {
		r.Refusals[k.last].Beside++
		return
	}
	if len(r.Refusals) == Most {
		r.More++
		return
	}
	r.index[x] = len(r.Refusals)
	k.listed, k.last = k.listed+1, len(r.Refusals)
	x.Times = 1
	r.Refusals = append(r.Refusals, x)
}

// like returns what x is one of; addresses are each of their own.
func (r *record) like(x Refusal) *alike {
	if r.index == nil {
		r.index, r.alike = map[Refusal]int{}, map[Refusal]*alike{}
	}
	if x.Path != "" {
		x.Path = path.Dir(x.Path)
	}
	k := r.alike[x]
	if k == nil {
		k = &alike{}
		if len(r.Refusals) < Most { // else none of it is going to be listed
			r.alike[x] = k
		}
	}
	return k
}

// Unseen says in words what a plan has the boundary filter refuse without anybody being told.
func Unseen(plan *fit.Plan) []string {
	list := []string{}
	if plan.Net.Open {
		list = append(list, "sockets other than TCP and UDP, and listening for connections: always refused")
	} else {
		list = append(list, "sockets: none can be made, as nothing allows a network; if the program needs one: --net of sandbox exec, or access.net of the tool")
	}
	if plan.Frozen {
		list = append(list, "changes of mode, owner, times and attributes: refused, as nothing may be written")
	}
	return append(list, "mounts, namespaces, tracing and the like: always refused")
}
