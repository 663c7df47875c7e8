// Command attack tries to do one thing that a sandbox is to prevent, and says whether it
// worked: one line of JSON on standard output, exit status 0. Anything else is a crash, which proves
// nothing. Run without a sandbox it is its own control.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// verdict is what is printed.
type verdict struct {
	Attack string `json:"attack"`
	// Worked: the forbidden thing happened.
	Worked bool `json:"worked"`
	// Errno names the error that stopped it.
	Errno  string `json:"errno,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// an attack returns no error if it worked.
type attack func(args []string) (detail string, err error)

var attacks = map[string]attack{}

// add joins a group of attacks to the table.
func add(group map[string]attack) bool {
	for name, f := range group {
		if attacks[name] != nil {
			panic("two attacks " + name)
		}
		attacks[name] = f
	}
	return true
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: attack NAME ARGUMENT…")
		os.Exit(2)
	}
	name, args := os.Args[1], os.Args[2:]
	if part := parts[name]; part != nil {
		os.Exit(part(args))
	}
	f := attacks[name]
	if f == nil {
		fmt.Fprintln(os.Stderr, "no such attack:", name)
		os.Exit(2)
	}
	runtime.LockOSThread()
	detail, err := f(args)
	report(name, detail, err)
}

func report(name, detail string, err error) {
	v := verdict{Attack: name, Worked: err == nil, Detail: detail}
	if err != nil {
		v.Detail = err.Error()
		var errno syscall.Errno
		if errors.As(err, &errno) {
			v.Errno = unix.ErrnoName(errno)
		}
	}
	line, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s\n", line)
}

// parts are what attacks start of themselves: no verdict, only an exit status.
var parts = map[string]func(args []string) int{
	"part-ok": func([]string) int { return 42 },
}

// refused is an attack that found no error number, but did not work.
func refused(format string, args ...any) error { return fmt.Errorf("refused: "+format, args...) }
