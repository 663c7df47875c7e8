package engine

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/sandbox/fit"
)

const (
	supervisorName = "sandbox-supervisor"
	starterName    = "sandbox-starter" // no longer than the kernel's name of a process: 15 bytes
	// socketFD is where a helper has its end of the socket.
	socketFD = 3
)

// helperEnv is the environment of helpers. They do one thing at a time, so that further threads would only cost their
// start.
var helperEnv = []string{"GOMAXPROCS=1"}

// helperMain does the work of a helper, if this process is one: by its name, which no shell gives to a program, and
// by its socket.
func helperMain(remove func(dir string) error) {
	name := ""
	if len(os.Args) > 0 {
		name = os.Args[0]
	}
	if name != supervisorName && name != starterName {
		return
	}
	// Before anything else: Landlock, filters, capabilities and the death signal belong to a thread.
	runtime.LockOSThread()
	kind, err := unix.GetsockoptInt(socketFD, unix.SOL_SOCKET, unix.SO_TYPE)
	domain, err2 := unix.GetsockoptInt(socketFD, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil || err2 != nil || kind != unix.SOCK_STREAM || domain != unix.AF_UNIX {
		os.Exit(2) // somebody tried the name by hand
	}
	unix.CloseOnExec(socketFD)
	switch c := newConn(socketFD); {
	case name == supervisorName && len(os.Args) == 3:
		os.Exit(supervise(c, fit.Tier(os.Args[1]), os.Args[2] == "true", remove))
	case name == starterName && len(os.Args) == 1:
		becomeTool(c)
		os.Exit(1)
	}
	os.Exit(2)
}

// myself is what is started as a helper. It is not the path of the binary: that may have been replaced since.
const myself = "/proc/self/exe"
