package linux

import (
	"os"
	"os/exec"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// Where there is no domain, nothing is signalled: it would be everything that the user runs.
func TestNoScope(t *testing.T) {
	outside := exec.Command("sleep", "1000")
	if err := outside.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = outside.Process.Kill(), outside.Wait() }()
	var none *Scope
	if none.Signal(0) {
		t.Error("without a scope")
	}
	// Not even a thread that believes to be in one.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	believes := &Scope{unix.Gettid()}
	if os.Geteuid() == 0 && believes.Signal(0) {
		t.Error("it signals everybody")
	}
	// Nor another thread than that of the scope.
	if (&Scope{unix.Gettid() + 1}).Signal(0) {
		t.Error("another thread could signal")
	}
	if err := outside.Process.Signal(unix.Signal(0)); err != nil {
		t.Error(err)
	}
}
